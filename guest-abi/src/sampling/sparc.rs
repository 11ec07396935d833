//! Events, modes and programs of a strand's own counters (FWARC/2007/529 section 2.1).

use super::mode::UnitMode;
use super::program::{Program, UnitEvent};
use crate::counter::{Counter, CounterSet};
use crate::layout::{SparcPcr, SparcSelect};

/// The privilege mode of a strand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SparcMode {
    /// User mode, counted if the PCR has UT.
    #[default]
    User,
    /// Privileged mode, counted if the PCR has ST.
    Privileged,
    /// Hyperprivileged mode, counted if the PCR has HT.
    Hyperprivileged,
}

impl UnitMode for SparcMode {
    const ALL: &'static [Self] = &[Self::User, Self::Privileged, Self::Hyperprivileged];

    fn index(self) -> usize {
        self as usize
    }
}

impl UnitEvent for SparcSelect {
    fn counters(self) -> CounterSet {
        CounterSet::BOTH
    }
}

impl Program<SparcSelect, SparcMode> {
    /// Returns the value to write to %pcr so that the strand counts the program's events. `before` is the current value of %pcr. A
    /// counter without an event is off. The write does not change OV, even if a counter overflows just before the write.
    pub fn applied_to(&self, before: SparcPcr) -> SparcPcr {
        let select = |counter| self.events.event(counter).unwrap_or(SparcSelect::OFF);
        before
            .acknowledging(CounterSet::NONE)
            .with_select(Counter::Pic0, select(Counter::Pic0))
            .with_select(Counter::Pic1, select(Counter::Pic1))
            .with_user(self.modes.contains(SparcMode::User))
            .with_system(self.modes.contains(SparcMode::Privileged))
            .with_hypervisor(self.modes.contains(SparcMode::Hyperprivileged))
            .with_traps(self.interrupts)
    }
}
