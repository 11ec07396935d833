! Calls at every depth of a recursion, and therefore with every number of free windows.
! deep_fast, deep_core, deep_0x84: %o0 is the depth, %o1 the function, %o2 is %o0 of the call, %o3 the stack pointer during the
! call. Returns the bits of locals that changed.

        .register %g2, #scratch
        .register %g3, #scratch

        .macro deep name, trap
        .globl \name
\name:
        save %sp, -192, %sp
        sllx %i0, 8, %l7
        .irp n, 0, 1, 2, 3, 4, 5, 6
        add %l7, 0x10 + \n, %l\n
        .endr
        clr %i5
        mov %i2, %o0
        mov %i1, %o5
        mov %sp, %i4
        mov %i3, %sp
        ta \trap
        xor %sp, %i3, %o1
        or %i5, %o1, %i5
        mov %i4, %sp
        brz,pn %i0, 1f
         sub %i0, 1, %o0
        mov %i1, %o1
        mov %i2, %o2
        call \name
         mov %i3, %o3
        or %i5, %o0, %i5
1:      mov %i2, %o0
        mov %i1, %o5
        mov %i3, %sp
        ta \trap
        mov %i4, %sp
        sllx %i0, 8, %o0
        xor %o0, %l7, %o1
        or %i5, %o1, %i5
        .irp n, 0, 1, 2, 3, 4, 5, 6
        add %o0, 0x10 + \n, %o1
        xor %o1, %l\n, %o1
        or %i5, %o1, %i5
        .endr
        ret
         restore %i5, 0, %o0
        .endm

        .section .text
        deep deep_fast, 0x80
        deep deep_core, 0xff
        deep deep_0x84, 0x84
