! Reads the clock before and after a trap. Traps at other trap levels, and with other values of PSTATE.

        .register %g2, #scratch
        .register %g3, #scratch

        .macro ticks name, trap
        .globl \name
\name:
        mov %o2, %o5
        rd %tick, %g1
        ta \trap
        rd %tick, %g2
        retl
         sub %g2, %g1, %o0
        .endm

        .section .text
        ticks ticks_fast, 0x80
        ticks ticks_core, 0xff

        .globl ticks_none
ticks_none:
        rd %tick, %g1
        rd %tick, %g2
        retl
         sub %g2, %g1, %o0

        .globl at_level
at_level:
        mov %o2, %o5
        wrpr %o3, 0, %tl
        wrpr %o3, 0, %gl
        mov 0x77, %g1
        ta 0x80
        sllx %g1, 8, %o3
        rdpr %gl, %o2
        or %o3, %o2, %o3
        rdpr %tl, %o2
        wrpr %g0, 0, %tl
        wrpr %g0, 0, %gl
        retl
         nop

        .globl with_pstate
with_pstate:
        mov %o1, %o5
        mov %o2, %g3
        rdpr %pstate, %g2
        wrpr %g2, %g3, %pstate
        ta 0x80
        rdpr %pstate, %g4
        wrpr %g2, 0, %pstate
        mov %o1, %o0
        retl
         xor %g4, %g2, %o1
