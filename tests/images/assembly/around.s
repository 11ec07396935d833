! Writes a pattern into every register, traps, and stores all registers.
! around_fast, around_core, and so on: %o0 points to the values of %o0 to %o5 for the trap, %o1 to room for the 54 words stored after it.

        .register %g2, #scratch
        .register %g3, #scratch

! Stores the state of the strand to 12 words. %i1 + `first` is the address of the first word.
        .macro keep_state first
        word = \first
        .irp register, cwp, cansave, canrestore, otherwin, cleanwin, wstate, pstate, pil, tl, gl
        rdpr %\register, %g1
        stx %g1, [%i1 + word]
        word = word + 8
        .endr
        rd %y, %g1
        stx %g1, [%i1 + word]
        rd %asi, %g1
        stx %g1, [%i1 + word + 8]
        .endm

        .macro around name, trap
        .globl \name
\name:
        save %sp, -192, %sp
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        set 0x101 + 0x10 * \n, %l\n
        .endr
        set 0x102, %i2
        set 0x112, %i3
        set 0x122, %i4
        set 0x132, %i5
        wr %g0, 0x55, %y
        wr %g0, 0x82, %asi
        keep_state 224
        wr %g0, 0x5a, %ccr
        rd %ccr, %g1
        stx %g1, [%i1 + 320]
        .irp n, 0, 1, 2, 3, 4, 5
        ldx [%i0 + 8 * \n], %o\n
        .endr
        mov 0x173, %o7
        .irp n, 1, 2, 3, 4, 5, 6, 7
        mov 0x104 + 0x10 * \n, %g\n
        .endr
        ta \trap
        .irp n, 0, 1, 2, 3, 4, 5
        stx %o\n, [%i1 + 8 * \n]
        .endr
        sub %fp, %sp, %o0
        stx %o0, [%i1 + 48]
        stx %o7, [%i1 + 56]
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        stx %l\n, [%i1 + 64 + 8 * \n]
        .endr
        .irp n, 2, 3, 4, 5
        stx %i\n, [%i1 + 112 + 8 * \n]
        .endr
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        stx %g\n, [%i1 + 160 + 8 * \n]
        .endr
        rd %ccr, %g1
        stx %g1, [%i1 + 424]
        keep_state 328
        ret
         restore
        .endm

        .section .text
        around around_fast, 0x80
        around around_core, 0xff
        around around_0x81, 0x81
        around around_0x83, 0x83
        around around_0x84, 0x84
        around around_0xfd, 0xfd
        around around_0xfe, 0xfe
