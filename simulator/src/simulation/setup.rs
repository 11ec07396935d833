//! The setup of a simulation.

use guest_abi::StrandId;
use guest_abi::layout::PerfConfig;
use hv_core::GuestId;
use perfctr_service::{ConfigError, GuestConfig, policy};
use platform::Machine;

use super::error::RunError;
use super::selection::Selection;
use crate::events::collect::{Collector, Keep, LayoutName, Rings};
use crate::events::{Epoch, Trace};
use crate::guests::{self, Guest};
use crate::machine::board::{Board, devices};
use crate::machine::clock::{HZ, MachineClock};
use crate::memory::{MemorySystem, NoMemory, Truth};
use crate::recording::Recording;
use crate::scheduler::{MOST_PROGRAMS, Scheduler};

/// The setup of a simulation: what the machine executes, and what a guest measures.
#[derive(Debug)]
pub struct Setup {
    /// The machine.
    pub machine: Machine,
    /// Its guests.
    pub guests: Vec<Guest>,
    /// The programs that the machine executes.
    pub programs: Vec<Recording>,
    /// The strands that execute the programs. They belong to one guest, which measures. By default (`None`) they are the
    /// first strands of cores 0 and 1 of every node, as far as these belong to the first guest, or else its first strand.
    pub strands: Option<Vec<StrandId>>,
    /// The events to count.
    pub selection: Selection,
    /// The L2 misses that the strands' counters count.
    pub perf_config: PerfConfig,
    /// The references from one sample to the next; `None` for one sample at the end.
    pub interval: Option<u64>,
    /// The cycles of an access to a hub, for which the hub is busy.
    pub hub_cycles: u64,
    /// How the hypervisor's events are recorded; `None` if they are not.
    pub tracing: Option<Tracing>,
}

/// How the hypervisor's events are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracing {
    /// The layout of the events' headers in the rings.
    pub layout: LayoutName,
    /// The events that are kept.
    pub keep: Keep,
    /// The time at which the simulation begins, if it is to have one.
    pub epoch: Option<Epoch>,
}

/// Why a setup cannot be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The hypervisor rejects such guests.
    #[error(transparent)]
    Guests(#[from] ConfigError),
    /// There is no guest.
    #[error("there is no guest")]
    NoGuest,
    /// The machine does not have this strand.
    #[error("there is no strand {strand}; this machine has strands 0 to {last}")]
    NoSuchStrand {
        /// The strand.
        strand: StrandId,
        /// The machine's last strand.
        last: usize,
    },
    /// A strand of the program belongs to no guest.
    #[error("strand {0} belongs to no guest")]
    Nobodys(StrandId),
    /// The strands of the program belong to two guests.
    #[error("the program's strands belong to two guests, {0} and {1}; expected strands of one")]
    TwoGuests(String, String),
    /// There is no strand to execute the program.
    #[error("the program has no strand")]
    NoStrand,
    /// There is no program.
    #[error("there is no program, expected one at least")]
    NoProgram,
    /// There are more programs than fit into memory side by side.
    #[error("{0} programs, expected at most {MOST_PROGRAMS}")]
    TooManyPrograms(usize),
    /// An access to a hub takes longer than [`Setup::MOST_HUB_CYCLES`].
    #[error("found {0} cycles for an access to a hub, expected at most {most}", most = Setup::MOST_HUB_CYCLES)]
    SlowHubs(u64),
    /// The interval is 0.
    #[error("found an interval of 0 references, expected 1 at least")]
    NoInterval,
    /// The machine has no memory.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
}

impl Setup {
    /// The default of [`hub_cycles`](Self::hub_cycles).
    pub const HUB_CYCLES: u64 = 100;

    /// The most [`hub_cycles`](Self::hub_cycles): a guest tries again for longer than that.
    pub const MOST_HUB_CYCLES: u64 = 100_000;

    /// Returns a setup of this program on this machine, with two guests. The first has every right, and all cores but the
    /// last; the second has no right, and the last core.
    #[must_use]
    pub fn new(machine: Machine, program: Recording) -> Self {
        Self {
            machine,
            guests: guests::default(machine),
            programs: vec![program],
            strands: None,
            selection: Selection::default_of(machine),
            perf_config: PerfConfig::All,
            interval: None,
            hub_cycles: Self::HUB_CYCLES,
            tracing: None,
        }
    }

    /// Checks the setup.
    ///
    /// # Errors
    /// See [`SetupError`].
    pub fn check(self) -> Result<Simulation, SetupError> {
        let machine = self.machine;
        let configs: Vec<_> = self.guests.iter().map(|guest| guest.config).collect();
        policy::check(machine, &configs)?;
        let first = configs.first().ok_or(SetupError::NoGuest)?;
        let strands = (self.strands.clone()).unwrap_or_else(|| default_strands(machine, first));
        let last = machine.strands() - 1;
        if let Some(&strand) = strands.iter().find(|strand| strand.index() > last) {
            return Err(SetupError::NoSuchStrand { strand, last });
        }
        let measuring = holder(&self.guests, &strands)?;
        match self.programs.len() {
            0 => return Err(SetupError::NoProgram),
            1..=MOST_PROGRAMS => {}
            many => return Err(SetupError::TooManyPrograms(many)),
        }
        if self.hub_cycles > Self::MOST_HUB_CYCLES {
            return Err(SetupError::SlowHubs(self.hub_cycles));
        }
        if self.interval == Some(0) {
            return Err(SetupError::NoInterval);
        }
        Ok(Simulation {
            memory: MemorySystem::new(&machine)?,
            strands,
            measuring,
            setup: self,
        })
    }
}

/// Returns the first strands of cores 0 and 1 of every node, as far as the first guest has them, or else its first strand.
fn default_strands(machine: Machine, first: &GuestConfig) -> Vec<StrandId> {
    let of_node =
        |node: usize| [0, StrandId::PER_CORE].map(|strand| node * StrandId::PER_NODE + strand);
    let strands: Vec<StrandId> = (0..machine.nodes())
        .flat_map(of_node)
        .filter_map(StrandId::new)
        .filter(|strand| first.strands.has(*strand))
        .collect();
    if strands.is_empty() {
        first.strands.iter().take(1).collect()
    } else {
        strands
    }
}

/// Returns the guest that has all of these strands.
fn holder(guests: &[Guest], strands: &[StrandId]) -> Result<GuestId, SetupError> {
    let mut holder = None;
    for strand in strands {
        let of = (guests.iter())
            .position(|guest| guest.config.strands.has(*strand))
            .ok_or(SetupError::Nobodys(*strand))?;
        if let Some(other) = holder.replace(of).filter(|other| *other != of) {
            let [other, of] = [other, of].map(|guest| guests[guest].name.clone());
            return Err(SetupError::TwoGuests(other, of));
        }
    }
    holder.and_then(GuestId::new).ok_or(SetupError::NoStrand)
}

/// A setup that has been checked.
#[derive(Debug)]
pub struct Simulation {
    pub(super) setup: Setup,
    pub(super) strands: Vec<StrandId>,
    pub(super) measuring: GuestId,
    pub(super) memory: MemorySystem,
}

impl Simulation {
    /// Returns the setup.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns the strands that execute the programs.
    #[must_use]
    pub fn strands(&self) -> &[StrandId] {
        &self.strands
    }

    /// Returns the guest that has these strands, and measures.
    #[must_use]
    pub fn measuring(&self) -> &Guest {
        &self.setup.guests[self.measuring.index()]
    }

    /// Returns the guests by number, each with the strand that makes its calls.
    pub(super) fn callers(&self) -> impl Iterator<Item = (GuestId, StrandId)> {
        (0..)
            .map_while(GuestId::new)
            .zip(&self.setup.guests)
            .filter_map(|(id, guest)| Some((id, guest.caller()?)))
    }

    /// Returns the replay of the programs on the strands, which begins with the first reference.
    pub(super) fn replay(&mut self) -> Replay {
        Replay {
            scheduler: Scheduler::new(std::mem::take(&mut self.setup.programs), &self.strands),
            memory: self.memory.clone(),
            references: 0,
        }
    }

    /// Boots the machine and does `work` on it. Returns the result and the hypervisor's events.
    pub(super) fn boot<R>(
        &self,
        work: impl for<'a> FnOnce(&'a Board<'a>) -> Result<R, RunError>,
    ) -> Result<(R, Option<Trace>), RunError> {
        let Setup {
            machine,
            guests,
            hub_cycles,
            tracing,
            ..
        } = &self.setup;
        let devices = devices(*machine, *hub_cycles);
        let configs: Vec<_> = guests.iter().map(|guest| guest.config).collect();
        let clock = MachineClock::new(&devices);
        let rings = tracing.map(|tracing| Rings::new(tracing.layout, tracing.keep.mode()));
        let collector = match &rings {
            Some(rings) => rings.collector(&clock),
            None => Collector::Off,
        };
        let keep = tracing.map_or(Keep::First, |tracing| tracing.keep);
        let board = Board::new(&devices, &clock, &collector, keep, &configs)?;
        let result = work(&board)?;
        let trace = tracing.map(|tracing| Trace {
            hz: HZ,
            layout: tracing.layout,
            began: 0,
            epoch: tracing.epoch,
            missed: collector.missed(),
            guests: guests.iter().map(|guest| guest.name.clone()).collect(),
            streams: collector.streams(),
        });
        Ok((result, trace))
    }
}

/// A replay of the programs.
pub(super) struct Replay {
    scheduler: Scheduler,
    memory: MemorySystem,
    /// The references until now.
    pub(super) references: u64,
}

impl Replay {
    /// Replays references of one strand, at most `most`. Returns `false` if all programs have ended.
    ///
    /// # Errors
    /// A recording cannot be read any further.
    pub(super) fn next(&mut self, most: u64, board: &Board<'_>) -> Result<bool, RunError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let Some(share) = self.scheduler.next(most)? else {
            return Ok(false);
        };
        let devices = board.devices();
        self.memory
            .replay(share.strand, share.offset, share.references, devices);
        self.references += share.references.len() as u64;
        Ok(true)
    }

    /// Returns the bytes of the recordings that have been read.
    pub(super) fn read(&self) -> u64 {
        self.scheduler.progress().read
    }

    /// Returns what happened until now.
    pub(super) fn truth(&self) -> &Truth {
        self.memory.truth()
    }
}
