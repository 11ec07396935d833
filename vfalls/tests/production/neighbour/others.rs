//! What the neighbour does in one copy of the machine.

use std::sync::OnceLock;

use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use simulator::conform::attacks::{ALL, CAUGHT, prepare};
use simulator::conform::caller::{Request, resume_at};
use simulator::conform::guest::{ANSWERED, IDLE};
use simulator::conform::requests::requests;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Stop};
use simulator::interpreter::Level;
use tests::random::Random;

use super::super::strand;
use super::script::{call, store_values};
use super::{MEMORIES, NEIGHBOUR, Ready};

/// The neighbour starts another action after this number of instructions, or after this number of turns in which nothing happens.
const LONG: usize = 150;

/// How the neighbour behaves in one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// The neighbour executes nothing.
    Absent,
    /// The neighbour executes an endless loop.
    Idle,
    /// The neighbour makes calls of all kinds, with random values in all registers.
    Calls,
    /// The neighbour uses the performance counters.
    Counts,
    /// The neighbour makes attacks of all kinds.
    Attacks,
    /// The neighbour ends again and again, through a call or an attack. The operator resets it each time.
    Ends,
    /// The neighbour behaves in all of these ways except [`Absent`](Self::Absent), in random order.
    Mixed,
}

const BEHAVIOURS: [Behaviour; 7] = [
    Behaviour::Absent,
    Behaviour::Idle,
    Behaviour::Calls,
    Behaviour::Counts,
    Behaviour::Attacks,
    Behaviour::Ends,
    Behaviour::Mixed,
];

pub(super) fn all_calls() -> &'static [Request] {
    static CALLS: OnceLock<Vec<Request>> = OnceLock::new();
    CALLS.get_or_init(|| requests(false))
}

/// Makes the neighbour act in one copy of the machine.
pub(super) struct NeighbourDriver {
    pub(super) behaviour: Behaviour,
    random: Random,
    /// For each strand, the number of turns since it began its latest action.
    since: [usize; NEIGHBOUR.len()],
    /// Whether the operator has been asked to reset the neighbour.
    resets: bool,
    pub(super) actions: usize,
    pub(super) reset: usize,
}

impl NeighbourDriver {
    pub(super) fn new(execution: &mut Execution, behaviour: Behaviour, mut random: Random) -> Self {
        if behaviour != Behaviour::Absent {
            store_values(execution, MEMORIES[1], &mut random);
        }
        let since = [LONG; NEIGHBOUR.len()];
        Self { behaviour, random, since, resets: false, actions: 0, reset: 0 }
    }

    pub(super) fn behaviours(random: &mut Random) -> [Behaviour; 2] {
        let first = random.below(BEHAVIOURS.len());
        // The two neighbours must act differently. If both have the same behaviour, their random actions usually differ. But an absent or
        // idle neighbour has no random actions, so if the first neighbour is one of these, the second one gets another behaviour.
        let second = match first {
            0 | 1 => (first + 1 + random.below(BEHAVIOURS.len() - 1)) % BEHAVIOURS.len(),
            _ => random.below(BEHAVIOURS.len()),
        };
        [first, second].map(|number| BEHAVIOURS[number])
    }

    /// Lets a strand of the neighbour execute one instruction.
    pub(super) fn act(&mut self, ready: &Ready, execution: &mut Execution) -> Result<(), String> {
        if self.behaviour == Behaviour::Absent {
            return Ok(());
        }
        let cpu = self.random.below(NEIGHBOUR.len());
        let id = strand(NEIGHBOUR[cpu]);
        self.since[cpu] += 1;
        let registers = execution.strand(id);
        if registers.level() < Level::Hyperprivileged
            && (self.since[cpu] > LONG || [ANSWERED, CAUGHT].contains(&registers.pc))
        {
            self.begin(ready, execution, cpu)?;
        }
        match execution.step(id) {
            Some(Stop::Limit) => {}
            None => self.rest(execution, cpu)?,
            Some(stop) => return Err(format!("the neighbour's strand stops: {stop:x?}")),
        }
        match self.resets {
            true => self.look(execution),
            false => Ok(()),
        }
    }

    /// Checks whether the operator's reset is complete.
    fn look(&mut self, execution: &mut Execution) -> Result<(), String> {
        match execution.operated() {
            Some(Ok(None)) => self.resets = false,
            None => {}
            Some(other) => return Err(format!("a reset: {other:?}")),
        }
        Ok(())
    }

    /// Lets the strand rest. If its guest has ended, or the strand has rested for long, asks the operator to reset the guest.
    fn rest(&mut self, execution: &mut Execution, cpu: usize) -> Result<(), String> {
        let has_ended = execution.guest(1) != GuestState::Runs;
        if !self.resets && (has_ended || self.since[cpu] > 20 * LONG) {
            self.since[cpu] = 0;
            prepare(execution, MEMORIES[1], NEIGHBOUR.len()).map_err(|error| error.to_string())?;
            let step = Step::Reset(GuestId::new(1).unwrap());
            let on = strand(NEIGHBOUR[cpu]);
            execution.operate(on, &step).map_err(|error| error.to_string())?;
            (self.resets, self.reset) = (true, self.reset + 1);
        }
        Ok(())
    }

    /// Returns `true` while the operator is resetting the neighbour.
    pub(super) const fn is_reset(&self) -> bool {
        self.resets
    }

    /// Lets a strand begin its next action.
    fn begin(
        &mut self,
        ready: &Ready,
        execution: &mut Execution,
        cpu: usize,
    ) -> Result<(), String> {
        self.since[cpu] = 0;
        self.actions += 1;
        let random = &mut self.random;
        let id = strand(NEIGHBOUR[cpu]);
        let behaviour = match self.behaviour {
            Behaviour::Mixed => random.one_of(&BEHAVIOURS[1..6]),
            other => other,
        };
        match behaviour {
            Behaviour::Absent | Behaviour::Idle => resume_at(execution.strand_mut(id), IDLE),
            Behaviour::Calls => {
                let request = random.one_of(all_calls());
                request.put(execution.strand_mut(id), random);
            }
            Behaviour::Counts => call(random).put(execution.strand_mut(id), random),
            Behaviour::Ends if random.below(2) == 0 => {
                let (trap, function) = random.one_of(&[(0x80, 0), (0xff, 2)]);
                let exit = Request { trap, registers: [random.next_u64(), 0, 0, 0, 0, function] };
                exit.put(execution.strand_mut(id), random);
            }
            Behaviour::Ends | Behaviour::Attacks | Behaviour::Mixed => {
                let kind = random.one_of(&ALL);
                let number = random.below(kind.count);
                let control = &ready.controls[cpu];
                let begun = kind.begin(execution, (id, cpu), MEMORIES[1], control, number);
                begun.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}
