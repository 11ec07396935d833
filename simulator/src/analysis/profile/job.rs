//! Samples a program on the strands of a machine, or on an R10000.

use std::ops::ControlFlow;

use guest_abi::StrandId;
use guest_abi::sampling::{CounterUnit, ModeSet, Request, SparcMode};
use perfctr_service::StrandSet;
use platform::Machine;
use platform::models::r10000::{R10000Event, R10000Mode};

use super::clock::ThreadClocks;
use super::error::{EventError, ProfileError};
use super::events::{self, Rate, SampledUnit, Selected, StrandEvent};
use super::functions::Functions;
use super::guest::{MAX_PAIRS, SamplingGuest};
use super::processor::{Processor, Truth};
use super::r10000::{Cluster, MAX_PROCESSORS};
use super::report::{EventProfile, ProfileReport};
use super::run::{Observe, run};
use super::sampled::SampledEvent;
use super::sparc::{self, Sparc};
use super::stacks::{Stacks, Unwinder};
use crate::events::collect::{Collector, Retention};
use crate::machine::board::{Board, devices};
use crate::machine::clock::MachineClock;
use crate::machine::configuration::Configuration;
use crate::memory::{AnyMemory, Config, MemorySystem, Variant};
use crate::recording::Recording;
use crate::replay::placement::Placement;
use crate::replay::region::{Entered, Region, RegionError};
use crate::replay::scheduler::Scheduler;
use crate::replay::{Progress, stopped_after};
use crate::run::RegionRun;
use crate::setters::setters;

/// A program to sample, and the settings for sampling it.
///
/// [`Job::new`] sets the fields to the values that most jobs need. To change a field, call the method of the same name.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Job<'a> {
    /// The recordings of the program's processes.
    pub programs: Vec<Recording>,
    /// The machine whose strands execute the program. A job on an R10000 ignores this field.
    pub machine: Machine,
    /// The machine's caches, and how long its operations take.
    pub memory: Config,
    /// The strand that executes each thread. `None` selects the [default](Placement::default_for).
    pub placement: Option<Placement>,
    pub rate: Rate,
    /// The modes in which an R10000 counts. The program executes in user mode, and the handler that refills the TLB executes in exception
    /// mode. Nothing executes in the other modes.
    pub modes: ModeSet<R10000Mode>,
    /// The number of R10000s that execute the program, 1 to [`MAX_PROCESSORS`].
    pub processors: usize,
    /// Whether to count events without sampling them.
    pub counting: bool,
    /// Whether to also count threads' waits as cycles. On a strand, this requires that the event `cycles` is sampled.
    pub waits: bool,
    /// The program's symbols; `None` for a report by page.
    pub symbols: Option<&'a dyn Functions>,
    /// The part of the program that is sampled, and its warm-up. An R10000 has no warm-up.
    pub region: Region,
}

impl<'a> Job<'a> {
    /// Returns a job that samples a program on this machine. The job has T2 Plus processors and no
    /// symbols.
    #[must_use]
    pub fn new(machine: Machine, programs: impl Into<Vec<Recording>>, rate: Rate) -> Self {
        let (memory, placement) = (Config::T2_PLUS, None);
        Self {
            programs: programs.into(),
            machine,
            memory,
            placement,
            rate,
            modes: R10000Mode::User.into(),
            processors: 1,
            counting: false,
            waits: false,
            symbols: None,
            region: Region::default(),
        }
    }

    setters! {
        memory: Config,
        placement: Option<Placement>,
        modes: ModeSet<R10000Mode>,
        processors: usize,
        counting: bool,
        waits: bool,
        symbols: Option<&'a dyn Functions>,
        region: Region,
    }

    /// Executes the program on processors with this unit's counters, and samples the events in the comma-separated `list`. From time to
    /// time, `observe` receives the program's progress. If `observe` returns [`ControlFlow::Break`], the job ends early. The report then
    /// has the samples so far, and says that the job was [stopped](ProfileReport::stopped).
    ///
    /// # Errors
    /// Returns an error if an event is unknown or if there are too many events. Also returns an error if waits are to be counted but cycles
    /// are not sampled, if threads cannot be placed, or if the recording cannot be read.
    pub fn run(
        self,
        unit: SampledUnit,
        list: &str,
        mut observe: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<ProfileReport, ProfileError> {
        let flow = self.has_flow();
        match unit {
            SampledUnit::Sparc => self.on_strands(&events::sparc(list, flow)?, &mut observe),
            SampledUnit::R10000 => {
                let selected = events::r10000(list, flow, self.processors)?;
                self.on_r10000s(&selected, &mut observe)
            }
        }
    }

    fn on_strands(
        self,
        selected: &[Selected<StrandEvent>],
        observe: &mut Observe<'_>,
    ) -> Result<ProfileReport, ProfileError> {
        match AnyMemory::new(&self.machine, &self.memory)? {
            AnyMemory::T2Plus(memory) => self.on_strands_of(memory, selected, observe),
            AnyMemory::Other(memory) => self.on_strands_of(memory, selected, observe),
        }
    }

    fn on_strands_of<V: Variant>(
        mut self,
        mut memory: MemorySystem<V>,
        selected: &[Selected<StrandEvent>],
        observe: &mut Observe<'_>,
    ) -> Result<ProfileReport, ProfileError> {
        let machine = self.machine;
        let config = sparc::guest(machine);
        let named = Placement::named(&self.programs);
        let default = || Placement::default_for(&named);
        let placement = self.placement.take().unwrap_or_else(default);
        let placed = placement.strands(machine, config.strands, &named)?;
        let strands: StrandSet = placed.iter().copied().collect();
        let mode = SparcMode::User;
        let counted = events::counted(selected);
        let guest = |strand| self.guest(strand, mode, mode.into(), &counted);
        let guests = strands.iter().map(guest).collect::<Result<_, _>>()?;

        let devices = devices(machine, 0);
        let clock = MachineClock::new(&devices);
        let off = Collector::Off;
        let board = Board::new(&devices, &clock, &off, Retention::First, &[config])?;
        let is_dealt = matches!(placement, Placement::Deal(_));
        let started = Started::new(self.programs, self.symbols, &placed, is_dealt, |scheduler| {
            self.region.enter_with(scheduler, &mut memory, machine, observe)
        })?;
        let work = memory.work(&devices);
        let mut sparc = Sparc::new(work, &devices, &board, selected, guests)?;
        let (rate, symbols, memory, waits) = (self.rate, self.symbols, self.memory, self.waits);
        let began = started.entered.began;
        let mut clocks = ThreadClocks::new(selected, rate, placed.len(), waits, began);
        if waits && clocks.is_none() {
            return Err(EventError::NoCycles.into());
        }
        let mut execution =
            started.execute(&mut sparc, clocks.as_mut(), selected.len(), observe)?;
        let which = match strands.iter().count() {
            1 => format!("strand {}", placed[0]),
            many => format!("{many} strands"),
        };
        let (model, nodes) = (machine.model().name(), machine.nodes());
        let processor = format!("{which} of a {model}, nodes: {nodes}; placement: {placement}");
        let configuration = Some(Configuration { machine, memory });
        let guests: Vec<_> = sparc.into_guests().collect();
        let interrupts = guests.iter().map(SamplingGuest::interrupts).sum();
        let mut sampled = SampledEvent::of_guests(guests, &counted, rate);
        if let Some(clocks) = clocks {
            let (number, cycles, stacks) = clocks.into_sampled();
            sampled.insert(number, cycles);
            execution.stacks.get_or_insert(stacks);
        }
        let report = execution.report(SampledUnit::Sparc, processor, sampled, rate, symbols)?;
        Ok(ProfileReport { configuration, interrupts, waits, ..report })
    }

    fn on_r10000s(
        self,
        selected: &[Selected<R10000Event>],
        observe: &mut Observe<'_>,
    ) -> Result<ProfileReport, ProfileError> {
        if self.waits {
            return Err(EventError::NoCycles.into());
        }
        if self.region.warm_up.is_some() {
            return Err(ProfileError::WarmUp);
        }
        let (processors, threads) = (self.processors, self.threads());
        if !(1..=MAX_PROCESSORS).contains(&processors) {
            return Err(ProfileError::Processors(processors));
        }
        let strands: Vec<StrandId> = (0..processors).filter_map(Cluster::strand).collect();
        let guest = |strand| self.guest(strand, R10000Mode::User, self.modes, selected);
        let guests = strands.iter().copied().map(guest).collect::<Result<_, _>>()?;
        let events: Vec<_> = selected.iter().map(|one| one.event).collect();
        let mut cluster = Cluster::new(&events, self.modes, guests)?;
        let placed: Vec<_> = strands.into_iter().cycle().take(threads).collect();
        let (rate, symbols) = (self.rate, self.symbols);
        let started = Started::new(self.programs, symbols, &placed, false, |scheduler| {
            self.region.skip(scheduler, observe)
        })?;
        let execution = started.execute(&mut cluster, None, selected.len(), observe)?;
        let which = match processors {
            1 => String::from("an R10000 with 1 MB of secondary cache"),
            many => format!("{many} R10000s with 1 MB of secondary cache each, on one bus"),
        };
        let in_turns = match (threads <= processors, processors) {
            (true, _) => "",
            (false, 1) => "; the threads take turns, each until it waits or ends",
            (false, _) => "; the threads of a processor take turns, each until it waits or ends",
        };
        let processor = format!("{which}{in_turns}");
        let guests = cluster.into_guests();
        let interrupts = guests.iter().map(SamplingGuest::interrupts).sum();
        let sampled = SampledEvent::of_guests(guests, selected, rate);
        let report = execution.report(SampledUnit::R10000, processor, sampled, rate, symbols)?;
        Ok(ProfileReport { interrupts, ..report })
    }

    fn has_flow(&self) -> bool {
        self.programs.iter().all(Recording::has_flow)
    }

    /// Returns the number of threads of all processes.
    fn threads(&self) -> usize {
        self.programs.iter().map(Recording::threads).sum()
    }

    fn guest<U: CounterUnit>(
        &self,
        strand: StrandId,
        mode: U::Mode,
        modes: ModeSet<U::Mode>,
        selected: &[Selected<U::Event>],
    ) -> Result<SamplingGuest<U>, EventError> {
        let request = |one: &Selected<U::Event>| match (self.rate.request(one), self.counting) {
            (request, true) => Request { pace: None, ..request },
            (request, false) => request,
        };
        let requests: Vec<_> = selected.iter().map(request).collect();
        let guest = SamplingGuest::new(strand, mode, modes, &requests);
        guest.map_err(|_| EventError::TooMany { found: selected.len(), most: MAX_PAIRS })
    }
}

/// A program that has been executed up to the region to sample.
struct Started<'a> {
    program: String,
    threads: usize,
    scheduler: Scheduler,
    unwinder: Option<Unwinder<'a>>,
    entered: Entered,
}

impl<'a> Started<'a> {
    /// Calls `enter` to execute a program up to the region to sample. `placed` contains each thread's strand. If `is_dealt` is `true`,
    /// there is only one thread, and its references are [dealt](Placement::Deal) to the strands in `placed`.
    fn new(
        programs: Vec<Recording>,
        symbols: Option<&'a dyn Functions>,
        placed: &[StrandId],
        is_dealt: bool,
        enter: impl FnOnce(&mut Scheduler) -> Result<Entered, RegionError>,
    ) -> Result<Self, ProfileError> {
        let first = programs.first().ok_or(ProfileError::NoProgram)?;
        let (name, target) = (first.name().to_owned(), first.target().map(str::to_owned));
        let threads = programs.iter().map(Recording::threads).sum();
        let has_flow = programs.iter().all(Recording::has_flow);
        // Dealt references are not executed in their thread's order, so call stacks cannot be reconstructed.
        let unwinder =
            (has_flow && !is_dealt).then(|| Unwinder::new(threads, target.as_deref(), symbols));
        let mut scheduler = Scheduler::placed(programs, placed, is_dealt);
        let entered = enter(&mut scheduler)?;
        Ok(Self { program: name, threads, scheduler, unwinder, entered })
    }

    /// Executes the region on processors. If `clocks` is given, these clocks sample cycles.
    fn execute(
        self,
        processor: &mut impl Processor,
        clocks: Option<&mut ThreadClocks>,
        events: usize,
        observe: &mut Observe<'_>,
    ) -> Result<Execution, ProfileError> {
        let Self { program, threads, mut scheduler, mut unwinder, entered } = self;
        let mut truth = match entered.stopped {
            true => Truth { stopped: true, ..Truth::default() },
            false => run(processor, &mut scheduler, unwinder.as_mut(), clocks, events, observe)?,
        };
        truth.cycles -= entered.began.min(truth.cycles);
        if !truth.stopped {
            entered.ensure_ended(&scheduler)?;
        }
        let region = entered.run(&scheduler);
        let missing = scheduler.missing();
        let mut notes = scheduler.notes();
        notes.extend(region.as_ref().map(RegionRun::note));
        notes.extend(truth.stopped.then(|| stopped_after(truth.references)));
        let has_calls = unwinder.is_some();
        let stacks = unwinder.map(Unwinder::into_stacks);
        Ok(Execution { program, threads, notes, missing, region, truth, has_calls, stacks })
    }
}

struct Execution {
    program: String,
    threads: usize,
    notes: Vec<String>,
    missing: Vec<String>,
    region: Option<RegionRun>,
    truth: Truth,
    /// Whether the stacks contain the program's calls.
    has_calls: bool,
    stacks: Option<Stacks>,
}

impl Execution {
    /// Returns a report of the sampled events. The caller must add the configuration and the number of interrupts to the report.
    fn report(
        self,
        unit: SampledUnit,
        processor: String,
        sampled: Vec<SampledEvent>,
        rate: Rate,
        symbols: Option<&dyn Functions>,
    ) -> Result<ProfileReport, ProfileError> {
        let (truth, stacks) = (self.truth, self.stacks);
        if truth.instructions == 0 {
            return Err(ProfileError::NoInstruction(self.program));
        }
        let calls = stacks.as_ref().filter(|_| self.has_calls);
        let mut profiles = (sampled.into_iter().zip(truth.exact))
            .map(|(sampled, exact)| EventProfile::new(sampled, exact, symbols, calls));
        let first = profiles.next();
        let further_events = profiles.collect();
        Ok(ProfileReport {
            unit: unit.name().into(),
            processor,
            configuration: None,
            program: self.program,
            threads: self.threads,
            region: self.region,
            instructions: truth.instructions,
            references: truth.references,
            cycles: truth.cycles,
            interrupts: 0,
            randomised: rate.seed.is_some(),
            waits: false,
            notes: self.notes,
            missing: self.missing,
            stopped: truth.stopped,
            first: first.ok_or_else(|| EventError::EmptyName(String::new()))?,
            further_events,
            stacks: stacks.unwrap_or_default(),
        })
    }
}
