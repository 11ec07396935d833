//! The interface through which an image adapts the hypervisor to its hardware.

use guest_abi::{HvError, Registers, StrandId};
use hv_core::{CallError, Caller, GuestId, Reply};
use perfctr_service::Environment;
use platform::Machine;
use platform::memory_map::{self, CONSOLE_STRIDE, CONSOLES};
use platform::sparc64::Uart;

use super::layout;

/// The hardware below the hypervisor, and the hypercalls that the image adds.
pub trait Board: Sized + 'static {
    /// The bus, a strand's registers, and a tracer if the image has one.
    type Environment: Environment<Trace: Copy> + 'static;

    /// The function numbers that [`fast`](Self::fast) serves: see [`hv_core::Embedder::FAST_FUNCTIONS`].
    const FAST_FUNCTIONS: Option<&'static [u64]> = Some(&[]);

    /// The function numbers that [`core`](Self::core) serves.
    const CORE_FUNCTIONS: Option<&'static [u64]> = Some(&[]);

    /// The address of the 16550 UART to which the hypervisor writes its log; `None` if the image writes no log. The hypervisor uses the
    /// UART only on a machine with a description. An image with a log has a [note](platform::interfaces) with this address.
    const LOG: Option<u64> = Some(memory_map::LOG);

    /// Returns the hardware that the performance counter service uses. Called once, at startup.
    fn environment(machine: Machine) -> Self::Environment;

    /// Prepares a strand, for example its event ring. Each strand calls this function once, before anything else.
    fn begin(strand: StrandId) {
        let _ = strand;
    }

    /// Returns the address of the 16550 UART that is a guest's console.
    fn console(guest: GuestId) -> u64 {
        CONSOLES + guest.index() as u64 * CONSOLE_STRIDE
    }

    /// Serves a FAST call that no service serves. The error is the status of the call. The default implementation fails with EBADTRAP.
    fn fast(caller: Caller, function: u64, registers: &Registers) -> Result<Reply, CallError> {
        let _ = (caller, function, registers);
        Err(HvError::BadTrap.into())
    }

    /// Serves a CORE call that is not in the specification. The error and the default are as for [`fast`](Self::fast).
    fn core(caller: Caller, function: u64, registers: &Registers) -> Result<Reply, CallError> {
        Self::fast(caller, function, registers)
    }

    /// Serves a software trap that the image claims: see `perfctr_service::sun4v_image!`. The error and the default are as for
    /// [`fast`](Self::fast).
    fn software_trap(
        caller: Caller,
        number: u8,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        Self::fast(caller, number.into(), registers)
    }
}

/// Returns the serial port that is a guest's console.
pub(super) fn uart<B: Board>(guest: GuestId) -> Uart {
    // SAFETY: `console` returns the address of a 16550.
    unsafe { Uart::new(B::console(guest)) }
}

/// Returns the hypervisor's console; `None` if the image writes no log, or the machine has no description.
pub(super) fn log_uart<B: Board>() -> Option<Uart> {
    // SAFETY: `LOG` is the address of a 16550.
    B::LOG.filter(|_| layout::is_described()).map(|address| unsafe { Uart::new(address) })
}
