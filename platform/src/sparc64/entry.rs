//! From the veneers to safe Rust, and back.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use core::ops::ControlFlow;
use core::panic::PanicInfo;

use guest_abi::{HvError, Registers, Served, StrandId, Trap};

use super::{Entry, FAST_WORDS, FatalTrap, Partition, StrandBlock, guest, late, layout};
use crate::PhysicalAddress;

/// The part of an image that serves the traps of a strand. [`sun4v_image!`](crate::sun4v_image) connects it to the trap table.
pub trait TrapHandler: Sized + 'static {
    /// The fast path of the image: `()` in an image without one.
    type Context: FastPath;

    /// Prepares a strand after reset. Returns the handler of the strand's traps. Does not return if no guest has this strand. The
    /// function has the strand's whole stack and all register windows.
    ///
    /// Strand 0 is the first. It prepares the data of the others before it [starts](super::interrupt::start_strand) them.
    fn start(strand: StrandId) -> &'static Self;

    /// Waits until the strand can enter its guest, and returns the entry point. Called once, after [`start`](Self::start), with the
    /// strand's whole stack and all register windows.
    fn enter(&'static self) -> Entry;

    /// Returns the memory of the guest. Called once, after [`start`](Self::start). The strand translates no real address outside this
    /// memory.
    fn partition(&self) -> Partition {
        Partition::NONE
    }

    /// Returns the fast path. Called after [`start`](Self::start).
    fn context(&self) -> &Self::Context;

    /// Returns the functions that [`trap`](Self::trap) serves. All other functions return EBADTRAP without a call of
    /// Rust. Called once, after [`start`](Self::start). An image with `hv-core` returns `Strand::served()`.
    fn served(&self) -> Served<'static> {
        Served::ALL
    }

    /// Serves a call of trap 0xff that needs neither stack nor register window. Takes %o5 and %o0 to %o2, and returns %o0 to %o2. `None`,
    /// the default, leaves the call to [`trap`](Self::trap). An image with `hv-core` calls `Strand::core_fast`.
    ///
    /// The veneer calls this as a [leaf function](super#leaf-functions).
    #[inline(always)]
    fn core_fast(&self, function: u64, arguments: [u64; 3]) -> Option<[u64; 3]> {
        let _ = (function, arguments);
        None
    }

    /// Serves a hypercall that the fast path did not serve. `registers` holds the guest's %o0 to %o5, and the guest gets back
    /// the values that the function leaves there. `Break` ends the guest with a code: the next call is [`ended`](Self::ended).
    ///
    /// The function has few register windows: see [`WINDOWS`](super::WINDOWS).
    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64>;

    /// Serves a software trap that the image [claims](crate::sun4v_image), 0x81 to 0xfe, as [`trap`](Self::trap) does.
    fn software_trap(&self, number: u8, registers: &mut Registers) {
        let _ = number;
        registers.o0 = HvError::BadTrap.number();
    }

    /// Takes the device at the address of a [late fault](super#late-faults) out of service. The address is `None` if the processor
    /// does not report it. Then no device can be blamed.
    ///
    /// An image with the performance counter service calls `PerfCounterService::faulted_late`. The strand calls this between two
    /// of its hypercalls, or before one on the slow path. The function must not trap.
    fn faulted_late(&self, address: Option<PhysicalAddress>) {
        let _ = address;
    }

    /// Takes the interrupts of other strands: see [`interrupt::take`](super::interrupt::take). The strand calls this when an interrupt
    /// arrives while it executes its guest. An interrupt never interrupts the hypervisor. The function has the strand's whole stack
    /// and all register windows. `Break`, the default, ends the guest on this strand: the next call is [`ended`](Self::ended).
    fn interrupted(&self) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    /// Handles the end of the guest on this strand. Returns the entry at which the guest begins again, or never returns. The function
    /// has the strand's whole stack and all register windows, whatever the strand executed before. If the strand has not
    /// [started](Self::start), the handler is `None`, and the function must not return.
    fn ended(handler: Option<&'static Self>, end: End) -> Entry;
}

/// The fast path of a service: see [`sun4v_image!`](crate::sun4v_image).
pub trait FastPath {
    /// Returns the words that the veneers find at the beginning of the strand's block. Called once, after [`TrapHandler::start`].
    fn words(&self) -> [u64; FAST_WORDS];

    /// Undoes everything that the fast path did before its device access faulted. `registers` belong to the call, which
    /// [`TrapHandler::trap`] then serves as if it had just trapped.
    fn faulted(&self, registers: &Registers);

    /// A store to `address` has failed. Its report arrived while the fast path served this call, which has then answered EOK. `id`
    /// is %o0 of the call. If the call is for the device at `address`, counts the call as refused, and returns its new status.
    /// Called after [`TrapHandler::faulted_late`].
    fn refused_late(&self, address: PhysicalAddress, function: u64, id: u64) -> Option<HvError>;
}

/// No fast path.
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
    /// A trap that is not a hypercall. In the hypervisor the trap is a defect. In the guest, privileged code cannot take it.
    Trap(&'static FatalTrap),
    /// [`TrapHandler::interrupted`] returned `Break`.
    Interrupted,
    /// The hypervisor panicked in this line; 0 if the line is unknown.
    Panic(u32),
}

/// Prepares the strand after reset. Returns the entry of the guest.
///
/// # Safety
/// Called by the boot code of an image, once on each strand, with the strand's block and number.
#[doc(hidden)]
pub unsafe extern "C" fn start_entry<H: TrapHandler>(
    block: &'static StrandBlock<H>,
    strand: usize,
) -> Entry {
    let Some(strand) = StrandId::new(strand) else {
        return H::ended(None, End::Panic(0));
    };
    let handler = H::start(strand);
    block.handler.set(handler);
    block.served.set(MaybeUninit::new(handler.served()));
    block.fast.set(handler.context().words());
    guest::bound(block, handler.partition());
    handler.enter()
}

/// %o0 to %o2 as [`core_entry`] returns them.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C)]
pub struct Outs([u64; 3]);

/// Serves a call of trap 0xff without a stack, from the guest's %o0 to %o2 and %o5. If %o0 of the result is [`layout::CORE`], the call
/// takes the slow path.
///
/// # Safety
/// Called by the veneers of an image, after [`start_entry`] has returned, with the handler that it has stored.
#[doc(hidden)]
#[unsafe(link_section = ".text.leaf")]
pub unsafe extern "C" fn core_entry<H: TrapHandler>(
    o0: u64,
    o1: u64,
    o2: u64,
    handler: &H,
    _: u64,
    function: u64,
) -> Outs {
    let served = handler.core_fast(function, [o0, o1, o2]);
    Outs(served.unwrap_or([layout::CORE, o1, o2]))
}

/// Serves a hypercall on the slow path. `entry` is the value that the veneer left in %g5: see [`layout`].
///
/// # Safety
/// Called by the veneers of an image, with the block of the strand that trapped, after [`start_entry`] has returned.
#[doc(hidden)]
pub unsafe extern "C" fn trap_entry<H: TrapHandler>(block: &StrandBlock<H>, entry: u64) {
    // SAFETY: `start_entry` has stored a reference that is valid for ever.
    let handler = unsafe { &*block.handler.get() };
    // SAFETY: the veneer is the only other user of the registers, and waits for this call to end.
    let registers = unsafe { &mut *block.registers.get() };
    if block.reports.number.get() != 0 {
        // The call has no answer yet.
        late::tell(block, handler, 0);
    }
    let trap = match entry {
        layout::CORE => Trap::Core,
        layout::FAST => Trap::Fast,
        layout::FAULTED => {
            handler.context().faulted(registers);
            Trap::Fast
        }
        other => return handler.software_trap(other as u8, registers),
    };
    if let ControlFlow::Break(code) = handler.trap(trap, registers) {
        // SAFETY: nothing on the stack is used again, and `code` is passed by value.
        unsafe { start_over(exit_entry::<H>, code) }
    }
}

/// Ends the strand after a trap that nothing serves, with all register windows.
///
/// # Safety
/// Called by the trap handlers of an image, with the block of the strand that trapped, which holds the trap.
#[doc(hidden)]
pub unsafe extern "C" fn fatal_entry<H: TrapHandler>(block: &'static StrandBlock<H>) -> Entry {
    // SAFETY: the trap handler has written the trap. It writes another only if this function traps, and then this function
    // never continues.
    ended::<H>(End::Trap(unsafe { &*block.trapped.fatal.get() }))
}

fn ended<H: TrapHandler>(end: End) -> Entry {
    // SAFETY: the boot code has given the strand its block, and `start_entry` has stored a reference that is valid for ever, or it is null.
    let block = unsafe { StrandBlock::<H>::own() };
    // SAFETY: as above.
    let handler = unsafe { block.handler.get().as_ref() };
    late::clear_match();
    block.recovering.set(false);
    if let Some(handler) = handler {
        late::tell(block, handler, 0);
    }
    H::ended(handler, end)
}

extern "C" fn exit_entry<H: TrapHandler>(code: u64) -> Entry {
    ended::<H>(End::Exit(code))
}

extern "C" fn interrupted_entry<H: TrapHandler>(_: u64) -> Entry {
    ended::<H>(End::Interrupted)
}

extern "C" fn panic_entry<H: TrapHandler>(line: u64) -> Entry {
    ended::<H>(End::Panic(line as u32))
}

/// Ends the guest on this strand because of an interrupt.
pub(super) fn interrupted<H: TrapHandler>() -> ! {
    // SAFETY: the interrupt arrived in the guest, and nothing that it interrupted is resumed.
    unsafe { start_over(interrupted_entry::<H>, 0) }
}

/// Ends the strand after a panic. An image calls this in its `#[panic_handler]`.
pub fn panicked<H: TrapHandler>(info: &PanicInfo<'_>) -> ! {
    let line = info.location().map_or(0, |location| location.line());
    // SAFETY: the target aborts on a panic, so the code below on the stack is never resumed. The boot code has given the
    // strand its block before any Rust code runs.
    unsafe { start_over(panic_entry::<H>, line.into()) }
}

/// Continues in a function on the strand's empty stack, with all register windows, after a panic or the end of a guest. The current
/// windows are lost. The strand enters the guest at the entry that the function returns.
///
/// # Safety
/// Called in an image, on a strand with a block. No code that is on the stack is resumed.
unsafe fn start_over(function: extern "C" fn(u64) -> Entry, argument: u64) -> ! {
    unsafe extern "C" {
        fn sun4v_abandon(function: extern "C" fn(u64) -> Entry, argument: u64) -> !;
    }
    // SAFETY: the caller promises the same.
    unsafe { sun4v_abandon(function, argument) }
}
