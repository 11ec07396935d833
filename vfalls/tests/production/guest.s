! Guests for the tests of the production image. The test writes the number of the task to `task`, and reads `results`.

        .include "start.s"

        .macro call80 function
        mov \function, %o5
        ta 0x80
        .endm

results:                                        ! at 0x80000080
        .skip 64 * 260

begin:  negotiate
        set results, %l7
        set traps, %l6
        ldx [%l7 - 64], %g1
        cmp %g1, 1
        be,pn %xcc, traps_of_its_own
         cmp %g1, 2
        be,pn %xcc, look
         cmp %g1, 3
        be,pn %xcc, fatal
         cmp %g1, 4
        be,pn %xcc, climb
         cmp %g1, 5
        be,pn %xcc, endless
         nop

! Task 0: starts all CPUs. Each notes its number, its argument and its trap table, and counts its own instructions.
        start_others 0x100
        set 0x100, %o0
        wrpr %l6, 0, %tba
cpu:    set results, %l7
        mov %o0, %l1
        call80 0x16                             ! cpu_myid
        brnz,pn %o0, failed
         sllx %o1, 6, %l2
        add %l7, %l2, %l2
        stx %o1, [%l2 + 64]
        stx %l1, [%l2 + 72]
        rdpr %tba, %g1
        stx %g1, [%l2 + 80]
        clr %o0                                 ! set and get %pcr: counts instructions of privileged software
        set 2 << 14 | 0xfd << 6 | 1 << 1, %o1
        set 0x107, %o5
        ta 0x80
        stx %o0, [%l2 + 88]
        wr %g0, 0, %asr17
        .rept 100
        nop
        .endr
        rd %asr17, %g1
        stx %g1, [%l2 + 96]
        clr %o0
        clr %o1
        set 0x106, %o5
        ta 0x80
        stx %o0, [%l2 + 104]
        stx %o1, [%l2 + 112]
        count %l7
        cmp %l1, 0x100
        be,pn %xcc, 5f
         nop
4:      call80 0x12                             ! cpu_yield
        ba,a,pt %xcc, 4b
5:      ldx [%l7 - 56], %g1
        ldx [%l7], %g2
        cmp %g1, %g2
        bne,pt %xcc, 5b
         clr %o0
        ba,a,pt %xcc, exit

! Task 1: takes traps in its own trap table, and notes %tt, %tl, %gl and %tpc of each trap, from `results` + 64 on.
traps_of_its_own:
        wrpr %l6, 0, %tba
        add %l7, 64, %l5
        .word 0                                 ! illegal_instruction
        ldx [%l7 + 4], %g1                      ! mem_address_not_aligned
        stxa %g0, [%g0] 0x4f                    ! privileged_action
        ldx [%g0], %g1                          ! data_real_translation_miss
        setx 0x1f10000000, %g2, %g3
        ldub [%g3], %g1                         ! a register of the console
        set 0x100000, %g3
        stx %g0, [%g3]                          ! memory of the hypervisor
        ldx [%l7 - 48], %g3
        ldxa [%g3] 0x14, %g1                    ! ASI_REAL, beyond the end
        jmpl %g3, %o7                           ! a fetch
         nop
        wrpr %g0, 1, %tl                        ! a trap from level 1
        wrpr %g0, 1, %gl
        .word 0
        wrpr %g0, 0, %tl
        wrpr %g0, 0, %gl
        sub %l5, %l7, %o0
        ba,a,pt %xcc, exit

! Task 2: reads a word outside its memory, and stores it at `results` + 8. Exits with the number of the trap, or with 0 if there is none.
look:   wrpr %l6, 0, %tba
        add %l7, 64, %l5
        ldx [%l7 - 48], %g3
        ldx [%g3], %l4
        ldx [%l7 + 64], %g1
        stx %l4, [%l7 + 8]
        mov %g1, %o0
        ba,a,pt %xcc, exit

! Task 3: takes a fatal trap.
fatal:  .word 0
        ba,a,pt %xcc, failed

! Task 4: after a call in which the hypervisor trapped, returns from a trap level that the guest entered without a trap. The guest must not
! get the hypervisor's privilege: the next instruction traps.
climb:  wrpr %l6, 0, %tba
        mov 2, %o0
        set 0x106, %o5
        ta 0x80
        stx %o0, [%l7 + 8]
        add %l7, 64, %l5
        mov 2, %l0
6:      wrpr %l0, 0, %tl
        set 7f, %g1
        wrpr %g1, 0, %tnpc
        rdpr %tstate, %g1
        set 0x1400, %g2
        rdpr %cwp, %g3
        or %g2, %g3, %g2
        wrpr %g2, 0, %tstate
        done
7:      .word 0x83480000                        ! rdhpr %hpstate, %g1
        subcc %l0, 1, %l0
        bne,pt %xcc, 6b
         nop
        wrpr %g0, 0, %tl
        sub %l5, %l7, %o0
        ba,a,pt %xcc, exit

! Task 5: makes calls for ever.
endless:
        mov 2, %o0
        set 0x106, %o5
        ta 0x80
        stx %o0, [%l7 + 8]
        ldx [%l7], %g1
        inc %g1
        stx %g1, [%l7]
        ba,a,pt %xcc, endless

failed: mov 99, %o0
exit:   call80 0x00
        ba,a,pt %xcc, exit

! Notes a trap, and continues after the instruction that trapped. If a fetch trapped, continues after the jump to its address.
note:   rdpr %tt, %g1
        stx %g1, [%l5]
        rdpr %tl, %g2
        stx %g2, [%l5 + 8]
        rdpr %gl, %g2
        stx %g2, [%l5 + 16]
        rdpr %tpc, %g2
        stx %g2, [%l5 + 24]
        add %l5, 32, %l5
        cmp %g1, 8
        be,pn %xcc, 8f
         nop
        done
8:      add %o7, 8, %g2
        wrpr %g2, 0, %tnpc
        done

        .align 32768
traps:  .rept 1024
        ba,a,pt %xcc, note
        .align 32
        .endr
