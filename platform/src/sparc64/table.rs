//! The trap table: 512 entries of eight instructions.
//!
//! The veneers find the address of the strand's block in %g6, which compiled code does not change. The slow path finds the trap number in
//! %g5: see [`layout`](super::layout).

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_table {
    ([$($claimed:literal),*], { $($entry:literal),* }, { $($operands:tt)* }) => {
        $(const _: () = assert!(
            $claimed > 0x80 && $claimed < 0xff,
            "an image can claim software traps 0x81 to 0xfe"
        );)*
        $crate::sun4v_asm!(
            [
            "
            .section .text.traps.table, \"ax\"
            .align 16384
            .globl sun4v_trap_table
    sun4v_trap_table:
            .rept 7
            ba,a,pt %xcc, sun4v_trapped
            .align 32
            .endr
            ba,a,pt %xcc, sun4v_late            ! 0x07 store_error
            .align 32
            .rept 0x3e - 8
            ba,a,pt %xcc, sun4v_trapped
            .align 32
            .endr
            .macro sun4v_miss tag_access, handler
            wrpr %g0, {PSTATE}, %pstate
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g1
            ldxa [%g1] {ASI}, %g6
            mov {TAG_ACCESS}, %g1
            ldxa [%g1] \\tag_access, %g2
            ba,a,pt %xcc, \\handler
            .align 32
            .endm
            sun4v_miss {TAG_ACCESS_FETCH}, sun4v_miss_of_fetch ! 0x3e instruction_real_translation_miss
            sun4v_miss {TAG_ACCESS_DATA}, sun4v_miss_of_data ! 0x3f data_real_translation_miss
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
            ],
            [PSTATE MAXGL ASI SCRATCHPAD TAG_ACCESS_FETCH TAG_ACCESS_DATA TAG_ACCESS LIMIT SERVED_CORE EBADTRAP],
            { $($operands)* }
        );
    };
}

/// The instruction that reads %pcr into %o1, or writes %g3 to %pcr.
#[cfg(not(feature = "pcr-in-memory"))]
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_pcr {
    (read) => {
        "rd %asr16, %o1 ! {PCR}"
    };
    (write) => {
        "wr %g3, 0, %asr16 ! {PCR}"
    };
}

/// The instruction that reads into %o1 the word that replaces %pcr, or writes %g3 to this word.
#[cfg(feature = "pcr-in-memory")]
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_pcr {
    (read) => {
        "ldx [%g6 + {PCR}], %o1"
    };
    (write) => {
        "stx %g3, [%g6 + {PCR}]"
    };
}
