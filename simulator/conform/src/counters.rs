//! A model of the calling strand's %pcr and %pic, and of the events that they count. The model stands in for these registers on processors
//! that lack them.

use guest_abi::event::SparcEvent;
use guest_abi::sampling::SparcMode;
use perfctr_service::Grant;
use platform::models::{Early, StrandUnit};
use platform::{Machine, Model};

use crate::Configuration;
use crate::configuration::guest;

/// An operation on the model of the calling strand's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// Reads %pcr. The call returns the value in %o1.
    Pcr,
    /// Writes %pcr, as privileged code does.
    SetPcr(u64),
    /// Reads %pic. The call returns the value in %o1.
    Pic,
    SetPic(u64),
    /// Sets how many events before the counter's wrap the overflow trap comes, 0 to 15.
    Early(u8),
    /// Makes an event happen this number of times in a mode. If a counter overflows, the trap is taken after the call.
    Happens(SparcMode, SparcEvent, u32),
}

impl Counters {
    /// Returns a machine with two guests: one on strand 37 with every right, and one on strand 38 without rights.
    pub fn configuration() -> Option<Configuration> {
        let machine = Machine::new(Model::Maramba, 1).ok()?;
        let guests = [guest([37], Grant::ALL), guest([38], Grant::NONE)];
        Some(Configuration::new(machine, guests))
    }

    /// Performs the operation on `unit`. Returns the value for %o1 if the operation reads a register.
    pub fn apply(self, unit: &mut StrandUnit) -> Option<u64> {
        match self {
            Self::Pcr => return Some(unit.pcr()),
            Self::SetPcr(value) => unit.set_pcr_privileged(value),
            Self::Pic => return Some(unit.pic()),
            Self::SetPic(value) => unit.set_pic(value),
            Self::Early(events) => unit.set_early(Early::new(events).unwrap_or(Early::MAX)),
            Self::Happens(mode, event, times) => {
                unit.set_mode(mode);
                unit.count(event, times);
            }
        }
        None
    }
}
