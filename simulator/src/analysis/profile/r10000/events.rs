//! Converts recorded instructions and cache traffic to events in a processor cycle, which the counters count.

use platform::models::r10000::{Cycle, Operation, R10000Event};

use super::caches::Traffic;
use crate::recording::{Class, DataAccess, Reference};

/// Adds the issue of one recorded instruction to a cycle. An atomic instruction is issued as two instructions, a load linked and a store
/// conditional. Any other instruction that both loads and stores is issued as one load, but also counts as one issued store.
pub(super) fn issue(cycle: Cycle, fetch: &Reference) -> Cycle {
    match fetch.data() {
        DataAccess::Atomic => {
            cycle.issue(Operation::Load).issue(Operation::StoreConditional { stored: true })
        }
        DataAccess::Both => cycle.issue(Operation::Load).with(R10000Event::StoresIssued, 1),
        DataAccess::Load => cycle.issue(Operation::Load),
        DataAccess::Store => cycle.issue(Operation::Store),
        DataAccess::None => cycle.issue(operation(fetch.class)),
    }
}

/// Adds the graduation of one recorded instruction to a cycle. `stored` is `false` if the instruction is atomic and its store conditional
/// has failed.
pub(super) fn graduate(cycle: Cycle, fetch: &Reference, stored: bool) -> Cycle {
    let cycle = match fetch.data() {
        DataAccess::None => return cycle.graduate(operation(fetch.class)),
        DataAccess::Atomic => {
            return cycle
                .graduate(Operation::Load)
                .graduate(Operation::StoreConditional { stored });
        }
        DataAccess::Both => cycle.graduate(Operation::Load).with(R10000Event::StoresGraduated, 1),
        DataAccess::Load => cycle.graduate(Operation::Load),
        DataAccess::Store => cycle.graduate(Operation::Store),
    };
    match operation(fetch.class) {
        Operation::MultiplyDivide => {
            cycle.with(R10000Event::Graduated0, 1).with(R10000Event::Graduated1, 1)
        }
        Operation::FloatingPoint => cycle.with(R10000Event::FloatingPointGraduated, 1),
        _ => cycle,
    }
}

/// Returns the operation for a class of instructions. The operation does not depend on data accesses. As in the manual, prefetches and
/// SYNC count as loads.
const fn operation(class: Class) -> Operation {
    match class {
        Class::Multiply | Class::Divide => Operation::MultiplyDivide,
        Class::FloatingPoint => Operation::FloatingPoint,
        Class::Prefetch => Operation::Load,
        _ => Operation::Other,
    }
}

pub(super) fn report(cycle: Cycle, traffic: &Traffic) -> Cycle {
    use R10000Event as Event;
    if *traffic == Traffic::default() {
        return cycle;
    }
    [
        (Event::L1InstructionMisses, traffic.instruction_misses),
        (Event::L2InstructionMisses, traffic.secondary_instruction_misses),
        (Event::L2InstructionWayMispredicted, traffic.instruction_ways),
        (Event::L1DataMisses, traffic.data_misses),
        (Event::L2DataMisses, traffic.secondary_data_misses),
        (Event::L2DataWayMispredicted, traffic.data_ways),
        (Event::L1QuadwordsWritten, traffic.data_quadwords),
        (Event::L2QuadwordsWritten, traffic.secondary_quadwords),
        (Event::StoresToClean, traffic.stores_to_clean),
        (Event::StoresToShared, traffic.stores_to_shared),
        (Event::Interventions, traffic.interventions),
        (Event::InterventionHits, traffic.intervention_hits),
        (Event::Invalidations, traffic.invalidations),
        (Event::InvalidationHits, traffic.invalidation_hits),
    ]
    .into_iter()
    .fold(cycle, |cycle, (event, n)| cycle.with(event, n as u32))
}
