! What the strands of a guest need before compiled code can run: a stack, a trap table, and handlers for register windows and
! for the overflow of a counter. The guests in Rust and in C use the same file.
!
! Each strand has a record. Its first word is the address of the end of the strand's stack; the guest defines the rest. Scratchpad
! register 0 of the strand points to the record, and the handlers find it there.

        .register %g2, #scratch
        .register %g3, #scratch

        STACK_BIAS = 2047               ! %sp points 2047 bytes below the frame
        FRAME = 192                     ! the SPARC V9 ABI asks for at least 176 bytes above %sp

        .section .text.entry, "ax"
        .globl _start, strand_start
! The first strand starts here.
_start:
        set strand_records, %o0
! The other strands start here: cpu_start passes the record in %o0, and sets %tba to the trap table.
strand_start:
        mov %o0, %g1                    ! the next lines may change the window, and with it the %o registers
        wrpr %g0, 15, %pil              ! no interrupts
        wrpr %g0, 0x14, %pstate         ! PEF and PRIV
        wrpr %g0, 0, %cwp               ! eight windows: this one, a free one, and six to save into
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
1:      mov 0x12, %o5                   ! the strand has ended: cpu_yield waits for interrupts
        ta 0x80
        ba,a,pt %xcc, 1b

! A trap table has 512 entries of 32 bytes for traps that are taken at TL 0, then 512 for traps at TL 1 and above.
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

! Runs at TL 1 and GL 1: %g1 to %g7 of the interrupted program are in another set. The C function gets the record of the strand in
! %o0, the address of the interrupted instruction in %o1, and its TSTATE in %o2. Only %y has to be saved here.
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
! Every other trap ends the guest. The exit code is 0x1000 plus the type of the trap.
trap_unexpected:
        rdpr %tt, %o0
        set 0x1000, %o1                 ! an immediate operand has 13 bits and a sign: at most 0xfff
        or %o0, %o1, %o0
        mov 2, %o5                      ! exit
        ta 0xff
1:      ba,a,pt %xcc, 1b

! Loops of known cost, to measure. %o0 is the address of 16 bytes, %o1 the number of rounds.
        .section .text
        .globl work_once, work_twice, work_end
work_once:                              ! a round: one load, four instructions; two more at the end
        ldx [%o0], %g1
        subcc %o1, 1, %o1
        bne,pt %xcc, work_once
         nop
        retl
         nop
work_twice:                             ! a round: two loads, five instructions; two more at the end
        ldx [%o0], %g1
        ldx [%o0 + 8], %g2
        subcc %o1, 1, %o1
        bne,pt %xcc, work_twice
         nop
        retl
         nop
work_end:
