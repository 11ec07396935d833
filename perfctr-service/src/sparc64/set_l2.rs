//! Writes PERF_CONFIG to the L2 control registers, in assembly.
//!
//! The code holds the lock throughout, reads all banks first, and writes bank 0 last. A store that fails is reported by the next `membar
//! #Sync` at the latest. One such barrier comes before the write of bank 0, and another one after it. If either barrier brings a report of
//! any store, the call takes the slow path, which undoes the write. If a bank fails, the unit therefore goes out of service, and then the
//! call is refused. No get has found a value that is undone.

/// The instructions after the check of the guest's rights. %g1 holds the address of the counts of sets, %g3 the address of the register
/// table, and %g5 the address of the guest's words.
#[doc(hidden)]
#[macro_export]
macro_rules! perfctr_set_l2 {
    () => {
        "
            .macro perfctr_may_fault place, continues=perfctr_faulted
            .pushsection .sun4v.faults, \"a\"
            .xword \\place, \\continues
            .popsection
            .endm

    perfctr_set_l2:
            ldx [%g6 + {L2}], %g2
            ldx [%g6 + {OWNER}], %g4
            cas [%g2], %g0, %g4
            brnz,pn %g4, perfctr_slow
             ldx [%g5], %g4                     ! the last holder may have taken the unit out of service
            sllx %g4, {L2_PLACE}, %g4
            brgez,pn %g4, perfctr_unlock_l2
             ldx [%g3 + {L2_ROW}], %g3
            .irp bank, 1, 2, 3, 4, 5, 6, 7
    30:     ldx [%g3 + \\bank * {BANK}], %g4
            perfctr_may_fault 30b, perfctr_unread_l2
            stx %g4, [%g6 + {L2_READ} + 8 * (\\bank - 1)]
            .endr
    31:     ldx [%g3], %g1
            perfctr_may_fault 31b, perfctr_unread_l2
            mov {CONFIG_BITS}, %g4
            and %o1, %g4, %g5
            sllx %g4, {CONFIG_SHIFT}, %g4
            sllx %g5, {CONFIG_SHIFT}, %g5
            .irp bank, 1, 2, 3, 4, 5, 6, 7
            ldx [%g6 + {L2_READ} + 8 * (\\bank - 1)], %g2
            andn %g2, %g4, %g2
            or %g2, %g5, %g2
    32:     stx %g2, [%g3 + \\bank * {BANK}]
            perfctr_may_fault 32b
            .endr
    33:     membar 0x40                         ! if another bank has failed, bank 0 keeps its value
            perfctr_may_fault 33b
            ldx [%g6 + {REPORTS_NUMBER}], %g2
            brnz,pn %g2, perfctr_faulted
             andn %g1, %g4, %g1
            or %g1, %g5, %g1
    34:     stx %g1, [%g3]
            perfctr_may_fault 34b
    35:     membar 0x40
            perfctr_may_fault 35b
            ldx [%g6 + {REPORTS_NUMBER}], %g2
            brnz,pn %g2, perfctr_faulted
             ldx [%g6 + {L2}], %g2
            lduw [%g2 + {L2_ENDED}], %g4
            inc %g4
            stw %g4, [%g2 + {L2_ENDED}]
            stw %g0, [%g2]
            ldx [%g6 + {COUNTS}], %g1
            ldx [%g1 + {SET_L2}], %g4
            inc %g4
            stx %g4, [%g1 + {SET_L2}]
            clr %o0
            done
    perfctr_unlock_l2:
            ba,pt %xcc, perfctr_slow
             stw %g0, [%g2]
    perfctr_unread_l2:
            ba,pt %xcc, perfctr_faulted
             stw %g0, [%g2]
        "
    };
}
