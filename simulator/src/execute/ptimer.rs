//! Simulates the PTIMER: its registers and its alarm interrupt ([`platform::memory_map::ptimer`]).

use guest_abi::StrandId;
use platform::AccessError;
use platform::memory_map::ptimer::{REGISTERS, TARGET, VECTOR};
use platform::models::PtimerEngine;
use platform::ptimer::{Input, Register};

use super::effects::Effect;
use crate::machine::clocks::{Change, Skew};

/// The device with its crystal. The device's time is the number of nanoseconds that the crystal has counted.
#[derive(Clone, Debug)]
pub(super) struct Ptimer {
    engine: PtimerEngine,
    crystal: Skew,
    strands: usize,
    target: u64,
    /// The latest interrupt, whether it has arrived or not: its strand, and its arrival time. After an interrupt has arrived, the device
    /// sends no other interrupt while the interrupt line stays up.
    sent: Option<(StrandId, u64)>,
}

/// Returns whether an address is in the device's range: from the start of the register space to the end of [`TARGET`].
pub(super) fn has(physical: u64) -> bool {
    (REGISTERS..TARGET + 8).contains(&physical)
}

/// Returns the register for an access of `1 << shift` bytes.
fn register(physical: u64, shift: u8) -> Result<Register, AccessError> {
    let is_at = |one: &Register| REGISTERS + u64::from(one.offset()) == physical && shift == 2;
    Register::ALL.into_iter().find(is_at).ok_or(AccessError::Fault)
}

impl Ptimer {
    pub(super) fn new(strands: usize) -> Self {
        let engine = PtimerEngine::new(Input::NV41);
        Self { engine, crystal: Skew::NONE, strands, target: 0, sent: None }
    }

    pub(super) fn read(&mut self, at: u64, shift: u8, now: u64) -> Result<u64, AccessError> {
        if (at, shift) == (TARGET, 3) {
            return Ok(self.target);
        }
        let time = self.crystal.nanoseconds(now);
        self.engine.read(register(at, shift)?, time).map(u64::from)
    }

    /// Writes a value of `1 << shift` bytes to the register at the physical address `at`.
    pub(super) fn write(
        &mut self,
        (at, shift, value): (u64, u8, u64),
        now: u64,
        effects: &mut Vec<Effect>,
    ) -> Result<(), AccessError> {
        if (at, shift) == (TARGET, 3) {
            self.target = value;
        } else {
            let time = self.crystal.nanoseconds(now);
            self.engine.write(register(at, shift)?, value as u32, time)?;
        }
        self.send(now, effects);
        Ok(())
    }

    /// Makes the crystal deviate from the true time, or ends its deviation. A jump changes the counter, not the crystal, and the
    /// comparator does not see the values that the counter jumps over.
    pub(super) fn change(&mut self, change: Change, now: u64, effects: &mut Vec<Effect>) {
        match change {
            Change::Jump(nanoseconds) => {
                self.engine.jump(nanoseconds, self.crystal.nanoseconds(now));
            }
            change => self.crystal.change(change, now),
        }
        self.send(now, effects);
    }

    /// Sends the alarm interrupt so that it arrives when the line goes up. If an earlier interrupt has not arrived yet, and its time or
    /// strand is wrong, withdraws that interrupt.
    fn send(&mut self, now: u64, effects: &mut Vec<Effect>) {
        let time = self.crystal.nanoseconds(now);
        let up = self.engine.next_interrupt(time);
        let at = match self.sent {
            Some((_, at)) if at <= now && up == Some(time) => return,
            _ if up == Some(time) => Some(now),
            _ => up.and_then(|up| self.crystal.time_of_nanoseconds(up)),
        };
        let target = usize::try_from(self.target).ok().filter(|target| *target < self.strands);
        let next = target.and_then(StrandId::new).zip(at);
        if next == self.sent {
            return;
        }
        if let Some((strand, at)) = self.sent.filter(|(_, at)| *at > now) {
            effects.push(Effect::Withdraw(strand, at, VECTOR));
        }
        if let Some((strand, at)) = next {
            effects.push(Effect::Interrupt(strand, at, VECTOR));
        }
        self.sent = next;
    }
}
