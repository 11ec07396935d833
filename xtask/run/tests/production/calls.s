! A guest whose CPUs do what their lists say. The test writes a list for each CPU, 32 KB apart, and reads what came of it there.
!
! An entry has eight words. The first says what is to be done:
!   0  the list ends
!   1  software trap 0x80: words 1 to 6 are %o0 to %o5, before and behind; word 7 is what %tick counts meanwhile
!   2  software trap 0xff, in the same way
!   3  as 1, again and again while the status is EWOULDBLOCK; word 7 is how often it was
!   4  a loop of as many rounds as word 1 says, of three instructions each; word 7 is what %pic counts from the first to the last
!   5  loads from an address in word 1, of as many lines of 64 bytes as word 2 says
!   6  the list begins again
!   7  as 3, but the entry stays as it is

        .register %g2, #scratch
        .register %g3, #scratch

        .section .text
        .globl _start
_start: ba,a,pt %xcc, begin
        .align 64
print:  .xword 1                                ! at 0x80000040: whether the guest writes the seventh words to the console
cpus:   .xword 1                                ! at 0x80000048: how many CPUs the guest has
        .align 64
done:   .xword 0                                ! at 0x80000080: how many CPUs are at the end of their lists

begin:  mov 1, %o0                              ! CORE 1.0
        mov 1, %o1
        clr %o2
        clr %o5
        ta 0xff
        brnz,pn %o0, failed
         set 0x205, %o0                         ! performance counters 1.1
        mov 1, %o1
        mov 1, %o2
        ta 0xff
        brnz,pn %o0, failed
         set cpus, %l7
        mov 1, %l0
1:      ldx [%l7], %g1
        cmp %l0, %g1
        bgeu,pn %xcc, cpu
         clr %o0
        mov %l0, %o0
        set cpu, %o1
        set 0x80000000, %o2
        mov %l0, %o3
        mov 0x10, %o5                           ! cpu_start
        ta 0x80
        brnz,pn %o0, failed
         inc %l0
        ba,a,pt %xcc, 1b

cpu:    mov %o0, %l1
        set 0x80100000, %l6
        sllx %l1, 15, %g1
        add %l6, %g1, %l6
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

stream: ldx [%l0 + 8], %g1
        ldx [%l0 + 16], %g2
4:      ldx [%g1], %g3
        subcc %g2, 1, %g2
        bne,pt %xcc, 4b
         add %g1, 64, %g1

behind: ba,pt %xcc, next
         add %l0, 64, %l0

finished:
        set done, %l7
5:      ldx [%l7], %g1
        add %g1, 1, %g2
        casx [%l7], %g1, %g2
        cmp %g1, %g2
        bne,pn %xcc, 5b
         nop
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

        mov %l6, %l0                            ! each seventh word in 16 digits
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
