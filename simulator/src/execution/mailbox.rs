//! Words of the hypervisor's memory by which an operator and the hypervisor talk. Guests do not reach it.
//!
//! | word | |
//! |---|---|
//! | 0-255 | the operator's steps: see [`perfctr_service::mailbox`] |
//! | 256 + n | the state of guest n: 0 absent, 1 runs, 2 has exited, 3 a trap has ended it, 4 its last strand has died |
//! | 272 + n | the exit code of guest n |
//! | 511 | 1: the machine is switched off |

use perfctr_service::mailbox::{self, Refusal, Seen, Step, WORDS};
use serde::Serialize;

use super::map::MAILBOX;
use super::physical::Physical;

/// The vector of the interrupt that says that a step is there.
pub const VECTOR: u8 = 2;

/// The number of guests of which the mailbox tells the state.
pub const GUESTS: usize = 16;

/// The address of the word that switches the machine off.
pub(super) const POWER: u64 = MAILBOX + 0xff8;

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
    /// Its last strand has died.
    Failed,
}

/// The hypervisor has not done the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hypervisor is not done with the step before")]
pub struct StepBefore;

const GUEST: u64 = 256;
const CODE: u64 = 272;

/// Puts a step into the mailbox.
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

/// Returns what came of the step, once the hypervisor has done it.
pub(super) fn take(memory: &mut Physical) -> Option<Result<Option<Seen>, Refusal>> {
    let mut words = [0; WORDS];
    for (number, value) in (0..).zip(&mut words) {
        *value = word(memory, number);
    }
    let answer = mailbox::answer(&words)?;
    set(memory, 0, mailbox::EMPTY);
    Some(answer)
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
        4 => GuestState::Failed,
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
