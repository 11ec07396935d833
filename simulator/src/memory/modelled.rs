//! The events that the memory system models. All others read 0.

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};

/// Events of a counter, modelled or not.
pub trait Modelled: Copy {
    /// Returns why the memory system does not model this event; `None` if it does.
    fn absence(self) -> Option<&'static str>;

    /// Returns `true` if the memory system models this event.
    fn is_modelled(self) -> bool {
        self.absence().is_none()
    }
}

impl Modelled for SparcEvent {
    fn absence(self) -> Option<&'static str> {
        match self {
            Self::IdleStrands
            | Self::BranchesCompleted
            | Self::BranchesTaken
            | Self::Loads
            | Self::Stores
            | Self::OtherInstructions
            | Self::AtomicOperations
            | Self::Instructions
            | Self::InstructionCacheMisses
            | Self::DataCacheMisses
            | Self::L2InstructionMisses
            | Self::L2LoadMisses
            | Self::CrossbarLoads
            | Self::CrossbarFetches
            | Self::CrossbarStores => None,
            Self::FguArithmetic | Self::SoftwareCounts => {
                Some("a recording does not tell such instructions from others")
            }
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
        }
    }
}

impl Modelled for DramEvent {
    fn absence(self) -> Option<&'static str> {
        match self {
            Self::Reads
            | Self::Writes
            | Self::ReadWrites
            | Self::ReadQueueLatency
            | Self::WriteQueueLatency
            | Self::ReadWriteQueueLatency
            | Self::WriteBackBufferHits => None,
            Self::BankBusyStalls => Some("the banks of a channel are not modelled"),
        }
    }
}

impl Modelled for LpuEvent {
    fn absence(self) -> Option<&'static str> {
        match self {
            // `None` counts nothing, as on the hardware.
            Self::None
            | Self::Clock
            | Self::CacheToCacheX
            | Self::MemoryX
            | Self::WriteBackX
            | Self::CacheToCacheY
            | Self::MemoryY
            | Self::WriteBackY
            | Self::CacheToCacheZ
            | Self::MemoryZ
            | Self::WriteBackZ
            | Self::WriteBackEgress
            | Self::InvalidateEgress
            | Self::ReadToOwnEgress
            | Self::ReadToShareEgress
            | Self::HitModified
            | Self::HitOwned
            | Self::HitShared
            | Self::Miss
            | Self::ReadOrInvalidate
            | Self::WriteBack
            | Self::NoDataReply
            | Self::CacheMiss
            | Self::CacheHit
            | Self::RepliesSent
            | Self::RepliesReceived => None,
            Self::NonCacheableX
            | Self::NonCacheableY
            | Self::NonCacheableZ
            | Self::ReadToDiscardEgress
            | Self::IoWriteMerge
            | Self::IoRead => Some(
                "a recording has no input and output, and no block stores, which read to discard",
            ),
            Self::TidWriteBack
            | Self::TidInvalidate
            | Self::TidReadToDiscard
            | Self::TidReadToOwn
            | Self::TidReadToShare
            | Self::NoWriteBack
            | Self::NoReadOrInvalidate => Some(
                "how many requests may be under way at a port is not public, and so none waits for another to end",
            ),
            Self::HitWriteBack => Some("a line that is written back is at home at once"),
            Self::CrcErrors | Self::LinkRetrain => Some("links are without fault"),
        }
    }
}

impl Modelled for GpdEvent {
    fn absence(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Clock => None,
        }
    }
}

impl Modelled for AsuEvent {
    fn absence(self) -> Option<&'static str> {
        match self {
            Self::None
            | Self::Clock
            | Self::PacketsIn
            | Self::PacketsOut
            | Self::CamHit
            | Self::Wakeup => None,
        }
    }
}
