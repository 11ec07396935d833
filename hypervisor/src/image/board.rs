//! What an image plugs into the hypervisor.

use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};

use guest_abi::{HvError, Registers, StrandId};
use hv_core::{CallError, Caller, GuestId, Reply};
use perfctr_service::Environment;
use platform::Machine;
use platform::memory_map::{CONSOLE_STRIDE, CONSOLES};
use spin::Mutex;

use super::{Handler, HypervisorOf, Layout};

/// The hardware below the hypervisor, and the hypercalls that the image adds.
pub trait Board: Sized + 'static {
    /// The bus, the registers of a strand, and a tracer if the image has one.
    type Environment: Environment<Trace: Copy> + 'static;

    /// The numbers of the functions that [`fast`](Self::fast) serves: see [`hv_core::Embedder::FAST`].
    const FAST: Option<&'static [u64]> = Some(&[]);

    /// The numbers of the functions that [`core`](Self::core) serves.
    const CORE: Option<&'static [u64]> = Some(&[]);

    /// Returns the `static` of the image that holds the hypervisor.
    fn place() -> &'static Place<Self>;

    /// Returns the hardware that the performance counter service uses. Called once, at the start.
    fn environment(machine: Machine) -> Self::Environment;

    /// Returns the address of the 16550 UART that is the console of a guest.
    fn console(guest: GuestId) -> u64 {
        CONSOLES + guest.index() as u64 * CONSOLE_STRIDE
    }

    /// Serves a FAST call that no service has. The error is the status of the call: EBADTRAP in this implementation.
    fn fast(caller: Caller, function: u64, registers: &Registers) -> Result<Reply, CallError> {
        let _ = (caller, function, registers);
        Err(HvError::BadTrap.into())
    }

    /// Serves a CORE call that the specification does not have, as [`fast`](Self::fast) does for FAST calls.
    fn core(caller: Caller, function: u64, registers: &Registers) -> Result<Reply, CallError> {
        Self::fast(caller, function, registers)
    }

    /// Serves a software trap that the image claims (see `perfctr_service::sun4v_image!`), as [`fast`](Self::fast) does for FAST calls.
    fn software_trap(
        caller: Caller,
        number: u8,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        Self::fast(caller, number.into(), registers)
    }
}

/// Static memory for the hypervisor of a board.
pub struct Place<B: Board> {
    pub(super) layout: Mutex<Option<Layout>>,
    pub(super) hypervisor: Mutex<Option<HypervisorOf<B>>>,
    /// Strand 0 sets the pointer before it starts the other strands, which read it.
    ready: AtomicPtr<HypervisorOf<B>>,
    pub(super) handlers: [Mutex<Option<Handler<B>>>; StrandId::COUNT],
}

impl<B: Board> Place<B> {
    /// Returns a place without a hypervisor.
    #[allow(clippy::new_without_default, reason = "a static needs a constant")]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            layout: Mutex::new(None),
            hypervisor: Mutex::new(None),
            ready: AtomicPtr::new(ptr::null_mut()),
            handlers: [const { Mutex::new(None) }; StrandId::COUNT],
        }
    }

    /// Returns the hypervisor; `None` before strand 0 has prepared it.
    pub(super) fn ready(&self) -> Option<&'static HypervisorOf<B>> {
        // SAFETY: null, or from a reference that is valid for ever.
        unsafe { self.ready.load(Acquire).as_ref() }
    }

    pub(super) fn set_ready(&self, hypervisor: &'static HypervisorOf<B>) {
        self.ready.store(ptr::from_ref(hypervisor).cast_mut(), Release);
    }
}
