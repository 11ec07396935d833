//! The guest's first instructions and its trap table: register windows, and for every other trap an exit with its type.

core::arch::global_asm!(
    "
        .section .text.entry, \"ax\"
        .globl _start
_start:
        set guest_traps, %g1
        wrpr %g1, 0, %tba
        set __stack_top, %g1
        sub %g1, {BIAS} + 192, %sp
        call {main}
         clr %fp

        .section .text.traps, \"ax\"
        .align 32768
guest_traps:
        .rept 2                             ! from TL 0, and from above it
        .rept 0x24
        ba,a,pt %xcc, guest_unexpected
        .align 32
        .endr
        ba,a,pt %xcc, guest_clean_window
        .align 128
        .rept 0x80 - 0x28
        ba,a,pt %xcc, guest_unexpected
        .align 32
        .endr
        .rept 16                            ! spill, normal and other
        ba,a,pt %xcc, guest_spill
        .align 128
        .endr
        .rept 16                            ! fill, normal and other
        ba,a,pt %xcc, guest_fill
        .align 128
        .endr
        .rept 0x200 - 0x100
        ba,a,pt %xcc, guest_unexpected
        .align 32
        .endr
        .endr

guest_clean_window:
        rdpr %cleanwin, %g1
        inc %g1
        wrpr %g1, 0, %cleanwin
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
        clr %o7
        retry
guest_spill:
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
guest_fill:
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
guest_unexpected:
        rdpr %tt, %o0
        or %o0, 0x1000, %o0
        mov 2, %o5
        ta 0xff
        ",
    BIAS = const 2047,
    main = sym crate::main,
);
