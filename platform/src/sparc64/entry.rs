//! Connects the veneers to safe Rust code.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use core::ops::ControlFlow;
use core::panic::PanicInfo;

use guest_abi::{StrandId, Trap};

use super::{End, Entry, FastPath, StrandBlock, TrapHandler, guest, late, layout};

/// Prepares the strand after reset. Returns the guest's entry.
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
    // SAFETY: `start_entry` has stored a reference that is valid forever.
    let handler = unsafe { &*block.handler.get() };
    // SAFETY: the veneer is the only other user of the registers, and waits for this call to end.
    let registers = unsafe { &mut *block.registers.get() };
    if block.reports.number.get() != 0 {
        // This call has not been answered yet, so there is no answer to replace. `deliver_reports` takes function 0 in this case.
        late::deliver_reports(block, handler, 0);
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

/// Ends the strand after a trap that nothing handles. Called with all register windows free.
///
/// # Safety
/// Called by the trap handlers of an image, with the block of the strand that trapped, which holds the trap.
#[doc(hidden)]
pub unsafe extern "C" fn fatal_entry<H: TrapHandler>(block: &'static StrandBlock<H>) -> Entry {
    // SAFETY: the trap handler has written the trap. The handler writes another trap only if this function traps, and then this function
    // never continues.
    ended::<H>(End::Trap(unsafe { &*block.trapped.fatal.get() }))
}

fn ended<H: TrapHandler>(end: End) -> Entry {
    // SAFETY: the boot code has given the strand its block.
    let block = unsafe { StrandBlock::<H>::current() };
    // SAFETY: `start_entry` has stored a reference that is valid forever, or the pointer is null.
    let handler = unsafe { block.handler.get().as_ref() };
    late::clear_match();
    block.recovering.set(false);
    if let Some(handler) = handler {
        late::deliver_reports(block, handler, 0);
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

/// Ends the strand after a panic. An image calls this function in its `#[panic_handler]`.
pub fn panicked<H: TrapHandler>(info: &PanicInfo<'_>) -> ! {
    let line = info.location().map_or(0, |location| location.line());
    // SAFETY: the target aborts on a panic, so the code below on the stack is never resumed. The boot code has given the
    // strand its block before any Rust code runs.
    unsafe { start_over(panic_entry::<H>, line.into()) }
}

/// Abandons the current code after a panic or after the end of a guest, and calls `function` on the strand's empty stack. All register
/// windows are free for `function`, and their old contents are lost. The strand then enters the guest at the entry that `function` returns.
///
/// # Safety
/// Called in an image, on a strand with a block. No code that is on the stack is resumed.
unsafe fn start_over(function: extern "C" fn(u64) -> Entry, argument: u64) -> ! {
    unsafe extern "C" {
        fn sun4v_abandon(function: extern "C" fn(u64) -> Entry, argument: u64) -> !;
    }
    // SAFETY: the caller promises what `sun4v_abandon` requires.
    unsafe { sun4v_abandon(function, argument) }
}
