//! The macro that an image calls.

/// Puts the trap table, the veneers and the entry from reset into an image; once.
///
/// ```ignore
/// platform::sun4v_image! {
///     main: main,        // extern "C" fn() -> u64: sets up, returns the address at which the guest begins
///     block: BLOCK,      // static BLOCK: StrandBlock, which `main` prepares
///     get: get,          // leaf functions, see `platform::sparc64::leaf`
///     set: set,
///     get_hub: get_hub,
///     set_hub: set_hub,
///     get_pcr: get_pcr,
///     set_pcr: set_pcr,
///     trap: trap,        // extern "C" fn(&StrandBlock, u64): the general path; the number is a `Call`'s
///     fatal: fatal,      // extern "C" fn(tt: u64, tpc: u64, tl: u64) -> !: a trap that nobody serves
/// }
/// ```
///
/// The crate needs `#![feature(asm_experimental_arch)]`. Its linker script puts `.text.entry` where reset jumps to, and
/// defines `__bss_start` and `__bss_end` (multiples of 8), `__stack_top` (a multiple of 16), `__leaf_start` and
/// `__leaf_end` around `.text.leaf`, and `__image_end` behind all that is executed. All of it lies in the first 2 GB.
///
/// The guest begins in privileged mode at TL 0 and GL 0 with the MMU off, PIL 15, in window 0 with six windows to save,
/// and every register zero but %o0, which holds the address at which it begins. It has no trap table yet: %tba is what it
/// was at reset.
#[macro_export]
macro_rules! sun4v_image {
    (
        main: $main:path,
        block: $block:path,
        get: $get:path,
        set: $set:path,
        get_hub: $get_hub:path,
        set_hub: $set_hub:path,
        get_pcr: $get_pcr:path,
        set_pcr: $set_pcr:path,
        trap: $trap:path,
        fatal: $fatal:path $(,)?
    ) => {
        $crate::sun4v_boot!($main, $block);
        $crate::sun4v_table!($get, $set, $get_hub, $set_hub, $get_pcr, $set_pcr);
        $crate::sun4v_general!($trap);
        $crate::sun4v_fault!($fatal);
    };
}
