! Writes a pattern into every register, traps, and stores all registers.
! around_fast, around_core, and so on: %o0 points to the values of %o0 to %o5 for the trap, %o1 to room for the 54 words stored after it.

        .register %g2, #scratch
        .register %g3, #scratch

        .macro around name, trap
        .globl \name
\name:
        save %sp, -192, %sp
        set 0x101, %l0
        set 0x111, %l1
        set 0x121, %l2
        set 0x131, %l3
        set 0x141, %l4
        set 0x151, %l5
        set 0x161, %l6
        set 0x171, %l7
        set 0x102, %i2
        set 0x112, %i3
        set 0x122, %i4
        set 0x132, %i5
        wr %g0, 0x55, %y
        wr %g0, 0x82, %asi
        rdpr %cwp, %g1
        stx %g1, [%i1 + 224]
        rdpr %cansave, %g1
        stx %g1, [%i1 + 232]
        rdpr %canrestore, %g1
        stx %g1, [%i1 + 240]
        rdpr %otherwin, %g1
        stx %g1, [%i1 + 248]
        rdpr %cleanwin, %g1
        stx %g1, [%i1 + 256]
        rdpr %wstate, %g1
        stx %g1, [%i1 + 264]
        rdpr %pstate, %g1
        stx %g1, [%i1 + 272]
        rdpr %pil, %g1
        stx %g1, [%i1 + 280]
        rdpr %tl, %g1
        stx %g1, [%i1 + 288]
        rdpr %gl, %g1
        stx %g1, [%i1 + 296]
        rd %y, %g1
        stx %g1, [%i1 + 304]
        rd %asi, %g1
        stx %g1, [%i1 + 312]
        wr %g0, 0x5a, %ccr
        rd %ccr, %g1
        stx %g1, [%i1 + 320]
        ldx [%i0 + 0], %o0
        ldx [%i0 + 8], %o1
        ldx [%i0 + 16], %o2
        ldx [%i0 + 24], %o3
        ldx [%i0 + 32], %o4
        ldx [%i0 + 40], %o5
        mov 0x173, %o7
        mov 0x114, %g1
        mov 0x124, %g2
        mov 0x134, %g3
        mov 0x144, %g4
        mov 0x154, %g5
        mov 0x164, %g6
        mov 0x174, %g7
        ta \trap
        stx %o0, [%i1 + 0]
        stx %o1, [%i1 + 8]
        stx %o2, [%i1 + 16]
        stx %o3, [%i1 + 24]
        stx %o4, [%i1 + 32]
        stx %o5, [%i1 + 40]
        sub %fp, %sp, %o0
        stx %o0, [%i1 + 48]
        stx %o7, [%i1 + 56]
        stx %l0, [%i1 + 64]
        stx %l1, [%i1 + 72]
        stx %l2, [%i1 + 80]
        stx %l3, [%i1 + 88]
        stx %l4, [%i1 + 96]
        stx %l5, [%i1 + 104]
        stx %l6, [%i1 + 112]
        stx %l7, [%i1 + 120]
        stx %i2, [%i1 + 128]
        stx %i3, [%i1 + 136]
        stx %i4, [%i1 + 144]
        stx %i5, [%i1 + 152]
        stx %g0, [%i1 + 160]
        stx %g1, [%i1 + 168]
        stx %g2, [%i1 + 176]
        stx %g3, [%i1 + 184]
        stx %g4, [%i1 + 192]
        stx %g5, [%i1 + 200]
        stx %g6, [%i1 + 208]
        stx %g7, [%i1 + 216]
        rd %ccr, %g1
        stx %g1, [%i1 + 424]
        rdpr %cwp, %g1
        stx %g1, [%i1 + 328]
        rdpr %cansave, %g1
        stx %g1, [%i1 + 336]
        rdpr %canrestore, %g1
        stx %g1, [%i1 + 344]
        rdpr %otherwin, %g1
        stx %g1, [%i1 + 352]
        rdpr %cleanwin, %g1
        stx %g1, [%i1 + 360]
        rdpr %wstate, %g1
        stx %g1, [%i1 + 368]
        rdpr %pstate, %g1
        stx %g1, [%i1 + 376]
        rdpr %pil, %g1
        stx %g1, [%i1 + 384]
        rdpr %tl, %g1
        stx %g1, [%i1 + 392]
        rdpr %gl, %g1
        stx %g1, [%i1 + 400]
        rd %y, %g1
        stx %g1, [%i1 + 408]
        rd %asi, %g1
        stx %g1, [%i1 + 416]
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
