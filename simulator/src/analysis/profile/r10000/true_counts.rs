//! The true numbers of events, and why some events never happen.

use platform::models::r10000::R10000Event;

use super::caches::Traffic;
use super::counts::counts;
use crate::recording::{Class, DataAccess};

counts! {
    /// How often an instruction has caused each event.
    pub(super) struct Happened {
        /// The cycles in which the instruction was the oldest one that had not graduated.
        pub(super) cycles: u64,
        issued: u64,
        loads_issued: u64,
        stores_issued: u64,
        graduated: u64,
        loads_graduated: u64,
        stores_graduated: u64,
        conditionals_issued: u64,
        conditionals_failed: u64,
        conditionals_graduated: u64,
        floating_point: u64,
        pub(super) branches: u64,
        pub(super) mispredicted: u64,
        pub(super) tlb_refills: u64,
        pub(super) traffic: Traffic,
    }
}

impl Happened {
    pub(super) fn issue(&mut self, data: DataAccess, class: Class) {
        let conditional = u64::from(data == DataAccess::Atomic);
        self.issued += 1 + conditional;
        self.conditionals_issued += conditional;
        self.loads_issued += u64::from(loads(data, class));
        self.stores_issued += u64::from(stores(data));
    }

    pub(super) fn graduate(&mut self, data: DataAccess, class: Class, stored: bool) {
        let conditional = u64::from(data == DataAccess::Atomic);
        let twice = matches!(class, Class::Multiply | Class::Divide);
        self.graduated += 1 + conditional + u64::from(twice);
        self.conditionals_graduated += conditional;
        self.conditionals_failed += conditional * u64::from(!stored);
        self.floating_point += u64::from(class == Class::FloatingPoint);
        self.loads_graduated += u64::from(loads(data, class));
        self.stores_graduated += u64::from(stores(data));
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
            Event::StoresToShared => self.traffic.stores_to_shared,
            Event::ConditionalsIssued => self.conditionals_issued,
            Event::ConditionalsFailed => self.conditionals_failed,
            Event::ConditionalsGraduated => self.conditionals_graduated,
            Event::FloatingPointGraduated => self.floating_point,
            Event::Interventions => self.traffic.interventions,
            Event::Invalidations => self.traffic.invalidations,
            Event::InterventionHits => self.traffic.intervention_hits,
            Event::InvalidationHits => self.traffic.invalidation_hits,
            Event::VirtualCoherency => {
                return Err("no two addresses of a recording map to the same memory");
            }
            Event::L2EccErrors => return Err("memory is without fault"),
        })
    }
}

/// Returns whether an instruction counts as a load. Prefetches and barriers do.
fn loads(data: DataAccess, class: Class) -> bool {
    match data {
        DataAccess::None => class == Class::Prefetch,
        DataAccess::Store => false,
        DataAccess::Load | DataAccess::Both | DataAccess::Atomic => true,
    }
}

fn stores(data: DataAccess) -> bool {
    matches!(data, DataAccess::Store | DataAccess::Both | DataAccess::Atomic)
}
