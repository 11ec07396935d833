//! *Late faults*: device stores that fail after the strand has continued.
//!
//! The trap store_error may arrive at any instruction. Its handler, in assembly, only writes the report to the strand's block, makes
//! hstick_match pending, and continues at the interrupted instruction with every register as it was. The hypervisor has PSTATE.IE = 0, so
//! hstick_match waits until the guest's next instruction, at any trap level. At that trap, or earlier if the strand enters Rust code first,
//! [`TrapHandler::faulted_late`] reports the fault to the image.
//!
//! The handler owns %g7 of GL = MAXGL, so that it needs no free register in the code that it interrupts. Other code that needs this
//! register has three words in the section `.sun4v.restarts` for each sequence of instructions: the first address of the sequence, the
//! address after the sequence, and the address at which an interrupted sequence restarts. The handler's own first and last instructions are
//! such sequences, because a report may arrive while another is handled. Each of these nested handlers has its own frame.
//!
//! # Assumptions about the processor
//! Sun's hypervisor and OpenSPARC T2 mention DFESR and the store buffer. The registers of the UltraSPARC T2 Plus are not published.
//! *Assumed*: if another store fails before a report is read, only the later failure is reported, and there is no second trap. Reports
//! whose type is not SBDIOU have no address.
#![allow(unsafe_code)]

use core::arch::asm;
use core::slice;

use super::reports::{Reports, UNKNOWN};
use super::{FastPath, StrandBlock, TrapHandler, layout};
use crate::PhysicalAddress;

/// Passes all reports to the image. `function` is the number (%o5) of the call that the fast path has just answered with EOK, or 0 if there
/// is no such call. If a report about the call's unit arrived before the answer, returns the values of %o0 and %o1 that replace the answer.
#[cold]
#[inline(never)]
pub(super) fn deliver_reports<H: TrapHandler>(
    block: &StrandBlock<H>,
    handler: &H,
    function: u64,
) -> Option<[u64; 2]> {
    let Reports { number, entries, .. } = &block.reports;
    let mut answer = None;
    for report in entries.iter().take(number.replace(0) as usize) {
        let address = match report.address.get() {
            UNKNOWN => None,
            address => Some(PhysicalAddress(address)),
        };
        handler.faulted_late(address);
        if let (Some(address), true) = (address, is_before_answer(report.tpc.get())) {
            let refused = handler.context().refused_late(address, function, report.o0.get());
            answer = refused.map(|status| [status.number(), report.o1.get()]).or(answer);
        }
    }
    answer
}

/// Returns `true` if the fast path has not yet changed the guest's %o0 and %o1 at this address.
fn is_before_answer(tpc: u64) -> bool {
    unsafe extern "C" {
        static __sun4v_unanswered: [u64; 2];
        static __sun4v_unanswered_end: [u64; 2];
    }
    let (first, end) = (&raw const __sun4v_unanswered, &raw const __sun4v_unanswered_end);
    let number = (end.addr() - first.addr()) / size_of::<[u64; 2]>();
    // SAFETY: the linker script puts one symbol before the pairs of addresses, and one after them.
    let mut pairs = unsafe { slice::from_raw_parts(first, number) }.iter();
    pairs.any(|[first, end]| (*first..*end).contains(&tpc))
}

/// Makes hstick_match pending, so that this strand takes the trap and looks for reports.
pub(super) fn set_match() {
    // SAFETY: if there is no report, the trap only calls `TrapHandler::timer`.
    unsafe { asm!(".word {SET}", SET = const layout::SET_HINTP, options(nostack)) };
}

/// Clears the pending hstick_match, so that this strand does not take the trap.
pub(super) fn clear_match() {
    // SAFETY: the image uses hstick_match only for reports and for its timer.
    unsafe { asm!(".word {CLEAR}", CLEAR = const layout::CLEAR_HINTP, options(nostack)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_late {
    () => {
        $crate::sun4v_asm!(
            ["
            .section .text.traps.late, \"ax\"
            .globl sun4v_late
    sun4v_late:
            wrpr %g0, {MAXGL}, %gl
            wr %g0, {ASI}, %asi                 ! retry restores the interrupted code's
            ldxa [%g0 + {FRAME}] %asi, %g7
            add %g7, {FRAME_SIZE}, %g7
            stxa %g7, [%g0 + {FRAME}] %asi      ! a handler that interrupts this one takes the next frame
    1:      .irp n, 1, 2, 3, 4
            stx %g\\n, [%g7 - {FRAME_SIZE} + 8 * (\\n - 1)]
            .endr
            ldxa [%g0 + {SCRATCHPAD}] %asi, %g4
            mov {DFESR}, %g1
            ldxa [%g1] {ASI_DFESR}, %g1         ! clears it
            srlx %g1, {ERROR_SHIFT}, %g2
            and %g2, 3, %g2
            cmp %g2, {SBDIOU}
            bne,pn %xcc, 2f
             srlx %g1, {ENTRY_SHIFT}, %g2
            and %g2, 7, %g2
            sllx %g2, 3, %g2
            or %g2, {STORE_BUFFER}, %g2
            ldxa [%g2] {ASI_STORE_BUFFER}, %g1
            sllx %g1, 64 - {ADDRESS_BITS}, %g1
            ba,pt %xcc, 3f
             srlx %g1, 64 - {ADDRESS_BITS}, %g1
    2:      mov -1, %g1                         ! UNKNOWN
    3:      clr %g2
            .word {READ_HTSTATE_G3}
            andcc %g3, {HPRIV}, %g0
            be,pt %xcc, 4f                      ! the guest
             nop
            rdpr %tpc, %g2
            set sun4v_store_wait, %g3
            cmp %g2, %g3
            bne,pt %xcc, 4f
             cmp %g1, %o0
            be,pn %xcc, 9f                      ! the store for which this strand waits
             nop
    4:      ldx [%g4 + {REPORTS_NUMBER}], %g3
            cmp %g3, {REPORTS}
            bgeu,pn %xcc, 5f
             sllx %g3, {REPORT_SHIFT}, %g3
            add %g4, %g3, %g3
            stx %g1, [%g3 + {REPORT_ADDRESS}]
            stx %g2, [%g3 + {REPORT_TPC}]
            stx %o0, [%g3 + {REPORT_O0}]
            stx %o1, [%g3 + {REPORT_O1}]
            ldx [%g4 + {REPORTS_NUMBER}], %g3
            inc %g3
            stx %g3, [%g4 + {REPORTS_NUMBER}]
    5:      .word {SET_HINTP}
            brz,pt %g2, 8f
             nop
            set __sun4v_restarts, %g1
            set __sun4v_restarts_end, %g3
    6:      cmp %g1, %g3
            bgeu,pt %xcc, 8f
             ldx [%g1], %g4
            cmp %g2, %g4
            blu,pt %xcc, 7f
             ldx [%g1 + 8], %g4
            cmp %g2, %g4
            blu,pn %xcc, 10f
             ldx [%g1 + 16], %g4
    7:      ba,pt %xcc, 6b
             add %g1, 24, %g1
    9:      set sun4v_access_failed, %g4
    10:     wrpr %g4, 0, %tpc
            add %g4, 4, %g4
            wrpr %g4, 0, %tnpc
    8:      .irp n, 1, 2, 3, 4
            ldx [%g7 - {FRAME_SIZE} + 8 * (\\n - 1)], %g\\n
            .endr
    11:     ldxa [%g0 + {FRAME}] %asi, %g7
            sub %g7, {FRAME_SIZE}, %g7
            stxa %g7, [%g0 + {FRAME}] %asi
    12:     retry
            .pushsection .sun4v.restarts, \"a\"
            .xword sun4v_late, 1b, sun4v_late
            .xword 4b, 5b, 4b
            .xword 11b, 12b, 11b
            .popsection
            "],
            [MAXGL ASI FRAME FRAME_SIZE SCRATCHPAD DFESR ASI_DFESR ERROR_SHIFT SBDIOU ENTRY_SHIFT STORE_BUFFER ASI_STORE_BUFFER
             ADDRESS_BITS READ_HTSTATE_G3 HPRIV REPORTS_NUMBER REPORTS REPORT_SHIFT REPORT_ADDRESS REPORT_TPC REPORT_O0 REPORT_O1
             SET_HINTP],
            {}
        );
    };
}
