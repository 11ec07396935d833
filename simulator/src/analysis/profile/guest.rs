//! The guest that takes samples. It handles the interrupts of the counters and the timer. At each timer tick, it reads the
//! samples.

use std::collections::{HashMap, VecDeque};
use std::ops::AddAssign;

use guest_abi::StrandId;
use guest_abi::sampling::{
    Cause, CounterUnit, EventReport, InterruptPoint, ModeSet, NoRoom, Profiler, Request,
};

use super::error::ProfileError;
use super::stacks::{Point, StackId};

/// The maximum number of pairs of events that can take turns on the two counters.
pub(crate) const MAX_PAIRS: usize = 16;

/// The maximum number of samples between two timer ticks. Further samples are lost.
pub(crate) const RING: usize = 4096;

/// The period of the timer interrupt, in cycles. At each tick, the next pair of events takes its turn on the counters, and
/// the guest reads the samples taken so far.
pub(crate) const TICK: u64 = 1 << 14;

/// The samples of one instruction with one call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Weight {
    pub samples: u64,
    /// The number of events that the samples represent.
    pub events: u64,
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.samples += other.samples;
        self.events += other.events;
    }
}

pub(crate) type Samples = HashMap<Point, Weight>;

/// A guest's profiler, and the samples that the guest has read so far.
pub(crate) struct SamplingGuest<U: CounterUnit> {
    strand: StrandId,
    profiler: Box<Profiler<U, MAX_PAIRS, RING>>,
    mode: U::Mode,
    takes_turns: bool,
    /// The time and the next instruction of each interrupt since the guest last read the samples. From these, the guest finds
    /// the samples' call stacks.
    interrupted: VecDeque<(u64, Point)>,
    taken: Vec<(U::Event, Samples)>,
}

impl<U: CounterUnit> SamplingGuest<U> {
    /// Returns a guest that samples events on a strand. The program executes in `mode`. Only events in one of the `modes` are
    /// counted.
    pub(crate) fn new(
        strand: StrandId,
        mode: U::Mode,
        modes: ModeSet<U::Mode>,
        requests: &[Request<U::Event>],
    ) -> Result<Self, NoRoom<U::Event>> {
        let profiler = Box::new(Profiler::new(modes, requests)?);
        // Events that use the same counter take turns.
        let counters: Vec<_> = profiler.events().map(|report| report.counter).collect();
        let takes_turns = (1..counters.len()).any(|at| counters[..at].contains(&counters[at]));
        Ok(Self {
            strand,
            profiler,
            mode,
            takes_turns,
            interrupted: VecDeque::new(),
            taken: requests.iter().map(|request| (request.event, Samples::new())).collect(),
        })
    }

    pub(crate) fn strand(&self) -> StrandId {
        self.strand
    }

    pub(crate) fn start(&mut self, unit: &mut U, time: u64) -> Result<(), ProfileError> {
        self.profiler.start(unit, time).map_err(refused::<U>)
    }

    /// Handles a counter interrupt that arrives just before the instruction `next`.
    pub(crate) fn interrupt(
        &mut self,
        unit: &mut U,
        next: Point,
        time: u64,
    ) -> Result<Cause, ProfileError> {
        let at = self.at(next, time);
        self.profiler.handle(unit, &at).map_err(refused::<U>)
    }

    /// Handles a timer interrupt that arrives just before the instruction `next`.
    pub(crate) fn tick(
        &mut self,
        unit: &mut U,
        next: Point,
        time: u64,
    ) -> Result<(), ProfileError> {
        if self.takes_turns {
            let at = self.at(next, time);
            self.profiler.rotate(unit, &at).map_err(refused::<U>)?;
        }
        self.read();
        Ok(())
    }

    /// Stops the counters at the end of the program, and reads the last samples.
    pub(crate) fn stop(&mut self, unit: &mut U, next: Point, time: u64) {
        let at = self.at(next, time);
        self.profiler.stop(unit, &at);
        self.read();
    }

    pub(crate) fn interrupts(&self) -> u64 {
        self.profiler.interrupts()
    }

    /// Returns the profiler's report on an event; `None` if it does not sample the event.
    pub(crate) fn report(&self, event: U::Event) -> Option<EventReport<U::Event>> {
        self.profiler.events().find(|report| report.event == event)
    }

    /// Returns each event's samples, in the order of the requests.
    pub(crate) fn into_taken(self) -> Vec<Samples> {
        self.taken.into_iter().map(|(_, taken)| taken).collect()
    }

    fn read(&mut self) {
        while let Some(sample) = self.profiler.pop() {
            let address = sample.at.address;
            let stack = self.stack(address, sample.at.time);
            let mut taken = self.taken.iter_mut();
            if let Some((_, taken)) = taken.find(|(event, _)| *event == sample.event) {
                *taken.entry(Point { stack, address }).or_default() +=
                    Weight { samples: 1, events: sample.period };
            }
        }
        self.interrupted.clear();
    }

    /// Returns a sample's stack. Must be called for the samples in the order of their interrupts.
    fn stack(&mut self, address: u64, time: u64) -> StackId {
        while let Some((then, at)) = self.interrupted.front() {
            if (*then, at.address) == (time, address) {
                return at.stack;
            }
            self.interrupted.pop_front();
        }
        StackId::default()
    }

    fn at(&mut self, next: Point, time: u64) -> InterruptPoint<U::Mode> {
        self.interrupted.push_back((time, next));
        InterruptPoint { address: next.address, strand: self.strand, time, mode: self.mode }
    }
}

fn refused<U: CounterUnit>(refusal: U::Refusal) -> ProfileError {
    ProfileError::Refused(refusal.to_string())
}
