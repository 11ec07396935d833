//! From the veneers to safe Rust, and back.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use core::ops::ControlFlow;
use core::panic::PanicInfo;

use guest_abi::{HvError, Registers, Served, StrandId, Trap};

use super::{Entry, FatalTrap, Partition, StrandBlock, guest, layout, store_error};
use crate::PhysicalAddress;

/// What an image does on a strand. [`sun4v_image!`](crate::sun4v_image) connects it to the traps.
pub trait TrapHandler: Sized + 'static {
    /// The fast path of the image: `()` in an image without one.
    type Context: FastPath;

    /// Prepares a strand after reset. Returns the handler of its traps, and where the guest begins on it. It has the strand's whole stack
    /// and all register windows.
    ///
    /// Strand 0 is the first. It prepares what the others need before it [starts](super::interrupt::start_strand) them.
    fn start(strand: StrandId) -> (&'static Self, Entry);

    /// Returns the memory of the guest. Called once, after [`start`](Self::start). The strand translates the guest's real addresses in
    /// it, and no others.
    fn partition(&self) -> Partition {
        Partition::NONE
    }

    /// Returns the fast path. Called after [`start`](Self::start).
    fn context(&self) -> &Self::Context;

    /// Returns the functions that [`trap`](Self::trap) is called for. All others answer EBADTRAP without a call of Rust. Called
    /// once, after [`start`](Self::start). An image with `hv-core` returns what `Strand::served` returns.
    fn served(&self) -> Served<'static> {
        Served::ALL
    }

    /// Serves a call of trap 0xff that needs neither stack nor register window. Takes %o5 and %o0 to %o2, and returns %o0 to %o2.
    /// `None`, as here: nothing was done, and [`trap`](Self::trap) serves the call. An image with `hv-core` returns what
    /// `Strand::core_fast` returns.
    ///
    /// The veneer calls it as a [leaf function](super#leaf-functions).
    #[inline(always)]
    fn core_fast(&self, function: u64, arguments: [u64; 3]) -> Option<[u64; 3]> {
        let _ = (function, arguments);
        None
    }

    /// Serves a hypercall that the fast path did not serve. `registers` holds the guest's %o0 to %o5; the guest gets back
    /// what the function leaves there. `Break` ends the guest with a code: the next call is [`ended`](Self::ended).
    ///
    /// The function has few register windows: see [`WINDOWS`](super::WINDOWS).
    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64>;

    /// Serves a software trap that the image [claims](crate::sun4v_image), 0x81 to 0xfe, as [`trap`](Self::trap) does.
    fn software_trap(&self, number: u8, registers: &mut Registers) {
        let _ = number;
        registers.o0 = HvError::BadTrap.number();
    }

    /// Returns the address of a store of this strand that has failed after the strand has gone on, if a trap of this type (%tt)
    /// reports one: a *late fault*. The strand asks this at every trap that is no hypercall.
    ///
    /// SPARC V9 leaves it to each processor how it reports such a store. This implementation is [`store_error`], for the UltraSPARC
    /// T2; others replace it. It may interrupt any code of the hypervisor, so it takes no lock and calls no service.
    fn faulted_store(&self, trap_type: u64) -> Option<PhysicalAddress> {
        store_error(trap_type)
    }

    /// Takes what is at the address of a late fault out of service. Returns `false` if it knows no such address, which this
    /// implementation does not: then the trap ends the strand.
    ///
    /// An image with the performance counter service calls `PerfCounterService::faulted_late`. The strand calls this between two
    /// of its hypercalls, on the fast path or while [`Mmio`](super::Mmio) waits for an access. It must not trap.
    fn faulted_late(&self, address: PhysicalAddress) -> bool {
        let _ = address;
        false
    }

    /// Takes the interrupts of other strands: see [`interrupt::take`](super::interrupt::take). The strand calls this when one interrupts
    /// its guest; the hypervisor itself is not interrupted. The function has the strand's whole stack and all register windows.
    /// `Break`, which this implementation returns, ends the guest on this strand: the next call is [`ended`](Self::ended).
    fn interrupted(&self) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    /// The strand does not return to its guest. Returns where the guest begins again on it, if it ever does. The function has the
    /// strand's whole stack and all register windows, whatever the strand executed before. `None` in place of the handler: it has
    /// not [started](Self::start). Then the function must not return.
    fn ended(handler: Option<&'static Self>, end: End) -> Entry;
}

/// How many words of its own a fast path has in the strand's block.
pub const FAST_WORDS: usize = 22;

/// The fast path of a service: see [`sun4v_image!`](crate::sun4v_image).
pub trait FastPath {
    /// Returns what the veneers find at the beginning of the strand's block. Called once, after [`TrapHandler::start`].
    fn words(&self) -> [u64; FAST_WORDS];

    /// Undoes what the fast path did before its device access faulted. `registers` are those of the call, which
    /// [`TrapHandler::trap`] serves next as if it had just trapped.
    fn faulted(&self, registers: &Registers);
}

/// No fast path.
impl FastPath for () {
    fn words(&self) -> [u64; FAST_WORDS] {
        [0; FAST_WORDS]
    }

    fn faulted(&self, _: &Registers) {}
}

/// Why a strand does not return to its guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// [`TrapHandler::trap`] returned `Break` with this code.
    Exit(u64),
    /// A trap that is no hypercall: in the hypervisor, a defect; in the guest, a trap that privileged code cannot take.
    Trap(&'static FatalTrap),
    /// [`TrapHandler::interrupted`] returned `Break`.
    Interrupted,
    /// The hypervisor panicked in this line, or in an unknown line (0).
    Panic(u32),
}

/// Called from reset. Returns where the guest begins.
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
    let (handler, entry) = H::start(strand);
    block.handler.set(handler);
    block.served.set(MaybeUninit::new(handler.served()));
    block.fast.set(handler.context().words());
    guest::bound(block, handler.partition());
    entry
}

/// %o0 to %o2 as [`core_entry`] returns them.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C)]
pub struct Outs([u64; 3]);

/// Called for each hypercall of trap 0xff, without a stack, with the guest's %o0 to %o2 and %o5. Returns [`layout::CORE`] in %o0 if
/// the call takes the slow path.
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

/// Called for each hypercall on the slow path, with what the veneer left in %g5: see [`layout`].
///
/// # Safety
/// Called by the veneers of an image, with the block of the strand that trapped, after [`start_entry`] has returned.
#[doc(hidden)]
pub unsafe extern "C" fn trap_entry<H: TrapHandler>(block: &StrandBlock<H>, entry: u64) {
    // SAFETY: `start_entry` has stored a reference that is valid for ever.
    let handler = unsafe { &*block.handler.get() };
    // SAFETY: the veneer is the only other user of the registers, and waits for this call to end.
    let registers = unsafe { &mut *block.registers.get() };
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
        // SAFETY: nothing on the stack is used again. The code is all that is needed of this trap.
        unsafe { start_over(exit_entry::<H>, code) }
    }
}

/// Called for a trap that nothing serves, with all register windows.
///
/// # Safety
/// Called by the trap handlers of an image, with the block of the strand that trapped, which holds the trap.
#[doc(hidden)]
pub unsafe extern "C" fn fatal_entry<H: TrapHandler>(block: &'static StrandBlock<H>) -> Entry {
    // SAFETY: the trap handler has written it, and does so again only if this function traps, which then does not go on.
    ended::<H>(End::Trap(unsafe { &*block.trapped.fatal.get() }))
}

fn ended<H: TrapHandler>(end: End) -> Entry {
    // SAFETY: the boot code has given the strand its block, and `start_entry` has stored a reference that is valid for ever, or it is null.
    let handler = unsafe { StrandBlock::<H>::own().handler.get().as_ref() };
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

/// Ends the guest on this strand, which an interrupt has interrupted.
pub(super) fn interrupted<H: TrapHandler>() -> ! {
    // SAFETY: what the interrupt has interrupted is the guest, of which nothing is resumed.
    unsafe { start_over(interrupted_entry::<H>, 0) }
}

/// Ends the strand after a panic. For the image's `#[panic_handler]`.
pub fn panicked<H: TrapHandler>(info: &PanicInfo<'_>) -> ! {
    let line = info.location().map_or(0, |location| location.line());
    // SAFETY: the panic is the proof that the code below on the stack is never resumed: the target aborts on a panic. The boot
    // code has given the strand its block before any Rust code runs.
    unsafe { start_over(panic_entry::<H>, line.into()) }
}

/// Continues in a function on the strand's stack from its start, with all register windows: for what comes after a panic or
/// the end of a guest, whose windows are lost. The strand enters the guest where the function returns.
///
/// # Safety
/// Called in an image, on a strand with a block. No code that is on the stack is resumed.
unsafe fn start_over(function: extern "C" fn(u64) -> Entry, argument: u64) -> ! {
    unsafe extern "C" {
        fn sun4v_abandon(function: extern "C" fn(u64) -> Entry, argument: u64) -> !;
    }
    // SAFETY: the caller promises what it needs.
    unsafe { sun4v_abandon(function, argument) }
}
