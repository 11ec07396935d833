//! The measuring guest, which programs its machine's counters, reads them, and widens them to 64 bits.

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use guest_abi::guest::{PmuCount, SnapshotLimits, StrandCount, StrandDriver, Tries};
use guest_abi::layout::{EventSelect, PerfConfig, SparcPcr, SparcPic};
use guest_abi::register::{Pics, PmuKind};
use guest_abi::{Counter, PerfCounters, PerfReg, Pmu, StrandId};
use hv_core::GuestId;

use super::error::RunError;
use super::selection::{Choice, Selection};
use crate::machine::board::{Board, SimulatedStrand};

/// The maximum number of times that the guest repeats a call while a hub is busy. That many calls take longer than the slowest
/// access.
pub(super) const TRIES: Tries = match Tries::new(10_000) {
    Some(tries) => tries,
    None => Tries::ONCE,
};

/// The counts of two counters, widened to 64 bits.
#[derive(Clone, Copy, Debug)]
enum WidenedCounts {
    Pmu([PmuCount; 2]),
    Strand([StrandCount; 2]),
}

/// The PMU or strand that has a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterLocation {
    /// A PMU, whose counters the guest accesses by hypercalls.
    Pmu(Pmu),
    /// A strand's %pic, which the strand reads without a hypercall.
    Pic(StrandId),
}

impl CounterLocation {
    /// Returns the register that holds the counter; `None` for %pic.
    #[must_use]
    pub fn register(self, counter: Counter) -> Option<PerfReg> {
        match self {
            Self::Pmu(pmu) => Some(pmu.pic(counter)),
            Self::Pic(_) => None,
        }
    }
}

/// An event that a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum CountedEvent {
    Dram(DramEvent),
    Lpu(LpuEvent),
    Gpd(GpdEvent),
    Asu(AsuEvent),
    Pic(SparcEvent),
}

impl CountedEvent {
    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dram(event) => event.name(),
            Self::Lpu(event) => event.name(),
            Self::Gpd(event) => event.name(),
            Self::Asu(event) => event.name(),
            Self::Pic(event) => event.name(),
        }
    }
}

/// The two counters of a PMU or a strand.
#[derive(Clone, Debug)]
pub struct CounterPair {
    #[allow(missing_docs, reason = "its name says it")]
    pub place: CounterLocation,
    /// The counters that have an event, each with its event.
    pub events: Vec<(Counter, CountedEvent)>,
    counts: WidenedCounts,
    /// The number of events since the start, for each counter.
    pub totals: [u64; 2],
    shown: [u64; 2],
}

impl CounterPair {
    /// Returns how many of a counter's events have happened since the previous sample.
    #[must_use]
    pub fn latest(&self, counter: Counter) -> u64 {
        self.totals[counter.index()] - self.shown[counter.index()]
    }

    /// Ends a sample. After this call, [`latest`](Self::latest) counts the events of the next sample.
    pub(super) fn end_sample(&mut self) {
        self.shown = self.totals;
    }
}

/// A guest's measurement: its calls, and all counters that it programs and reads.
pub(super) struct Measurement<'a> {
    service: PerfCounters<SimulatedStrand<'a>>,
    strands: Vec<StrandDriver<SimulatedStrand<'a>>>,
    /// The PMUs' counters, followed by the strands' counters.
    pub(super) pairs: Vec<CounterPair>,
    /// The PMUs that the machine has but the guest may not use.
    pub(super) refused: Vec<Pmu>,
}

impl<'a> Measurement<'a> {
    /// Negotiates the version and finds the machine's PMUs. Sets PERF_CONFIG on each node that has strands of the guest. Sets up
    /// all PMUs that the guest may use, and starts the counters of `strands`.
    pub(super) fn start(
        board: &'a Board<'a>,
        guest: GuestId,
        strands: &[StrandId],
        events: &Selection,
        perf_config: PerfConfig,
    ) -> Result<Self, RunError> {
        let first = strands.first().ok_or(RunError::NoStrand)?;
        let service = PerfCounters::negotiate_best(board.strand(guest, *first))?;
        let present = service.probe().map_err(RunError::Probe)?;
        let mut measurement =
            Self { service, strands: Vec::new(), pairs: Vec::new(), refused: Vec::new() };
        let usable = present.usable();
        for pmu in present.pmus().iter() {
            if usable.contains(pmu) {
                measurement.program(pmu, events)?;
            } else {
                measurement.refused.push(pmu);
            }
        }
        if let Some(choice) = &events.pic {
            for strand in strands {
                measurement.start_strand(board.strand(guest, *strand), choice)?;
            }
        }
        // A call sets PERF_CONFIG only on the caller's node, so one strand of each node makes a call.
        if perf_config != PerfConfig::All {
            for node in 0..board.devices().machine().nodes() {
                let mut on_node = strands.iter().filter(|strand| strand.node().index() == node);
                let Some(strand) = on_node.next() else { continue };
                let on_node = PerfCounters::negotiate_best(board.strand(guest, *strand))?;
                on_node
                    .set_perf_config(perf_config)
                    .map_err(|source| RunError::PerfConfig { node, source })?;
            }
        }
        Ok(measurement)
    }

    fn program(&mut self, pmu: Pmu, events: &Selection) -> Result<(), RunError> {
        match pmu {
            Pmu::Dram(dram) => self.program_as(dram, &events.dram, CountedEvent::Dram),
            Pmu::Lpu(lpu) => self.program_as(lpu, &events.lpu, CountedEvent::Lpu),
            Pmu::Gpd(gpd) => self.program_as(gpd, &events.gpd, CountedEvent::Gpd),
            Pmu::Asu(asu) => self.program_as(asu, &events.asu, CountedEvent::Asu),
        }
    }

    fn program_as<U: PmuKind>(
        &mut self,
        kind: U,
        choice: &Option<Choice<<U::Pcr as EventSelect>::Event>>,
        counted: fn(<U::Pcr as EventSelect>::Event) -> CountedEvent,
    ) -> Result<(), RunError> {
        let Some(choice) = choice else { return Ok(()) };
        let pmu: Pmu = kind.into();
        // Like busstat, read the register, replace the event, and write the register.
        let mut pcr = U::Pcr::from(self.read(pmu.pcr())?);
        for counter in Counter::ALL {
            pcr = pcr.with_event(*counter, choice.event(*counter));
        }
        self.write(pmu.pcr(), pcr.into())?;
        match pmu.pics() {
            Pics::Shared(pic) => self.write(pic, 0)?,
            Pics::Separate(pic0, pic1) => {
                self.write(pic0, 0)?;
                self.write(pic1, 0)?;
            }
        }
        let cleared = [Counter::Pic0, Counter::Pic1].map(|counter| PmuCount::cleared(pmu, counter));
        self.add(CounterLocation::Pmu(pmu), choice, counted, WidenedCounts::Pmu(cleared));
        Ok(())
    }

    fn start_strand(
        &mut self,
        strand: SimulatedStrand<'a>,
        choice: &Choice<SparcEvent>,
    ) -> Result<(), RunError> {
        let place = CounterLocation::Pic(strand.id());
        let mut pcr = SparcPcr::new().with_user(true);
        for counter in Counter::ALL {
            pcr = pcr.with_event(*counter, choice.event(*counter));
        }
        let driver = StrandDriver::new(strand);
        driver.start(pcr, SparcPic::new()).map_err(RunError::Start)?;
        self.strands.push(driver);
        let counts = WidenedCounts::Strand([StrandCount::new(0_u32); 2]);
        self.add(place, choice, CountedEvent::Pic, counts);
        Ok(())
    }

    fn add<E: Copy>(
        &mut self,
        place: CounterLocation,
        choice: &Choice<E>,
        counted: fn(E) -> CountedEvent,
        counts: WidenedCounts,
    ) {
        let counters = choice.counters().iter().copied();
        let events = counters.map(|counter| (counter, counted(choice.event(counter)))).collect();
        let (totals, shown) = ([0; 2], [0; 2]);
        self.pairs.push(CounterPair { place, events, counts, totals, shown });
    }

    /// Reads all counters, and adds the new events to the totals.
    pub(super) fn sample(&mut self) -> Result<(), RunError> {
        let bounds = SnapshotLimits { max_reads: TRIES, max_tries: TRIES };
        let mut strands = self.strands.iter();
        for pair in &mut self.pairs {
            pair.totals = match &mut pair.counts {
                WidenedCounts::Pmu([pic0, pic1]) => {
                    let pmu = pic0.pmu();
                    let snapshot = self.service.snapshot(pmu, bounds)?;
                    // Nothing is replayed while the guest reads its counters, so they must not change.
                    if snapshot.skew.pic0_events != 0 {
                        return Err(RunError::CountedAlone(pmu));
                    }
                    [pic0.update(&snapshot)?, pic1.update(&snapshot)?]
                }
                WidenedCounts::Strand([pic0, pic1]) => {
                    let pic = strands.next().ok_or(RunError::NoStrand)?.read();
                    [pic0.update(pic.pic0()), pic1.update(pic.pic1())]
                }
            };
        }
        Ok(())
    }

    fn read(&self, register: PerfReg) -> Result<u64, RunError> {
        TRIES
            .retry(|| self.service.get(register))
            .map_err(|source| RunError::Register { register, source })
    }

    fn write(&self, register: PerfReg, value: u64) -> Result<(), RunError> {
        TRIES
            .retry(|| self.service.set(register, value))
            .map_err(|source| RunError::Register { register, source })
    }
}

/// A guest that does not measure. It only reads registers of every class, and ignores the answers.
pub(super) struct Bystander<'a> {
    service: PerfCounters<SimulatedStrand<'a>>,
}

impl<'a> Bystander<'a> {
    pub(super) fn new(strand: SimulatedStrand<'a>) -> Result<Self, RunError> {
        Ok(Self { service: PerfCounters::negotiate_best(strand)? })
    }

    /// Reads the strand's PCR, PERF_CONFIG, and one counter of each PMU.
    pub(super) fn read_registers(&self) {
        let pics = Pmu::ALL.into_iter().map(|pmu| pmu.pic(Counter::Pic0));
        for register in [PerfReg::SPARC_PCR, PerfReg::L2_PERF_CONFIG].into_iter().chain(pics) {
            // The result is ignored here, but the service's statistics count it.
            let _ = self.service.get(register);
        }
    }
}
