//! Which L1 caches of a node may have parts of an L2 line, as bits of a word: 4 bits for the data cache of each
//! core (the four 16-byte parts), then 2 for the instruction cache of each (the two halves).
//!
//! A bit is set when an L1 cache takes the part in. It is not cleared when the L1 cache drops it by itself.

use super::geometry::Line;

const CORES: usize = 8;
const INSTRUCTION: usize = 4 * CORES;

/// Part 0 in every data cache.
const DATA_PARTS: u64 = 0x1111_1111;
/// Half 0 in every instruction cache.
const INSTRUCTION_PARTS: u64 = 0x5555 << INSTRUCTION;

/// A part of a line that an L1 cache may have, by the core's number within the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copy {
    /// A 16-byte line of the core's data cache, by the line's number.
    Data { core: usize, line: u64 },
    /// A 32-byte line of its instruction cache.
    Instructions { core: usize, line: u64 },
}

/// The bit of a 16-byte line in the data cache of a core.
pub(super) fn data(core: usize, line16: u64) -> u64 {
    1 << (4 * core + (line16 & 3) as usize)
}

/// The bit of a 32-byte line in the instruction cache of a core.
pub(super) fn instructions(core: usize, line32: u64) -> u64 {
    1 << (INSTRUCTION + 2 * core + (line32 & 1) as usize)
}

/// The bits of all copies that a store to a 16-byte line by this core makes stale: every copy but its own in its
/// data cache.
pub(super) fn stale_after_store(core: usize, line16: u64) -> u64 {
    let part = line16 & 3;
    (DATA_PARTS << part | INSTRUCTION_PARTS << (part / 2)) & !data(core, line16)
}

/// The copies of a line that these bits mean.
pub(super) fn each(mut bits: u64, line: Line) -> impl Iterator<Item = Copy> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(match bit.checked_sub(INSTRUCTION) {
            None => Copy::Data {
                core: bit / 4,
                line: line.0 * 4 + bit as u64 % 4,
            },
            Some(bit) => Copy::Instructions {
                core: bit / 2,
                line: line.0 * 2 + bit as u64 % 2,
            },
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_back() {
        let bits = data(0, 400) | data(7, 403) | instructions(0, 201) | instructions(7, 200);
        assert_eq!(bits, 1 | 1 << 31 | 1 << 33 | 1 << 46);
        let copies: Vec<_> = each(bits, Line(100)).collect();
        assert_eq!(
            copies,
            [
                Copy::Data { core: 0, line: 400 },
                Copy::Data { core: 7, line: 403 },
                Copy::Instructions { core: 0, line: 201 },
                Copy::Instructions { core: 7, line: 200 },
            ]
        );
    }

    #[test]
    fn a_store_spares_its_own_data_cache_and_other_parts() {
        let stale = stale_after_store(2, 402);
        assert_eq!(stale & 0xffff_ffff, 0x4444_4044);
        assert_eq!(stale >> 32, 0xaaaa);
        assert_eq!(stale_after_store(0, 401) >> 32, 0x5555);
    }
}
