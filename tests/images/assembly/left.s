! Writes 0 to the free windows and to the globals of levels 1 and 2, traps, and reads all of them back.
! left_fast, left_core and so on: %o0 and %o1 are passed to the call, %o2 is the function. Returns the bits set in windows, and the bits set
! in globals.

        .register %g2, #scratch
        .register %g3, #scratch

        .macro add_to_g4 register
        or %g4, \register, %g4
        .endm

        .macro add_to_i1 register
        or %i1, \register, %i1
        .endm

! Executes `action` for the local and out registers of each free window.
        .macro in_windows action
        rdpr %cwp, %g1
        mov 7, %g2
        mov %g1, %g3
1:      inc %g3
        and %g3, 7, %g3
        wrpr %g3, 0, %cwp
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        \action %l\n
        .endr
        subcc %g2, 1, %g2
        be,pn %icc, 2f
         nop
        .irp n, 0, 1, 2, 3, 4, 5, 6
        \action %o\n
        .endr
        ba,pt %xcc, 1b
         \action %o7
2:      wrpr %g1, 0, %cwp
        .endm

! Executes `action` for the globals of levels 1 and 2.
        .macro in_globals action
        .irp level, 1, 2
        wrpr %g0, \level, %gl
        .irp n, 1, 2, 3, 4, 5, 6, 7
        \action %g\n
        .endr
        .endr
        wrpr %g0, 0, %gl
        .endm

        .macro left name, trap
        .globl \name
\name:
        save %sp, -192, %sp
        flushw
        rdpr %cleanwin, %i5
        wrpr %g0, 7, %cleanwin
        in_windows clr
        mov %g1, %i4
        in_globals clr
        mov %i0, %o0
        mov %i1, %o1
        mov 0x12, %o2
        mov 0x13, %o3
        mov 0x14, %o4
        mov %i2, %o5
        ta \trap
        clr %i1
        in_globals add_to_i1
        clr %g4
        in_windows add_to_g4
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
