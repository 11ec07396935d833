! A trap table for a guest whose illegal instructions and overflow traps go to functions in Rust.

        .register %g2, #scratch
        .register %g3, #scratch

        .macro vector to
        ba,a,pt %xcc, \to
        .align 32
        .endm

        .macro half illegal, overflow
        .rept 0x10
        vector guest_unexpected
        .endr
        vector \illegal
        .rept 0x24 - 0x11
        vector guest_unexpected
        .endr
        ba,a,pt %xcc, guest_clean_window
        .align 128
        .rept 0x4f - 0x28
        vector guest_unexpected
        .endr
        vector \overflow
        .rept 0x80 - 0x50
        vector guest_unexpected
        .endr
        .rept 16
        ba,a,pt %xcc, guest_spill
        .align 128
        .endr
        .rept 16
        ba,a,pt %xcc, guest_fill
        .align 128
        .endr
        .rept 0x200 - 0x100
        vector guest_unexpected
        .endr
        .endm

        .section .text.traps, "ax"
        .align 32768
sampling_traps:
        half illegal, overflow          ! from TL 0
        half guest_unexpected, guest_unexpected

! A trap from TL 0 and GL 0: calls a function at TL 0, with interrupts off. %o0 points to the registers that the function may
! change: %g0 to %g7, %o0 to %o7, TPC, TNPC, TSTATE and %y; %o1 points to %l0 to %l7 and %i0 to %i7. (Changes of %g0 and %sp have
! no effect.)
        .macro into name, function
\name:
        save %sp, -336, %sp
        rdpr %tpc, %l0
        rdpr %tnpc, %l1
        rdpr %tstate, %l2
        rd %y, %l3
        wrpr %g0, 0, %tl
        wrpr %g0, 0, %gl
        flushw
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        stx %g\n, [%sp + 2047 + 176 + 8 * \n]
        stx %i\n, [%sp + 2047 + 240 + 8 * \n]
        .endr
        stx %l0, [%sp + 2047 + 304]
        stx %l1, [%sp + 2047 + 312]
        stx %l2, [%sp + 2047 + 320]
        stx %l3, [%sp + 2047 + 328]
        add %sp, 2047 + 176, %o0
        call \function
         add %fp, 2047, %o1
        .irp n, 1, 2, 3, 4, 5, 6, 7
        ldx [%sp + 2047 + 176 + 8 * \n], %g\n
        .endr
        .irp n, 0, 1, 2, 3, 4, 5, 7
        ldx [%sp + 2047 + 240 + 8 * \n], %i\n
        .endr
        ldx [%sp + 2047 + 304], %l0
        ldx [%sp + 2047 + 312], %l1
        ldx [%sp + 2047 + 320], %l2
        ldx [%sp + 2047 + 328], %l3
        wr %l3, 0, %y
        wrpr %g0, 1, %tl
        wrpr %l0, 0, %tpc
        wrpr %l1, 0, %tnpc
        wrpr %l2, 0, %tstate
        restore
        retry
        .endm

        .section .text
        into illegal, illegal_instruction
        into overflow, counter_overflow

        .globl take_traps
take_traps:
        set sampling_traps, %o0
        retl
         wrpr %o0, 0, %tba

! Two places of a program at which the model counts events, and the instruction after each.
        .macro place name
        .globl \name, \name\()_next
\name:
        ta 0xfe
\name\()_next:
        retl
         nop
        .endm
        place here
        place there

! Reads %pic into a register, and adds the bits that differ from `expected` to %i1.
        .macro read_back register, expected
        rd %asr17, \register
        xor \register, \expected, \register
        or \register, %i1, %i1
        .endm

! Writes %o0 to %pic and reads it back, with each kind of register as operand. Returns the bits that differed.
        .globl by_every_kind
by_every_kind:
        save %sp, -176, %sp
        mov %i0, %g4
        wr %g4, 0, %asr17
        rd %asr17, %l3
        xor %l3, %i0, %i1
        not %i0, %l5
        wr %l5, 0, %asr17
        read_back %o4, %l5
        inc %i0
        mov %i0, %o3
        wr %o3, 0, %asr17
        read_back %i5, %i0
        inc %i0
        wr %i0, %g0, %asr17
        read_back %g3, %i0
        wr %i0, -2, %asr17
        rd %asr17, %o0
        xor %o0, %i0, %o0
        xor %o0, -2, %o0
        or %o0, %i1, %i1
        ret
         restore %i1, 0, %o0
