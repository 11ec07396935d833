! Writes 0 to the free windows and to the globals of levels 1 and 2, traps, and reads all of them back.
! left_fast, left_core and so on: %o0 and %o1 are passed to the call, %o2 is the function. Returns the bits set in windows, and the bits set
! in globals.

        .register %g2, #scratch
        .register %g3, #scratch

        .macro left name, trap
        .globl \name
\name:
        save %sp, -192, %sp
        flushw
        rdpr %cleanwin, %i5
        wrpr %g0, 7, %cleanwin
        rdpr %cwp, %g1
        mov 7, %g2
        mov %g1, %g3
1:      inc %g3
        and %g3, 7, %g3
        wrpr %g3, 0, %cwp
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        clr %l\n
        .endr
        subcc %g2, 1, %g2
        be,pn %icc, 2f
         nop
        .irp n, 0, 1, 2, 3, 4, 5, 6
        clr %o\n
        .endr
        ba,pt %xcc, 1b
         clr %o7
2:      wrpr %g1, 0, %cwp
        mov %g1, %i4
        .irp level, 1, 2
        wrpr %g0, \level, %gl
        .irp n, 1, 2, 3, 4, 5, 6, 7
        clr %g\n
        .endr
        .endr
        wrpr %g0, 0, %gl
        mov %i0, %o0
        mov %i1, %o1
        mov 0x12, %o2
        mov 0x13, %o3
        mov 0x14, %o4
        mov %i2, %o5
        ta \trap
        clr %i1
        .irp level, 1, 2
        wrpr %g0, \level, %gl
        .irp n, 1, 2, 3, 4, 5, 6, 7
        or %i1, %g\n, %i1
        .endr
        .endr
        wrpr %g0, 0, %gl
        clr %g4
        rdpr %cwp, %g1
        mov 7, %g2
        mov %g1, %g3
3:      inc %g3
        and %g3, 7, %g3
        wrpr %g3, 0, %cwp
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        or %g4, %l\n, %g4
        .endr
        subcc %g2, 1, %g2
        be,pn %icc, 4f
         nop
        .irp n, 0, 1, 2, 3, 4, 5, 6
        or %g4, %o\n, %g4
        .endr
        ba,pt %xcc, 3b
         or %g4, %o7, %g4
4:      wrpr %g1, 0, %cwp
        mov %g4, %i0
        wrpr %i5, 0, %cleanwin
        ret
         restore
        .endm

        .section .text
        left left_fast, 0x80
        left left_core, 0xff
        left left_0x84, 0x84
        left left_0xfe, 0xfe
