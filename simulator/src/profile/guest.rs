//! The guest that samples: what the interrupts of the simulated machine enter, and what reads the samples later.

use std::collections::HashMap;

use guest_abi::StrandId;
use guest_abi::sampling::{
    Cause, CounterUnit, EventReport, Interrupted, ModeSet, NoRoom, Profiler, Request,
};

use super::error::ProfileError;

/// How many times two events can be sampled, by turns.
pub const TURNS: usize = 16;

/// How many samples wait until the next tick of the timer; those beyond are lost.
pub const RING: usize = 4096;

/// The timer interrupts every so many cycles. The events take turns then, and the samples that wait are read.
pub const TICK: u64 = 1 << 14;

/// The program runs here. (An R10000 has one.)
pub const STRAND: StrandId = match StrandId::new(0) {
    Some(strand) => strand,
    None => unreachable!(),
};

/// What samples say of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// How many there are.
    pub samples: u64,
    /// How many events they stand for.
    pub events: u64,
}

/// Samples by address.
pub type Taken = HashMap<u64, Weight>;

/// The guest's profiler, and the samples that it has read so far.
pub struct Guest<U: CounterUnit> {
    profiler: Box<Profiler<U, TURNS, RING>>,
    mode: U::Mode,
    takes_turns: bool,
    taken: Vec<(U::Event, Taken)>,
}

impl<U: CounterUnit> Guest<U> {
    /// Samples these events of a program that runs in this mode.
    ///
    /// # Errors
    /// There are too many.
    pub fn new(mode: U::Mode, requests: &[Request<U::Event>]) -> Result<Self, NoRoom<U::Event>> {
        let profiler = Box::new(Profiler::new(ModeSet::from(mode), requests)?);
        // Two of the same counter take turns, too.
        let counters: Vec<_> = profiler.events().map(|report| report.counter).collect();
        let takes_turns = (1..counters.len()).any(|at| counters[..at].contains(&counters[at]));
        Ok(Self {
            profiler,
            mode,
            takes_turns,
            taken: requests
                .iter()
                .map(|request| (request.event, Taken::new()))
                .collect(),
        })
    }

    /// Begins.
    ///
    /// # Errors
    /// The unit refuses.
    pub fn start(&mut self, unit: &mut U, time: u64) -> Result<(), ProfileError> {
        self.profiler.start(unit, time).map_err(refused::<U>)
    }

    /// The counters interrupt before the instruction at this address.
    ///
    /// # Errors
    /// The unit refuses to go on.
    pub fn interrupt(
        &mut self,
        unit: &mut U,
        address: u64,
        time: u64,
    ) -> Result<Cause, ProfileError> {
        let at = self.at(address, time);
        self.profiler.handle(unit, &at).map_err(refused::<U>)
    }

    /// The timer interrupts before the instruction at this address.
    ///
    /// # Errors
    /// The unit refuses to go on.
    pub fn tick(&mut self, unit: &mut U, address: u64, time: u64) -> Result<(), ProfileError> {
        if self.takes_turns {
            let at = self.at(address, time);
            self.profiler.rotate(unit, &at).map_err(refused::<U>)?;
        }
        self.read();
        Ok(())
    }

    /// The program is at its end.
    pub fn stop(&mut self, unit: &mut U, address: u64, time: u64) {
        let at = self.at(address, time);
        self.profiler.stop(unit, &at);
        self.read();
    }

    /// How many interrupts of the counters there were.
    #[must_use]
    pub fn interrupts(&self) -> u64 {
        self.profiler.interrupts()
    }

    /// What is known of an event.
    #[must_use]
    pub fn report(&self, event: U::Event) -> Option<EventReport<U::Event>> {
        self.profiler.events().find(|report| report.event == event)
    }

    /// The samples of every event, in the order in which they were asked for.
    #[must_use]
    pub fn into_taken(self) -> Vec<Taken> {
        self.taken.into_iter().map(|(_, taken)| taken).collect()
    }

    fn read(&mut self) {
        while let Some(sample) = self.profiler.pop() {
            let taken = self
                .taken
                .iter_mut()
                .find(|(event, _)| *event == sample.event);
            if let Some((_, taken)) = taken {
                let weight = taken.entry(sample.at.address).or_default();
                weight.samples += 1;
                weight.events += sample.period;
            }
        }
    }

    fn at(&self, address: u64, time: u64) -> Interrupted<U::Mode> {
        Interrupted {
            address,
            strand: STRAND,
            time,
            mode: self.mode,
        }
    }
}

fn refused<U: CounterUnit>(refusal: U::Refusal) -> ProfileError {
    ProfileError::Refused(format!("{refusal:?}"))
}
