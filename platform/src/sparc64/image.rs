//! The macro that an image calls.

/// Puts the trap table, the veneers and the entry from reset into an image. The type is its
/// [`TrapHandler`](crate::sparc64::TrapHandler). An image calls this once.
///
/// Each hypercall takes the slow path. Software traps 0x81 to 0xfe answer EBADTRAP, but for those that the image claims: they come
/// to [`software_trap`](crate::sparc64::TrapHandler::software_trap). An image with the performance counter service calls
/// `perfctr_service::sun4v_image!` instead, which adds the fast path of that service.
///
/// ```ignore
/// platform::sun4v_image!(Handler);
/// platform::sun4v_image!(Handler, claims: [0x83, 0x84]);
/// ```
///
/// # What the image needs
/// - The attributes `#![no_std]`, `#![no_main]` and `#![feature(asm_experimental_arch)]`, and a target that aborts on a panic.
/// - The linker script `sun4v-image.ld`, which this crate ships and the linker finds by that name. It asks for two symbols:
///   `sun4v_image_start`, where the image is loaded and reset jumps to, and `sun4v_stack_size` in bytes. All of the image
///   lies in the first 2 GB. This is the image's `build.rs`:
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
/// # What the guest finds
/// The guest begins in privileged mode at TL 0 and GL 0 with the MMU off, PIL 15, in window 0 with six windows to save.
/// Every register is zero but %o0, which holds the address at which the guest begins. It has no trap table yet: %tba is what it
/// was at reset.
///
/// # A service's fast path
/// The third form is for the macro of a service that has a fast path. `entry` is the rest of the trap table's entry for
/// trap 0x80: at most four instructions, with a jump to a veneer of the service. `operands` are those of `global_asm!` for
/// `entry`. `waits` lists the labels of those instructions of the veneers that come after a store of a leaf function, up to the
/// `membar #Sync` that waits for it.
///
/// A veneer begins at the highest GL, with the strand's block in %g6 and all %o registers as the guest passed them. It ends
/// in one of three ways: by `done`, with all registers but the results as they were; or, with the guest's %o registers as they were,
/// by a jump to `sun4v_general` with the number of the trap in %g5, or to `sun4v_fast` if the function is none of the service.
///
/// A veneer may call leaf functions: Rust functions in the section `.text.leaf` that use neither stack nor register
/// window, because both are the guest's. Such a function calls nothing, has no inline assembly, no bounds check and no
/// panic, and needs few registers. Rust cannot express this, so check the linked image: the section has no `save` and no `call`.
/// Compiled code does not use %g6 and %g7. If a device access of a leaf function faults, the veneer finds `layout::FAULTED` in
/// %o0, as if the function had returned it, and passes it on in %g5. If an instruction of `waits` traps because the store faults
/// only then, the last leaf function returns once more, with `layout::FAULTED`: %o7 is still that of its call.
#[macro_export]
macro_rules! sun4v_image {
    ($handler:ty $(, claims: [$($claimed:literal),* $(,)?])? $(,)?) => {
        $crate::sun4v_image! {
            $handler,
            claims: [$($($claimed),*)?],
            entry: { "ba,a,pt %xcc, sun4v_fast" },
            operands: {},
            waits: [],
        }
    };
    (
        $handler:ty,
        claims: [$($claimed:literal),* $(,)?],
        entry: { $($entry:literal),* $(,)? },
        operands: { $($operands:tt)* },
        waits: [$($wait:literal),* $(,)?] $(,)?
    ) => {
        static SUN4V_BLOCK: $crate::sparc64::StrandBlock<$handler> =
            $crate::sparc64::StrandBlock::new();
        $crate::sun4v_boot!($handler, SUN4V_BLOCK);
        $crate::sun4v_table!([$($claimed),*], { $($entry),* }, { $($operands)* });
        $crate::sun4v_general!($handler);
        $crate::sun4v_fault!($handler, [$($wait),*]);
    };
}
