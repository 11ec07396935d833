//! Which events the memory system brings about. All others read 0.

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};

/// Events that may or may not be modelled.
pub trait Modelled: Copy {
    /// Returns `true` if the memory system models this event. Other events are never counted.
    fn is_modelled(self) -> bool;
}

impl Modelled for SparcEvent {
    fn is_modelled(self) -> bool {
        match self {
            Self::Loads
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
            | Self::CrossbarStores => true,
            // No pipeline: a recording does not tell branches and arithmetic apart.
            Self::IdleStrands
            | Self::BranchesCompleted
            | Self::BranchesTaken
            | Self::FguArithmetic
            | Self::SoftwareCounts => false,
            // No TLBs.
            Self::ItlbWalkL2References
            | Self::DtlbWalkL2References
            | Self::ItlbWalkL2Misses
            | Self::DtlbWalkL2Misses
            | Self::MmuLoads
            | Self::ItlbMisses
            | Self::DtlbMisses
            | Self::TlbMisses => false,
            // No stream processing units.
            Self::StreamLoads
            | Self::StreamStores
            | Self::DesOperations
            | Self::AesOperations
            | Self::Rc4Operations
            | Self::HashOperations
            | Self::ModularOperations
            | Self::TcpChecksums
            | Self::DesBusyCycles
            | Self::AesBusyCycles
            | Self::Rc4BusyCycles
            | Self::HashBusyCycles
            | Self::ModularBusyCycles
            | Self::MpaChecksums => false,
        }
    }
}

impl Modelled for DramEvent {
    fn is_modelled(self) -> bool {
        match self {
            Self::Reads
            | Self::Writes
            | Self::ReadWrites
            | Self::ReadQueueLatency
            | Self::WriteQueueLatency
            | Self::ReadWriteQueueLatency
            | Self::WriteBackBufferHits => true,
        }
    }
}

impl Modelled for LpuEvent {
    fn is_modelled(self) -> bool {
        match self {
            // Counting nothing is modelled faithfully.
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
            | Self::RepliesReceived => true,
            // No input and output, and no block stores, which read to discard.
            Self::NonCacheableX
            | Self::NonCacheableY
            | Self::NonCacheableZ
            | Self::ReadToDiscardEgress
            | Self::IoWriteMerge
            | Self::IoRead => false,
            // Requests do not overlap: none waits for a transaction id or meets a write-back.
            Self::TidWriteBack
            | Self::TidInvalidate
            | Self::TidReadToDiscard
            | Self::TidReadToOwn
            | Self::TidReadToShare
            | Self::HitWriteBack
            | Self::NoWriteBack
            | Self::NoReadOrInvalidate => false,
            // Links are without fault.
            Self::CrcErrors | Self::LinkRetrain => false,
        }
    }
}

impl Modelled for GpdEvent {
    fn is_modelled(self) -> bool {
        match self {
            Self::None | Self::Clock => true,
        }
    }
}

impl Modelled for AsuEvent {
    fn is_modelled(self) -> bool {
        match self {
            Self::None | Self::Clock | Self::PacketsIn | Self::PacketsOut => true,
            // Requests do not overlap.
            Self::CamHit | Self::Wakeup => false,
        }
    }
}
