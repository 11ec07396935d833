//! How a strand gets from reset to Rust code, and from Rust code to its guest.

/// Clears the current trap level, so that a guest that selects this level finds no hypervisor values.
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_clear_level {
    () => {
        "
            wrpr %g0, 0, %tpc
            wrpr %g0, 0, %tnpc
            wrpr %g0, 0, %tstate
            wrpr %g0, 0, %tt
            .word {CLEAR_HTSTATE}
        "
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_boot {
    ($handler:ty, $strands:expr, $blocks:path) => {
        $crate::sun4v_asm!(
            ["
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
            brnz,pn %g5, 2f                     ! strand 0 starts the others when it has prepared everything
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
    3:      bgeu,pn %xcc, 3b                    ! the image has no block for this strand
             set {BLOCK}, %g1
            mulx %g5, %g1, %g1
            set {blocks}, %g6
            add %g6, %g1, %g6
            mov {SCRATCHPAD}, %g1
            stxa %g6, [%g1] {ASI}
            mov {FRAME}, %g1
            add %g6, {FRAMES}, %g2
            stxa %g2, [%g1] {ASI}
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
    sun4v_enter:                                ! at %o0, with %o1 in %o0 and the trap table at %o2
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
            wrpr %g0, 2, %tl                    ! levels that a guest can read, and go back from
            ", $crate::sun4v_clear_level!(), "
            wrpr %g0, 1, %tl
            ", $crate::sun4v_clear_level!(), "
            mov %o1, %g3
            mov %o0, %g1                        ! clear every register that the guest sees
            mov {NWINDOWS} - 1, %g2
    3:      wrpr %g2, 0, %cwp                   ! ends in window 0
            .irp register, l0, l1, l2, l3, l4, l5, l6, l7, i0, i1, i2, i3, i4, i5, i6, i7
            clr %\\register
            .endr
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
    4:      .irp n, 1, 2, 3, 4, 5, 6
            clr %g\\n
            .endr
            rdpr %gl, %o2
            sub %o2, 1, %o2
            brlz,pn %o2, 5f
             clr %g7
            ba,pt %xcc, 4b
             wrpr %o2, 0, %gl
    5:      clr %o2
            wrpr %g0, 0, %tl
            wrpr %g0, {PSTATE}, %pstate
            jmp %o1
             .word {LEAVE_HYPERVISOR}

            .section .text.windows, \"ax\"
    sun4v_spill:                                ! of a window of the hypervisor: in with_all_windows, or while no guest executes
    11:     rdpr %tstate, %g7                   ! compiled code may need the others
            srlx %g7, {GL_SHIFT}, %g7
            and %g7, 7, %g7
            cmp %g7, {MAXGL}
            bne,pn %xcc, sun4v_trapped
    12:      nop
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            stx %l\\n, [%sp + {BIAS} + 8 * \\n]
            .endr
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            stx %i\\n, [%sp + {BIAS} + 64 + 8 * \\n]
            .endr
            saved
            retry
    sun4v_fill:
    13:     rdpr %tstate, %g7                   ! compiled code may need the others
            srlx %g7, {GL_SHIFT}, %g7
            and %g7, 7, %g7
            cmp %g7, {MAXGL}
            bne,pn %xcc, sun4v_trapped
    14:      nop
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            ldx [%sp + {BIAS} + 8 * \\n], %l\\n
            .endr
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            ldx [%sp + {BIAS} + 64 + 8 * \\n], %i\\n
            .endr
            restored
            retry
            .pushsection .sun4v.restarts, \"a\"
            .xword 11b, 12b, 11b                ! %g7 is used: see sun4v_late
            .xword 13b, 14b, 13b
            .popsection
            "],
            [FRAME FRAMES MAXGL PSTATE NWINDOWS BIAS ASI SCRATCHPAD STACK GL_SHIFT ENTER_HYPERVISOR LEAVE_HYPERVISOR SET_HTBA
             CLEAR_HTSTATE ASI_GUEST ASI_OWN_NUMBER OWN_NUMBER NUMBERS BLOCK OTHER_STACK],
            { STRANDS = const $strands,
              blocks = sym $blocks,
              start = sym $crate::sparc64::start_entry::<$handler> }
        );
    };
}
