//! The operator's side of the [mailbox](platform::memory_map::mailbox).

use perfctr_service::mailbox::{self, Refusal, Seen, Step, WORDS};
use platform::memory_map::MAILBOX;
use platform::memory_map::mailbox::{CODES, POWER as POWER_WORD, STATES, state};
pub use platform::memory_map::mailbox::{GUESTS, VECTOR};
use serde::{Deserialize, Serialize};

use super::physical::Physical;

/// The address of the word with which the hypervisor switches the machine off.
pub(super) const POWER: u64 = MAILBOX + 8 * POWER_WORD as u64;

/// The state of a guest, as the hypervisor reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestState {
    /// There is no such guest.
    Absent,
    /// The guest has not ended.
    Runs,
    /// The guest has ended itself with this code.
    Exited(u64),
    /// A trap has ended the guest.
    Trapped,
    /// The guest's last strand has died.
    Failed,
}

/// The operator cannot give a step, because the hypervisor has not done the previous step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hypervisor has not done the previous step")]
pub struct StepBefore;

pub(super) fn put(memory: &mut Physical, step: &Step) -> Result<(), StepBefore> {
    if word(memory, 0) == mailbox::ASKED {
        return Err(StepBefore);
    }
    let mut words = [0; WORDS];
    mailbox::ask(&mut words, step);
    for (number, value) in (0..).zip(words) {
        set(memory, number, value);
    }
    Ok(())
}

/// Takes the hypervisor's answer to the step; `None` if the hypervisor has not answered.
pub(super) fn take(memory: &mut Physical) -> Option<Result<Option<Seen>, Refusal>> {
    let mut words = [0; WORDS];
    for (number, value) in (0..).zip(&mut words) {
        *value = word(memory, number);
    }
    let answer = mailbox::answer(&words)?;
    set(memory, 0, mailbox::EMPTY);
    Some(answer)
}

pub(super) fn guest(memory: &mut Physical, guest: usize) -> GuestState {
    if guest >= GUESTS {
        return GuestState::Absent;
    }
    match word(memory, STATES + guest) {
        0 => GuestState::Absent,
        state::RUNS => GuestState::Runs,
        state::EXITED => GuestState::Exited(word(memory, CODES + guest)),
        state::FAILED => GuestState::Failed,
        _ => GuestState::Trapped,
    }
}

pub(super) fn word(memory: &mut Physical, number: usize) -> u64 {
    let mut bytes = [0; 8];
    // Every machine has memory at the mailbox.
    let _ = memory.dump(MAILBOX + 8 * number as u64, &mut bytes);
    u64::from_be_bytes(bytes)
}

fn set(memory: &mut Physical, number: usize, value: u64) {
    let _ = memory.load(MAILBOX + 8 * number as u64, &value.to_be_bytes());
}
