//! The guest's control of its own machine, for the sweep; in no image that is shipped.

use core::cell::Cell;

use guest_abi::{Registers, StrandId};
use hv_core::{After, Caller, GuestId};
use platform::sparc64::{Call, start_over};
use sweep::control::{Control, FUNCTION, apply};

/// Who calls, as the guest wishes.
struct Calling(Cell<Option<Caller>>);

// SAFETY: the image runs on one strand.
unsafe impl Sync for Calling {}

static CALLING: Calling = Calling(Cell::new(None));

/// Serves every trap of this image. `false` before it is set up.
pub fn trap(registers: &mut Registers, call: u64) -> bool {
    let Some(hypervisor) = crate::HYPERVISOR.get() else {
        return false;
    };
    let first = GuestId::new(0).zip(StrandId::new(0));
    let Some(mut caller) = CALLING
        .0
        .get()
        .or(first.map(|(guest, strand)| Caller { guest, strand }))
    else {
        return false;
    };
    match Call::from_number(call) {
        Call::Core => {
            if let After::Exit(code) = hypervisor.strand(caller).core_trap(registers) {
                // SAFETY: as at the end of any guest.
                unsafe { start_over(crate::guest_ended, code) }
            }
        }
        _ if registers.o5 == FUNCTION => {
            if let Some(control) = Control::from_registers(registers) {
                apply(control, hypervisor, &mut caller);
                CALLING.0.set(Some(caller));
                registers.o0 = 0;
            }
        }
        _ => hypervisor.strand(caller).fast_trap(registers),
    }
    true
}
