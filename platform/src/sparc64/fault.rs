//! Traps within the hypervisor, and traps of a guest that are not hypercalls.

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_fault {
    ($handler:ty) => {
        ::core::arch::global_asm!(
            "
            .section .text.traps, \"ax\"
    sun4v_fault:
            wrpr %g0, {PSTATE}, %pstate
            wrpr %g0, {MAXGL}, %gl
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
            set __leaf_start, %g2
            cmp %g1, %g2
            blu,pn %xcc, sun4v_unexpected
             nop
            set __leaf_end, %g2
            cmp %g1, %g2
            bgeu,pn %xcc, sun4v_unexpected
             nop
            rdpr %tl, %g1                       ! back to the veneer, in place of the leaf function
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
            rdpr %tt, %o0
            rdpr %tpc, %o1
            rdpr %tl, %o2
            wrpr %g0, 1, %tl
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
            fatal = sym $crate::sparc64::fatal_entry::<$handler>,
        );
    };
}
