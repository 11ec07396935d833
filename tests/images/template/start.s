! What a guest's strands need before anything that a compiler has made can run: a stack, a trap table, and handlers for
! register windows and for the overflow of a counter. For the guest in Rust and for the one in C.
!
! Each strand has a record. Its first word is the address of the end of its stack; the rest is what the guest likes. A pointer
! to it is in the strand's scratchpad, where the handlers find it.

        .register %g2, #scratch
        .register %g3, #scratch

        STACK_BIAS = 2047               ! %sp is so much below the frame
        FRAME = 192                     ! the least that a function of the SPARC V9 ABI expects above %sp, and more

        .section .text.entry, "ax"
        .globl _start, strand_start
! The first strand begins here, with its address in %o0.
_start:
        set strand_records, %o0
! The others begin here: cpu_start gives them their record in %o0, and the trap table in %tba.
strand_start:
        mov %o0, %g1                    ! %o registers belong to the window, which may change
        wrpr %g0, 15, %pil              ! no interrupts
        wrpr %g0, 0x14, %pstate         ! PEF and PRIV
        wrpr %g0, 0, %cwp               ! eight windows: this one, one that stays free, and six to save into
        wrpr %g0, 6, %cansave
        wrpr %g0, 0, %canrestore
        wrpr %g0, 0, %otherwin
        wrpr %g0, 7, %cleanwin
        wrpr %g0, 0, %wstate
        set strand_traps, %g2
        wrpr %g2, 0, %tba
        stxa %g1, [%g0] 0x20            ! ASI_SCRATCHPAD
        ldx [%g1], %g2
        sub %g2, STACK_BIAS + FRAME, %sp
        clr %fp
        call strand_main
         mov %g1, %o0
1:      mov 0x12, %o5                   ! done: waits for an interrupt, which never comes (cpu_yield)
        ta 0x80
        ba,a,pt %xcc, 1b

! A trap table has 512 entries of 32 bytes for traps from TL 0, and as many for those from above.
        .macro unexpected count
        .rept \count
        ba,a,pt %xcc, trap_unexpected
        .align 32
        .endr
        .endm

        .macro half overflow
        unexpected 0x24
        ba,a,pt %xcc, trap_clean_window ! 0x24 to 0x27
        .align 128
        unexpected 0x4f - 0x28
        ba,a,pt %xcc, \overflow         ! 0x4f: interrupt_level_15
        .align 32
        unexpected 0x80 - 0x50
        .rept 16                        ! 0x80 to 0xbf: spill
        ba,a,pt %xcc, trap_spill
        .align 128
        .endr
        .rept 16                        ! 0xc0 to 0xff: fill
        ba,a,pt %xcc, trap_fill
        .align 128
        .endr
        unexpected 0x100
        .endm

        .section .text.traps, "ax"
        .align 32768
        .globl strand_traps
strand_traps:
        half trap_overflow
        half trap_unexpected

! At TL 1 and GL 1, so that %g1 to %g7 are not those of what was interrupted. %o0 gets the strand's record, %o1 the address at which
! the program was interrupted, %o2 its TSTATE. All that is left to be saved is %y.
trap_overflow:
        save %sp, -FRAME, %sp
        rd %y, %l0
        ldxa [%g0] 0x20, %o0
        rdpr %tpc, %o1
        call strand_overflow
         rdpr %tstate, %o2
        wr %l0, 0, %y
        restore
        retry

trap_clean_window:
        rdpr %cleanwin, %g1
        inc %g1
        wrpr %g1, 0, %cleanwin
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        clr %l\n
        clr %o\n
        .endr
        retry
trap_spill:
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        stx %l\n, [%sp + STACK_BIAS + 8 * \n]
        stx %i\n, [%sp + STACK_BIAS + 64 + 8 * \n]
        .endr
        saved
        retry
trap_fill:
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        ldx [%sp + STACK_BIAS + 8 * \n], %l\n
        ldx [%sp + STACK_BIAS + 64 + 8 * \n], %i\n
        .endr
        restored
        retry
! Every other trap ends the guest, with 0x1000 and the type of the trap.
trap_unexpected:
        rdpr %tt, %o0
        or %o0, 0x1000, %o0
        mov 2, %o5
        ta 0xff
1:      ba,a,pt %xcc, 1b

! Loops of known cost, to be measured. %o0 is the address of 16 bytes, %o1 how often.
        .section .text
        .globl work_once, work_twice, work_end
work_once:                              ! one load and four instructions a time, and two at the end
        ldx [%o0], %g1
        subcc %o1, 1, %o1
        bne,pt %xcc, work_once
         nop
        retl
         nop
work_twice:                             ! two loads and five instructions a time, and two at the end
        ldx [%o0], %g1
        ldx [%o0 + 8], %g2
        subcc %o1, 1, %o1
        bne,pt %xcc, work_twice
         nop
        retl
         nop
work_end:
