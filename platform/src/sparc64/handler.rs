//! What an image implements: a strand's trap handler, and a service's fast path.

use core::ops::ControlFlow;

use guest_abi::{HvError, Registers, ServedFunctions, StrandId, Trap};

use super::{Entry, FAST_WORDS, FatalTrap, Partition};
use crate::PhysicalAddress;

/// The part of an image that serves a strand's traps. [`sun4v_image!`](crate::sun4v_image) connects it to the trap table.
pub trait TrapHandler: Sized + 'static {
    /// The image's fast path: `()` in an image without one.
    type Context: FastPath;

    /// Prepares a strand after reset. Returns the handler of the strand's traps. Does not return if no guest has this strand, or if the
    /// image cannot start: see [`cannot_start`](super::cannot_start). The function has the strand's whole stack and all register windows.
    ///
    /// Strand 0 starts first. It prepares the other strands' data before it [starts](super::interrupt::start_strand) them.
    fn start(strand: StrandId) -> &'static Self;

    /// Waits until the strand can enter its guest, and returns the entry point. Called once, after [`start`](Self::start), with the
    /// strand's whole stack and all register windows.
    fn enter(&'static self) -> Entry;

    /// Returns the guest's memory. Called once, after [`start`](Self::start). The strand translates no real address outside this memory, so
    /// without memory the guest's first instruction traps.
    fn partition(&self) -> Partition;

    /// Returns the fast path that serves the strand's calls first. Called after [`start`](Self::start).
    fn context(&self) -> &Self::Context;

    /// Returns the functions that [`trap`](Self::trap) serves. All other functions return EBADTRAP without calling Rust code. Called once,
    /// after [`start`](Self::start). An image with `hv-core` returns `Strand::served()`.
    fn served(&self) -> ServedFunctions<'static> {
        ServedFunctions::ALL
    }

    /// Serves a call of trap 0xff that needs neither stack nor register window. Takes %o5 and %o0 to %o2, and returns %o0 to %o2. `None`,
    /// the default, leaves the call to [`trap`](Self::trap). An image with `hv-core` calls `Strand::core_fast`.
    ///
    /// The veneer calls this function as a [leaf function](super#leaf-functions).
    #[inline(always)]
    fn core_fast(&self, function: u64, arguments: [u64; 3]) -> Option<[u64; 3]> {
        let _ = (function, arguments);
        None
    }

    /// Serves a hypercall that the fast path did not serve. `registers` holds the guest's %o0 to %o5, and the guest receives the values
    /// that the function leaves in `registers`. `Break` ends the guest with a code: the next call is [`ended`](Self::ended).
    ///
    /// The function has few register windows: see [`WINDOWS`](super::WINDOWS).
    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64>;

    /// Serves software trap `number` (0x81 to 0xfe), which the image has [claimed](crate::sun4v_image). `registers` are as for
    /// [`trap`](Self::trap).
    fn software_trap(&self, number: u8, registers: &mut Registers) {
        let _ = number;
        registers.o0 = HvError::BadTrap.number();
    }

    /// Takes the device that caused a [late fault](super#late-faults) out of service. `address` is the address of the failed store. It is
    /// `None` if the processor does not report the address; which device failed is then unknown.
    ///
    /// In an image with the performance counter service, this function calls `PerfCounterService::faulted_late`. The strand calls this
    /// function between two of its hypercalls, or before a hypercall on the slow path. The function must not trap.
    fn faulted_late(&self, address: Option<PhysicalAddress>);

    /// Takes the interrupts that the strand has received: see [`interrupt::take`](super::interrupt::take). The strand calls this function
    /// when an interrupt arrives while the strand executes its guest. The hypervisor is never interrupted. The function has the strand's
    /// whole stack and all register windows. `Break`, the default, ends the guest on this strand: the next call is [`ended`](Self::ended).
    fn interrupted(&self) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    /// Notes that the strand's [timer](super::interrupt::set_timer) may have matched. The strand calls this function when its guest is
    /// interrupted by hstick_match. A [late fault](super#late-faults) causes hstick_match too. The function must not trap.
    fn timer(&self) {}

    /// Handles the end of the guest on this strand. Returns the entry at which the guest restarts, or never returns. The function has the
    /// strand's whole stack and all register windows, whatever the strand executed before. If the strand has not [started](Self::start),
    /// the handler is `None`, and the function must not return.
    fn ended(handler: Option<&'static Self>, end: End) -> Entry;
}

/// A service's fast path: see [`sun4v_image!`](crate::sun4v_image).
pub trait FastPath {
    /// Returns the words that the veneers find at the beginning of the strand's block. Called once, after [`TrapHandler::start`].
    fn words(&self) -> [u64; FAST_WORDS];

    /// Undoes everything that the fast path did before its device access faulted. `registers` belong to the call, which
    /// [`TrapHandler::trap`] then serves as if it had just trapped.
    fn faulted(&self, registers: &Registers);

    /// Handles the report of a failed store to `address`, if the report arrived while the fast path served a call that it then answered
    /// with EOK. `function` and `id` are the call's %o5 and %o0. If the call is for the device at `address`, counts the call as refused,
    /// and returns the new status. Called after [`TrapHandler::faulted_late`].
    fn refused_late(&self, address: PhysicalAddress, function: u64, id: u64) -> Option<HvError>;
}

/// An image without a fast path: the slow path serves all calls.
impl FastPath for () {
    fn words(&self) -> [u64; FAST_WORDS] {
        [0; FAST_WORDS]
    }

    fn faulted(&self, _: &Registers) {}

    fn refused_late(&self, _: PhysicalAddress, _: u64, _: u64) -> Option<HvError> {
        None
    }
}

/// Why a strand does not return to its guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// [`TrapHandler::trap`] returned `Break` with this code.
    Exit(u64),
    /// A trap that is not a hypercall. A hypervisor trap is a defect. A guest trap is one that the guest cannot take itself.
    Trap(&'static FatalTrap),
    /// [`TrapHandler::interrupted`] returned `Break`.
    Interrupted,
    /// The hypervisor panicked at this source line; 0 if the line is unknown.
    Panic(u32),
}
