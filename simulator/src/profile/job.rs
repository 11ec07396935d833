//! A program, sampled.

use guest_abi::StrandId;
use guest_abi::layout::SparcSelect;
use guest_abi::sampling::{CounterUnit, EventReport, ModeSet, SparcMode};
use perfctr_service::StrandSet;
use platform::Machine;
use platform::models::r10000::{R10000Event, R10000Mode};

use super::error::{EventError, ProfileError};
use super::events::{self, Rate, Selected};
use super::guest::{Guest, Taken};
use super::r10000::Core;
use super::report::{EventProfile, Report};
use super::rows::Functions;
use super::run::{Truth, run};
use super::sparc::{self, Sparc};
use super::stacks::{Stacks, Unwinder};
use crate::configuration::Configuration;
use crate::events::collect::{Collector, Keep};
use crate::machine::board::{Board, devices};
use crate::machine::clock::MachineClock;
use crate::memory::{AnyMemory, Config, MemorySystem, Variant};
use crate::placement::Placement;
use crate::recording::Recording;
use crate::scheduler::Scheduler;

/// The counters that sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Those of a strand of an UltraSPARC T2 Plus.
    Sparc,
    /// Those of an R10000.
    R10000,
}

impl Unit {
    /// All units.
    pub const ALL: [Self; 2] = [Self::Sparc, Self::R10000];

    /// Returns the name that command lines have.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sparc => "sparc",
            Self::R10000 => "r10000",
        }
    }
}

/// A program to sample, and how.
pub struct Job<'a> {
    /// The recording.
    pub program: Recording,
    /// The machine whose strands execute the program. (An R10000 is a machine of its own.)
    pub machine: Machine,
    /// Its caches, and how long things take.
    pub memory: Config,
    /// Which strand executes which thread; `None` for the [default](Placement::default_of).
    pub placement: Option<Placement>,
    /// How often to take a sample.
    pub rate: Rate,
    /// Whether the events in exception mode count, too: those of the handler that refills the TLB of an R10000.
    pub exceptions: bool,
    /// The functions of the program; `None` to report pages.
    pub symbols: Option<&'a dyn Functions>,
    /// Called with the number of bytes of the recording that have been read, after each block.
    pub progress: &'a mut dyn FnMut(u64),
}

impl Job<'_> {
    /// Runs the program on processors of this unit and samples the events of a list, which are separated by commas.
    ///
    /// # Errors
    /// An event is not known, there are too many of them, threads cannot be placed, or the recording cannot be read.
    pub fn run(self, unit: Unit, list: &str) -> Result<Report, ProfileError> {
        let flow = self.program.has_flow();
        match unit {
            Unit::Sparc => self.on_strands(&events::sparc(list, flow)?),
            Unit::R10000 => self.on_an_r10000(&events::r10000(list, flow)?),
        }
    }

    fn on_strands(self, selected: &[Selected<SparcSelect>]) -> Result<Report, ProfileError> {
        match AnyMemory::new(&self.machine, &self.memory)? {
            AnyMemory::T2Plus(memory) => self.on_strands_of(memory, selected),
            AnyMemory::Other(memory) => self.on_strands_of(memory, selected),
        }
    }

    fn on_strands_of<V: Variant>(
        mut self,
        mut memory: MemorySystem<V>,
        selected: &[Selected<SparcSelect>],
    ) -> Result<Report, ProfileError> {
        let machine = self.machine;
        let config = sparc::guest(machine);
        let strand_of = |thread| self.program.strand_of(thread).and_then(StrandId::new);
        let named: Vec<_> = (0..self.program.threads()).map(strand_of).collect();
        let default = || Placement::default_of(&named);
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
        let (name, mut notes) = (
            self.program.name().to_owned(),
            self.program.notes().to_vec(),
        );
        // The references of a thread that is dealt are executed in another order.
        let is_dealt = matches!(placement, Placement::Deal(_));
        let mut unwinder = unwinder(&self.program, is_dealt, self.symbols);
        let mut scheduler = match placement {
            Placement::Deal(_) => Scheduler::dealing(self.program, &placed),
            _ => Scheduler::new(vec![self.program], &placed),
        };
        let events = selected.len();
        let truth = run(
            &mut sparc,
            &mut scheduler,
            unwinder.as_mut(),
            events,
            self.progress,
        )?;
        notes.extend(scheduler.notes());
        let which = match strands.iter().count() {
            1 => format!("strand {}", placed[0]),
            many => format!("{many} strands"),
        };
        let (model, nodes) = (machine.model().name(), machine.nodes());
        let setting = Setting {
            unit: Unit::Sparc.name(),
            processor: format!("{which} of a {model}, nodes: {nodes}; placement: {placement}"),
            configuration: Some(Configuration {
                machine,
                memory: self.memory,
            }),
            program: name,
            threads: named.len(),
            notes,
            rate: self.rate,
        };
        let stacks = unwinder.map(Unwinder::into_stacks);
        let guests = sparc.into_guests().collect();
        setting.report(truth, guests, selected, self.symbols, stacks)
    }

    fn on_an_r10000(self, selected: &[Selected<R10000Event>]) -> Result<Report, ProfileError> {
        let mode = R10000Mode::User;
        let modes = match self.exceptions {
            true => ModeSet::from(mode) | R10000Mode::Exception.into(),
            false => mode.into(),
        };
        // To the scheduler, an R10000 is a machine with one strand.
        let only = StrandId::new(0).expect("every machine has it");
        let guest = self.guest(only, mode, modes, selected)?;
        let events = selected.iter().map(|one| one.event).collect();
        let mut core = Core::new(events, self.exceptions, guest)?;
        let threads = self.program.threads();
        let (name, mut notes) = (
            self.program.name().to_owned(),
            self.program.notes().to_vec(),
        );
        let mut unwinder = unwinder(&self.program, false, self.symbols);
        let mut scheduler = Scheduler::new(vec![self.program], &vec![only; threads]);
        let events = selected.len();
        let truth = run(
            &mut core,
            &mut scheduler,
            unwinder.as_mut(),
            events,
            self.progress,
        )?;
        notes.extend(scheduler.notes());
        let in_turns = match threads {
            1 => "",
            _ => "; the threads take turns, each until it waits or ends",
        };
        let setting = Setting {
            unit: Unit::R10000.name(),
            processor: format!("an R10000 with 1 MB of secondary cache{in_turns}"),
            configuration: None,
            program: name,
            threads,
            notes,
            rate: self.rate,
        };
        let stacks = unwinder.map(Unwinder::into_stacks);
        let guests = vec![core.into_guest()];
        setting.report(truth, guests, selected, self.symbols, stacks)
    }

    fn guest<U: CounterUnit>(
        &self,
        strand: StrandId,
        mode: U::Mode,
        modes: ModeSet<U::Mode>,
        selected: &[Selected<U::Event>],
    ) -> Result<Guest<U>, EventError> {
        let requests: Vec<_> = selected.iter().map(|one| self.rate.request(one)).collect();
        let guest = Guest::new(strand, mode, modes, &requests);
        guest.map_err(|_| EventError::TooMany(selected.len()))
    }
}

/// Returns what follows the calls of a program, if the recording says how control is passed on.
fn unwinder<'a>(
    program: &Recording,
    is_dealt: bool,
    symbols: Option<&'a dyn Functions>,
) -> Option<Unwinder<'a>> {
    (program.has_flow() && !is_dealt)
        .then(|| Unwinder::new(program.threads(), program.target(), symbols))
}

/// What a report says beside the results.
struct Setting {
    unit: &'static str,
    processor: String,
    configuration: Option<Configuration>,
    program: String,
    threads: usize,
    notes: Vec<String>,
    rate: Rate,
}

impl Setting {
    /// Returns the report of what these guests found.
    fn report<U: CounterUnit>(
        self,
        truth: Truth,
        guests: Vec<Guest<U>>,
        selected: &[Selected<U::Event>],
        symbols: Option<&dyn Functions>,
        stacks: Option<Stacks>,
    ) -> Result<Report, ProfileError> {
        if truth.instructions == 0 {
            return Err(ProfileError::NoInstruction(self.program));
        }
        let interrupts = guests.iter().map(Guest::interrupts).sum();
        let found = |one: &Selected<U::Event>| -> Vec<EventReport<U::Event>> {
            guests
                .iter()
                .filter_map(|guest| guest.report(one.event))
                .collect()
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
                let period = self.rate.period(one).events();
                EventProfile::new(one, period, &found, taken, exact, symbols, stacks.as_ref())
            });
        let first = profiles.next();
        let further_events = profiles.collect();
        Ok(Report {
            unit: self.unit,
            processor: self.processor,
            configuration: self.configuration,
            program: self.program,
            threads: self.threads,
            instructions: truth.instructions,
            references: truth.references,
            cycles: truth.cycles,
            interrupts,
            randomised: self.rate.seed.is_some(),
            notes: self.notes,
            first: first.ok_or_else(|| EventError::EmptyName(String::new()))?,
            further_events,
            stacks: stacks.unwrap_or_default(),
        })
    }
}
