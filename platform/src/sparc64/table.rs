//! The trap table: 512 entries of eight instructions, and the leaf path.
//!
//! Veneers for everyone: %g6 is the strand's block, %g7 on the leaf path the guest's %o7, and compiled code uses neither.
//! In %g5 the general path is told which [`Call`](super::Call) it is.

/// The entries of both hypercall traps, and the leaf path behind the first.
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_table {
    ($get:path, $set:path, $get_hub:path, $set_hub:path, $get_pcr:path, $set_pcr:path) => {
        ::core::arch::global_asm!(
            "
            .section .text.traps, \"ax\"
            .align 16384
            .globl sun4v_trap_table
    sun4v_trap_table:
            .rept 0x30
            ba,a,pt %xcc, sun4v_unexpected
            .align 32
            .endr
            .rept 5                             ! 0x30 data_access_exception to 0x34 mem_address_not_aligned
            ba,a,pt %xcc, sun4v_fault
            .align 32
            .endr
            .rept 0x3f - 0x35
            ba,a,pt %xcc, sun4v_unexpected
            .align 32
            .endr
            ba,a,pt %xcc, sun4v_fault           ! 0x3f unsupported_page_size, QEMU's for no device
            .align 32
            .rept 0x80 - 0x40
            ba,a,pt %xcc, sun4v_unexpected
            .align 32
            .endr
            .rept 8                             ! 0x80 to 0x9f spill_n_normal
            ba,a,pt %xcc, sun4v_spill
            .align 128
            .endr
            .rept 0xc0 - 0xa0
            ba,a,pt %xcc, sun4v_unexpected
            .align 32
            .endr
            .rept 8                             ! 0xc0 to 0xdf fill_n_normal
            ba,a,pt %xcc, sun4v_fill
            .align 128
            .endr
            .rept 0x180 - 0xe0
            ba,a,pt %xcc, sun4v_unexpected
            .align 32
            .endr

            wrpr %g0, {PSTATE}, %pstate         ! 0x180 FAST_TRAP. QEMU leaves IE, AM and CLE as the guest had them
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g1
            ldxa [%g1] {ASI}, %g6
            xor %o5, {GET}, %g2
            brz,pt %g2, sun4v_get
             mov %o7, %g7
            ba,a,pt %xcc, sun4v_not_get

            .rept 0x1ff - 0x181
            ba,a,pt %xcc, sun4v_unexpected
            .align 32
            .endr

            wrpr %g0, {PSTATE}, %pstate         ! 0x1ff CORE_TRAP
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g1
            ldxa [%g1] {ASI}, %g6
            ba,pt %xcc, sun4v_general
             mov {CORE}, %g5
            .align 32

    sun4v_get:
            brz,pn %o0, sun4v_get_pcr
             stx %o4, [%g6 + {O4}]
            cmp %o0, {FIRST_OF_HUB}
            bgeu,pn %xcc, sun4v_get_hub
             stx %o0, [%g6 + {O0}]
            stx %o1, [%g6 + {O1}]
            call {get}
             ldx [%g6 + {SEAT}], %o4
            brnz,pn %o0, sun4v_get_refused
             mov %g7, %o7
            ldx [%g6 + {O4}], %o4
            mov {GET}, %o5
            done
    sun4v_get_hub:
            stx %o1, [%g6 + {O1}]
            call {get_hub}
             ldx [%g6 + {SEAT}], %o4
            brnz,pn %o0, sun4v_get_refused
             mov %g7, %o7
            ldx [%g6 + {O4}], %o4
            mov {GET}, %o5
            done
    sun4v_get_refused:
            ldx [%g6 + {O1}], %o1
            ldx [%g6 + {O4}], %o4
            cmp %o0, {REFUSED}
            bgeu,pt %xcc, 1f
             mov {GET}, %o5
            done
    1:      mov %o0, %g5
            ba,pt %xcc, sun4v_general
             ldx [%g6 + {O0}], %o0

    sun4v_not_get:
            xor %g2, {GET_TO_SET}, %g2
            brnz,pn %g2, sun4v_other
             stx %o4, [%g6 + {O4}]
            brz,pn %o0, sun4v_set_pcr
             stx %o1, [%g6 + {O1}]
            cmp %o0, {FIRST_OF_HUB}
            bgeu,pn %xcc, sun4v_set_hub
             stx %o0, [%g6 + {O0}]
            call {set}
             ldx [%g6 + {SEAT}], %o4
            brnz,pn %o0, sun4v_set_refused
             mov %g7, %o7
            ldx [%g6 + {O4}], %o4
            mov {SET}, %o5
            done
    sun4v_set_hub:
            stx %o2, [%g6 + {O2}]
            stx %o3, [%g6 + {O3}]
            call {set_hub}
             ldx [%g6 + {SEAT}], %o4
            ldx [%g6 + {O2}], %o2
            ldx [%g6 + {O3}], %o3
            brnz,pn %o0, sun4v_set_refused
             mov %g7, %o7
            ldx [%g6 + {O4}], %o4
            mov {SET}, %o5
            done
    sun4v_set_refused:
            ldx [%g6 + {O1}], %o1
            ldx [%g6 + {O4}], %o4
            cmp %o0, {REFUSED}
            bgeu,pt %xcc, 1f
             mov {SET}, %o5
            done
    1:      mov %o0, %g5
            ba,pt %xcc, sun4v_general
             ldx [%g6 + {O0}], %o0

    sun4v_other:
            ba,pt %xcc, sun4v_general
             clr %g5

    sun4v_get_pcr:
            call {get_pcr}
             ldx [%g6 + {SEAT}], %o4
            brnz,pn %o0, sun4v_get_pcr_refused
             mov %g7, %o7
            ",
            $crate::sun4v_read_pcr!(),
            "
            ldx [%g6 + {O4}], %o4
            mov {GET}, %o5
            done
    sun4v_get_pcr_refused:
            ldx [%g6 + {O4}], %o4
            cmp %o0, {REFUSED}
            bgeu,pt %xcc, 1f
             mov {GET}, %o5
            done
    1:      mov %o0, %g5
            ba,pt %xcc, sun4v_general
             clr %o0

    sun4v_set_pcr:
            call {set_pcr}
             ldx [%g6 + {SEAT}], %o4
            brnz,pn %o0, sun4v_set_pcr_refused
             mov %g7, %o7
            ",
            $crate::sun4v_write_pcr!(),
            "
            ldx [%g6 + {O1}], %o1
            ldx [%g6 + {O4}], %o4
            mov {SET}, %o5
            done
    sun4v_set_pcr_refused:
            ba,pt %xcc, sun4v_set_refused
             stx %g0, [%g6 + {O0}]
            ",
            PSTATE = const $crate::sparc64::PSTATE,
            MAXGL = const $crate::sparc64::MAXGL,
            ASI = const $crate::sparc64::SCRATCHPAD.0,
            SCRATCHPAD = const $crate::sparc64::SCRATCHPAD.1,
            GET = const $crate::sparc64::layout::GET,
            SET = const $crate::sparc64::layout::SET,
            GET_TO_SET = const $crate::sparc64::layout::GET ^ $crate::sparc64::layout::SET,
            FIRST_OF_HUB = const $crate::sparc64::layout::FIRST_OF_HUB,
            CORE = const $crate::sparc64::layout::CORE,
            REFUSED = const $crate::sparc64::leaf::REFUSED,
            SEAT = const $crate::sparc64::layout::SEAT,
            PCR = const $crate::sparc64::layout::PCR,
            O0 = const $crate::sparc64::layout::O0,
            O1 = const $crate::sparc64::layout::O0 + 8,
            O2 = const $crate::sparc64::layout::O0 + 16,
            O3 = const $crate::sparc64::layout::O0 + 24,
            O4 = const $crate::sparc64::layout::O0 + 32,
            get = sym $get,
            set = sym $set,
            get_hub = sym $get_hub,
            set_hub = sym $set_hub,
            get_pcr = sym $get_pcr,
            set_pcr = sym $set_pcr,
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

/// Writes %o1 to %pcr.
#[cfg(not(feature = "pcr-in-memory"))]
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_write_pcr {
    () => {
        "wr %o1, 0, %asr16"
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

/// Writes %o1 to what stands for %pcr.
#[cfg(feature = "pcr-in-memory")]
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_write_pcr {
    () => {
        "stx %o1, [%g6 + {PCR}]"
    };
}
