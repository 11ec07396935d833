//! The setup of a replay, and the code that checks it.

use guest_abi::StrandId;
use guest_abi::layout::PerfConfig;
use hv_core::GuestId;
use perfctr_service::{ConfigError, StrandSet, policy};
use platform::Machine;

use super::error::RunError;
use super::pause::pause;
use super::region::Region;
use super::selection::Selection;
use crate::events::collect::{Collector, Retention, Rings};
use crate::events::kinds::EventKinds;
use crate::events::layouts::LayoutName;
use crate::events::{Epoch, Trace};
use crate::machine::board::{Board, devices};
use crate::machine::clock::{HZ, MachineClock};
use crate::machine::configuration::Configuration;
use crate::machine::guests::{self, NamedGuest};
use crate::memory::geometry::LINE_SHIFT;
use crate::memory::{AnyMemory, Config, MemoryError};
use crate::recording::Recording;
use crate::replay::placement::{Placement, PlacementError};
use crate::replay::scheduler::MAX_PROGRAMS;
use crate::run::{Conditions, USUAL_HUB_CYCLES};
use crate::setters::setters;

/// A replay's setup: what the machine executes and what a guest measures.
///
/// [`Setup::new`] sets the fields to values that suit most replays. To change a field, call the method of the same name.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Setup {
    pub machine: Machine,
    /// The machine's caches, and the times of its operations.
    pub memory: Config,
    pub guests: Vec<NamedGuest>,
    pub programs: Vec<Recording>,
    /// Which strand executes which thread; `None` stands for the recordings' [default](Placement::default_for). All these strands
    /// must belong to one guest, the measuring guest, which programs and reads the counters. It is the first guest, unless a list
    /// or a recording names strands of another one.
    pub placement: Option<Placement>,
    pub selection: Selection,
    /// Which L2 misses the strands' counters count.
    pub perf_config: PerfConfig,
    /// The number of references between two samples; `None` for one sample at the end.
    pub interval: Option<u64>,
    /// The number of cycles that an access to a hub takes, during which the hub is busy.
    pub hub_cycles: u64,
    /// How to record the hypervisor's events; `None` if they are not recorded.
    pub tracing: Option<Tracing>,
    /// Whether to collect [details](crate::analysis::details). A [scenario](super::scenario) collects none.
    pub details: bool,
    /// A seed for delays. If it is not 0, each thread starts 0 to 255 cycles later, and the seed determines each thread's delay.
    /// Replays with different seeds show whether the result depends on small differences in the order of threads.
    pub late: u64,
    /// The part of the programs whose events are counted, and its warm-up. A [scenario](super::scenario) always covers the whole
    /// programs.
    pub region: Region,
}

/// How to record the hypervisor's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Tracing {
    /// The layout of the event headers in the rings.
    pub layout: LayoutName,
    pub keep: Retention,
    /// The time of day at which the replay starts; `None` for a trace without times of day.
    pub epoch: Option<Epoch>,
}

/// How events are recorded if details are collected: all events, with their exact times.
const DETAILS_TRACING: Tracing =
    Tracing { layout: LayoutName::Clock64, keep: Retention::All, epoch: None };

/// Why a setup cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SetupError {
    #[error(transparent)]
    Guests(#[from] ConfigError),
    #[error("there is no guest")]
    NoGuest,
    #[error("strand {0} belongs to no guest")]
    UnownedStrand(StrandId),
    /// The named strands belong to two guests. Each string describes a strand and its guest.
    #[error("the programs' strands belong to two guests: {0}, {1}; expected strands of one")]
    TwoGuests(String, String),
    #[error(transparent)]
    Placement(#[from] PlacementError),
    #[error("there is no program, expected at least one")]
    NoProgram,
    #[error("{0} programs, expected at most {MAX_PROGRAMS}")]
    TooManyPrograms(usize),
    #[error("found {0} cycles for an access to a hub, expected at most {most}", most = Setup::MAX_HUB_CYCLES)]
    HubCycles(u64),
    #[error("found an interval of 0 references, expected at least 1")]
    NoInterval,
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(
        "l2.line is {0}, expected 64 for details: a 64-bit word has one bit for each byte of a line"
    )]
    LineBytes(u64),
}

impl Setup {
    /// The default of [`hub_cycles`](Self::hub_cycles).
    pub const HUB_CYCLES: u64 = USUAL_HUB_CYCLES;

    /// The maximum of [`hub_cycles`](Self::hub_cycles). A guest repeats a refused call for longer than this, so it outlasts even
    /// the slowest access.
    pub const MAX_HUB_CYCLES: u64 = 100_000;

    /// The maximum number of cycles by which a thread can start later; see [`late`](Self::late).
    pub const MAX_START_DELAY: u64 = 255;

    /// Returns a setup that replays one or several programs on this machine, with two guests. The first guest has all rights, and
    /// all cores except the last. The second guest has the last core, and no rights.
    #[must_use]
    pub fn new(machine: Machine, programs: impl Into<Vec<Recording>>) -> Self {
        Self {
            machine,
            memory: Config::T2_PLUS,
            guests: guests::default(machine),
            programs: programs.into(),
            placement: None,
            selection: Selection::default_for(machine),
            perf_config: PerfConfig::All,
            interval: None,
            hub_cycles: Self::HUB_CYCLES,
            tracing: None,
            details: false,
            late: 0,
            region: Region::default(),
        }
    }

    /// Returns a setup that replays these programs in the same way, except that threads start [later](Self::late). It collects
    /// neither details nor events.
    #[must_use]
    pub fn repeated(&self, programs: Vec<Recording>, late: u64) -> Self {
        Self {
            machine: self.machine,
            memory: self.memory,
            guests: self.guests.clone(),
            programs,
            placement: self.placement.clone(),
            selection: self.selection,
            perf_config: self.perf_config,
            interval: None,
            hub_cycles: self.hub_cycles,
            tracing: None,
            details: false,
            late,
            region: self.region.clone(),
        }
    }

    setters! {
        memory: Config,
        guests: Vec<NamedGuest>,
        programs: Vec<Recording>,
        placement: Option<Placement>,
        selection: Selection,
        perf_config: PerfConfig,
        interval: Option<u64>,
        hub_cycles: u64,
        tracing: Option<Tracing>,
        details: bool,
        late: u64,
        region: Region,
    }

    /// Checks the setup and prepares the replay.
    ///
    /// # Errors
    /// Returns an error if the configuration of the guests is invalid, if there is no program or too many, if the threads cannot be
    /// placed on the strands of one guest, or if a number is out of its range.
    pub fn check(self) -> Result<Prepared, SetupError> {
        let machine = self.machine;
        let configs: Vec<_> = self.guests.iter().map(|guest| guest.config).collect();
        policy::check(machine, &configs)?;
        let first = configs.first().ok_or(SetupError::NoGuest)?;
        match self.programs.len() {
            0 => return Err(SetupError::NoProgram),
            1..=MAX_PROGRAMS => {}
            many => return Err(SetupError::TooManyPrograms(many)),
        }
        let named = Placement::named(&self.programs);
        let placement = (self.placement.clone()).unwrap_or_else(|| Placement::default_for(&named));
        let placed = placement.strands(machine, first.strands, &named)?;
        let (mut strands, mut seen) = (placed.clone(), StrandSet::EMPTY);
        strands.retain(|strand| {
            let first = !seen.contains(*strand);
            seen.insert(*strand);
            first
        });
        let measuring = self.guest_of(&strands)?;
        if self.hub_cycles > Self::MAX_HUB_CYCLES {
            return Err(SetupError::HubCycles(self.hub_cycles));
        }
        if self.interval == Some(0) {
            return Err(SetupError::NoInterval);
        }
        if self.details && self.memory.l2.line != 1 << LINE_SHIFT {
            return Err(SetupError::LineBytes(self.memory.l2.line));
        }
        Ok(Prepared {
            memory: Some(Box::new(AnyMemory::new(&machine, &self.memory)?)),
            placement,
            placed,
            strands,
            measuring,
            conditions: self.conditions(),
            is_one_by_one: false,
            pause: pause(&self.memory),
            setup: self,
        })
    }

    /// Returns the settings that appear in no other field of a result.
    fn conditions(&self) -> Conditions {
        let name = |program: &Recording| match program.command() {
            Some(command) => format!("{} ({command})", program.name()),
            None => program.name().to_owned(),
        };
        // A recording's name stands for all processes that its program has started.
        let first = self.programs.iter().filter(|program| program.process().number == 0);
        Conditions {
            recordings: first.map(name).collect(),
            perf_config: self.perf_config.text().into(),
            hub_cycles: self.hub_cycles,
        }
    }

    /// Returns the guest that has all these strands.
    fn guest_of(&self, strands: &[StrandId]) -> Result<GuestId, SetupError> {
        let mut holder = None;
        for strand in strands {
            let of = (self.guests.iter())
                .position(|guest| guest.config.strands.contains(*strand))
                .ok_or(SetupError::UnownedStrand(*strand))?;
            let (first, other) = *holder.get_or_insert((*strand, of));
            if other != of {
                let [first, second] = [(first, other), (*strand, of)].map(|(strand, guest)| {
                    let named = self.recording_that_names(strand);
                    let named = named.map(|name| format!(" (named by {name})"));
                    let guest = &self.guests[guest].name;
                    format!("{strand}{} to {guest}", named.unwrap_or_default())
                });
                return Err(SetupError::TwoGuests(first, second));
            }
        }
        let holder = holder.and_then(|(_, holder)| GuestId::new(holder));
        Ok(holder.ok_or(PlacementError::NoStrand)?)
    }

    /// Returns the name of a program whose recording names this strand; `None` if there is none.
    fn recording_that_names(&self, strand: StrandId) -> Option<&str> {
        let names = |program: &&Recording| {
            (0..program.threads()).any(|thread| program.strand_of(thread) == Some(strand))
        };
        self.programs.iter().find(names).map(Recording::name)
    }
}

/// A setup that has been checked.
#[derive(Debug)]
pub struct Prepared {
    pub(super) setup: Setup,
    pub(super) placement: Placement,
    /// Each thread's strand or, if one thread's references are distributed (dealt) to several strands, those strands.
    pub(super) placed: Vec<StrandId>,
    pub(super) strands: Vec<StrandId>,
    pub(super) measuring: GuestId,
    pub(super) conditions: Conditions,
    /// The memory system before the replay; `None` once the replay has begun.
    pub(super) memory: Option<Box<AnyMemory>>,
    /// Whether strands execute in the order of their turns and no core runs ahead. The outcome is the same either way.
    pub(super) is_one_by_one: bool,
    /// The maximum number of references without a pause. Pauses do not change the outcome.
    pub(super) pause: u64,
}

impl Prepared {
    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns the configuration of the machine and its memory system.
    #[must_use]
    pub fn configuration(&self) -> Configuration {
        Configuration { machine: self.setup.machine, memory: self.setup.memory }
    }

    /// Returns which strand executes which thread.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Returns each thread's strand or, if one thread's references are distributed (dealt) to several strands, those strands in the
    /// order of their turns.
    #[must_use]
    pub fn placed(&self) -> &[StrandId] {
        &self.placed
    }

    /// Returns the strands that execute the programs, each of them once.
    #[must_use]
    pub fn strands(&self) -> &[StrandId] {
        &self.strands
    }

    /// Returns the measuring guest, which also owns the strands that execute the programs.
    #[must_use]
    pub fn measuring(&self) -> &NamedGuest {
        &self.setup.guests[self.measuring.index()]
    }

    /// Returns the guests' numbers, each with the strand that makes the guest's calls.
    pub(super) fn callers(&self) -> impl Iterator<Item = (GuestId, StrandId)> {
        (0..)
            .map_while(GuestId::new)
            .zip(&self.setup.guests)
            .filter_map(|(id, guest)| Some((id, guest.caller()?)))
    }

    /// Boots the machine and executes `work` on it. Returns the result of `work` and the hypervisor's events.
    pub(super) fn boot<R>(
        &self,
        work: impl for<'a> FnOnce(&'a Board<'a>) -> Result<R, RunError>,
    ) -> Result<(R, Option<Trace>), RunError> {
        let Setup { machine, guests, hub_cycles, tracing, details, .. } = &self.setup;
        let tracing = tracing.or(details.then_some(DETAILS_TRACING));
        let devices = devices(*machine, *hub_cycles);
        let configs: Vec<_> = guests.iter().map(|guest| guest.config).collect();
        let clock = MachineClock::new(&devices);
        let rings = tracing.map(|tracing| Rings::new(tracing.layout, tracing.keep.mode()));
        let collector = match &rings {
            Some(rings) => rings.collector(&clock),
            None => Collector::Off,
        };
        let keep = tracing.map_or(Retention::First, |tracing| tracing.keep);
        let board = Board::new(&devices, &clock, &collector, keep, &configs)?;
        let result = work(&board)?;
        let trace = tracing.map(|tracing| Trace {
            hz: HZ,
            layout: tracing.layout,
            began: 0,
            epoch: tracing.epoch,
            // Every strand can have a ring.
            missed: 0,
            guests: guests.iter().map(|guest| guest.name.clone()).collect(),
            kinds: EventKinds::default(),
            streams: collector.streams(),
        });
        Ok((result, trace))
    }
}
