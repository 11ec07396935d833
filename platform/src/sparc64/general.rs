//! The slow path: keeps what is the guest's, and lets Rust run on the strand's stack.

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_general {
    ($handler:ty) => {
        ::core::arch::global_asm!(
            "
            .section .text.traps, \"ax\"
            .globl sun4v_general
    sun4v_general:
            stx %o0, [%g6 + {O0} + 0]
            stx %o1, [%g6 + {O0} + 8]
            stx %o2, [%g6 + {O0} + 16]
            stx %o3, [%g6 + {O0} + 24]
            stx %o4, [%g6 + {O0} + 32]
            stx %o5, [%g6 + {O0} + 40]
            stx %o6, [%g6 + {O6}]
            stx %o7, [%g6 + {O7}]
            rd %y, %g1
            stx %g1, [%g6 + {Y}]
            rdpr %canrestore, %g1
            stx %g1, [%g6 + {CANRESTORE}]
            rdpr %otherwin, %g1
            stx %g1, [%g6 + {OTHERWIN}]
            rdpr %cleanwin, %g1
            stx %g1, [%g6 + {CLEANWIN}]
            rdpr %cansave, %g1
            stx %g1, [%g6 + {CANSAVE}]
            wrpr %g0, {NWINDOWS} - 1, %cleanwin
            wrpr %g0, {K}, %cansave
            wrpr %g0, 0, %canrestore
            cmp %g1, {K}
            bge,pt %xcc, 2f
             wrpr %g0, {NWINDOWS} - 2 - {K}, %otherwin

            rdpr %cwp, %g4                      ! the guest uses windows that Rust will: keep what is in them
            mov %g4, %g1
            mov {K}, %g2
            add %g6, {WINDOWS}, %g3
    1:      inc %g1
            and %g1, {NWINDOWS} - 1, %g1
            wrpr %g1, 0, %cwp
            stx %l0, [%g3 + 0]
            stx %l1, [%g3 + 8]
            stx %l2, [%g3 + 16]
            stx %l3, [%g3 + 24]
            stx %l4, [%g3 + 32]
            stx %l5, [%g3 + 40]
            stx %l6, [%g3 + 48]
            stx %l7, [%g3 + 56]
            stx %o0, [%g3 + 64]
            stx %o1, [%g3 + 72]
            stx %o2, [%g3 + 80]
            stx %o3, [%g3 + 88]
            stx %o4, [%g3 + 96]
            stx %o5, [%g3 + 104]
            stx %o6, [%g3 + 112]
            stx %o7, [%g3 + 120]
            sub %g2, 1, %g2
            brnz,pt %g2, 1b
             add %g3, 128, %g3
            wrpr %g4, 0, %cwp

    2:
            .globl sun4v_general_wait
    sun4v_general_wait:
            membar 0x40                         ! #Sync: earlier stores that fault do so before Rust is called
            ldx [%g6 + {STACK}], %sp
            mov %g6, %o0
            call {trap}
             mov %g5, %o1

            rdpr %cwp, %g4
            mov %g4, %g1
            mov {K}, %g2
            ldx [%g6 + {CANSAVE}], %g5
            cmp %g5, {K}
            bge,pt %xcc, 4f
             add %g6, {WINDOWS}, %g3
    3:      inc %g1
            and %g1, {NWINDOWS} - 1, %g1
            wrpr %g1, 0, %cwp
            ldx [%g3 + 0], %l0
            ldx [%g3 + 8], %l1
            ldx [%g3 + 16], %l2
            ldx [%g3 + 24], %l3
            ldx [%g3 + 32], %l4
            ldx [%g3 + 40], %l5
            ldx [%g3 + 48], %l6
            ldx [%g3 + 56], %l7
            ldx [%g3 + 64], %o0
            ldx [%g3 + 72], %o1
            ldx [%g3 + 80], %o2
            ldx [%g3 + 88], %o3
            ldx [%g3 + 96], %o4
            ldx [%g3 + 104], %o5
            ldx [%g3 + 112], %o6
            ldx [%g3 + 120], %o7
            sub %g2, 1, %g2
            brnz,pt %g2, 3b
             add %g3, 128, %g3
            ba,a,pt %xcc, 5f

    4:      inc %g1
            and %g1, {NWINDOWS} - 1, %g1
            wrpr %g1, 0, %cwp
            clr %l0
            clr %l1
            clr %l2
            clr %l3
            clr %l4
            clr %l5
            clr %l6
            clr %l7
            clr %o0
            clr %o1
            clr %o2
            clr %o3
            clr %o4
            clr %o5
            clr %o6
            sub %g2, 1, %g2
            brnz,pt %g2, 4b
             clr %o7

    5:      wrpr %g4, 0, %cwp
            wrpr %g5, 0, %cansave
            ldx [%g6 + {CANRESTORE}], %g1
            wrpr %g1, 0, %canrestore
            ldx [%g6 + {OTHERWIN}], %g1
            wrpr %g1, 0, %otherwin
            ldx [%g6 + {CLEANWIN}], %g1
            wrpr %g1, 0, %cleanwin
            ldx [%g6 + {Y}], %g1
            wr %g1, 0, %y
            ldx [%g6 + {O0} + 0], %o0
            ldx [%g6 + {O0} + 8], %o1
            ldx [%g6 + {O0} + 16], %o2
            ldx [%g6 + {O0} + 24], %o3
            ldx [%g6 + {O0} + 32], %o4
            ldx [%g6 + {O0} + 40], %o5
            ldx [%g6 + {O6}], %o6
            ldx [%g6 + {O7}], %o7
            clr %g1
            clr %g2
            clr %g3
            clr %g4
            clr %g5
            clr %g7                             ! %g6 is the block on the leaf path, too
            done
            ",
            NWINDOWS = const $crate::sparc64::NWINDOWS,
            K = const $crate::sparc64::WINDOWS,
            O0 = const $crate::sparc64::layout::O0,
            O6 = const $crate::sparc64::layout::O6,
            O7 = const $crate::sparc64::layout::O7,
            Y = const $crate::sparc64::layout::Y,
            CANSAVE = const $crate::sparc64::layout::CANSAVE,
            CANRESTORE = const $crate::sparc64::layout::CANRESTORE,
            OTHERWIN = const $crate::sparc64::layout::OTHERWIN,
            CLEANWIN = const $crate::sparc64::layout::CLEANWIN,
            WINDOWS = const $crate::sparc64::layout::WINDOWS,
            STACK = const $crate::sparc64::layout::STACK,
            trap = sym $crate::sparc64::trap_entry::<$handler>,
        );
    };
}
