//! A strand's %tick and %stick registers.

use super::niagara::Niagara;
use crate::machine::clocks::{Change, Skew};

/// A register that counts a clock's cycles. Software may set the register, and a scenario may make the clock go wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TickRegister {
    /// The difference between the register and the clock, modulo 2^64.
    offset: u64,
    /// How the clock goes wrong; `None` if it shows the machine's time.
    skew: Option<Skew>,
    /// How many times the register was written or its clock was changed. Each write or change can move the times at which timers
    /// match.
    pub(super) changes: u64,
}

impl TickRegister {
    pub(super) fn read(&self, niagara: Niagara, now: u64) -> u64 {
        let cycles = self.skew.map_or(now, |skew| skew.cycles(now));
        niagara.ticks(cycles).wrapping_add(self.offset)
    }

    pub(super) fn write(&mut self, value: u64, niagara: Niagara, now: u64) {
        self.offset = value.wrapping_sub(Self { offset: 0, ..*self }.read(niagara, now));
        self.changes += 1;
    }

    pub(super) fn change(&mut self, change: Change, now: u64) {
        self.skew.get_or_insert(Skew::NONE).change(change, now);
        self.changes += 1;
    }

    /// Returns the time at which the register's low 63 bits reach a value; `None` if they never do. The time may be in the past.
    pub(super) fn time_of(&self, value: u64, niagara: Niagara) -> Option<u64> {
        let ticks = value.wrapping_sub(self.offset) & (u64::MAX >> 1);
        let cycles = niagara.time_of(ticks);
        self.skew.map_or(Some(cycles), |skew| skew.time_of_cycles(cycles))
    }
}
