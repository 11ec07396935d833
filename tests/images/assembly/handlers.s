! A guest that traps in its trap handlers. Each handler writes its trap level and the status of a get of register 0 to the
! console, on a line of its own, and traps again: at TL 1, at TL 2, and then into the hypervisor.

        .section .text
        .globl trap_in_handlers
trap_in_handlers:
        set handlers, %g1
        wrpr %g1, 0, %tba
        illtrap 0

        .section .text.traps, "ax"
        .align 32768
handlers:
        .rept 2                         ! from TL 0, and from TL 1 and above
        .rept 0x200
        ba,a,pt %xcc, handler
        .align 32
        .endr
        .endr
handler:
        rdpr %tl, %o0
        add %o0, 0x30, %o0
        mov 1, %o5
        ta 0xff
        clr %o0
        mov 0x106, %o5
        ta 0x80
        add %o0, 0x30, %o0
        mov 1, %o5
        ta 0xff
        mov 10, %o0
        mov 1, %o5
        ta 0xff
        illtrap 0
