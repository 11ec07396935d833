//! Late faults that the guest asks for, by software trap 0x84. QEMU has none: its stores fail at once or never.
//!
//! The hypervisor replaces an instruction with one that traps. QEMU raises the trap; the guest chooses the address of the store that
//! the trap reports.

use core::arch::asm;
use core::hint::black_box;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use guest_abi::{Registers, StrandId};
use platform::sparc64::Mmio;
use platform::{Bus, PhysicalAddress};

#[path = "../../late_places.rs"]
mod places;

pub use places::TRAPS;
use places::{CORE, HANDLER, LOAD, NEXT, RUST, SLOW, STORE, STORE_TO_HUB, WAIT};

/// `ldub [%g0 + 0], %g0`: in the guest, a trap to the hypervisor, because no device is there.
const GUEST_TRAPS: u32 = 0xc008_2000;

/// `ldx [%g0 + 4], %g0`: in the hypervisor, a trap to itself, because the address is not aligned.
const HYPERVISOR_TRAPS: u32 = 0xc058_2004;

const NONE: u64 = u64::MAX;

/// The store that the next trap reports.
static REPORTED: AtomicU64 = AtomicU64::new(NONE);
/// Whether the next trap does not report the store, and the trap after it does.
static HANDLED: AtomicBool = AtomicBool::new(false);
/// The replaced instruction, and its place.
static INSTRUCTION: AtomicU32 = AtomicU32::new(0);
static PLACE: AtomicPtr<u32> = AtomicPtr::new(ptr::null_mut());

/// Prepares the late fault that a guest asks for.
#[inline(never)]
pub fn prepare(registers: &Registers) {
    unsafe extern "C" {
        static mut sun4v_store: [u32; 2];
        static mut sun4v_general_wait: u32;
        static mut sun4v_core_wait: u32;
        static mut perfctr_load_dram: u32;
        static mut perfctr_store_hub: u32;
        static mut sun4v_abandon: u32;
    }
    let here: *mut u32;
    // SAFETY: executes a `nop`, and returns its address.
    unsafe { asm!("2: nop", "set 2b, {here}", here = out(reg) here, options(nostack)) };
    let (place, traps) = match registers.o0 {
        NEXT => (next_of_guest(), GUEST_TRAPS),
        STORE => ((&raw mut sun4v_store).cast::<u32>().wrapping_add(1), HYPERVISOR_TRAPS),
        SLOW => (&raw mut sun4v_general_wait, HYPERVISOR_TRAPS),
        CORE => (&raw mut sun4v_core_wait, HYPERVISOR_TRAPS),
        LOAD => (&raw mut perfctr_load_dram, HYPERVISOR_TRAPS),
        RUST => (here, HYPERVISOR_TRAPS),
        STORE_TO_HUB => (&raw mut perfctr_store_hub, HYPERVISOR_TRAPS),
        HANDLER => ((&raw mut sun4v_abandon).wrapping_sub(1), HYPERVISOR_TRAPS),
        WAIT.. => (ptr::null_mut(), 0),
    };
    HANDLED.store(registers.o0 == HANDLER, Relaxed);
    REPORTED.store(registers.o5, Relaxed);
    PLACE.store(place, Relaxed);
    if !place.is_null() {
        // SAFETY: an instruction is there. The MMU is off, so that it can be written.
        unsafe {
            INSTRUCTION.store(place.read_volatile(), Relaxed);
            place.write_volatile(traps);
        }
    }
}

/// Returns the address of the store that a trap reports, once, and puts the instruction back.
pub fn reported() -> Option<PhysicalAddress> {
    if HANDLED.swap(false, Relaxed) {
        return None;
    }
    // What was interrupted may use the stack.
    black_box(&mut [u64::MAX; 512]);
    // SAFETY: compiled code may change %y, too.
    unsafe { asm!("wr %g0, 0x7f, %y", out("y") _, options(nostack)) };
    let address = REPORTED.swap(NONE, Relaxed);
    if address == NONE {
        return None;
    }
    let place = PLACE.load(Relaxed);
    if !place.is_null() {
        // SAFETY: as in `prepare`.
        unsafe { place.write_volatile(INSTRUCTION.load(Relaxed)) };
    }
    Some(PhysicalAddress(address))
}

/// Makes a device access that fails.
pub fn trap() {
    // SAFETY: the address is not aligned, so that nothing is accessed.
    let bus = unsafe { Mmio::new() };
    let _ = StrandId::new(0).map(|strand| bus.read(strand, PhysicalAddress(4)));
}

/// Returns the address of the instruction after the guest's trap.
fn next_of_guest() -> *mut u32 {
    let next;
    // SAFETY: reads a register.
    unsafe {
        asm!("rdpr %tnpc, {next}", next = out(reg) next, options(nomem, nostack, preserves_flags))
    };
    next
}
