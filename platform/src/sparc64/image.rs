//! The macro with which an image connects its trap handler to the trap table.

/// Puts the trap table, the veneers and the reset entry into an image. The type is the image's
/// [`TrapHandler`](crate::sparc64::TrapHandler). An image calls this macro once.
///
/// Each hypercall takes the slow path. [`software_trap`](crate::sparc64::TrapHandler::software_trap) serves the software traps 0x81 to 0xfe
/// that the image claims. The others return EBADTRAP. An image with the performance counter service calls `perfctr_service::sun4v_image!`
/// instead, which adds that service's fast path.
///
/// ```ignore
/// platform::sun4v_image!(Handler);
/// platform::sun4v_image!(Handler, strands: 256, claims: [0x83, 0x84]);
/// ```
///
/// `strands` is the number of strands for which the image has stacks and blocks, from 1 to 256; the default is 1. Strand 0 starts at reset,
/// and [starts](crate::sparc64::interrupt::start_strand) the others when they can run. The others start in the same way as strand 0.
///
/// # What the image needs
/// - The attributes `#![no_std]`, `#![no_main]` and `#![feature(asm_experimental_arch)]`, and a target that aborts on a panic.
/// - The linker script `sun4v-image.ld`, which this crate ships and the linker finds by that name. The image defines two symbols for the
///   script: `sun4v_image_start`, the address at which the image is loaded and to which reset jumps, and `sun4v_stack_size`, in bytes. The
///   whole image lies in the first 2 GB. The image's `build.rs`:
///
/// ```no_run
/// fn main() {
///     for argument in [
///         "--defsym=sun4v_image_start=0x100000",
///         "--defsym=sun4v_stack_size=0x400000",
///         // Shipped with the crate `platform`.
///         "--script=sun4v-image.ld",
///         "--gc-sections",
///     ] {
///         println!("cargo:rustc-link-arg={argument}");
///     }
/// }
/// ```
///
/// # The guest's initial state
/// The guest starts in privileged mode at TL 0 and GL 0 with the MMU off, PIL 15, in window 0 with six windows to save. Every register is
/// zero except %o0, %o1 and %tba: see [`Entry`](crate::sparc64::Entry). The guest's timers are off, and %softint is 0.
///
/// # A service's fast path
/// The forms with `entry` are for the macro of a service with a fast path. `entry` is the rest of the trap table's entry for trap 0x80: at
/// most four instructions, including a jump to one of the service's veneers. `operands` are the operands of `global_asm!` that `entry`
/// needs.
///
/// A veneer is assembly in a section whose name begins with `.text.traps.`. It begins at the highest GL, with the address of the strand's
/// block in %g6, and with all %o registers as the guest passed them. The block begins with
/// [`FastPath::words`](crate::sparc64::FastPath::words). The veneer has neither stack nor register window, because both are the guest's. If
/// it serves the call, it ends with `done`, with all registers except the results as they were. Otherwise it keeps the guest's %o
/// registers, and jumps to `sun4v_general` with the trap number in %g5, or to `sun4v_fast` if the service does not have the function.
///
/// For each of its instructions that may fault, a veneer adds two words to the section `.sun4v.faults`: the address of the instruction, and
/// the address at which the strand continues. All registers except %g7 are then as they were. The code at the second address may jump to
/// `sun4v_general` with `layout::FAULTED` in %g5. In that case, [`FastPath::faulted`](crate::sparc64::FastPath::faulted) is called before
/// the call is served.
///
/// A veneer does not use %g7 at its global level, because the store_error handler owns that register. For each sequence of instructions in
/// which %o0 and %o1 are still the guest's, a veneer adds two addresses to the section `.sun4v.unanswered`: the first address in the
/// sequence and the first address after it. If a report arrives in the sequence,
/// [`FastPath::refused_late`](crate::sparc64::FastPath::refused_late) is called.
#[macro_export]
macro_rules! sun4v_image {
    ($handler:ty $(, strands: $strands:expr)? $(, claims: [$($claimed:literal),* $(,)?])? $(,)?) => {
        $crate::sun4v_image! {
            $handler,
            $(strands: $strands,)?
            claims: [$($($claimed),*)?],
            entry: { "ba,a,pt %xcc, sun4v_fast" },
            operands: {},
        }
    };
    (
        $handler:ty,
        claims: [$($claimed:literal),* $(,)?],
        entry: { $($entry:literal),* $(,)? },
        operands: { $($operands:tt)* } $(,)?
    ) => {
        $crate::sun4v_image! {
            $handler,
            strands: 1,
            claims: [$($claimed),*],
            entry: { $($entry),* },
            operands: { $($operands)* },
        }
    };
    (
        $handler:ty,
        strands: $strands:expr,
        claims: [$($claimed:literal),* $(,)?],
        entry: { $($entry:literal),* $(,)? },
        operands: { $($operands:tt)* } $(,)?
    ) => {
        static SUN4V_BLOCKS: [$crate::sparc64::StrandBlock<$handler>; $strands] =
            [const { $crate::sparc64::StrandBlock::zeroed() }; $strands];
        $crate::sun4v_boot!($handler, $strands, SUN4V_BLOCKS);
        $crate::sun4v_table!([$($claimed),*], { $($entry),* }, { $($operands)* });
        $crate::sun4v_general!($handler);
        $crate::sun4v_late!();
        $crate::sun4v_fault!($handler);
        $crate::sun4v_windows!();
    };
}
