! A guest's first instructions, and its trap table: handlers for register windows; every other trap exits with 0x1000 plus its trap type.
! %sp is 2047 bytes below the stack frame.

        .register %g2, #scratch
        .register %g3, #scratch

        .section .text.entry, "ax"
        .globl _start
_start:
        set guest_traps, %g1
        wrpr %g1, 0, %tba
        set __stack_top, %g1
        sub %g1, 2047 + 192, %sp
        call guest_main
         clr %fp
        ba,a,pt %xcc, guest_stopped

        .section .text.traps, "ax"
        .align 32768
guest_traps:
        .rept 2                         ! from TL 0, and from TL 1 and above
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
        .rept 16                        ! spill, normal and other
        ba,a,pt %xcc, guest_spill
        .align 128
        .endr
        .rept 16                        ! fill, normal and other
        ba,a,pt %xcc, guest_fill
        .align 128
        .endr
        .rept 0x200 - 0x100
        ba,a,pt %xcc, guest_unexpected
        .align 32
        .endr
        .endr

        .globl guest_clean_window, guest_spill, guest_fill, guest_unexpected
guest_clean_window:
        rdpr %cleanwin, %g1
        inc %g1
        wrpr %g1, 0, %cleanwin
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        clr %l\n
        clr %o\n
        .endr
        retry
guest_spill:
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        stx %l\n, [%sp + 2047 + 8 * \n]
        stx %i\n, [%sp + 2047 + 64 + 8 * \n]
        .endr
        saved
        retry
guest_fill:
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        ldx [%sp + 2047 + 8 * \n], %l\n
        ldx [%sp + 2047 + 64 + 8 * \n], %i\n
        .endr
        restored
        retry
guest_unexpected:
        rdpr %tt, %o0
        or %o0, 0x1000, %o0
        mov 2, %o5
        ta 0xff
guest_stopped:
        ba,a,pt %xcc, guest_stopped
