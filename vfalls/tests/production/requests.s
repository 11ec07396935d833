! A guest whose CPUs make the calls that the test asks for. The test stops each CPU at `answered`, changes its registers, and continues it
! at `request`. So a strand that stops at `answered` has made its call, even if an interrupt came just before the stop.

        .register %g2, #scratch
        .register %g3, #scratch

        .section .text
        .globl _start
_start: ba,a,pt %xcc, begin
        .align 64
        .skip 8
cpus:   .xword 0                                ! at 0x80000048: the number of the guest's CPUs
        .align 64

begin:  set traps, %l6
        wrpr %l6, 0, %tba
        mov 1, %o0                              ! CORE 1.0
        mov 1, %o1
        clr %o2
        clr %o5
        ta 0xff
        set cpus, %l7
        mov 1, %l1
1:      ldx [%l7], %g1
        cmp %l1, %g1
        bgeu,pn %xcc, cpu
         mov %l1, %o0
        set cpu, %o1
        mov %l6, %o2
        clr %o3
        mov 0x10, %o5                           ! cpu_start
        ta 0x80
        ba,pt %xcc, 1b
         inc %l1
cpu:    ba,a,pt %xcc, answered

        .org 0x1000
request:                                        ! at 0x80001000
        ta %g0 + %l0
answered:
        ba,a,pt %xcc, answered                  ! at 0x80001004
idle:   ba,a,pt %xcc, idle                      ! at 0x80001008

        .org 0x8000
        .set number, 0
traps:  .rept 1024                              ! a trap skips its instruction; a trap of a fetch continues at `answered`
        .if (number & 0x1ff) == 8
        ba,a,pt %xcc, answered
        .else
        done
        .endif
        .align 32
        .set number, number + 1
        .endr
