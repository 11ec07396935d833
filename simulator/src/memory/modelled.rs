//! Tells which events the memory system models. A counter of any other event reads 0.

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};

/// The events that a class of counters can count.
pub trait Modelled: Copy {
    /// Returns why the memory system does not model this event; `None` if the memory system models it.
    fn absence(self) -> Option<&'static str> {
        None
    }

    /// Returns `true` if the memory system models this event.
    fn is_modelled(self) -> bool {
        self.absence().is_none()
    }
}

impl Modelled for SparcEvent {
    fn absence(self) -> Option<&'static str> {
        match self {
            Self::SoftwareCounts => Some("a recording does not tell such instructions from others"),
            Self::ItlbWalkL2References
            | Self::DtlbWalkL2References
            | Self::ItlbWalkL2Misses
            | Self::DtlbWalkL2Misses
            | Self::MmuLoads
            | Self::ItlbMisses
            | Self::DtlbMisses
            | Self::TlbMisses => Some("addresses are not translated, so there are no TLBs"),
            Self::StreamLoads
            | Self::StreamStores
            | Self::DesOperations
            | Self::AesOperations
            | Self::Rc4Operations
            | Self::HashOperations
            | Self::ModularOperations
            | Self::CrcOperations
            | Self::DesBusyCycles
            | Self::AesBusyCycles
            | Self::Rc4BusyCycles
            | Self::HashBusyCycles
            | Self::ModularBusyCycles
            | Self::CrcBusyCycles => Some("there are no stream processing units"),
            _ => None,
        }
    }
}

impl Modelled for DramEvent {
    fn absence(self) -> Option<&'static str> {
        (self == Self::BankBusyStalls).then_some("the banks of a channel are not modelled")
    }
}

impl Modelled for LpuEvent {
    fn absence(self) -> Option<&'static str> {
        match self {
            Self::NonCacheableX
            | Self::NonCacheableY
            | Self::NonCacheableZ
            | Self::ReadToDiscardEgress
            | Self::IoWriteMerge
            | Self::IoRead => {
                Some("a recording has no input or output, and no block stores that read to discard")
            }
            Self::TidWriteBack
            | Self::TidInvalidate
            | Self::TidReadToDiscard
            | Self::TidReadToOwn
            | Self::TidReadToShare
            | Self::NoWriteBack
            | Self::NoReadOrInvalidate => Some(
                "the maximum number of requests under way at a port is not public and not modelled",
            ),
            Self::HitWriteBack => Some("a line that is written back is at home at once"),
            Self::CrcErrors | Self::LinkRetrain => Some("links are without fault"),
            _ => None,
        }
    }
}

impl Modelled for GpdEvent {}

impl Modelled for AsuEvent {}
