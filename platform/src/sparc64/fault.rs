//! Traps within the hypervisor, and traps of a guest that are not hypercalls.

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_fault {
    ($handler:ty, [$($wait:literal),*]) => {
        ::core::arch::global_asm!(
            "
            .section .text.traps, \"ax\"
    sun4v_fault:
            wrpr %g0, {PSTATE}, %pstate
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g6               ! %g6 is the block already if this is a trap of the hypervisor
            ldxa [%g6] {ASI}, %g6
            stx %g1, [%g6 + {FATAL_GLOBALS} + 8]
            stx %g2, [%g6 + {FATAL_GLOBALS} + 16]
            rdpr %tstate, %g1
            srlx %g1, {GL_SHIFT}, %g1
            and %g1, 7, %g1
            cmp %g1, {MAXGL}
            bne,pn %xcc, 2f                     ! the guest trapped
             rdpr %tpc, %g1
            set sun4v_load, %g2
            cmp %g1, %g2
            be,pn %xcc, 1f
             nop
            set sun4v_store, %g2
            cmp %g1, %g2
            be,pn %xcc, 1f
             add %g2, 4, %g2                    ! its membar, where a late fault traps
            cmp %g1, %g2
            be,pn %xcc, 1f
             nop
            ",
            $(concat!(
                "set ", $wait, ", %g2
            cmp %g1, %g2
            be,pn %xcc, 5f
             nop"
            ),)*
            "
            set __leaf_start, %g2
            cmp %g1, %g2
            blu,pn %xcc, 2f
             nop
            set __leaf_end, %g2
            cmp %g1, %g2
            bgeu,pn %xcc, 2f
             nop
    5:      rdpr %tl, %g1                       ! back to the veneer, in place of the leaf function
            sub %g1, 1, %g1
            wrpr %g1, 0, %tl
            retl
             mov {FAULTED}, %o0
    1:      set sun4v_access_faulted, %g1
            wrpr %g1, 0, %tpc
            add %g1, 4, %g1
            wrpr %g1, 0, %tnpc
            retry

            .globl sun4v_load
    sun4v_load:
            ldx [%o0], %o1
            retl
             clr %o0
            .globl sun4v_store
    sun4v_store:
            stx %o1, [%o0]
            membar 0x40                         ! #Sync: a store that faults does so now
            retl
             clr %o0
    sun4v_access_faulted:
            retl
             mov 1, %o0

            .globl sun4v_unexpected
    sun4v_unexpected:
            wrpr %g0, {PSTATE}, %pstate
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g6
            ldxa [%g6] {ASI}, %g6
            stx %g1, [%g6 + {FATAL_GLOBALS} + 8]
            stx %g2, [%g6 + {FATAL_GLOBALS} + 16]
    2:      .irp n, 3, 4, 5, 6, 7
            stx %g\\n, [%g6 + {FATAL_GLOBALS} + 8 * \\n]
            .endr
            rdpr %tt, %g1
            stx %g1, [%g6 + {FATAL_TT}]
            rdpr %tpc, %g1
            stx %g1, [%g6 + {FATAL_TPC}]
            rdpr %tnpc, %g1
            stx %g1, [%g6 + {FATAL_TNPC}]
            rdpr %tl, %g1
            stx %g1, [%g6 + {FATAL_TL}]
            rdpr %canrestore, %g1
            stx %g1, [%g6 + {FATAL_CANRESTORE}]
            rdpr %tstate, %g1
            stx %g1, [%g6 + {FATAL_TSTATE}]
            mov {NWINDOWS} - 1, %g2
            add %g6, {FATAL_WINDOWS} + 128 * ({NWINDOWS} - 1), %g3
    3:      wrpr %g2, 0, %cwp
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            stx %l\\n, [%g3 + 8 * \\n]
            stx %i\\n, [%g3 + 64 + 8 * \\n]
            .endr
            sub %g3, 128, %g3
            brnz,pt %g2, 3b
             sub %g2, 1, %g2
            srlx %g1, {GL_SHIFT}, %g1
            and %g1, 7, %g1
            cmp %g1, {MAXGL}
            be,pn %xcc, 4f
             mov %g6, %o0
            wrpr %g1, 0, %gl                    ! the guest's globals
            .irp n, 1, 2, 3, 4, 5, 6, 7
            stx %g\\n, [%o0 + {FATAL_GLOBALS} + 8 * \\n]
            .endr
            wrpr %g0, {MAXGL}, %gl
    4:      wrpr %g0, 1, %tl
            set {fatal}, %g2
            ba,a,pt %xcc, sun4v_start_over

            .globl sun4v_abandon
    sun4v_abandon:
            mov %o0, %g2
            mov %o1, %o0
    sun4v_start_over:                           ! to %g2, which does not return, on the strand's stack with fresh windows
            mov {SCRATCHPAD}, %g1
            ldxa [%g1] {ASI}, %g6
            wrpr %g0, {NWINDOWS} - 2, %cansave
            wrpr %g0, 0, %canrestore
            wrpr %g0, 0, %otherwin
            wrpr %g0, {NWINDOWS} - 1, %cleanwin
            wrpr %g0, 0, %wstate
            ldx [%g6 + {STACK}], %sp
            jmp %g2
             nop
            ",
            PSTATE = const $crate::sparc64::PSTATE,
            MAXGL = const $crate::sparc64::MAXGL,
            NWINDOWS = const $crate::sparc64::NWINDOWS,
            ASI = const $crate::sparc64::SCRATCHPAD.0,
            SCRATCHPAD = const $crate::sparc64::SCRATCHPAD.1,
            STACK = const $crate::sparc64::layout::STACK,
            FAULTED = const $crate::sparc64::layout::FAULTED,
            FATAL_TT = const $crate::sparc64::layout::FATAL_TT,
            FATAL_TPC = const $crate::sparc64::layout::FATAL_TPC,
            FATAL_TNPC = const $crate::sparc64::layout::FATAL_TNPC,
            FATAL_TSTATE = const $crate::sparc64::layout::FATAL_TSTATE,
            FATAL_TL = const $crate::sparc64::layout::FATAL_TL,
            FATAL_CANRESTORE = const $crate::sparc64::layout::FATAL_CANRESTORE,
            FATAL_GLOBALS = const $crate::sparc64::layout::FATAL_GLOBALS,
            FATAL_WINDOWS = const $crate::sparc64::layout::FATAL_WINDOWS,
            GL_SHIFT = const $crate::sparc64::layout::GL_SHIFT,
            fatal = sym $crate::sparc64::fatal_entry::<$handler>,
        );
    };
}
