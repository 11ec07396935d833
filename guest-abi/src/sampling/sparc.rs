//! The strand's own counters (FWARC/2007/529 section 2.1).

use super::set::{CounterSet, UnitMode};
use super::unit::UnitEvent;
use crate::layout::SparcSelect;
use crate::register::Counter;

/// The privilege that a strand runs with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SparcMode {
    /// Counted if the PCR has UT.
    #[default]
    User,
    /// Counted if the PCR has ST.
    Privileged,
    /// Counted if the PCR has HT.
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

    fn on(self, _: Counter) -> bool {
        true
    }
}
