//! Failures of the hypervisor itself, and traps that end a guest.

use core::fmt::{self, Display, Write};
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};

use ::log::Level;
use guest_abi::StrandId;
use hv_core::Caller;
use platform::memory_map::escape;
use platform::memory_map::mailbox::record::Reason;
use platform::memory_map::mailbox::state;
use platform::sparc64::{FatalTrap, Uart, interrupt, stop};

use super::assemble::BoardHypervisor;
use super::board::{Board, uart};
use super::clocks;
use super::guests::OPERATOR;
use super::handler::{Handler, HasStorage, has_failed};
use super::layout;
use super::log;
use super::mailbox;
use super::record::Record;
use crate::logger::trap_name;

/// Whether each strand is handling a hypervisor failure.
static FAILING: [AtomicBool; StrandId::COUNT] = [const { AtomicBool::new(false) }; StrandId::COUNT];

/// The cause of a hypervisor failure.
#[derive(Clone, Copy)]
pub(super) enum Failure {
    Trap(&'static FatalTrap),
    /// A Rust panic at this source line.
    Panic(u32),
}

impl Failure {
    fn record(self, strand: Option<StrandId>) -> Record<'static> {
        match self {
            Self::Trap(trap) => Record { trap: Some(trap), ..Record::new(Reason::Trap, strand) },
            Self::Panic(line) => {
                Record { address: Some(line.into()), ..Record::new(Reason::Panic, strand) }
            }
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trap(FatalTrap { tt, tpc, .. }) => write!(f, "trap {tt:#x} at {tpc:#x}"),
            Self::Panic(line) => write!(f, "panic in line {line}"),
        }
    }
}

impl<B: Board> Handler<B> {
    /// Ends the guest after a trap that the guest cannot take.
    pub(super) fn trapped(&self, trap: &FatalTrap) {
        let Caller { guest, strand } = self.caller();
        // If the console does not work, the operator still learns of the trap, from the record and the log.
        let _ = write!(uart::<B>(guest), "guest: {trap}");
        // The record needs no rate limit, because a guest ends only once until the operator resets it.
        let record = Record { trap: Some(trap), ..Record::new(Reason::GuestTrap, Some(strand)) };
        record.write(Some(self.hypervisor.embedder().layout));
        let FatalTrap { tt, tpc, .. } = *trap;
        let (named, what) = (self.named(), trap_name(tt).unwrap_or("of an unknown type"));
        log::report(
            Some(guest),
            Level::Warn,
            format_args!(
                "{named} is ended by trap {tt:#x} ({what}) at {tpc:#x} on strand {strand}"
            ),
            || {},
        );
        self.guest_ended(state::TRAPPED, escape::TRAPPED);
    }

    /// Handles a hypervisor failure on this strand: ends the guest, and frees what the strand held, as if the strand had died. If the
    /// hypervisor fails again before this function returns, the strand leaves service. Without a machine description, switches the machine
    /// off instead.
    #[cold]
    #[inline(never)]
    pub(super) fn failed(&self, failure: Failure) {
        let strand = self.caller().strand;
        let layout = self.hypervisor.embedder().layout;
        failure.record(Some(strand)).write(Some(layout));
        log::abandon(strand);
        clocks::abandon(strand);
        if !layout.has_description {
            match failure {
                Failure::Trap(trap) => {
                    let _ = write!(Uart::for_guest(0), "hypervisor: {trap}");
                    switch_off(escape::TRAPPED)
                }
                Failure::Panic(_) => failed(&failure, escape::PANICKED),
            }
        }
        let failing = &FAILING[strand.index()];
        if failing.swap(true, SeqCst) {
            stop();
        }
        release(self.hypervisor, strand);
        // The strand may not have completed the operator's step, so send the interrupt again.
        interrupt::send(strand, OPERATOR);
        self.guest_ended(state::FAILED, escape::TRAPPED);
        // Write the message last: if the hypervisor fails while it writes the message, everything else is already done.
        let named = self.named();
        log::message(
            Level::Error,
            format_args!("the hypervisor failed on strand {strand}, {failure}: {named} is ended"),
        );
        failing.store(false, SeqCst);
    }
}

/// Frees the locks and the parts of the services that `strand` was using when the hypervisor failed on it.
fn release<B: Board>(hypervisor: &BoardHypervisor<B>, strand: StrandId) {
    let (counters, ..) = hypervisor.services();
    counters.strand_died(strand, strand);
    counters.cross_called(strand);
    mailbox::abandon(strand);
    hypervisor.embedder().abandon(strand);
}

/// Handles a hypervisor failure on a strand that has no guest, or whose guest has not started. The strand then leaves service. If the
/// hypervisor has not started, switches the machine off.
pub(super) fn without_handler<B: HasStorage>(failure: Failure) -> ! {
    let strand = interrupt::current_strand();
    let record = failure.record(strand);
    let (Some(hypervisor), Some(strand)) = (B::storage().ready(), strand) else {
        record.write(None);
        failed(&format_args!("it does not start: {failure}"), escape::NOT_STARTED)
    };
    record.write(Some(hypervisor.embedder().layout));
    log::abandon(strand);
    clocks::abandon(strand);
    if !FAILING[strand.index()].swap(true, SeqCst) {
        release(hypervisor, strand);
        let (_, core, ..) = hypervisor.services();
        core.cpus().mark_failed(strand);
        // If the strand was executing one of the operator's steps, another strand that has a guest must complete the step.
        let guests = hypervisor.embedder().layout.guests.iter();
        let mut strands = guests.flat_map(|guest| guest.config.strands.iter());
        if let Some(other) = strands.find(|other| !has_failed(hypervisor, *other)) {
            interrupt::send(other, OPERATOR);
        }
        log::message(
            Level::Error,
            format_args!("the hypervisor failed on strand {strand}, {failure}: the strand is lost"),
        );
    }
    stop()
}

/// Reports why the hypervisor cannot continue: in its log or, if the machine has no description, on the first guest's console.
pub(super) fn report_failure(what: &dyn Display) {
    if layout::is_described() {
        log::message(Level::Error, format_args!("the hypervisor cannot go on: {what}"));
    } else {
        // If the console does not work, there is no other place to report to.
        let _ = writeln!(Uart::for_guest(0), "hypervisor: {what}");
    }
}

/// Writes why the hypervisor itself has failed, and switches the machine off with a [code](escape).
pub fn failed(why: &dyn Display, code: u64) -> ! {
    report_failure(why);
    switch_off(code)
}

fn switch_off(code: u64) -> ! {
    Uart::for_guest(0).end(code);
    mailbox::power_off();
    stop()
}
