//! One copy of the machine, in which the neighbour acts between the guest's instructions.

use perfctr_service::mailbox::{ServiceState, Step};
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Stop};
use simulator::interpreter::Level;
use tests::random::Random;

use super::super::strand;
use super::others::NeighbourDriver;
use super::{GUEST, NEIGHBOUR, Ready};

/// The maximum number of steps until the guest is back in its own code.
const MAX_STEPS: usize = 1_000_000;

pub(super) struct Copy<'a> {
    pub(super) ready: &'a Ready,
    pub(super) execution: Execution,
    pub(super) others: NeighbourDriver,
    /// The seed for the neighbour's turns. Both copies have the same seed.
    schedule: u64,
    /// The index of the guest's next instruction.
    next: u64,
}

/// What has happened to the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuestProgress {
    /// The guest has executed an instruction or taken a trap, perhaps with the hypervisor's help.
    Own,
    Returned,
    /// The guest has ended.
    Ended,
}

impl<'a> Copy<'a> {
    pub(super) fn new(
        ready: &'a Ready,
        execution: Execution,
        others: NeighbourDriver,
        schedule: u64,
    ) -> Self {
        Self { ready, execution, others, schedule, next: 0 }
    }

    /// Lets only the neighbour act, for this number of turns.
    pub(super) fn neighbour(&mut self, turns: usize) -> Result<(), String> {
        (0..turns).try_for_each(|_| self.others.act(self.ready, &mut self.execution))
    }

    /// Makes the guest's strand perform an operator's step. Waits until the step is complete. If the step begins a change of rights, also
    /// waits until this change is complete.
    pub(super) fn operate(&mut self, step: &Step) -> Result<(), String> {
        for _ in 0..MAX_STEPS {
            if !self.others.is_reset() {
                break;
            }
            self.neighbour(1)?;
        }
        self.answer(step)?;
        for _ in 0..100 {
            if self.answer(&Step::ReadState(2))?.is_some_and(|seen| seen.pending.is_none()) {
                return Ok(());
            }
        }
        Err("the change of rights does not end".to_owned())
    }

    fn answer(&mut self, step: &Step) -> Result<Option<ServiceState>, String> {
        let asked = self.execution.operate(strand(GUEST), step);
        asked.map_err(|error| error.to_string())?;
        for _ in 0..MAX_STEPS {
            for number in NEIGHBOUR.into_iter().chain([GUEST]) {
                self.execution.step(strand(number));
            }
            if self.execution.strand(strand(GUEST)).level() == Level::Hyperprivileged {
                continue;
            }
            if let Some(answer) = self.execution.operated() {
                return answer.map_err(|refusal| refusal.to_string());
            }
        }
        Err(format!("the operator gets no answer: {step:?}"))
    }

    /// Executes until the guest has completed its next instruction or taken a trap, and is in its own code.
    pub(super) fn advance(&mut self) -> Result<GuestProgress, String> {
        let id = strand(GUEST);
        let place = |execution: &Execution| {
            let strand = execution.strand(id);
            let [user, privileged, _] = execution.counts(id).instructions;
            (strand.pc, strand.npc, strand.control.frames().0.len(), user + privileged)
        };
        let before = place(&self.execution);
        let mut turns = Random(self.schedule ^ self.next.wrapping_mul(0x2545_f491_4f6c_dd1d));
        self.next += 1;
        let mut happened = GuestProgress::Own;
        for step in 0..MAX_STEPS {
            let others = match turns.below(128) {
                0 => turns.below(200),
                some => some % 3,
            };
            self.neighbour(others)?;
            match self.execution.step(id) {
                Some(Stop::Limit) => {}
                None => {
                    if self.execution.guest(0) != GuestState::Runs {
                        return Ok(GuestProgress::Ended);
                    }
                    // The guest waits for an interrupt.
                    self.execution.heartbeat(id);
                }
                Some(stop) => return Err(format!("the guest's strand stops: {stop:x?}")),
            }
            if self.execution.strand(id).level() == Level::Hyperprivileged {
                happened = GuestProgress::Returned;
                if step % 64 == 63 && self.execution.guest(0) != GuestState::Runs {
                    return Ok(GuestProgress::Ended);
                }
            } else if place(&self.execution) != before {
                return Ok(happened);
            }
        }
        let pc = self.execution.strand(id).pc;
        Err(format!("the guest does not return from the hypervisor: {pc:#x}"))
    }
}
