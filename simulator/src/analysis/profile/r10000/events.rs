//! The events of a cycle, as reported to the counters.

use platform::models::r10000::{Cycle, Operation, R10000Event};

use super::caches::Traffic;
use crate::recording::Kind;

/// Returns `cycle` with one more issued instruction. An instruction that both loads and stores counts as one
/// issued instruction.
pub(super) fn issue(cycle: Cycle, kind: Kind) -> Cycle {
    add(cycle, kind, Cycle::issue, R10000Event::StoresIssued)
}

pub(super) fn graduate(cycle: Cycle, kind: Kind) -> Cycle {
    add(cycle, kind, Cycle::graduate, R10000Event::StoresGraduated)
}

fn add(
    cycle: Cycle,
    kind: Kind,
    operation: impl Fn(Cycle, Operation) -> Cycle,
    stores: R10000Event,
) -> Cycle {
    match kind {
        Kind::FetchOther => operation(cycle, Operation::Other),
        Kind::FetchLoad => operation(cycle, Operation::Load),
        Kind::FetchStore => operation(cycle, Operation::Store),
        Kind::FetchModify => operation(cycle, Operation::Load).and(stores, 1),
        Kind::Load | Kind::Store | Kind::Modify => cycle,
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
    ]
    .into_iter()
    .fold(cycle, |cycle, (event, n)| cycle.and(event, n as u32))
}
