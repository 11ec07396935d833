//! The state of a machine in one number: what its registers hold, and what is out of service.

use guest_abi::StrandId;
use perfctr_service::Unit;

use crate::Cell;
use crate::digest::fold;

/// The number, from what each device register holds (`None` if it faults or is busy), the PCR of each strand, and whether
/// each unit is out of service.
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
    Unit::all().fold(state, |state, unit| fold(state, u64::from(is_out(unit))))
}
