//! Compares the machine's clocks: %stick, %tick and the PTIMER.
//!
//! Every strand checks its clocks. Each strand has a watchdog, which compares the clocks, and a timer that interrupts the strand when the
//! next check is due. No strand is in charge of the others. A strand that checks its clocks also interrupts the guests' strands that have
//! missed a check. If no strand checks its clocks in time, the PTIMER's alarm interrupts the strand that checked last. The checks therefore
//! continue while any of the clocks runs, even if some strands have died.

use core::ptr;
use core::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use ::log::Level;
use guest_abi::clock::{ClockSource, Description};
use guest_abi::{HvError, StrandId};
use hv_core::time::{
    Candidate, Environment, Finding, Limits, OperatorSetting, Scale, Timekeeper, Watchdog,
};
use platform::memory_map::ptimer::{REGISTERS, TARGET, VECTOR};
use platform::ptimer::{Input, NANOSECONDS, Ptimer, PtimerRegisters, Register};
use platform::sparc64::{Mmio, PtimerMmio, StrandRegs, interrupt};
use platform::ticks::{Alignment, TickSource};
use platform::{Bus, PhysicalAddress};
use spin::Mutex;

use super::layout::Layout;
use super::{clock, log, store_forever};

/// A clock of the machine. The timekeeper numbers its clocks in the order of [`NAMES`].
enum Source {
    Ticks(TickSource<StrandRegs>),
    Timer(Ptimer<PtimerMmio>),
}

const NAMES: [&str; SOURCES] = ["%stick", "%tick", "PTIMER"];
const SOURCES: usize = 3;

impl ClockSource for Source {
    fn describe(&self) -> Description {
        match self {
            Self::Ticks(ticks) => ticks.describe(),
            Self::Timer(timer) => timer.describe(),
        }
    }

    fn read(&self, strand: StrandId) -> Option<u64> {
        match self {
            Self::Ticks(ticks) => ticks.read(strand),
            Self::Timer(timer) => timer.read(strand),
        }
    }
}

/// Crystals are accurate to 100 parts per million, so the rates of two clocks differ by at most 200 parts per million.
const LIMITS: Limits =
    Limits { tolerance: 200, bracket: 100_000, tries: 3, probation: 10_000_000_000 };

/// A strand has missed a check if its latest check is more than this number of periods ago.
const MISSED: u64 = 2;

/// The maximum number of consecutive inconclusive checks on a strand. After one more, the operator is told that the time is in doubt.
const SKIPPED: u32 = 10;

/// The values of `Clocks::reported`, in this order: there is no doubt (also the initial value); the operator was told that nothing checks the
/// only trusted clock; the operator was told that the time is in doubt.
const NO_DOUBT: u8 = 0;
const UNCHECKED: u8 = 1;
const IN_DOUBT: u8 = 2;

struct Clocks {
    layout: &'static Layout,
    keeper: Timekeeper<Source, SOURCES>,
    /// The time from the machine's power-on to the creation of the timekeeper, in nanoseconds.
    start_time: u64,
    watchdogs: [Mutex<Watchdog<SOURCES>>; StrandId::COUNT],
    /// For each strand: the time of its latest check, in nanoseconds, and the %stick value at which its next check is due.
    checks: [(AtomicU64, AtomicU64); StrandId::COUNT],
    /// For each strand: the number of inconclusive checks since its latest conclusive check.
    skipped: [AtomicU32; StrandId::COUNT],
    /// The time between a strand's checks, in %stick ticks.
    period: u64,
    alarm: PtimerMmio,
    bus: Mmio,
    reported: AtomicU8,
}

static CLOCKS: Mutex<Option<Clocks>> = Mutex::new(None);

/// A pointer to the clocks in `CLOCKS`; null before [`begin`] has created the clocks, and always null if the clocks are not compared.
static READY: AtomicPtr<Clocks> = AtomicPtr::new(ptr::null_mut());

fn ready() -> Option<&'static Clocks> {
    // SAFETY: the pointer is null, or comes from a reference that is valid forever.
    unsafe { READY.load(Acquire).as_ref() }
}

/// Creates the clocks and their timekeeper, unless the layout says that the clocks are not compared. Strand 0 calls this function before it
/// starts the others.
pub(super) fn begin(layout: &'static Layout, strand: StrandId) {
    let hz = layout.frequency;
    if layout.clocks == 0 {
        return;
    }
    // SAFETY: this is a hypervisor. It uses the strand's registers only to read %tick and %stick. No device but a PTIMER can be at the
    // PTIMER's addresses.
    let (registers, alarm, bus) =
        unsafe { (StrandRegs::new(|_| {}), PtimerMmio::new(REGISTERS), Mmio::new()) };
    let timer = Ptimer::start(alarm, Input::NV41, NANOSECONDS).ok();
    let candidates = [
        Candidate::new(Source::Ticks(TickSource::stick(registers, hz, Alignment::Aligned))),
        Candidate::new(Source::Ticks(TickSource::tick(registers, hz, Alignment::Aligned))),
        Candidate { source: timer.map(Source::Timer), operator: OperatorSetting::Default },
    ];
    let environment = Environment {
        strands: StrandId::COUNT,
        idle_stops_counters: true,
        rate_changes: false,
        cpu_hz: hz,
        poll_interval: layout.clocks,
    };
    let Ok(keeper) = Timekeeper::new(candidates, &environment, strand) else {
        log::message(Level::Warn, format_args!("no clock of the machine is usable"));
        return;
    };
    let clocks = Clocks {
        layout,
        keeper,
        start_time: time_by_stick(layout).unwrap_or(0),
        watchdogs: [const { Mutex::new(Watchdog::new(LIMITS)) }; StrandId::COUNT],
        checks: [const { (AtomicU64::new(0), AtomicU64::new(0)) }; StrandId::COUNT],
        skipped: [const { AtomicU32::new(0) }; StrandId::COUNT],
        period: (u128::from(layout.clocks) * u128::from(hz) / 1_000_000_000) as u64,
        alarm,
        bus,
        reported: AtomicU8::new(NO_DOUBT),
    };
    READY.store(ptr::from_ref(store_forever(&CLOCKS, clocks)).cast_mut(), Release);
}

/// Returns the time since the machine was switched on, in nanoseconds.
pub(super) fn time(layout: &Layout, strand: StrandId) -> Result<u64, HvError> {
    match ready() {
        Some(clocks) => {
            let time = clocks.keeper.time(strand).ok_or(HvError::WouldBlock)?;
            Ok(clocks.start_time.saturating_add(time))
        }
        None => time_by_stick(layout),
    }
}

/// Returns the time in ticks since the machine was switched on, and the number of ticks in a second. If the clocks are not compared,
/// returns %stick ticks, which needs no division. The second number is 0 if the frequency of %stick is not known yet.
pub(super) fn timestamp(layout: Option<&Layout>) -> (u64, u64) {
    match ready().zip(interrupt::current_strand()) {
        Some((clocks, strand)) => (time(clocks.layout, strand).unwrap_or(0), 1_000_000_000),
        None => (clock::ticks(), layout.map_or(0, |layout| layout.frequency)),
    }
}

fn time_by_stick(layout: &Layout) -> Result<u64, HvError> {
    let scale = Scale::new(layout.frequency).ok_or(HvError::NotSupported)?;
    Ok(scale.nanoseconds(clock::ticks()))
}

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

/// If the strand `dead` was changing the time source, lets other strands change it again.
pub(super) fn abandon(dead: StrandId) {
    if let Some(clocks) = ready() {
        clocks.keeper.abandon(dead);
    }
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
