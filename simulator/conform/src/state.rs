//! Digests of a machine: its registers, its units that are out of service, and its guests' statistics.

use guest_abi::StrandId;
use perfctr_service::Unit;
use perfctr_service::statistics::{Class, Operation, Outcome};

use crate::Cell;
use crate::digest::fold;

/// Returns the digest of the state. `cell` returns a device register's contents (`None` if it faults or is busy). `pcr` returns a strand's
/// PCR. `is_out` returns `true` for a unit that is out of service.
pub fn digest(
    mut cell: impl FnMut(Cell) -> Option<u64>,
    mut pcr: impl FnMut(StrandId) -> u64,
    mut is_out: impl FnMut(Unit) -> bool,
) -> u64 {
    let mut state = 0;
    for one in Cell::all() {
        let held = cell(one);
        state = fold(fold(state, u64::from(held.is_some())), held.unwrap_or(0));
    }
    for strand in (0..StrandId::COUNT).filter_map(StrandId::new) {
        state = fold(state, pcr(strand));
    }
    Unit::ALL.iter().copied().fold(state, |state, unit| fold(state, u64::from(is_out(unit))))
}

/// Adds a guest's statistics to `digest`. `count` returns how many of the guest's calls had this operation, class and outcome.
pub fn counts(digest: u64, count: impl Fn(Operation, Class, Outcome) -> u64) -> u64 {
    let mut digest = digest;
    for operation in [Operation::Get, Operation::Set] {
        for class in Class::ALL {
            for outcome in Outcome::ALL {
                digest = fold(digest, count(operation, *class, *outcome));
            }
        }
    }
    digest
}
