//! What happens in a cycle, as the counters hear of it.

use platform::models::r10000::{Cycle, Operation, R10000Event};

use super::caches::Traffic;
use crate::recording::Kind;

/// The issue of an instruction, on the unit. An instruction that loads and stores is one instruction.
pub(super) fn issue(cycle: Cycle, kind: Kind) -> Cycle {
    match kind {
        Kind::FetchOther => cycle.issue(Operation::Other),
        Kind::FetchLoad => cycle.issue(Operation::Load),
        Kind::FetchStore => cycle.issue(Operation::Store),
        Kind::FetchModify => cycle
            .issue(Operation::Load)
            .and(R10000Event::StoresIssued, 1),
        Kind::Load | Kind::Store | Kind::Modify => cycle,
    }
}

/// The graduation of an instruction, on the unit.
pub(super) fn graduate(cycle: Cycle, kind: Kind) -> Cycle {
    match kind {
        Kind::FetchOther => cycle.graduate(Operation::Other),
        Kind::FetchLoad => cycle.graduate(Operation::Load),
        Kind::FetchStore => cycle.graduate(Operation::Store),
        Kind::FetchModify => cycle
            .graduate(Operation::Load)
            .and(R10000Event::StoresGraduated, 1),
        Kind::Load | Kind::Store | Kind::Modify => cycle,
    }
}

/// What happens in the caches, on the unit.
pub(super) fn report(cycle: Cycle, traffic: &Traffic) -> Cycle {
    use R10000Event as Event;
    if *traffic == Traffic::default() {
        return cycle;
    }
    [
        (Event::L1InstructionMisses, traffic.instruction_misses),
        (
            Event::L2InstructionMisses,
            traffic.secondary_instruction_misses,
        ),
        (
            Event::L2InstructionWayMispredicted,
            traffic.instruction_ways,
        ),
        (Event::L1DataMisses, traffic.data_misses),
        (Event::L2DataMisses, traffic.secondary_data_misses),
        (Event::L2DataWayMispredicted, traffic.data_ways),
        (Event::L1QuadwordsWritten, traffic.data_quadwords),
        (Event::L2QuadwordsWritten, traffic.secondary_quadwords),
        (Event::StoresToClean, traffic.stores_to_clean),
    ]
    .into_iter()
    .fold(cycle, |cycle, (event, n)| cycle.and(event, n as u32))
}
