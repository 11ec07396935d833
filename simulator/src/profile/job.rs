//! A program, sampled.

use guest_abi::sampling::{CounterUnit, ModeSet, SparcMode};
use platform::models::r10000::R10000Mode;

use super::error::{EventError, ProfileError};
use super::events::{self, Rate, Selected};
use super::guest::Guest;
use super::r10000::Core;
use super::report::{EventProfile, Report};
use super::rows::Functions;
use super::run::{Processor, run};
use super::sparc::{self, Sparc};
use crate::events::collect::{Collector, Keep};
use crate::machine::board::{Board, devices};
use crate::machine::clock::MachineClock;
use crate::recording::Recording;

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

    fn processor(self) -> &'static str {
        match self {
            Self::Sparc => "a strand of an UltraSPARC T2 Plus",
            Self::R10000 => "an R10000 with 1 MB of secondary cache",
        }
    }
}

/// A program to sample, and how.
pub struct Job<'a> {
    /// The recording.
    pub program: Recording,
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
    /// Runs the program on the processor of this unit and samples the events of a list, which are separated by commas.
    ///
    /// # Errors
    /// An event is not known, there are too many of them, or the recording cannot be read.
    pub fn run(self, unit: Unit, list: &str) -> Result<Report, ProfileError> {
        match unit {
            Unit::Sparc => {
                let selected = events::sparc(list)?;
                let machine = sparc::machine();
                let devices = devices(machine, 0);
                let clock = MachineClock::new(&devices);
                let off = Collector::Off;
                let guests = [sparc::guest(machine)];
                let board = Board::new(&devices, &clock, &off, Keep::First, &guests)?;
                let selects = selected.iter().map(|one| one.event).collect();
                let strand = Sparc::new(&devices, &board, selects)?;
                let mode = SparcMode::User;
                self.sample(unit, strand, mode, mode.into(), &selected)
            }
            Unit::R10000 => {
                let selected = events::r10000(list, self.program.has_flow())?;
                let events = selected.iter().map(|one| one.event).collect();
                let core = Core::new(events, self.exceptions);
                let mode = R10000Mode::User;
                let modes = match self.exceptions {
                    true => ModeSet::from(mode) | R10000Mode::Exception.into(),
                    false => mode.into(),
                };
                self.sample(unit, core, mode, modes, &selected)
            }
        }
    }

    fn sample<P: Processor>(
        mut self,
        unit: Unit,
        mut processor: P,
        mode: <P::Unit as CounterUnit>::Mode,
        modes: ModeSet<<P::Unit as CounterUnit>::Mode>,
        selected: &[Selected<<P::Unit as CounterUnit>::Event>],
    ) -> Result<Report, ProfileError> {
        let requests: Vec<_> = selected.iter().map(|one| self.rate.request(one)).collect();
        let events = selected.len();
        let too_many = |_| EventError::TooMany(events);
        let mut guest = Guest::new(mode, modes, &requests).map_err(too_many)?;
        let program = &mut self.program;
        let truth = run(&mut processor, &mut guest, events, program, self.progress)?;
        let interrupts = guest.interrupts();
        let found: Vec<_> = selected.iter().map(|one| guest.report(one.event)).collect();
        let taken = guest.into_taken();
        let mut profiles = selected
            .iter()
            .zip(found)
            .zip(taken.into_iter().zip(&truth.exact))
            .map(|((one, found), (taken, exact))| {
                let period = self.rate.period(one).events();
                EventProfile::new(one, period, found, taken, exact, self.symbols)
            });
        Ok(Report {
            unit: unit.name(),
            processor: unit.processor(),
            program: self.program.name().to_owned(),
            instructions: truth.instructions,
            references: truth.references,
            cycles: truth.cycles,
            interrupts,
            randomised: self.rate.seed.is_some(),
            first: profiles
                .next()
                .ok_or_else(|| EventError::EmptyName(String::new()))?,
            further_events: profiles.collect(),
        })
    }
}
