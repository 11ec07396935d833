//! From reset to Rust, and from Rust to the guest.

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_boot {
    ($handler:ty, $strands:expr, $blocks:path) => {
        ::core::arch::global_asm!(
            "
            .globl sun4v_other_stacks           ! in bytes, for the linker script
            .set sun4v_other_stacks, ({STRANDS} - 1) * {OTHER_STACK}

            .section .text.entry, \"ax\"
            .globl _start
    _start:
            wrpr %g0, 0, %tl
            wrpr %g0, {MAXGL}, %gl
            wrpr %g0, {PSTATE}, %pstate
            .word {ENTER_HYPERVISOR}
            wrpr %g0, 15, %pil
            wr %g0, 0, %fprs
            set sun4v_trap_table, %g1
            .word {SET_HTBA}
            wrpr %g0, 0, %cwp
            wrpr %g0, {NWINDOWS} - 2, %cansave
            wrpr %g0, 0, %canrestore
            wrpr %g0, 0, %otherwin
            wrpr %g0, {NWINDOWS} - 1, %cleanwin
            wrpr %g0, 0, %wstate
            mov {OWN_NUMBER}, %g1
            ldxa [%g1] {ASI_OWN_NUMBER}, %g5
            and %g5, {NUMBERS}, %g5
            brnz,pn %g5, 2f                     ! strand 0 starts the others when all is prepared
             set __bss_start, %g1
            set __bss_end, %g2
    1:      cmp %g1, %g2
            bgeu,pn %xcc, 2f
             stx %g0, [%g1]
            .irp n, 1, 2, 3, 4, 5, 6, 7
            stx %g0, [%g1 + 8 * \\n]
            .endr
            ba,pt %xcc, 1b
             add %g1, 64, %g1
    2:      cmp %g5, {STRANDS}
    3:      bgeu,pn %xcc, 3b                    ! the image has no room for this strand
             set {BLOCK}, %g1
            mulx %g5, %g1, %g1
            set {blocks}, %g6
            add %g6, %g1, %g6
            mov {SCRATCHPAD}, %g1
            stxa %g6, [%g1] {ASI}
            set {OTHER_STACK}, %g2
            mulx %g5, %g2, %g2
            set __stack_top, %g1
            add %g1, %g2, %g1
            sub %g1, {BIAS} + 192, %sp
            stx %sp, [%g6 + {STACK}]
            clr %fp
            mov %g6, %o0
            call {start}                        ! returns where the guest begins
             mov %g5, %o1

            .globl sun4v_enter
    sun4v_enter:                                ! begins at %o0, with %o1 in %o0 and the trap table at %o2
            wrpr %o2, 0, %tba
            wrpr %g0, 15, %pil
            wr %g0, 0, %asr22                   ! %softint
            mov 1, %g1
            sllx %g1, 63, %g1
            wr %g1, 0, %asr23                   ! %tick_cmpr
            wr %g1, 0, %asr25                   ! %stick_cmpr
            wr %g0, 0, %fprs
            wr %g0, 0, %asi
            .irp n, 0x00, 0x08, 0x10, 0x18, 0x30, 0x38
            mov \\n, %g1
            stxa %g0, [%g1] {ASI_GUEST}         ! the guest's scratchpad, but for what some machines share
            .endr
            wrpr %g0, 2, %tl                    ! levels that a guest can go back from
            .word {CLEAR_HTSTATE}
            wrpr %g0, 1, %tl
            .word {CLEAR_HTSTATE}
            mov %o1, %g3
            mov %o0, %g1                        ! nothing of ours in any register that the guest sees
            mov {NWINDOWS} - 1, %g2
    3:      wrpr %g2, 0, %cwp                   ! ends in window 0
            clr %l0
            clr %l1
            clr %l2
            clr %l3
            clr %l4
            clr %l5
            clr %l6
            clr %l7
            clr %i0
            clr %i1
            clr %i2
            clr %i3
            clr %i4
            clr %i5
            clr %i6
            clr %i7
            brnz,pt %g2, 3b
             sub %g2, 1, %g2
            wrpr %g0, {NWINDOWS} - 2, %cansave
            wrpr %g0, 0, %canrestore
            wrpr %g0, 0, %otherwin
            wrpr %g0, {NWINDOWS} - 1, %cleanwin
            wrpr %g0, 0, %wstate
            wr %g0, 0, %y
            wr %g0, 0, %ccr
            mov %g3, %o0
            mov %g1, %o1
            wrpr %g0, {MAXGL} - 1, %gl
    4:      clr %g1
            clr %g2
            clr %g3
            clr %g4
            clr %g5
            clr %g6
            rdpr %gl, %g7
            sub %g7, 1, %g7
            brlz,pn %g7, 5f
             nop
            ba,pt %xcc, 4b
             wrpr %g7, 0, %gl
    5:      clr %g7
            wrpr %g0, 0, %tl
            wrpr %g0, {PSTATE}, %pstate
            jmp %o1
             .word {LEAVE_HYPERVISOR}

            .section .text.windows, \"ax\"
    sun4v_spill:                                ! of the hypervisor's, before the guest runs, or when all is over
            rdpr %tstate, %g7                   ! compiled code may need the others
            srlx %g7, {GL_SHIFT}, %g7
            and %g7, 7, %g7
            cmp %g7, {MAXGL}
            bne,pn %xcc, sun4v_trapped
             nop
            stx %l0, [%sp + {BIAS} + 0]
            stx %l1, [%sp + {BIAS} + 8]
            stx %l2, [%sp + {BIAS} + 16]
            stx %l3, [%sp + {BIAS} + 24]
            stx %l4, [%sp + {BIAS} + 32]
            stx %l5, [%sp + {BIAS} + 40]
            stx %l6, [%sp + {BIAS} + 48]
            stx %l7, [%sp + {BIAS} + 56]
            stx %i0, [%sp + {BIAS} + 64]
            stx %i1, [%sp + {BIAS} + 72]
            stx %i2, [%sp + {BIAS} + 80]
            stx %i3, [%sp + {BIAS} + 88]
            stx %i4, [%sp + {BIAS} + 96]
            stx %i5, [%sp + {BIAS} + 104]
            stx %i6, [%sp + {BIAS} + 112]
            stx %i7, [%sp + {BIAS} + 120]
            saved
            retry
    sun4v_fill:
            rdpr %tstate, %g7                   ! compiled code may need the others
            srlx %g7, {GL_SHIFT}, %g7
            and %g7, 7, %g7
            cmp %g7, {MAXGL}
            bne,pn %xcc, sun4v_trapped
             nop
            ldx [%sp + {BIAS} + 0], %l0
            ldx [%sp + {BIAS} + 8], %l1
            ldx [%sp + {BIAS} + 16], %l2
            ldx [%sp + {BIAS} + 24], %l3
            ldx [%sp + {BIAS} + 32], %l4
            ldx [%sp + {BIAS} + 40], %l5
            ldx [%sp + {BIAS} + 48], %l6
            ldx [%sp + {BIAS} + 56], %l7
            ldx [%sp + {BIAS} + 64], %i0
            ldx [%sp + {BIAS} + 72], %i1
            ldx [%sp + {BIAS} + 80], %i2
            ldx [%sp + {BIAS} + 88], %i3
            ldx [%sp + {BIAS} + 96], %i4
            ldx [%sp + {BIAS} + 104], %i5
            ldx [%sp + {BIAS} + 112], %i6
            ldx [%sp + {BIAS} + 120], %i7
            restored
            retry
            ",
            MAXGL = const $crate::sparc64::MAXGL,
            PSTATE = const $crate::sparc64::PSTATE,
            NWINDOWS = const $crate::sparc64::NWINDOWS,
            BIAS = const $crate::sparc64::STACK_BIAS,
            ASI = const $crate::sparc64::SCRATCHPAD.0,
            SCRATCHPAD = const $crate::sparc64::SCRATCHPAD.1,
            STACK = const $crate::sparc64::layout::STACK,
            GL_SHIFT = const $crate::sparc64::layout::GL_SHIFT,
            ENTER_HYPERVISOR = const $crate::sparc64::layout::ENTER_HYPERVISOR,
            LEAVE_HYPERVISOR = const $crate::sparc64::layout::LEAVE_HYPERVISOR,
            SET_HTBA = const $crate::sparc64::layout::SET_HTBA,
            CLEAR_HTSTATE = const $crate::sparc64::layout::CLEAR_HTSTATE,
            ASI_GUEST = const $crate::sparc64::layout::GUEST_SCRATCHPAD,
            ASI_OWN_NUMBER = const $crate::sparc64::layout::OWN_NUMBER.0,
            OWN_NUMBER = const $crate::sparc64::layout::OWN_NUMBER.1,
            NUMBERS = const $crate::sparc64::layout::OWN_NUMBER.2,
            STRANDS = const $strands,
            BLOCK = const $crate::sparc64::layout::BLOCK,
            OTHER_STACK = const $crate::sparc64::layout::OTHER_STACK,
            blocks = sym $blocks,
            start = sym $crate::sparc64::start_entry::<$handler>,
        );
    };
}
