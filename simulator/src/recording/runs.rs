//! Splits references into runs. A run is one execution of a shape: consecutive instructions and the data that they access.

use super::code::Code;
use super::reference::Reference;

/// The number of references after which a run ends at the next fetch.
const SOFT_LIMIT: usize = 64;

/// The number of references after which a run ends even if further data of its last instruction follow.
const HARD_LIMIT: usize = 4096;

/// The number of slots in each table of known runs.
const SLOTS: usize = 1 << 12;

/// Appends these references as executions of shapes, with the addresses of their data. An execution's instructions are consecutive
/// in memory. Equal runs share a shape.
pub(super) fn execute(
    references: &[Reference],
    code: &mut Code,
    shapes: &mut Vec<u32>,
    data: &mut Vec<u64>,
) {
    // `latest` holds the latest run at each address, and `known` holds runs by address and length.
    let mut latest = [Run::default(); SLOTS];
    let mut known = [Run::default(); SLOTS];
    let mut rest = references;
    while let Some(first) = rest.first() {
        let latest = &mut latest[slot(first.address)];
        let length = code.count(latest.shape);
        // Most runs equal the latest run that began at the same address.
        if !(ends(rest, length, latest.end)
            && code.is_execution(latest.shape, &rest[..length], data))
        {
            *latest = find(rest, &mut known, code, data);
        }
        shapes.push(latest.shape);
        rest = &rest[code.count(latest.shape)..];
    }
}

/// A run's shape, and the address just after its last instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    shape: u32,
    end: u64,
}

/// Returns the first run. If its shape is new, adds it to the code.
fn find(rest: &[Reference], known: &mut [Run; SLOTS], code: &mut Code, data: &mut Vec<u64>) -> Run {
    let (length, end) = length(rest);
    let run = &rest[..length];
    let known = &mut known[slot(rest[0].address ^ (length as u64) << 32)];
    if !code.is_execution(known.shape, run, data) {
        let shape = code.add(run);
        *known = Run { shape, end };
        data.extend((run.iter().filter(|one| !one.kind.is_fetch())).map(|one| one.address));
    }
    *known
}

fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS.ilog2())) as usize
}

/// Returns the first run's length, and the address just after its last instruction.
fn length(references: &[Reference]) -> (usize, u64) {
    let mut next = references[0].address;
    for (length, reference) in references.iter().take(HARD_LIMIT).enumerate() {
        if reference.kind.is_fetch() {
            if length > 0 && ends(references, length, next) {
                return (length, next);
            }
            next = reference.address.wrapping_add(reference.size.into());
        }
    }
    (references.len().min(HARD_LIMIT), next)
}

/// Returns `true` if the first run has `length` references. `next` is the address just after its last instruction.
#[inline(always)]
fn ends(references: &[Reference], length: usize, next: u64) -> bool {
    match references.get(length) {
        Some(_) if length == HARD_LIMIT => true,
        Some(after) => after.kind.is_fetch() && (after.address != next || length >= SOFT_LIMIT),
        None => references.len() == length,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::recording::{Chunk, Kind};

    /// Returns the numbers of the executed shapes, and the addresses of their data.
    fn executed(references: &[Reference]) -> (Vec<u32>, Vec<u64>) {
        let (mut shapes, mut data) = (Vec::new(), Vec::new());
        execute(references, &mut Code::default(), &mut shapes, &mut data);
        (shapes, data)
    }

    #[test]
    fn equal_runs_share_a_shape() {
        let round = |fetch, data, address| {
            [
                Reference::new(0x1000, 4, Kind::FetchOther),
                Reference::new(0x1004, 4, fetch),
                Reference::new(address, 8, data),
                // This instruction does not follow the previous one in memory.
                Reference::new(0x1010, 4, Kind::FetchOther),
            ]
        };
        let rounds = [
            round(Kind::FetchLoad, Kind::Load, 0x8000),
            round(Kind::FetchLoad, Kind::Load, 0x9000),
            round(Kind::FetchStore, Kind::Store, 0xa000),
        ];
        let (shapes, data) = executed(rounds.as_flattened());
        assert_eq!(shapes, [0, 1, 0, 1, 2, 1]);
        assert_eq!(data, [0x8000, 0x9000, 0xa000]);
    }

    #[test]
    fn a_run_has_a_bound_and_an_instruction_is_in_one_run() {
        let fetch = |number: u64| Reference::new(0x1000 + 4 * number, 4, Kind::FetchLoad);
        let load = Reference::new(0x8000, 8, Kind::Load);
        let pairs: Vec<_> = (0..100).flat_map(|number| [fetch(number), load]).collect();
        assert_eq!(length(&pairs).0, 64);
        // These data do not belong to any instruction.
        assert_eq!(length(&pairs[1..]).0, 1);
        let mut much = vec![fetch(0)];
        much.extend([load; 5000]);
        assert_eq!(length(&much).0, 4096);
        assert_eq!(length(&[load]).0, 1);
    }

    proptest! {
        #[test]
        fn a_chunk_has_the_references_it_was_given(
            drawn in proptest::collection::vec((0_u64..8, 0_u8..7, 1_u16..3), 0..300)
        ) {
            let kinds = [
                Kind::FetchOther, Kind::FetchLoad, Kind::FetchStore, Kind::FetchModify, Kind::Load, Kind::Store, Kind::Modify,
            ];
            let references: Vec<_> = drawn
                .into_iter()
                .map(|(address, kind, size)| Reference::new(address, size, kinds[usize::from(kind)]))
                .collect();
            let chunk = Chunk::new(references.clone(), Vec::new());
            prop_assert_eq!(chunk.len(), references.len());
            prop_assert_eq!(chunk.references().iter().collect::<Vec<_>>(), references);
        }
    }
}
