//! The true numbers of events, and why some events never happen.

use platform::models::r10000::R10000Event;

use super::caches::Traffic;
use super::counts::counts;
use crate::recording::Kind;

counts! {
    /// The events that an instruction caused.
    pub(super) struct Happened {
        /// The cycles in which the instruction was the oldest one.
        pub(super) cycles: u64,
        issued: u64,
        loads_issued: u64,
        stores_issued: u64,
        graduated: u64,
        loads_graduated: u64,
        stores_graduated: u64,
        pub(super) branches: u64,
        pub(super) mispredicted: u64,
        pub(super) tlb_refills: u64,
        pub(super) traffic: Traffic,
    }
}

impl Happened {
    pub(super) fn issue(&mut self, kind: Kind) {
        self.issued += u64::from(kind.is_fetch());
        self.loads_issued += u64::from(loads(kind));
        self.stores_issued += u64::from(stores(kind));
    }

    pub(super) fn graduate(&mut self, kind: Kind) {
        self.graduated += u64::from(kind.is_fetch());
        self.loads_graduated += u64::from(loads(kind));
        self.stores_graduated += u64::from(stores(kind));
    }

    /// Returns how often `event` happened, or the reason why it never happens.
    pub(super) fn count(&self, event: R10000Event) -> Result<u64, &'static str> {
        use R10000Event as Event;
        Ok(match event {
            Event::Cycles0 | Event::Cycles1 => self.cycles,
            Event::Issued => self.issued,
            Event::LoadsIssued => self.loads_issued,
            Event::StoresIssued => self.stores_issued,
            Event::Graduated0 | Event::Graduated1 => self.graduated,
            Event::LoadsGraduated => self.loads_graduated,
            Event::StoresGraduated => self.stores_graduated,
            Event::BranchesDecoded => self.branches,
            Event::BranchesMispredicted => self.mispredicted,
            Event::TlbRefills => self.tlb_refills,
            Event::L1InstructionMisses => self.traffic.instruction_misses,
            Event::L2InstructionMisses => self.traffic.secondary_instruction_misses,
            Event::L2InstructionWayMispredicted => self.traffic.instruction_ways,
            Event::L1DataMisses => self.traffic.data_misses,
            Event::L2DataMisses => self.traffic.secondary_data_misses,
            Event::L2DataWayMispredicted => self.traffic.data_ways,
            Event::L1QuadwordsWritten => self.traffic.data_quadwords,
            Event::L2QuadwordsWritten => self.traffic.secondary_quadwords,
            Event::StoresToClean => self.traffic.stores_to_clean,
            Event::ConditionalsIssued
            | Event::ConditionalsFailed
            | Event::ConditionalsGraduated
            | Event::FloatingPointGraduated => {
                return Err("a recording does not tell such instructions from others");
            }
            Event::VirtualCoherency => {
                return Err("no two addresses of a recording map to the same memory");
            }
            Event::Interventions
            | Event::Invalidations
            | Event::InterventionHits
            | Event::InvalidationHits
            | Event::StoresToShared => return Err("there is no other processor"),
            Event::L2EccErrors => return Err("memory is without fault"),
        })
    }
}

fn loads(kind: Kind) -> bool {
    matches!(kind, Kind::FetchLoad | Kind::FetchModify)
}

fn stores(kind: Kind) -> bool {
    matches!(kind, Kind::FetchStore | Kind::FetchModify)
}
