//! The trap table: 512 entries of eight instructions.
//!
//! In %g6 the veneers find the strand's block, which compiled code leaves there. In %g5 the slow path finds the number of the
//! trap: see [`layout`](super::layout).

/// The entries of both hypercall traps, of the software traps between them, and of all other traps.
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_table {
    ([$($claimed:literal),*], { $($entry:literal),* }, { $($operands:tt)* }) => {
        $(const _: () = assert!(
            $claimed > 0x80 && $claimed < 0xff,
            "an image can claim software traps 0x81 to 0xfe"
        );)*
        ::core::arch::global_asm!(
            "
            .section .text.traps, \"ax\"
            .align 16384
            .globl sun4v_trap_table
    sun4v_trap_table:
            .rept 0x3e
            ba,a,pt %xcc, sun4v_trapped
            .align 32
            .endr
            wrpr %g0, {PSTATE}, %pstate         ! 0x3e instruction_real_translation_miss
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g1
            ldxa [%g1] {ASI}, %g6
            mov {TAG_ACCESS}, %g1
            ldxa [%g1] {TAG_ACCESS_FETCH}, %g2
            ba,a,pt %xcc, sun4v_miss_of_fetch
            .align 32
            wrpr %g0, {PSTATE}, %pstate         ! 0x3f data_real_translation_miss
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g1
            ldxa [%g1] {ASI}, %g6
            mov {TAG_ACCESS}, %g1
            ldxa [%g1] {TAG_ACCESS_DATA}, %g2
            ba,a,pt %xcc, sun4v_miss_of_data
            .align 32
            .rept 0x60 - 0x40
            ba,a,pt %xcc, sun4v_trapped
            .align 32
            .endr
            ba,a,pt %xcc, sun4v_interrupted     ! 0x60 interrupt_vector
            .align 32
            .rept 0x80 - 0x61
            ba,a,pt %xcc, sun4v_trapped
            .align 32
            .endr
            .rept 8                             ! 0x80 to 0x9f spill_n_normal
            ba,a,pt %xcc, sun4v_spill
            .align 128
            .endr
            .rept 8                             ! 0xa0 to 0xbf spill_n_other
            ba,a,pt %xcc, sun4v_window
            .align 128
            .endr
            .rept 8                             ! 0xc0 to 0xdf fill_n_normal
            ba,a,pt %xcc, sun4v_fill
            .align 128
            .endr
            .rept 0x180 - 0xe0
            ba,a,pt %xcc, sun4v_trapped
            .align 32
            .endr

            ! 0x180 FAST_TRAP. QEMU leaves IE, AM and CLE as the guest had them
            wrpr %g0, {PSTATE}, %pstate         ! state
            wrpr %g0, {MAXGL}, %gl              ! state
            mov {SCRATCHPAD}, %g1               ! block
            ldxa [%g1] {ASI}, %g6               ! block
            ",
            $($entry,)*
            "
            .align 32

            .set .Lsun4v_number, 0x81             ! 0x181 to 0x1fe
            .rept 0xff - 0x81
            ",
            $(concat!(
                ".if .Lsun4v_number == ", $claimed, "
            wrpr %g0, {PSTATE}, %pstate
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g1
            ldxa [%g1] {ASI}, %g6
            ba,pt %xcc, sun4v_general
             mov ", $claimed, ", %g5
            .else"
            ),)*
            "
            mov {EBADTRAP}, %o0
            done
            ",
            $(concat!(".endif ! ", $claimed),)*
            "
            .align 32
            .set .Lsun4v_number, .Lsun4v_number + 1
            .endr

            ! 0x1ff CORE_TRAP
            wrpr %g0, {PSTATE}, %pstate         ! state
            wrpr %g0, {MAXGL}, %gl              ! state
            mov {SCRATCHPAD}, %g1               ! block
            ldxa [%g1] {ASI}, %g6               ! block
            cmp %o5, {LIMIT}                    ! function
            ba,pt %xcc, sun4v_core              ! function
             ldx [%g6 + {SERVED_CORE}], %g1     ! function
            .align 32
            ",
            PSTATE = const $crate::sparc64::PSTATE,
            MAXGL = const $crate::sparc64::MAXGL,
            ASI = const $crate::sparc64::SCRATCHPAD.0,
            SCRATCHPAD = const $crate::sparc64::SCRATCHPAD.1,
            TAG_ACCESS_FETCH = const $crate::sparc64::layout::TAG_ACCESS.0,
            TAG_ACCESS_DATA = const $crate::sparc64::layout::TAG_ACCESS.1,
            TAG_ACCESS = const $crate::sparc64::layout::TAG_ACCESS.2,
            LIMIT = const $crate::sparc64::layout::LIMIT,
            SERVED_CORE = const $crate::sparc64::layout::SERVED_CORE,
            EBADTRAP = const $crate::sparc64::layout::EBADTRAP,
            $($operands)*
        );
    };
}

/// Reads %pcr into %o1.
#[cfg(not(feature = "pcr-in-memory"))]
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_read_pcr {
    () => {
        "rd %asr16, %o1 ! {PCR}"
    };
}

/// Writes %g3 to %pcr.
#[cfg(not(feature = "pcr-in-memory"))]
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_write_pcr {
    () => {
        "wr %g3, 0, %asr16 ! {PCR}"
    };
}

/// Reads what stands for %pcr into %o1.
#[cfg(feature = "pcr-in-memory")]
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_read_pcr {
    () => {
        "ldx [%g6 + {PCR}], %o1"
    };
}

/// Writes %g3 to what stands for %pcr.
#[cfg(feature = "pcr-in-memory")]
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_write_pcr {
    () => {
        "stx %g3, [%g6 + {PCR}]"
    };
}
