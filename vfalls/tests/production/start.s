! The common start of these tests' guests. Each guest defines `begin`. The test writes the words `task`, `cpus` and `peek`.

        .register %g2, #scratch
        .register %g3, #scratch
        .register %g6, #scratch
        .register %g7, #scratch

        .section .text
        .globl _start
_start: ba,a,pt %xcc, begin
        .align 64
task:   .xword 1                                ! at 0x40
cpus:   .xword 1                                ! at 0x48: the number of the guest's CPUs
peek:   .xword 0                                ! at 0x50: a real address
        .align 64                               ! results are at 0x80

! Negotiates CORE 1.0 and performance counters 1.1.
        .macro negotiate
        mov 1, %o0
        mov 1, %o1
        clr %o2
        clr %o5
        ta 0xff
        brnz,pn %o0, failed
         set 0x205, %o0
        mov 1, %o1
        mov 1, %o2
        ta 0xff
        brnz,pn %o0, failed
         nop
        .endm

! Starts all other CPUs at `cpu` with the trap table `traps`. The argument of each CPU is its number plus `more`.
        .macro start_others more
        set cpus, %l7
        mov 1, %l0
1:      ldx [%l7], %g1
        cmp %l0, %g1
        bgeu,pn %xcc, 2f
         mov %l0, %o0
        set cpu, %o1
        set traps, %o2
        add %l0, \more, %o3
        mov 0x10, %o5                           ! cpu_start
        ta 0x80
        brnz,pn %o0, failed
         inc %l0
        ba,a,pt %xcc, 1b
2:
        .endm

! Adds 1 to a word that all CPUs share.
        .macro count place
3:      ldx [\place], %g1
        add %g1, 1, %g2
        casx [\place], %g1, %g2
        cmp %g1, %g2
        bne,pn %xcc, 3b
         nop
        .endm
