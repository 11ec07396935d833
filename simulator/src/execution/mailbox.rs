//! Words of the hypervisor's memory by which an operator and the hypervisor talk. Guests do not reach it.
//!
//! | word | |
//! |---|---|
//! | 0 | 0: empty; 1: a step of the operator; 2: the hypervisor has done it |
//! | 1, 2-7 | the step and its arguments |
//! | 8 | what came of it: 0, or an error |
//! | 9-255 | data of the step |
//! | 256 + n | the state of guest n: 0 absent, 1 runs, 2 has exited, 3 a trap has ended it |
//! | 272 + n | the exit code of guest n |
//! | 511 | 1: the machine is switched off |

use serde::Serialize;

use super::map::MAILBOX;
use super::physical::Physical;

/// The vector of the interrupt that says that a step is there.
pub const VECTOR: u8 = 2;

/// The number of guests of which the mailbox tells the state.
pub const GUESTS: usize = 16;

/// The address of the word that switches the machine off.
pub(super) const POWER: u64 = MAILBOX + 0xff8;

/// A step of the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Its number and its arguments.
    pub words: [u64; 7],
    /// What follows from word 9 on, at most 247 words.
    pub data: Vec<u64>,
}

/// What the hypervisor says of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestState {
    /// There is no such guest.
    Absent,
    /// It runs.
    Runs,
    /// It has ended itself with this code.
    Exited(u64),
    /// A trap has ended it.
    Trapped,
}

/// The mailbox could not take a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The hypervisor has not done the step before.
    #[error("the hypervisor is not done with the step before")]
    Busy,
    /// There is more data than the mailbox has room for.
    #[error("a step has at most {} words of data", DATA_WORDS)]
    Long,
}

const STATE: u64 = 0;
const WORDS: u64 = 1;
const RESULT: u64 = 8;
const DATA: u64 = 9;
const GUEST: u64 = 256;
const CODE: u64 = 272;

/// The words of data for which there is room.
const DATA_WORDS: usize = (GUEST - DATA) as usize;

/// Puts a step into the mailbox.
pub(super) fn put(memory: &mut Physical, step: &Step) -> Result<(), StepError> {
    if word(memory, STATE) == 1 {
        return Err(StepError::Busy);
    }
    if step.data.len() > DATA_WORDS {
        return Err(StepError::Long);
    }
    let data = step.data.iter().zip(DATA..);
    for (value, number) in step.words.iter().zip(WORDS..).chain(data) {
        set(memory, number, *value);
    }
    set(memory, STATE, 1);
    Ok(())
}

/// Returns what came of the step, if the hypervisor has done it, and empties the mailbox.
pub(super) fn take(memory: &mut Physical) -> Option<u64> {
    (word(memory, STATE) == 2).then(|| {
        set(memory, STATE, 0);
        word(memory, RESULT)
    })
}

/// Returns the state of a guest.
pub(super) fn guest(memory: &mut Physical, guest: usize) -> GuestState {
    if guest >= GUESTS {
        return GuestState::Absent;
    }
    match word(memory, GUEST + guest as u64) {
        0 => GuestState::Absent,
        1 => GuestState::Runs,
        2 => GuestState::Exited(word(memory, CODE + guest as u64)),
        _ => GuestState::Trapped,
    }
}

fn word(memory: &mut Physical, number: u64) -> u64 {
    let mut bytes = [0; 8];
    memory.dump(MAILBOX + 8 * number, &mut bytes);
    u64::from_be_bytes(bytes)
}

fn set(memory: &mut Physical, number: u64, value: u64) {
    memory.load(MAILBOX + 8 * number, &value.to_be_bytes());
}
