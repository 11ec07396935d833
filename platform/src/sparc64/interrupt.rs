//! Starts strands, sends and takes interrupts, and sets a strand's timer, as on the UltraSPARC T2. No public document covers machines with
//! more than one node, so for these machines all of this is *assumed*. All functions are for hyperprivileged code.
#![allow(unsafe_code)]

use core::arch::asm;

use guest_abi::StrandId;

use super::{StrandBlock, late, layout};

/// The ASI of the registers that control a chip's strands (CMP), with one bit per strand. On node n, their addresses are higher by n *
/// [`NODE`] (*assumed*).
const CMP: usize = 0x41;
const NODE: u64 = 0x1000;
/// The address of the register that starts strands. Writing 1 to a strand's bit starts the strand.
const RUNNING_SET: u64 = 0x60;

/// A write to this ASI sends an interrupt (INTR_W). Bits 5:0 of the value are the interrupt number. The bits from 8 up are the strand
/// number. For strands above 63, this is *assumed*.
const SEND: usize = 0x73;
/// A read of this ASI returns the interrupts that are received but not taken, one bit for each number (INTR_RECEIVE).
const RECEIVED: usize = 0x72;
/// A read of this ASI takes the pending interrupt with the highest number, and returns the number (INTR_R).
const TAKE: usize = 0x74;

/// Returns the calling strand; `None` if the processor reports a number that belongs to no strand.
#[must_use]
pub fn current_strand() -> Option<StrandId> {
    let number: usize;
    // SAFETY: the read changes nothing.
    unsafe {
        asm!("ldxa [{place}] {ASI}, {number}", place = in(reg) layout::OWN_NUMBER, number = out(reg) number,
            ASI = const layout::ASI_OWN_NUMBER, options(nostack, preserves_flags));
    }
    StrandId::new(number & layout::NUMBERS)
}

/// Starts a strand at the reset vector, or where it was stopped. All the calling strand's earlier writes are visible to the started strand.
pub fn start_strand(strand: StrandId) {
    // SAFETY: the strand executes this image, which is prepared for it.
    unsafe {
        asm!("membar #Sync", "stxa {bit}, [{place}] {ASI}", "membar #Sync", bit = in(reg) 1_u64 << (strand.index() % 64),
            place = in(reg) address(strand, RUNNING_SET), ASI = const CMP, options(nostack, preserves_flags));
    }
}

fn address(strand: StrandId, register: u64) -> u64 {
    strand.node().index() as u64 * NODE + register
}

/// Sends interrupt `number`, 0 to 63, to a strand, which may be the sender. The strand that takes the interrupt sees all the sender's
/// earlier writes.
pub fn send(strand: StrandId, number: u8) {
    let value = (strand.index() as u64) << 8 | u64::from(number & 63);
    // SAFETY: the receiving strand takes the interrupt while it executes its guest or waits, never elsewhere in the hypervisor.
    unsafe {
        asm!("membar #Sync", "stxa {value}, [%g0] {ASI}", "membar #Sync", value = in(reg) value, ASI = const SEND,
            options(nostack, preserves_flags));
    }
}

/// Takes the interrupt with the highest number that this strand has received; `None` if there is none.
#[must_use]
pub fn take() -> Option<u8> {
    let number: u64;
    // SAFETY: the caller handles the interrupt that this read takes.
    unsafe {
        let received: u64;
        asm!("ldxa [%g0] {ASI}, {received}", received = out(reg) received, ASI = const RECEIVED, options(nostack, preserves_flags));
        if received == 0 {
            return None;
        }
        asm!("ldxa [%g0] {ASI}, {number}", number = out(reg) number, ASI = const TAKE, options(nostack, preserves_flags));
    }
    Some(number as u8 & 63)
}

/// Sets this strand's timer: when %stick equals `stick`, [`TrapHandler::timer`](super::TrapHandler::timer) is called, or the strand
/// continues after [`halt`]. Replaces the timer's previous setting.
pub fn set_timer(stick: u64) {
    // SAFETY: the image uses this timer for nothing else.
    unsafe { asm!(".word {SET}", SET = const layout::SET_TIMER, in("o0") stick, options(nostack)) };
    late::clear_match();
    // SAFETY: the boot code of the image has given this strand its block. The layout does not depend on the handler's type.
    if unsafe { StrandBlock::<()>::current() }.reports.number.get() != 0 {
        late::set_match();
    }
}

/// Halts this strand until an interrupt is pending for it: from another strand, from the guest's %softint, or from a timer. Returns
/// immediately on a processor that cannot halt.
///
/// A 0 in the strand status register halts the strand, as on the UltraSPARC T1; *assumed* for the UltraSPARC T2 Plus.
pub fn halt() {
    unsafe extern "C" {
        fn sun4v_halt();
    }
    // SAFETY: the strand continues after the instruction, even if the processor does not have it.
    unsafe { sun4v_halt() };
}
