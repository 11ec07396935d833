//! Checks the machine's clocks, and tells the operator how far the time can be trusted.
//!
//! Every strand checks its clocks. Each strand has a watchdog, which compares the clocks, and a timer that interrupts the strand when the
//! next check is due. No strand is in charge of the others. A strand that checks its clocks also interrupts the guests' strands that have
//! missed a check. If no strand checks its clocks in time, the PTIMER's alarm interrupts the strand that checked last. The checks therefore
//! continue while any of the clocks runs, even if some strands have died.

use core::sync::atomic::Ordering::Relaxed;

use ::log::Level;
use guest_abi::StrandId;
use hv_core::time::Finding;
use platform::memory_map::ptimer::{TARGET, VECTOR};
use platform::ptimer::{PtimerRegisters, Register};
use platform::sparc64::interrupt;
use platform::{Bus, PhysicalAddress};

use super::clocks::{Clocks, IN_DOUBT, NAMES, NO_DOUBT, SOURCES, UNCHECKED, ready};
use super::{clock, log};

/// A strand has missed a check if its latest check is more than this number of periods ago.
const MISSED: u64 = 2;

/// The maximum number of consecutive inconclusive checks on a strand. After one more, the operator is told that the time is in doubt.
const SKIPPED: u32 = 10;

/// Makes the strand check its clocks after the current trap, which may come from the timer that [`check`] sets.
pub(super) fn timer(strand: StrandId) {
    if ready().is_some() {
        interrupt::send(strand, VECTOR);
    }
}

/// Checks the clocks if a check is due. Returns `true` if a check was due.
pub(super) fn check_if_due(strand: StrandId) -> bool {
    let Some(clocks) = ready() else {
        return false;
    };
    let (_, due) = &clocks.checks[strand.index()];
    // Once %stick has passed `due`, `left` has wrapped to a large number. If %stick has jumped far back, `left` is above the period too.
    let left = due.load(Relaxed).wrapping_sub(clock::ticks());
    let is_due = left == 0 || left > clocks.period;
    if is_due {
        check(strand);
    }
    is_due
}

/// Compares the clocks on `strand`, which executes this function. Then sets the strand's timer for its next check, sets the PTIMER's alarm,
/// and interrupts strands that have missed a check.
pub(super) fn check(strand: StrandId) {
    let Some(clocks) = ready() else { return };
    // If the lock is taken, the hypervisor failed during an earlier check on this strand, and the strand no longer compares clocks.
    if let Some(mut watchdog) = clocks.watchdogs[strand.index()].try_lock() {
        // A check that retires or restores a source is followed by another check. The limit allows two checks for each source.
        for _ in 0..2 * SOURCES {
            let finding = watchdog.check(&clocks.keeper, strand);
            clocks.log_finding(finding, strand);
            if !matches!(finding, Finding::Demoted { .. } | Finding::Restored { .. }) {
                break;
            }
        }
    }
    let now = clocks.keeper.time(strand).unwrap_or(0);
    let (checked, due) = &clocks.checks[strand.index()];
    checked.store(now, Relaxed);
    let next = clock::ticks().wrapping_add(clocks.period);
    due.store(next, Relaxed);
    interrupt::set_timer(next);
    clocks.set_alarm(strand);
    clocks.wake_late(strand, now);
}

impl Clocks {
    /// Sets the PTIMER's alarm, which interrupts `strand` if no strand checks its clocks in time. Does nothing if there is no PTIMER.
    fn set_alarm(&self, strand: StrandId) {
        let set = || {
            // The alarm is compared with the low half of the time, which wraps after 4.3 s, so the alarm comes after at most 2.15 s. An
            // alarm that comes too early only causes one more check.
            let late = self.layout.clocks.saturating_mul(MISSED).min(1 << 31) as u32;
            let at = self.alarm.read(Register::Time0)?.wrapping_add(late);
            self.bus.write(strand, PhysicalAddress(TARGET), strand.index() as u64)?;
            self.alarm.write(Register::Intr, 1)?;
            self.alarm.write(Register::Alarm0, at & Register::Alarm0.mask())?;
            self.alarm.write(Register::IntrEn, 1)
        };
        let _ = set();
    }

    /// Interrupts every other strand that belongs to a guest and has missed a check. Every strand calls this function after its own check,
    /// because any other strand may have died.
    fn wake_late(&self, strand: StrandId, now: u64) {
        for other in self.layout.guests.iter().flat_map(|guest| guest.config.strands.iter()) {
            let (checked, _) = &self.checks[other.index()];
            let checked = checked.load(Relaxed);
            let is_late = checked != 0 && now.saturating_sub(checked) > MISSED * self.layout.clocks;
            if is_late && other != strand {
                interrupt::send(other, VECTOR);
            }
        }
    }

    /// Logs a finding if it changes how far the time can be trusted.
    fn log_finding(&self, finding: Finding, strand: StrandId) {
        let name = |source: usize| NAMES.get(source).copied().unwrap_or("");
        let is_news = |state| self.reported.swap(state, Relaxed) != state;
        // If another strand has meanwhile told the operator that the time is in doubt, the state does not change.
        let changes = |from, to| self.reported.compare_exchange(from, to, Relaxed, Relaxed).is_ok();
        let skipped = &self.skipped[strand.index()];
        if !matches!(finding, Finding::Skipped(_)) {
            skipped.store(0, Relaxed);
        }
        match finding {
            Finding::Skipped(_)
                if skipped.fetch_add(1, Relaxed) >= SKIPPED && is_news(IN_DOUBT) =>
            {
                log::message(
                    Level::Warn,
                    format_args!(
                        "the clocks cannot be compared on strand {strand}: the time is in doubt"
                    ),
                );
            }
            Finding::Demoted { source, fault, chosen } => log::message(
                Level::Warn,
                format_args!(
                    "the clock {} is not trusted any more: it {fault}, on strand {strand}; the time comes from {}",
                    name(source),
                    name(chosen)
                ),
            ),
            Finding::Restored { source } => log::message(
                Level::Info,
                format_args!(
                    "the clock {} has been right for 10 s: it is trusted again",
                    name(source)
                ),
            ),
            Finding::Undecided { ahead, behind } if is_news(IN_DOUBT) => log::message(
                Level::Warn,
                format_args!(
                    "the clock {} shows more time than {}, and nothing decides which is right: the time is in doubt",
                    name(ahead),
                    name(behind)
                ),
            ),
            Finding::NoReference if changes(NO_DOUBT, UNCHECKED) => log::message(
                Level::Warn,
                format_args!(
                    "only the clock {} is trusted, and nothing checks it: the time is in doubt",
                    name(self.keeper.chosen())
                ),
            ),
            Finding::Agrees => {
                changes(UNCHECKED, NO_DOUBT);
            }
            _ => {}
        }
    }
}
