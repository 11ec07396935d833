//! The machine's clocks: %stick, %tick and the PTIMER. They give the time since the machine was switched on.

use core::ptr;
use core::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU32, AtomicU64,
    Ordering::{Acquire, Release},
};

use guest_abi::clock::{ClockSource, Description};
use guest_abi::{HvError, StrandId};
use hv_core::time::{Candidate, Environment, Limits, OperatorSetting, Scale, Timekeeper, Watchdog};
use platform::memory_map::ptimer::REGISTERS;
use platform::ptimer::{Input, NANOSECONDS, Ptimer};
use platform::sparc64::{Mmio, PtimerMmio, StrandRegs, interrupt};
use platform::ticks::{Alignment, TickSource};
use spin::Mutex;

use super::layout::Layout;
use super::{clock, store_forever};

/// A clock of the machine. The timekeeper numbers its clocks in the order of [`NAMES`].
pub(super) enum MachineClock {
    Ticks(TickSource<StrandRegs>),
    Timer(Ptimer<PtimerMmio>),
}

pub(super) const NAMES: [&str; SOURCES] = ["%stick", "%tick", "PTIMER"];
pub(super) const SOURCES: usize = 3;

impl ClockSource for MachineClock {
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

/// The values of `Clocks::reported`, in this order: there is no doubt (also the initial value); the operator was told that nothing checks the
/// only trusted clock; the operator was told that the time is in doubt.
pub(super) const NO_DOUBT: u8 = 0;
pub(super) const UNCHECKED: u8 = 1;
pub(super) const IN_DOUBT: u8 = 2;

pub(super) struct Clocks {
    pub(super) layout: &'static Layout,
    pub(super) keeper: Timekeeper<MachineClock, SOURCES>,
    /// The time from the machine's power-on to the creation of the timekeeper, in nanoseconds.
    start_time: u64,
    pub(super) watchdogs: [Mutex<Watchdog<SOURCES>>; StrandId::COUNT],
    /// For each strand: the time of its latest check, in nanoseconds, and the %stick value at which its next check is due.
    pub(super) checks: [(AtomicU64, AtomicU64); StrandId::COUNT],
    /// For each strand: the number of inconclusive checks since its latest conclusive check.
    pub(super) skipped: [AtomicU32; StrandId::COUNT],
    /// The time between a strand's checks, in %stick ticks.
    pub(super) period: u64,
    pub(super) alarm: PtimerMmio,
    pub(super) bus: Mmio,
    pub(super) reported: AtomicU8,
}

static CLOCKS: Mutex<Option<Clocks>> = Mutex::new(None);

/// A pointer to the clocks in `CLOCKS`; null before [`begin`] has created the clocks, and always null if the clocks are not compared.
static READY: AtomicPtr<Clocks> = AtomicPtr::new(ptr::null_mut());

pub(super) fn ready() -> Option<&'static Clocks> {
    // SAFETY: the pointer is null, or comes from a reference that is valid forever.
    unsafe { READY.load(Acquire).as_ref() }
}

/// Creates the clocks and their timekeeper, unless the layout says that the clocks are not compared. Strand 0 calls this function before it
/// starts the others. Returns `false` if the machine has no usable clock.
pub(super) fn begin(layout: &'static Layout, strand: StrandId) -> bool {
    let hz = layout.frequency;
    if layout.clocks == 0 {
        return true;
    }
    // SAFETY: this is a hypervisor. It uses the strand's registers only to read %tick and %stick. No device but a PTIMER can be at the
    // PTIMER's addresses.
    let (registers, alarm, bus) =
        unsafe { (StrandRegs::new(|_| {}), PtimerMmio::new(REGISTERS), Mmio::new()) };
    let timer = Ptimer::start(alarm, Input::NV41, NANOSECONDS).ok();
    let candidates = [
        Candidate::new(MachineClock::Ticks(TickSource::stick(registers, hz, Alignment::Aligned))),
        Candidate::new(MachineClock::Ticks(TickSource::tick(registers, hz, Alignment::Aligned))),
        Candidate { source: timer.map(MachineClock::Timer), operator: OperatorSetting::Default },
    ];
    let environment = Environment {
        strands: StrandId::COUNT,
        idle_stops_counters: true,
        rate_changes: false,
        cpu_hz: hz,
        poll_interval: layout.clocks,
    };
    let Ok(keeper) = Timekeeper::new(candidates, &environment, strand) else {
        return false;
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
    true
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

/// If the strand `dead` was changing the time source, lets other strands change it again.
pub(super) fn abandon(dead: StrandId) {
    if let Some(clocks) = ready() {
        clocks.keeper.abandon(dead);
    }
}
