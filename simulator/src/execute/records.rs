//! Reads the hypervisor's failure records (see [`platform::memory_map::mailbox::record`]).

use std::fmt;

use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::Unit;
use platform::memory_map::mailbox::RECORDS;
use platform::memory_map::mailbox::record::{
    ADDRESS, CURRENT, GUEST, NONE, REASON, REGISTER_COUNT, REGISTERS, Reason, SLOTS, STRAND, UNIT,
    VERSION, slot,
};
use serde::{Deserialize, Serialize};

use super::mailbox::Mailbox;
use crate::json;

/// A failure that the hypervisor has recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What the hypervisor reports, such as `an access failed`.
    pub reason: String,
    /// The unit that the failure has put out of service, if there is one.
    pub unit: Option<String>,
    /// The strand that found the failure.
    #[serde(default, with = "json")]
    pub strand: Option<StrandId>,
    /// The strand's guest.
    #[serde(default, with = "json")]
    pub guest: Option<GuestId>,
    /// The physical address of a failed access, or the line number of a panic.
    pub address: Option<u64>,
    /// The registers of a trap: %tt, %tpc, %tnpc, %tstate, HTSTATE, %tl, %g1 to %g7 and
    /// %o0 to %o7. Empty for other failures.
    pub registers: Vec<u64>,
}

const NAMES: [&str; REGISTER_COUNT] = [
    "%tt", "%tpc", "%tnpc", "%tstate", "%htstate", "%tl", "%g1", "%g2", "%g3", "%g4", "%g5", "%g6",
    "%g7", "%o0", "%o1", "%o2", "%o3", "%o4", "%o5", "%o6", "%o7",
];

impl Failure {
    /// Returns each register's name (such as `%tpc`) and value.
    pub fn named_registers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.into_iter().zip(self.registers.iter().copied())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(unit) = &self.unit {
            write!(f, "{unit} is out of service: ")?;
        }
        write!(f, "{}", self.reason)?;
        if let [tt, tpc, ..] = *self.registers {
            write!(f, " {tt:#x} at {tpc:#x}")?;
        } else if let Some(address) = self.address {
            let at = if self.unit.is_some() { " at" } else { "" };
            write!(f, "{at} {address:#x}")?;
        }
        if let Some(strand) = self.strand {
            write!(f, ", on strand {strand}")?;
        }
        match self.guest {
            Some(guest) => write!(f, " of guest {guest}"),
            None => Ok(()),
        }
    }
}

/// Returns the mailbox's records, oldest first, and the total number of records.
pub(super) fn failures(mailbox: &mut Mailbox<'_>) -> (Vec<Failure>, u64) {
    let number = mailbox.word(RECORDS);
    let first = number.saturating_sub(SLOTS as u64);
    let kept = (first..number).filter_map(|record| failure(mailbox, slot(record as usize)));
    (kept.collect(), number)
}

fn failure(mailbox: &mut Mailbox<'_>, first: usize) -> Option<Failure> {
    if mailbox.word(first + VERSION) != CURRENT {
        return None;
    }
    let mut value = |place| Some(mailbox.word(first + place)).filter(|value| *value != NONE);
    let unit = value(UNIT)
        .and_then(|number| Unit::ALL.iter().copied().find(|unit| unit.number() as u64 == number));
    let reason = value(REASON)?;
    let reason = Reason::ALL.into_iter().find(|known| *known as u64 == reason)?;
    Some(Failure {
        reason: text(reason).to_owned(),
        unit: unit.map(|unit| unit.to_string()),
        strand: value(STRAND).and_then(|number| StrandId::new(number.try_into().ok()?)),
        guest: value(GUEST).and_then(|number| GuestId::new(number.try_into().ok()?)),
        address: value(ADDRESS),
        registers: (0..REGISTER_COUNT).map_while(|place| value(REGISTERS + place)).collect(),
    })
}

const fn text(reason: Reason) -> &'static str {
    match reason {
        Reason::Fault => "an access failed",
        Reason::Stuck => "it stays busy",
        Reason::Died => "a strand died while working on it",
        Reason::NotScrubbed => "it cannot be scrubbed",
        Reason::AddressUnknown => "a store to a device failed, address unknown",
        Reason::NoUnit => "a store failed where no unit is, at",
        Reason::Trap => "the hypervisor took the unexpected trap",
        Reason::Panic => "the hypervisor panicked in line",
        Reason::GuestTrap => "the guest is ended by the trap",
    }
}
