//! Samples a program on the strands of a machine, or on an R10000.

use std::ops::ControlFlow;

use guest_abi::StrandId;
use guest_abi::layout::SparcSelect;
use guest_abi::sampling::{CounterUnit, EventReport, ModeSet, SparcMode};
use perfctr_service::StrandSet;
use platform::Machine;
use platform::models::r10000::{R10000Event, R10000Mode};

use super::error::{EventError, ProfileError};
use super::events::{self, Rate, SampledUnit, Selected};
use super::functions::Functions;
use super::guest::{SamplingGuest, TURNS, Taken};
use super::r10000::Core;
use super::report::{EventProfile, ProfileReport};
use super::run::{Observe, Processor, Truth, run};
use super::sparc::{self, Sparc};
use super::stacks::{Stacks, Unwinder};
use crate::events::collect::{Collector, Keep};
use crate::machine::board::{Board, devices};
use crate::machine::clock::MachineClock;
use crate::machine::configuration::Configuration;
use crate::memory::{AnyMemory, Config, MemorySystem, Variant};
use crate::recording::Recording;
use crate::replay::placement::Placement;
use crate::replay::scheduler::Scheduler;
use crate::replay::{Progress, stopped_after};
use crate::setters::setters;

/// A program to sample, and the settings for sampling it.
///
/// [`Job::new`] sets the fields to the values that most jobs need. To change a field, call the method with the field's name.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Job<'a> {
    pub program: Recording,
    /// The machine whose strands execute the program. A job on an R10000 ignores this field.
    pub machine: Machine,
    /// The caches of the machine, and the times that its operations take.
    pub memory: Config,
    /// The strand that executes each thread. `None` selects the [default](Placement::default_for).
    pub placement: Option<Placement>,
    pub rate: Rate,
    /// Whether to count events in exception mode, too. On an R10000, the handler that refills the
    /// TLB executes in this mode.
    pub exceptions: bool,
    /// The symbols of the program. Without symbols, the report has a row for each page.
    pub symbols: Option<&'a dyn Functions>,
}

impl<'a> Job<'a> {
    /// Returns a job that samples a program on this machine. The job has T2 Plus processors and no
    /// symbols.
    #[must_use]
    pub fn new(machine: Machine, program: Recording, rate: Rate) -> Self {
        let (memory, placement) = (Config::T2_PLUS, None);
        Self { program, machine, memory, placement, rate, exceptions: false, symbols: None }
    }

    setters! {
        memory: Config,
        placement: Option<Placement>,
        exceptions: bool,
        symbols: Option<&'a dyn Functions>,
    }

    /// Executes the program on processors that have counters of this unit. Samples the events of `list`, which are separated by commas.
    /// From time to time, `observe` receives the progress of the program. If `observe` returns [`ControlFlow::Break`], the job ends: the
    /// report has the samples so far, and says that the job was [stopped](ProfileReport::stopped).
    ///
    /// # Errors
    /// Returns an error if an event is unknown, if there are too many events, if threads cannot be
    /// placed, or if the recording cannot be read.
    pub fn run(
        self,
        unit: SampledUnit,
        list: &str,
        mut observe: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<ProfileReport, ProfileError> {
        let flow = self.program.has_flow();
        match unit {
            SampledUnit::Sparc => self.on_strands(&events::sparc(list, flow)?, &mut observe),
            SampledUnit::R10000 => self.on_an_r10000(&events::r10000(list, flow)?, &mut observe),
        }
    }

    fn on_strands(
        self,
        selected: &[Selected<SparcSelect>],
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
        selected: &[Selected<SparcSelect>],
        observe: &mut Observe<'_>,
    ) -> Result<ProfileReport, ProfileError> {
        let machine = self.machine;
        let config = sparc::guest(machine);
        let named = Placement::named(std::slice::from_ref(&self.program));
        let default = || Placement::default_for(&named);
        let placement = self.placement.take().unwrap_or_else(default);
        let placed = placement.strands(machine, config.strands, &named)?;
        let strands: StrandSet = placed.iter().copied().collect();
        let mode = SparcMode::User;
        let guest = |strand| self.guest(strand, mode, mode.into(), selected);
        let guests = strands.iter().map(guest).collect::<Result<_, _>>()?;

        let devices = devices(machine, 0);
        let clock = MachineClock::new(&devices);
        let off = Collector::Off;
        let board = Board::new(&devices, &clock, &off, Keep::First, &[config])?;
        let selects = selected.iter().map(|one| one.event).collect();
        let work = memory.work(&devices);
        let mut sparc = Sparc::new(work, &devices, &board, selects, guests)?;
        let is_dealt = matches!(placement, Placement::Deal(_));
        let (rate, symbols, memory) = (self.rate, self.symbols, self.memory);
        let execution = self.execute(&mut sparc, (&placed, is_dealt), selected.len(), observe)?;
        let which = match strands.iter().count() {
            1 => format!("strand {}", placed[0]),
            many => format!("{many} strands"),
        };
        let (model, nodes) = (machine.model().name(), machine.nodes());
        let processor = format!("{which} of a {model}, nodes: {nodes}; placement: {placement}");
        let configuration = Some(Configuration { machine, memory });
        let guests = sparc.into_guests().collect();
        let report =
            execution.report(SampledUnit::Sparc, processor, guests, selected, rate, symbols)?;
        Ok(ProfileReport { configuration, ..report })
    }

    fn on_an_r10000(
        self,
        selected: &[Selected<R10000Event>],
        observe: &mut Observe<'_>,
    ) -> Result<ProfileReport, ProfileError> {
        let mode = R10000Mode::User;
        let modes = match self.exceptions {
            true => ModeSet::from(mode) | R10000Mode::Exception.into(),
            false => mode.into(),
        };
        // For the scheduler, an R10000 is a machine with one strand.
        let only = StrandId::new(0).expect("every machine has it");
        let guest = self.guest(only, mode, modes, selected)?;
        let events = selected.iter().map(|one| one.event).collect();
        let mut core = Core::new(events, self.exceptions, guest)?;
        let placed = vec![only; self.program.threads()];
        let (rate, symbols) = (self.rate, self.symbols);
        let execution = self.execute(&mut core, (&placed, false), selected.len(), observe)?;
        let in_turns = match placed.len() {
            1 => "",
            _ => "; the threads take turns, each until it waits or ends",
        };
        let processor = format!("an R10000 with 1 MB of secondary cache{in_turns}");
        let guests = vec![core.into_guest()];
        execution.report(SampledUnit::R10000, processor, guests, selected, rate, symbols)
    }

    /// Executes the program on processors. `placed` contains the strand of each thread. If
    /// `is_dealt` is `true`, `placed` contains the strands to which the references of the only
    /// thread are [dealt](Placement::Deal).
    fn execute(
        self,
        processor: &mut impl Processor,
        (placed, is_dealt): (&[StrandId], bool),
        events: usize,
        observe: &mut Observe<'_>,
    ) -> Result<Execution, ProfileError> {
        let program = self.program;
        let (name, threads) = (program.name().to_owned(), program.threads());
        let mut notes = program.notes().to_vec();
        // Dealt references are not executed in the order of their thread, so call stacks cannot be
        // reconstructed.
        let mut unwinder = (program.has_flow() && !is_dealt)
            .then(|| Unwinder::new(threads, program.target(), self.symbols));
        let mut scheduler = Scheduler::placed(vec![program], placed, is_dealt);
        let truth = run(processor, &mut scheduler, unwinder.as_mut(), events, observe)?;
        notes.extend(scheduler.notes());
        notes.extend(truth.stopped.then(|| stopped_after(truth.references)));
        let stacks = unwinder.map(Unwinder::into_stacks);
        Ok(Execution { program: name, threads, notes, truth, stacks })
    }

    fn guest<U: CounterUnit>(
        &self,
        strand: StrandId,
        mode: U::Mode,
        modes: ModeSet<U::Mode>,
        selected: &[Selected<U::Event>],
    ) -> Result<SamplingGuest<U>, EventError> {
        let requests: Vec<_> = selected.iter().map(|one| self.rate.request(one)).collect();
        let guest = SamplingGuest::new(strand, mode, modes, &requests);
        guest.map_err(|_| EventError::TooMany { found: selected.len(), most: TURNS })
    }
}

struct Execution {
    program: String,
    threads: usize,
    notes: Vec<String>,
    truth: Truth,
    stacks: Option<Stacks>,
}

impl Execution {
    /// Returns a report with the samples of the guests. The caller must add the configuration to
    /// it.
    fn report<U: CounterUnit>(
        self,
        unit: SampledUnit,
        processor: String,
        guests: Vec<SamplingGuest<U>>,
        selected: &[Selected<U::Event>],
        rate: Rate,
        symbols: Option<&dyn Functions>,
    ) -> Result<ProfileReport, ProfileError> {
        let (truth, stacks) = (self.truth, self.stacks);
        if truth.instructions == 0 {
            return Err(ProfileError::NoInstruction(self.program));
        }
        let interrupts = guests.iter().map(SamplingGuest::interrupts).sum();
        let found = |one: &Selected<U::Event>| -> Vec<EventReport<U::Event>> {
            guests.iter().filter_map(|guest| guest.report(one.event)).collect()
        };
        let found: Vec<_> = selected.iter().map(found).collect();
        let mut taken = vec![Taken::new(); selected.len()];
        for guest in guests {
            for (all, one) in taken.iter_mut().zip(guest.into_taken()) {
                for (point, weight) in one {
                    *all.entry(point).or_default() += weight;
                }
            }
        }
        let mut profiles = (selected.iter().zip(found))
            .zip(taken.into_iter().zip(truth.exact))
            .map(|((one, found), (taken, exact))| {
                let period = rate.period(one).events();
                EventProfile::new(one, period, &found, taken, exact, symbols, stacks.as_ref())
            });
        let first = profiles.next();
        let further_events = profiles.collect();
        Ok(ProfileReport {
            unit: unit.name().into(),
            processor,
            configuration: None,
            program: self.program,
            threads: self.threads,
            instructions: truth.instructions,
            references: truth.references,
            cycles: truth.cycles,
            interrupts,
            randomised: rate.seed.is_some(),
            notes: self.notes,
            stopped: truth.stopped,
            first: first.ok_or_else(|| EventError::EmptyName(String::new()))?,
            further_events,
            stacks: stacks.unwrap_or_default(),
        })
    }
}
