/*
 * The guest's first instructions and its trap table: register windows, and for every other trap an exit with its type.
 */
#define BIAS 2047

        .section .note.GNU-stack, "", @progbits

        .register %g2, #scratch
        .register %g3, #scratch

        .section .text.entry, "ax"
        .globl _start
_start:
        set traps, %g1
        wrpr %g1, 0, %tba
        set __stack_top, %g1
        sub %g1, BIAS + 192, %sp
        call guest_main
         clr %fp
        ba,a,pt %xcc, stopped

        .section .text.traps, "ax"
        .align 32768
traps:
        .rept 2                         /* from TL 0, and from above it */
        .rept 0x24
        ba,a,pt %xcc, unexpected
        .align 32
        .endr
        ba,a,pt %xcc, clean_window
        .align 128
        .rept 0x80 - 0x28
        ba,a,pt %xcc, unexpected
        .align 32
        .endr
        .rept 16                        /* spill, normal and other */
        ba,a,pt %xcc, spill
        .align 128
        .endr
        .rept 16                        /* fill, normal and other */
        ba,a,pt %xcc, fill
        .align 128
        .endr
        .rept 0x200 - 0x100
        ba,a,pt %xcc, unexpected
        .align 32
        .endr
        .endr

clean_window:
        rdpr %cleanwin, %g1
        inc %g1
        wrpr %g1, 0, %cleanwin
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        clr %l\n
        clr %o\n
        .endr
        retry
spill:
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        stx %l\n, [%sp + BIAS + 8 * \n]
        stx %i\n, [%sp + BIAS + 64 + 8 * \n]
        .endr
        saved
        retry
fill:
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        ldx [%sp + BIAS + 8 * \n], %l\n
        ldx [%sp + BIAS + 64 + 8 * \n], %i\n
        .endr
        restored
        retry
unexpected:
        rdpr %tt, %o0
        or %o0, 0x1000, %o0
        mov 2, %o5
        ta 0xff
stopped:
        ba,a,pt %xcc, stopped
