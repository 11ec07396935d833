! A guest whose CPUs execute lists of entries. The test writes a list for each CPU, 32 KB apart, and reads the results from it.
! `task` says whether the guest then writes word 7 of each entry to the console.
!
! An entry has eight words, 0 to 7. Word 0 is the kind:
!   0  the list ends
!   1  software trap 0x80: words 1 to 6 are %o0 to %o5, before and after; word 7 is the difference of %tick
!   2  software trap 0xff, in the same way
!   3  like 1, repeated while the status is EWOULDBLOCK; word 7 is the number of refusals
!   4  a loop of three instructions; word 1 is the number of rounds, word 7 what %pic counts from the first round to the last
!   5  loads from each 64-byte line; word 1 is the first address, word 2 the number of lines
!   6  the list begins again
!   7  like 3, but the entry is not overwritten
!   8  if %pcr is 0: starts to sample instructions, and notes the former %pic
!   9  software trap 0x83, like 1
!   10 an illegal instruction, whose trap the guest takes
!   11 like 2, without %tick
!   12 like 1, without %tick
!   13 like 12, repeated while the status is EWOULDBLOCK
!
! At 0x7f00 from the beginning of the list: the number of samples, their lowest and highest address, the number of starts of sampling, and
! the bitwise OR of the values of %pic at these starts.

        .include "start.s"

done:   .xword 0                                ! at 0x80: the number of CPUs at the end of their lists
        .xword answered                         ! at 0x88: the address after a call
        .xword cpu, traps                       ! at 0x90: the start address of CPUs, and their trap table
        .xword again, finished, idle            ! at 0xa0: where a CPU begins its list, where the list has ended, and where the CPU idles

begin:  negotiate
        start_others 0
        set traps, %g1
        wrpr %g1, 0, %tba
        clr %o0
cpu:    mov %o0, %l1
        set _start + 0x100000, %l6
        sllx %l1, 15, %g1
        add %l6, %g1, %l6
        set 0x7f00, %i5
        add %l6, %i5, %i5
        mov -1, %g1
        stx %g1, [%i5 + 8]
again:  mov %l6, %l0
next:   ldx [%l0], %g1
        brz,pn %g1, finished
         cmp %g1, 1
        be,pn %xcc, fast
         cmp %g1, 2
        be,pn %xcc, core
         cmp %g1, 3
        be,pn %xcc, retried
         cmp %g1, 4
        be,pn %xcc, rounds
         cmp %g1, 5
        be,pn %xcc, stream
         cmp %g1, 7
        be,pn %xcc, repeated
         cmp %g1, 8
        be,pn %xcc, sample
         cmp %g1, 9
        be,pn %xcc, software
         cmp %g1, 10
        be,pn %xcc, illegal
         cmp %g1, 11
        be,pn %xcc, plain_core
         cmp %g1, 12
        be,pn %xcc, plain_fast
         cmp %g1, 13
        be,pn %xcc, patient
         nop
        ba,a,pt %xcc, again

        .macro arguments
        ldx [%l0 + 8], %o0
        ldx [%l0 + 16], %o1
        ldx [%l0 + 24], %o2
        ldx [%l0 + 32], %o3
        ldx [%l0 + 40], %o4
        ldx [%l0 + 48], %o5
        .endm

fast:   arguments
        rd %tick, %l2
        ta 0x80
        rd %tick, %l3
        ba,pt %xcc, answered
         sub %l3, %l2, %l3

core:   arguments
        rd %tick, %l2
        ta 0xff
        rd %tick, %l3
        ba,pt %xcc, answered
         sub %l3, %l2, %l3

retried:
        mov -1, %l3
2:      arguments
        ta 0x80
        cmp %o0, 9
        be,pn %xcc, 2b
         inc %l3

        ba,a,pt %xcc, answered

repeated:
        arguments
        ta 0x80
        cmp %o0, 9
        be,pn %xcc, repeated
         nop
        ba,a,pt %xcc, behind

answered:
        stx %o0, [%l0 + 8]
        stx %o1, [%l0 + 16]
        stx %o2, [%l0 + 24]
        stx %o3, [%l0 + 32]
        stx %o4, [%l0 + 40]
        stx %o5, [%l0 + 48]
        ba,pt %xcc, behind
         stx %l3, [%l0 + 56]

rounds: ldx [%l0 + 8], %g1
        wr %g0, 0, %asr17
3:      subcc %g1, 1, %g1
        bne,pt %xcc, 3b
         nop
        rd %asr17, %g2
        ba,pt %xcc, behind
         stx %g2, [%l0 + 56]

software:
        arguments
        ta 0x83
        ba,a,pt %xcc, answered

plain_core:
        arguments
        ta 0xff
        ba,a,pt %xcc, answered

plain_fast:
        arguments
        ta 0x80
        ba,a,pt %xcc, answered

patient:
        arguments
        ta 0x80
        cmp %o0, 9
        be,pn %xcc, patient
         nop
        ba,a,pt %xcc, answered

idle:   ba,a,pt %xcc, idle

illegal:
        illtrap 0
        ba,a,pt %xcc, behind

stream: ldx [%l0 + 8], %g1
        ldx [%l0 + 16], %g2
4:      ldx [%g1], %g3
        subcc %g2, 1, %g2
        bne,pt %xcc, 4b
         add %g1, 64, %g1

        PERIOD = 97
        PCR = 2 << 14 | 0xfd << 6 | 1 << 4 | 1 << 1 ! counter 0: instructions of privileged software, and its overflow trap

sample: rd %asr16, %g1
        brnz,pt %g1, behind
         rd %asr17, %g2
        ldx [%i5 + 24], %g1
        inc %g1
        stx %g1, [%i5 + 24]
        ldx [%i5 + 32], %g1
        or %g1, %g2, %g1
        stx %g1, [%i5 + 32]
        set PCR, %g1
        wr %g0, -PERIOD, %asr17
        wr %g1, 0, %asr16
        wrpr %g0, 0, %pil
        wrpr %g0, 6, %pstate                    ! PRIV and IE

behind: ba,pt %xcc, next
         add %l0, 64, %l0

finished:
        set done, %l7
        count %l7
        brz,pt %l1, 7f
         mov 0x12, %o5                          ! cpu_yield
6:      ta 0x80
        ba,pt %xcc, 6b
         mov 0x12, %o5
7:      ldx [%l7], %g1
        ldx [%l7 - 56], %g2
        cmp %g1, %g2
        bne,pt %xcc, 7b
         ldx [%l7 - 64], %g1
        brz,pt %g1, exit
         clr %o0

        mov %l6, %l0                            ! word 7 of each entry as 16 digits
8:      ldx [%l0], %g1
        brz,pn %g1, exit
         clr %o0
        ldx [%l0 + 56], %l2
        mov 60, %l3
9:      srlx %l2, %l3, %o0
        and %o0, 15, %o0
        cmp %o0, 10
        bl,pt %icc, 10f
         add %o0, 48, %o0
        add %o0, 39, %o0
10:     mov 1, %o5                              ! cons_putchar
        ta 0xff
        subcc %l3, 4, %l3
        bge,pt %icc, 9b
         nop
        mov 10, %o0
        mov 1, %o5
        ta 0xff
        ba,pt %xcc, 8b
         add %l0, 64, %l0

failed: mov 99, %o0
exit:   clr %o5
        ta 0x80
        ba,a,pt %xcc, exit

! The overflow trap: notes the trapped address, and goes on sampling unless the hypervisor has stopped the counter.
overflow:
        ldx [%i5], %g1
        inc %g1
        stx %g1, [%i5]
        rdpr %tpc, %g1
        ldx [%i5 + 8], %g2
        cmp %g1, %g2
        movlu %xcc, %g1, %g2
        stx %g2, [%i5 + 8]
        ldx [%i5 + 16], %g2
        cmp %g1, %g2
        movgu %xcc, %g1, %g2
        stx %g2, [%i5 + 16]
        set 1 << 15, %g2
        wr %g2, 0, %asr21                       ! %softint_clr
        rd %asr16, %g1
        brz,pn %g1, 10f
         set PCR, %g1                           ! without OV
        wr %g0, -PERIOD, %asr17
        wr %g1, 0, %asr16
10:     retry

        .align 32768
traps:  .skip 32 * 0x10
        done                                    ! illegal_instruction
        .align 32
        .skip 32 * (0x4f - 0x11)
        ba,a,pt %xcc, overflow                  ! interrupt_level_15
