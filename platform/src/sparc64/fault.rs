//! Handles traps that are not hypercalls. The strand recovers from some of these traps. The others end the strand.
#![allow(unsafe_code)]

use core::ops::ControlFlow;
use core::ptr;

use super::block::SavedRegisters;
use super::{StrandBlock, TrapHandler, entry, guest, late};

/// hstick_match, which [`late`] and the strand's timer make pending.
const HSTICK_MATCH: u64 = 0x5e;

/// Returns `true` if a trap of this type shows that the interrupted instruction is a device access that failed, or waits for such an
/// access. The types are data_access_exception (0x30) to mem_address_not_aligned (0x34), and unsupported_page_size (0x3f), which QEMU
/// raises where no device is. illegal_instruction (0x10) is added because QEMU's processor does not have the instruction that `sun4v_halt`
/// uses.
const fn is_failed_access(trap_type: u64) -> bool {
    matches!(trap_type, 0x10 | 0x30..=0x34 | 0x3f)
}

/// Handles a trap that is not a hypercall, with all registers in the block. Returns the registers with which the strand continues; `None`
/// if it cannot continue. If the instruction that trapped is one that may fault, `resume_address` is the address at which the hypervisor
/// continues. Otherwise `resume_address` is 0.
///
/// # Safety
/// Called by the trap handler of an image, with the block of the strand that trapped. The handler in the block is null before
/// `start_entry` has returned.
#[doc(hidden)]
pub unsafe extern "C" fn recover_entry<'b, H: TrapHandler>(
    block: &'b StrandBlock<H>,
    resume_address: u64,
    saved: &'b SavedRegisters,
) -> Option<&'b SavedRegisters> {
    // SAFETY: `start_entry` has stored a reference that is valid forever, or the pointer is null.
    let handler = unsafe { block.handler.get().as_ref() };
    if ptr::eq(saved, &block.interrupted) {
        return match handler?.interrupted() {
            ControlFlow::Continue(()) => Some(saved),
            ControlFlow::Break(()) => entry::interrupted::<H>(),
        };
    }
    if block.recovering.replace(true) {
        // The call of `recover` below has trapped, and nothing handles such a trap.
        return None;
    }
    let recovered = recover(block, handler, resume_address);
    block.recovering.set(false);
    recovered.then_some(saved)
}

fn recover<H: TrapHandler>(
    block: &StrandBlock<H>,
    handler: Option<&H>,
    resume_address: u64,
) -> bool {
    // SAFETY: the trap handler has written the trap. The handler writes another trap only if the strand traps below, and then this function
    // never continues.
    let trap = unsafe { &mut *block.trapped.fatal.get() };
    if trap.is_in_hypervisor() {
        let resume_address =
            (resume_address != 0 && is_failed_access(trap.tt)).then_some(resume_address);
        return resume_address.map(|address| trap.resume_at(address)).is_some();
    }
    if trap.tt != HSTICK_MATCH {
        return guest::reflect(block, trap);
    }
    late::clear_match();
    if let Some(handler) = handler {
        handler.timer();
    }
    let [o0, o1, _, _, _, function, _, _] = trap.outs_mut();
    // Only an answer of EOK (0) is replaced. A call that was refused keeps its status.
    let served = if *o0 == 0 { *function } else { 0 };
    if let Some([status, value]) =
        handler.and_then(|handler| late::deliver_reports(block, handler, served))
    {
        (*o0, *o1) = (status, value);
    }
    true
}

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_fault {
    ($handler:ty) => {
        $crate::sun4v_asm!(
            ["
            .section .text.traps.fault, \"ax\"
            .globl sun4v_load
    sun4v_load:
            ldx [%o0], %o1
            retl
             clr %o0
            .globl sun4v_store
    sun4v_store:
            stx %o1, [%o0]
    sun4v_store_wait:
            membar 0x40                         ! #Sync: a store that faults does so now
            retl
             clr %o0
            .globl sun4v_load_word
    sun4v_load_word:
            lduw [%o0], %o1
            retl
             clr %o0
            .globl sun4v_store_word
    sun4v_store_word:
            ba,pt %xcc, sun4v_store_wait
    sun4v_store_word_now:
             st %o1, [%o0]
            .globl sun4v_halt
    sun4v_halt:
            wr %g0, 0, %asr26
            retl
             clr %o0
            .globl sun4v_access_failed
    sun4v_access_failed:                        ! sun4v_late gets here by retry, which keeps the level that it leaves
            rdpr %tl, %o1
            add %o1, 1, %o2
            wrpr %o2, 0, %tl
            ", $crate::sun4v_clear_level!(), "
            wrpr %o1, 0, %tl
            retl
             mov {ACCESS_FAULTED}, %o0
            .pushsection .sun4v.faults, \"a\"
            .xword sun4v_load, sun4v_access_failed
            .xword sun4v_store, sun4v_access_failed
            .xword sun4v_store_wait, sun4v_access_failed
            .xword sun4v_load_word, sun4v_access_failed
            .xword sun4v_store_word_now, sun4v_access_failed
            .xword sun4v_halt, sun4v_access_failed
            .popsection

            .macro sun4v_load_entry data_in        ! %g2 is the address of a miss; its low bits are no part of it
            ldx [%g6 + {REAL}], %g3
            sub %g2, %g3, %g2
            ldx [%g6 + {BYTES}], %g3
            cmp %g2, %g3
            bgeu,pn %xcc, sun4v_trapped
             ldx [%g6 + {PAGE}], %g3
            andn %g2, %g3, %g2
            ldx [%g6 + {ENTRY}], %g3
            add %g2, %g3, %g2
            mov {DATA_IN}, %g1
            stxa %g2, [%g1] \\data_in
            retry
            .endm
    sun4v_miss_of_fetch:
            sun4v_load_entry {DATA_IN_FETCH}
    sun4v_miss_of_data:
            sun4v_load_entry {DATA_IN_DATA}

    sun4v_interrupted:                          ! an interrupt of the guest: the hypervisor takes none
            wrpr %g0, {PSTATE}, %pstate
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g6
            ldxa [%g6] {ASI}, %g6
            ba,pt %xcc, sun4v_keep
             sub %g6, {INTERRUPTED}, %g6

            .globl sun4v_trapped
    sun4v_trapped:                              ! keeps all registers, and restores them if the strand goes on
            wrpr %g0, {PSTATE}, %pstate
            wrpr %g0, {MAXGL}, %gl
            mov {SCRATCHPAD}, %g6               ! %g6 is the block already if this is a trap of the hypervisor
            ldxa [%g6] {ASI}, %g6
    sun4v_keep:                                 ! relative to %g6, which is below the block for an interrupt
            .irp n, 1, 2, 3, 4, 5, 6, 7
            stx %g\\n, [%g6 + {FATAL_GLOBALS} + 8 * \\n]
            .endr
            rdpr %tt, %g1
            stx %g1, [%g6 + {FATAL_TT}]
            rdpr %tnpc, %g1
            stx %g1, [%g6 + {FATAL_TNPC}]
            rdpr %tl, %g1
            stx %g1, [%g6 + {FATAL_TL}]
            rdpr %canrestore, %g1
            stx %g1, [%g6 + {FATAL_CANRESTORE}]
            rdpr %cansave, %g1
            stx %g1, [%g6 + {TRAP_CANSAVE}]
            rdpr %otherwin, %g1
            stx %g1, [%g6 + {TRAP_OTHERWIN}]
            rdpr %cleanwin, %g1
            stx %g1, [%g6 + {TRAP_CLEANWIN}]
            rd %y, %g1
            stx %g1, [%g6 + {TRAP_Y}]
            rdpr %tpc, %g5
            stx %g5, [%g6 + {FATAL_TPC}]
            .word {READ_HTSTATE_G3}
            stx %g3, [%g6 + {FATAL_HTSTATE}]
            rdpr %tstate, %g1
            stx %g1, [%g6 + {FATAL_TSTATE}]
            mov %sp, %g4
            mov {NWINDOWS} - 1, %g2
            add %g6, {FATAL_WINDOWS} + 128 * ({NWINDOWS} - 1), %g3
    1:      wrpr %g2, 0, %cwp
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            stx %l\\n, [%g3 + 8 * \\n]
            stx %i\\n, [%g3 + 64 + 8 * \\n]
            .endr
            sub %g3, 128, %g3
            brnz,pt %g2, 1b
             sub %g2, 1, %g2
            .word {READ_HTSTATE_G3}
            andcc %g3, {HPRIV}, %g0
            bne,pn %xcc, 2f
             mov %g6, %o2
            srlx %g1, {GL_SHIFT}, %g1
            and %g1, 7, %g1
            cmp %g1, {MAXGL}                    ! QEMU has no HTSTATE
            be,pn %xcc, 2f
             nop
            wrpr %g1, 0, %gl                    ! the guest's globals
            .irp n, 1, 2, 3, 4, 5, 6, 7
            stx %g\\n, [%o2 + {FATAL_GLOBALS} + 8 * \\n]
            .endr
            wrpr %g0, {MAXGL}, %gl
            ba,pt %xcc, 4f
             clr %o1
    2:      set __sun4v_faults, %g1             ! where to go on behind this instruction of the hypervisor
            set __sun4v_faults_end, %g2
    3:      cmp %g1, %g2
            bgeu,pn %xcc, 4f
             clr %o1
            ldx [%g1], %g3
            cmp %g3, %g5
            bne,pt %xcc, 3b
             add %g1, 16, %g1
            ldx [%g1 - 8], %o1
    4:      add %o2, {KEPT}, %o2
            mov {SCRATCHPAD}, %g6
            ldxa [%g6] {ASI}, %g6
            mov %g6, %o0
            ldx [%g6 + {STACK}], %sp
            set sun4v_access_failed, %g1
            cmp %o1, %g1
            bne,pt %xcc, 5f
             nop
            sub %g4, 192, %sp                   ! Rust that goes on uses the stack
    5:
            wrpr %g0, {NWINDOWS} - 2, %cansave
            wrpr %g0, 0, %canrestore
            wrpr %g0, 0, %otherwin
            wrpr %g0, {NWINDOWS} - 1, %cleanwin
            call {recover}
             membar 0x40                        ! #Sync: earlier stores that fail do so before Rust is called
            brnz,pt %o0, 6f
             mov {NWINDOWS} - 1, %g2
            mov %g6, %o0
            wrpr %g0, 1, %tl
            set {fatal}, %g2
            ba,a,pt %xcc, sun4v_start_over

    6:      sub %o0, {KEPT}, %g6
            add %g6, {FATAL_WINDOWS} + 128 * ({NWINDOWS} - 1), %g3
    7:      wrpr %g2, 0, %cwp
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            ldx [%g3 + 8 * \\n], %l\\n
            ldx [%g3 + 64 + 8 * \\n], %i\\n
            .endr
            sub %g3, 128, %g3
            brnz,pt %g2, 7b
             sub %g2, 1, %g2
            ldx [%g6 + {TRAP_CANSAVE}], %g1
            wrpr %g1, 0, %cansave
            ldx [%g6 + {FATAL_CANRESTORE}], %g1
            wrpr %g1, 0, %canrestore
            ldx [%g6 + {TRAP_OTHERWIN}], %g1
            wrpr %g1, 0, %otherwin
            ldx [%g6 + {TRAP_CLEANWIN}], %g1
            wrpr %g1, 0, %cleanwin
            ldx [%g6 + {TRAP_Y}], %g1
            wr %g1, 0, %y
            ldx [%g6 + {FATAL_HTSTATE}], %g2
            andcc %g2, {HPRIV}, %g0
            bne,pn %xcc, 8f
             ldx [%g6 + {FATAL_TSTATE}], %g2
            srlx %g2, {GL_SHIFT}, %g3
            and %g3, 7, %g3
            cmp %g3, {MAXGL}
            be,pn %xcc, 8f
             nop

            rdpr %tl, %g1                       ! the guest goes on
            cmp %g1, 2
            bgeu,pn %xcc, 9f
             ldx [%g6 + {FATAL_TPC}], %g1
            wrpr %g0, 2, %tl
            ", $crate::sun4v_clear_level!(), "
            wrpr %g0, 1, %tl
    9:      wrpr %g1, 0, %tpc
            ldx [%g6 + {FATAL_TNPC}], %g1
            wrpr %g1, 0, %tnpc
            retry

    8:      ! The hypervisor goes on by a jump.
            and %g2, {NWINDOWS} - 1, %g3
            wrpr %g3, 0, %cwp
            srlx %g2, 32, %g3
            wr %g3, 0, %ccr
            ", $crate::sun4v_clear_level!(), "
            rdpr %tl, %g3
            sub %g3, 1, %g3
            wrpr %g3, 0, %tl
            .irp n, 1, 2, 3, 4, 5
            ldx [%g6 + {FATAL_GLOBALS} + 8 * \\n], %g\\n
            .endr
    10:     ldx [%g6 + {FATAL_TPC}], %g7
            jmp %g7
    11:      nop
            .pushsection .sun4v.restarts, \"a\"
            .xword 10b, 11b, 10b                ! %g7 is used: see sun4v_late
            .popsection

            .globl sun4v_abandon
    sun4v_abandon:
            mov %o0, %g2
            mov %o1, %o0
    sun4v_start_over:                           ! calls %g2 on the strand's stack with fresh windows
            mov {SCRATCHPAD}, %g1
            ldxa [%g1] {ASI}, %g6
            wrpr %g0, {NWINDOWS} - 2, %cansave
            wrpr %g0, 0, %canrestore
            wrpr %g0, 0, %otherwin
            wrpr %g0, {NWINDOWS} - 1, %cleanwin
            wrpr %g0, 0, %wstate
            ldx [%g6 + {STACK}], %sp
            call sun4v_at
             nop
            ba,a,pt %xcc, sun4v_enter           ! where the function says
    sun4v_at:
            jmp %g2
             nop
            "],
            [READ_HTSTATE_G3 HPRIV FATAL_HTSTATE INTERRUPTED KEPT REAL BYTES PAGE ENTRY DATA_IN_FETCH DATA_IN_DATA DATA_IN CLEAR_HTSTATE PSTATE MAXGL NWINDOWS
             ASI SCRATCHPAD STACK TRAP_CANSAVE TRAP_OTHERWIN TRAP_CLEANWIN TRAP_Y FATAL_TT FATAL_TPC FATAL_TNPC FATAL_TSTATE
             FATAL_TL FATAL_CANRESTORE FATAL_GLOBALS FATAL_WINDOWS GL_SHIFT ACCESS_FAULTED],
            { recover = sym $crate::sparc64::recover_entry::<$handler>,
              fatal = sym $crate::sparc64::fatal_entry::<$handler> }
        );
    };
}
