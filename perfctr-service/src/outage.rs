//! Describes to the operator, in words, what took a unit out of service.

use core::fmt;

use guest_abi::StrandId;
use hv_core::GuestId;
use platform::PhysicalAddress;

use crate::trace::OutageReason;
use crate::{Right, Unit};

/// A unit that a strand has taken out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    #[allow(missing_docs, reason = "its name says it")]
    pub unit: Unit,
    /// The strand that took the unit out of service.
    pub strand: StrandId,
    #[allow(missing_docs, reason = "its name says it")]
    pub cause: Cause,
}

/// Why a unit is out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A read for a guest failed. The address is `None` for an L2 control, which has several addresses.
    Read(Option<PhysicalAddress>),
    /// A write for a guest failed.
    Write(Option<PhysicalAddress>),
    /// The hypervisor cannot scrub the unit, because a write failed.
    Scrub,
    /// The unit stayed [busy](crate::BUSY_LIMIT_TICKS) for too long.
    Busy,
    /// This strand died while it accessed the unit.
    Died(StrandId),
    /// No strand is left that can scrub the unit.
    NoStrand,
}

impl Cause {
    /// Returns the value of the field `why` in the trace event about this outage.
    pub const fn reason(self) -> OutageReason {
        match self {
            Self::Read(_) | Self::Write(_) | Self::Scrub => OutageReason::Fault,
            Self::Busy => OutageReason::Stuck,
            Self::Died(_) => OutageReason::Died,
            Self::NoStrand => OutageReason::NotScrubbed,
        }
    }

    /// Returns the physical address of the access that failed; `None` if no access failed, or if the address is not known.
    pub const fn address(self) -> Option<PhysicalAddress> {
        match self {
            Self::Read(address) | Self::Write(address) => address,
            _ => None,
        }
    }
}

/// A guest as messages refer to it: by its name, or by its number if it has no name.
#[derive(Clone, Copy, Debug)]
pub struct NamedGuest<'a>(pub GuestId, pub Option<&'a str>);

impl fmt::Display for NamedGuest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(_, Some(name)) => write!(f, "guest {name}"),
            Self(number, None) => write!(f, "guest {number}"),
        }
    }
}

/// The sentence about an outage. If the sentence mentions a strand, `guest` is the guest of this strand.
pub(crate) struct OutageMessage<'a> {
    pub(crate) outage: Outage,
    pub(crate) guest: Option<NamedGuest<'a>>,
}

impl OutageMessage<'_> {
    fn access(
        &self,
        f: &mut fmt::Formatter<'_>,
        verb: &str,
        at: Option<PhysicalAddress>,
    ) -> fmt::Result {
        f.write_str(verb)?;
        if let Some(PhysicalAddress(address)) = at {
            write!(f, " at {address:#x}")?;
        }
        if let Some(guest) = &self.guest {
            write!(f, " by {guest}")?;
        }
        write!(f, " on strand {} failed", self.outage.strand)
    }
}

impl fmt::Display for OutageMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outage { unit, strand, cause } = self.outage;
        match unit {
            Unit::Mcu(node, mcu) => {
                write!(f, "memory channel {} of node {}", mcu.index(), node.index())?;
            }
            Unit::Hub(hub) => write!(f, "hub {}", hub.index())?,
            Unit::L2(node) => write!(f, "the L2 control of node {}", node.index())?,
        }
        f.write_str(" is out of service: ")?;
        match cause {
            Cause::Read(at) => self.access(f, "a read", at),
            Cause::Write(at) => self.access(f, "a write", at),
            Cause::Scrub => write!(f, "strand {strand} cannot clear it, because a write failed"),
            Cause::Busy => write!(f, "strand {strand} found it busy for too long"),
            Cause::Died(dead) => {
                write!(f, "strand {dead}")?;
                if let Some(guest) = &self.guest {
                    write!(f, " of {guest}")?;
                }
                f.write_str(" died at work on it")
            }
            Cause::NoStrand => f.write_str("no strand is left that can clear it"),
        }
    }
}

/// The sentence about a right that a guest gets, loses or passes on.
pub(crate) struct RightMoveMessage<'a> {
    pub(crate) right: Right,
    pub(crate) from: Option<NamedGuest<'a>>,
    pub(crate) to: Option<NamedGuest<'a>>,
    /// `true` if strands have to acknowledge the change before the next holder has the right.
    pub(crate) is_pending: bool,
}

impl fmt::Display for RightMoveMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { right, from, to, is_pending } = self;
        match (from, to) {
            (Some(from), Some(to)) => {
                write!(f, "the counter right {right} moves from {from} to {to}")?
            }
            (Some(from), None) => return write!(f, "{from} loses the counter right {right}"),
            (None, Some(to)) => write!(f, "{to} gets the counter right {right}")?,
            (None, None) => return Ok(()),
        }
        f.write_str(if *is_pending { ", once all strands have acknowledged" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use guest_abi::{Hub, Mcu, Node};

    use super::*;

    #[test]
    fn one_sentence_for_each_cause() {
        let strand = |number| StrandId::new(number).unwrap();
        let named = Some(NamedGuest(GuestId::new(2).unwrap(), Some("g0")));
        let numbered = Some(NamedGuest(GuestId::new(2).unwrap(), None));
        let hub = Unit::Hub(Hub::ALL[2]);
        let channel = Unit::Mcu(Node::Node2, Mcu::ALL[1]);
        let l2 = Unit::L2(Node::Node0);
        let at = Some(PhysicalAddress(0xe9_3001_6010));
        for (unit, cause, guest, words) in [
            (
                hub,
                Cause::Read(at),
                named,
                "hub 2 is out of service: a read at 0xe930016010 by guest g0 on strand 3 failed",
            ),
            (
                channel,
                Cause::Write(at),
                numbered,
                "memory channel 1 of node 2 is out of service: a write at 0xe930016010 by guest 2 on strand 3 failed",
            ),
            (
                l2,
                Cause::Write(None),
                None,
                "the L2 control of node 0 is out of service: a write on strand 3 failed",
            ),
            (
                hub,
                Cause::Scrub,
                named,
                "hub 2 is out of service: strand 3 cannot clear it, because a write failed",
            ),
            (
                hub,
                Cause::Busy,
                named,
                "hub 2 is out of service: strand 3 found it busy for too long",
            ),
            (
                l2,
                Cause::Died(strand(7)),
                named,
                "the L2 control of node 0 is out of service: strand 7 of guest g0 died at work on it",
            ),
            (
                l2,
                Cause::NoStrand,
                named,
                "the L2 control of node 0 is out of service: no strand is left that can clear it",
            ),
        ] {
            let outage = Outage { unit, strand: strand(3), cause };
            assert_eq!(OutageMessage { outage, guest }.to_string(), words);
        }
    }

    #[test]
    fn rights_that_move() {
        let [a, b] = [1, 2].map(|number| Some(NamedGuest(GuestId::new(number).unwrap(), None)));
        for (right, from, to, is_pending, words) in [
            (Right::Global, a, b, false, "the counter right global moves from guest 1 to guest 2"),
            (
                Right::HtStrand,
                None,
                b,
                true,
                "guest 2 gets the counter right htstrand, once all strands have acknowledged",
            ),
            (Right::Strand, a, None, true, "guest 1 loses the counter right strand"),
        ] {
            assert_eq!(RightMoveMessage { right, from, to, is_pending }.to_string(), words);
        }
    }
}
