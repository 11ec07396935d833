//! A replay's region: the part whose events are counted.
//!
//! References before the region are skipped. The threads still start, wait and take locks, but their references reach no cache, and
//! each instruction takes one cycle. A warm-up is the last part before the region: its references go through the memory system, but
//! their events are not counted.

use std::ops::ControlFlow;

use guest_abi::StrandId;
use platform::Machine;

use super::placement::{Placement, PlacementError};
use super::progress::Progress;
use super::scheduler::Scheduler;
use crate::machine::board::devices;
use crate::memory::{AnyMemory, MemorySystem, Stray, Variant};
use crate::recording::{Recording, RecordingError};
use crate::run::{Covered, RegionRun};

/// The number of quanta between two calls of the observer.
const QUANTA_PER_OBSERVATION: u64 = 1 << 10;

/// The part of a replay whose events are counted, and the warm-up before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// The region's start; `None` if it starts with the programs.
    pub from: Option<Point>,
    /// The region's end; `None` if it ends with the programs.
    pub to: Option<Point>,
    /// The start of the warm-up, which ends at the region's start; `None` if there is no warm-up.
    pub warm_up: Option<Point>,
}

/// A point that a replay can reach, such as the start of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The point's name in messages and results.
    pub name: String,
    /// When the replay reaches the point: after a number of instructions, or just before certain instructions.
    pub at: Moment,
}

/// The moment at which a replay reaches a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// All threads together have executed this number of instructions.
    Instructions(u64),
    /// A thread is about to execute one of several instructions.
    Reached {
        /// The address of each instruction, with the number of the program that executes it.
        addresses: Vec<(usize, u64)>,
        /// How often threads must have reached the instructions, including this time. `None` stands for the first time or, at the
        /// end of a region, for the first time within the region.
        number: Option<u64>,
    },
}

impl Moment {
    /// Returns the addresses that a scheduler has to watch.
    pub(super) fn addresses(&self) -> &[(usize, u64)] {
        match self {
            Self::Instructions(_) => &[],
            Self::Reached { addresses, .. } => addresses,
        }
    }
}

/// Why a region cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RegionError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    Stray(#[from] Stray),
    #[error(transparent)]
    Placement(#[from] PlacementError),
    #[error("the program ends before {point}: {has}")]
    NotReached { point: String, has: String },
    #[error("{early} comes before {late}, expected it later")]
    Order { early: String, late: String },
}

/// A region's points, in the order in which a scheduler watches them.
#[derive(Clone, Copy)]
enum RegionPoint {
    WarmUp,
    From,
    To,
}

/// A region whose start a replay has reached.
pub(crate) struct Entered {
    region: Region,
    skipped: Covered,
    warmed: Covered,
    /// The time at which the region began, in cycles.
    pub(crate) began: u64,
    /// Whether the observer stopped the replay before the region.
    pub(crate) stopped: bool,
}

impl Region {
    fn point(&self, which: RegionPoint) -> Option<&Point> {
        match which {
            RegionPoint::WarmUp => self.warm_up.as_ref(),
            RegionPoint::From => self.from.as_ref(),
            RegionPoint::To => self.to.as_ref(),
        }
    }

    /// Executes a new replay up to the region's start.
    pub(crate) fn enter(
        &self,
        scheduler: &mut Scheduler,
        memory: &mut AnyMemory,
        machine: Machine,
        observe: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Entered, RegionError> {
        match memory {
            AnyMemory::T2Plus(memory) => self.enter_with(scheduler, memory, machine, observe),
            AnyMemory::Other(memory) => self.enter_with(scheduler, memory, machine, observe),
        }
    }

    /// Executes a new replay up to the region's start. The warm-up's events go to the counters of separate devices that nothing
    /// else uses.
    pub(crate) fn enter_with<V: Variant>(
        &self,
        scheduler: &mut Scheduler,
        memory: &mut MemorySystem<V>,
        machine: Machine,
        observe: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Entered, RegionError> {
        let mut entered = self.skip(scheduler, observe)?;
        let aside = devices(machine, 0);
        let mut work = memory.work(&aside);
        if entered.stopped || self.warm_up.is_none() {
            work.finish(scheduler.now())?;
            return Ok(entered);
        }
        self.stop_at(scheduler, RegionPoint::From)?;
        let mut quanta: u64 = 0;
        while let Some((_, quantum)) = scheduler.next(usize::MAX)? {
            let executed = work.replay(&quantum);
            scheduler.executed(&executed);
            quanta += 1;
            if quanta.is_multiple_of(QUANTA_PER_OBSERVATION)
                && observe(scheduler.progress(scheduler.passed().references)).is_break()
            {
                entered.stopped = true;
                break;
            }
        }
        work.finish(scheduler.now())?;
        entered.warmed = scheduler.passed().since(&entered.skipped);
        self.begin(scheduler, entered)
    }

    /// Executes a new replay up to the start of the warm-up or, if there is none, up to the start of the region.
    pub(crate) fn skip(
        &self,
        scheduler: &mut Scheduler,
        observe: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Entered, RegionError> {
        let points = [RegionPoint::WarmUp, RegionPoint::From, RegionPoint::To]
            .map(|which| self.point(which));
        scheduler.watch(points.map(|point| point.map_or(&[][..], |point| point.at.addresses())));
        let next = if self.warm_up.is_some() { RegionPoint::WarmUp } else { RegionPoint::From };
        self.stop_at(scheduler, next)?;
        let mut stopped = false;
        let mut quanta: u64 = 0;
        while self.point(next).is_some() && !stopped && scheduler.skip()? {
            quanta += 1;
            stopped = quanta.is_multiple_of(QUANTA_PER_OBSERVATION)
                && observe(scheduler.progress(scheduler.passed().references)).is_break();
        }
        let entered = Entered {
            region: self.clone(),
            skipped: scheduler.passed(),
            warmed: Covered::default(),
            began: 0,
            stopped,
        };
        match (stopped, next) {
            (false, RegionPoint::WarmUp) => self.ensure_reached(scheduler, next).map(|()| entered),
            (_, _) => self.begin(scheduler, entered),
        }
    }

    /// Begins the region. From this time on, the scheduler counts states and waits.
    fn begin(
        &self,
        scheduler: &mut Scheduler,
        mut entered: Entered,
    ) -> Result<Entered, RegionError> {
        if !entered.stopped {
            self.ensure_reached(scheduler, RegionPoint::From)?;
            self.stop_at(scheduler, RegionPoint::To)?;
        }
        entered.began = scheduler.now();
        scheduler.count_from(entered.began);
        Ok(entered)
    }

    /// Makes the scheduler stop at one of the region's points. If the region lacks that point, the scheduler does not stop.
    fn stop_at(&self, scheduler: &mut Scheduler, which: RegionPoint) -> Result<(), RegionError> {
        let Some(point) = self.point(which) else {
            scheduler.clear_stop();
            return Ok(());
        };
        let is_ahead = match &point.at {
            Moment::Instructions(number) => scheduler.stop_after(*number),
            Moment::Reached { number, .. } => {
                let first = match which {
                    RegionPoint::To => scheduler.seen(which as usize) + 1,
                    RegionPoint::WarmUp | RegionPoint::From => 1,
                };
                scheduler.stop_when_reached(which as usize, number.unwrap_or(first))
            }
        };
        let before = match which {
            RegionPoint::WarmUp => None,
            RegionPoint::From => self.point(RegionPoint::WarmUp),
            RegionPoint::To => self.point(RegionPoint::From),
        };
        match (is_ahead, before) {
            (true, _) => Ok(()),
            (false, None) => self.ensure_reached(scheduler, which),
            (false, Some(before)) => {
                Err(RegionError::Order { early: point.name.clone(), late: before.name.clone() })
            }
        }
    }

    /// Returns an error unless the scheduler has stopped at this point of the region. Succeeds if the region lacks the point.
    fn ensure_reached(&self, scheduler: &Scheduler, which: RegionPoint) -> Result<(), RegionError> {
        let Some(point) = self.point(which).filter(|_| !scheduler.has_stopped()) else {
            return Ok(());
        };
        let has = match &point.at {
            Moment::Instructions(_) => {
                format!("it has {} instructions", scheduler.passed().instructions)
            }
            Moment::Reached { number, .. } => match (scheduler.seen(which as usize), which) {
                (0, _) => "it never reaches this point".to_owned(),
                (_, RegionPoint::To) if number.is_none() => {
                    "it reaches this point only earlier".to_owned()
                }
                (1, _) => "it reaches this point once".to_owned(),
                (seen, _) => format!("it reaches this point {seen} times"),
            },
        };
        Err(RegionError::NotReached { point: point.name.clone(), has })
    }
}

impl Entered {
    /// Returns the value for a replay without a region, which counts the events of the whole programs.
    pub(crate) fn whole_program() -> Self {
        Self {
            region: Region::default(),
            skipped: Covered::default(),
            warmed: Covered::default(),
            began: 0,
            stopped: false,
        }
    }

    /// Returns an error unless the replay has ended at the region's end.
    pub(crate) fn ensure_ended(&self, scheduler: &Scheduler) -> Result<(), RegionError> {
        self.region.ensure_reached(scheduler, RegionPoint::To)
    }

    /// Returns the number of references that were skipped or that warmed the caches.
    pub(crate) fn before(&self) -> u64 {
        self.skipped.references + self.warmed.references
    }

    /// Returns what the replay has covered so far; `None` if there is no region.
    pub(crate) fn run(&self, scheduler: &Scheduler) -> Option<RegionRun> {
        let Region { from, to, warm_up } = &self.region;
        if self.region == Region::default() {
            return None;
        }
        let name = |point: &Option<Point>| point.as_ref().map(|point| point.name.clone());
        Some(RegionRun {
            from: name(from),
            to: name(to),
            warm_up: name(warm_up),
            skipped: self.skipped,
            warmed: self.warmed,
            counted: scheduler.passed().since(&self.skipped).since(&self.warmed),
        })
    }
}

/// Returns the number of instructions that the threads of these recordings execute before they reach a point. All references before
/// the point are skipped. The threads are on a machine's strands, as `placement` says.
///
/// # Errors
/// Returns an error if the threads cannot be placed, if a recording cannot be read, or if the programs end before the point.
pub fn instructions_before(
    point: &Point,
    programs: Vec<Recording>,
    machine: Machine,
    placement: Option<&Placement>,
    mut observe: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<u64, RegionError> {
    let named = Placement::named(&programs);
    let placement = placement.cloned().unwrap_or_else(|| Placement::default_for(&named));
    let all = (0..machine.strands()).filter_map(StrandId::new).collect();
    let strands = placement.strands(machine, all, &named)?;
    let is_dealt = matches!(placement, Placement::Deal(_));
    let mut scheduler = Scheduler::placed(programs, &strands, is_dealt);
    let region = Region { from: Some(point.clone()), ..Region::default() };
    Ok(region.skip(&mut scheduler, &mut observe)?.skipped.instructions)
}
