//! The operator's side of the [mailbox](platform::memory_map::mailbox).

use perfctr_service::mailbox::{self, Refusal, ServiceState, Step, WORDS};
use platform::memory_map::mailbox::{CODES, DROPPED_MESSAGES, POWER, STATES, state};
pub use platform::memory_map::mailbox::{GUESTS, VECTOR};
use serde::{Deserialize, Serialize};

use super::physical::Physical;

/// A guest's state, as the hypervisor reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestState {
    /// There is no such guest.
    Absent,
    /// The guest exists and has not ended.
    Runs,
    /// The guest has ended itself with this exit code.
    Exited(u64),
    /// A trap has ended the guest.
    Trapped,
    /// The guest's last strand has died.
    Failed,
    /// The state is unknown, because the hypervisor has no mailbox.
    Unknown,
}

/// Why the operator cannot give a step to the hypervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum OperateError {
    #[error("the hypervisor has not completed the previous step")]
    PreviousStep,
    #[error("the hypervisor has no mailbox")]
    NoMailbox,
}

/// Returns the address of the power word of the mailbox at `address`. The hypervisor switches the machine off with a store to this
/// word.
pub(super) const fn power(address: u64) -> u64 {
    address + 8 * POWER as u64
}

/// The mailbox in the machine's memory.
pub(super) struct Mailbox<'a> {
    pub(super) memory: &'a mut Physical,
    pub(super) address: u64,
}

impl Mailbox<'_> {
    pub(super) fn put(&mut self, step: &Step) -> Result<(), OperateError> {
        if self.word(0) == mailbox::REQUESTED {
            return Err(OperateError::PreviousStep);
        }
        let mut words = [0; WORDS];
        mailbox::ask(&mut words, step);
        for (number, value) in words.into_iter().enumerate() {
            self.set(number, value);
        }
        Ok(())
    }

    /// Takes the hypervisor's answer to the step; `None` if the hypervisor has not answered.
    pub(super) fn take(&mut self) -> Option<Result<Option<ServiceState>, Refusal>> {
        // Most calls end here: callers ask often and rarely find an answer.
        if self.word(0) != mailbox::DONE {
            return None;
        }
        let mut words = [0; WORDS];
        for (number, value) in words.iter_mut().enumerate() {
            *value = self.word(number);
        }
        let answer = mailbox::answer(&words)?;
        self.set(0, mailbox::EMPTY);
        Some(answer)
    }

    pub(super) fn guest(&mut self, guest: usize) -> GuestState {
        if guest >= GUESTS {
            return GuestState::Absent;
        }
        match self.word(STATES + guest) {
            0 => GuestState::Absent,
            state::RUNS => GuestState::Runs,
            state::EXITED => GuestState::Exited(self.word(CODES + guest)),
            state::FAILED => GuestState::Failed,
            _ => GuestState::Trapped,
        }
    }

    /// Returns the number of messages that the hypervisor has omitted from its log.
    pub(super) fn omitted_messages(&mut self) -> u64 {
        self.word(DROPPED_MESSAGES)
    }

    pub(super) fn word(&mut self, number: usize) -> u64 {
        // The word exists, because `Interfaces` has checked that the mailbox is in memory.
        self.memory.peek(self.address + 8 * number as u64).unwrap_or_default()
    }

    fn set(&mut self, number: usize, value: u64) {
        let _ = self.memory.load(self.address + 8 * number as u64, &value.to_be_bytes());
    }
}
