//! Counts cache misses by address and time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::json;
use crate::lookup::{Key, Lookup, mix};

/// The binary logarithm of the machine's page size. The smallest memory block that has its own counts is one page.
const PAGE_SHIFT: u32 = 13;

/// The maximum number of blocks that are counted separately during a replay. [`ROWS`] is the
/// maximum number of rows in the result.
const BLOCKS: usize = 4096;
const ROWS: usize = 64;

/// The maximum number of columns. [`WIDTH`] is the number of cycles that a column spans at the
/// start of a replay.
const COLUMNS: usize = 128;
const WIDTH: u64 = 256;

/// L2 cache misses by address and time.
///
/// A row is a range of a program's addresses. If there are more than 64 rows, pairs of neighbouring rows are merged, starting with the
/// pair that spans the fewest bytes. This keeps distant regions separate. A column is a span of time. If there are more than 128 columns,
/// each pair of columns is merged into one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heat {
    /// The size in bytes of the smallest memory block that has its own counts.
    pub page_bytes: u64,
    /// The index of the program to which each row belongs, in the order of the recordings.
    pub program: Vec<usize>,
    /// The first address of each row.
    #[serde(with = "json")]
    pub first: Vec<u64>,
    /// The number of bytes that each row spans.
    pub bytes: Vec<u64>,
    /// The end of each column, in cycles. The first column starts at 0.
    pub cycles: Vec<u64>,
    /// The number of requests that missed their node's L2 cache, indexed by row and then by column.
    pub misses: Vec<Vec<u64>>,
    /// How many of `misses` another node's L2 cache served, indexed by row and then by column.
    pub transfers: Vec<Vec<u64>>,
}

/// The numbers of misses and of transfers in each column.
type Cells = [[u64; 2]; COLUMNS];

/// A program's index, and the number of a block of its memory.
type Block = (usize, u64);

impl Key for Block {
    #[inline(always)]
    fn hash_value(&self) -> u64 {
        mix(self.0 as u64, self.1)
    }
}

#[derive(Debug)]
pub(super) struct Map {
    blocks: Lookup<Block, Box<Cells>>,
    shift: u32,
    /// The number of cycles that a column spans, which is a power of two.
    width: u64,
    /// The index of the last column that has a count.
    last: usize,
}

impl Map {
    pub(super) fn new() -> Self {
        Self { blocks: Lookup::default(), shift: PAGE_SHIFT, width: WIDTH, last: 0 }
    }

    /// Adds a program's misses at an address and at the time `now`. `counts` has the number of misses and the number of transfers.
    pub(super) fn note(&mut self, program: usize, address: u64, now: u64, counts: [u64; 2]) {
        while now >> self.width.ilog2() >= COLUMNS as u64 {
            self.widen();
        }
        let column = (now >> self.width.ilog2()) as usize;
        self.last = self.last.max(column);
        let block = (program, address >> self.shift);
        let empty = || Box::new([[0; 2]; COLUMNS]);
        add(&mut self.blocks.or_insert_with(block, empty)[column], &counts);
        while self.blocks.len() > BLOCKS {
            self.coarsen();
        }
    }

    fn widen(&mut self) {
        for (_, cells) in self.blocks.iter_mut() {
            for column in 0..COLUMNS {
                let both = cells.get(2 * column).zip(cells.get(2 * column + 1));
                cells[column] = both.map_or([0; 2], |(a, b)| [a[0] + b[0], a[1] + b[1]]);
            }
        }
        self.width *= 2;
        self.last /= 2;
    }

    fn coarsen(&mut self) {
        self.shift += 1;
        for ((program, block), cells) in self.blocks.take() {
            let empty = || Box::new([[0; 2]; COLUMNS]);
            add_all(self.blocks.or_insert_with((program, block >> 1), empty), &cells);
        }
    }

    pub(super) fn heat(&self, now: u64) -> Heat {
        let mut blocks: Vec<_> = self.blocks.iter().collect();
        blocks.sort_unstable_by_key(|(block, _)| **block);
        let rows = merged(blocks.iter().map(|(block, _)| **block));
        let mut blocks = blocks.into_iter();
        let sums = |row: &HeatRow| {
            let mut sums = [[0; 2]; COLUMNS];
            blocks.by_ref().take(row.number).for_each(|(_, cells)| add_all(&mut sums, cells));
            sums
        };
        let sums: Vec<Cells> = rows.iter().map(sums).collect();
        let columns = if rows.is_empty() { 0 } else { self.last + 1 };
        let ends = (1..=columns as u64).map(|end| (end * self.width).min(now.max(1)));
        let cells = |kind: usize| {
            let row = |sums: &Cells| sums[..columns].iter().map(|cell| cell[kind]).collect();
            sums.iter().map(row).collect()
        };
        Heat {
            page_bytes: 1 << self.shift,
            program: rows.iter().map(|row| row.program).collect(),
            first: rows.iter().map(|row| row.blocks[0] << self.shift).collect(),
            bytes: (rows.iter()).map(|row| (row.blocks[1] - row.blocks[0]) << self.shift).collect(),
            cycles: ends.collect(),
            misses: cells(0),
            transfers: cells(1),
        }
    }
}

/// A row under construction. `blocks` holds the index of the row's first block and the index of the block after its last. `number` counts
/// the row's blocks that have misses.
struct HeatRow {
    program: usize,
    blocks: [u64; 2],
    number: usize,
}

/// Returns rows that contain all `blocks`, which must be sorted. Merges the neighbouring rows that span the fewest blocks, until there
/// are at most [`ROWS`] rows.
fn merged(blocks: impl Iterator<Item = Block>) -> Vec<HeatRow> {
    const NEVER: u64 = u64::MAX;
    let row = |(program, block)| HeatRow { program, blocks: [block, block + 1], number: 1 };
    let mut rows: Vec<HeatRow> = blocks.map(row).collect();
    // Returns the number of blocks that two rows span, the second of which may be missing.
    let span = |rows: &[HeatRow], row: usize, next: usize| match (&rows[row], rows.get(next)) {
        (one, Some(next)) if one.program == next.program => next.blocks[1] - one.blocks[0],
        _ => NEVER,
    };
    // A row that is merged into an earlier row stays in the list until the end, because a removal would move all later rows.
    let mut after: Vec<usize> = (1..=rows.len()).collect();
    let mut before: Vec<usize> = (0..=rows.len()).map(|row| row.saturating_sub(1)).collect();
    let mut spans: Vec<u64> = (0..rows.len()).map(|row| span(&rows, row, row + 1)).collect();
    // Each row's span, least first; of equal ones, the first row comes first. A span that has changed since is skipped.
    let mut least: BinaryHeap<_> =
        spans.iter().enumerate().map(|(row, span)| Reverse((*span, row))).collect();
    let mut left = rows.len().saturating_sub(ROWS);
    while left > 0
        && let Some(Reverse((width, first))) = least.pop()
        && width != NEVER
    {
        if spans[first] != width {
            continue;
        }
        left -= 1;
        let next = after[first];
        rows[first].blocks[1] = rows[next].blocks[1];
        rows[first].number += std::mem::take(&mut rows[next].number);
        spans[next] = NEVER;
        after[first] = after[next];
        before[after[next]] = first;
        for row in [before[first], first] {
            spans[row] = span(&rows, row, after[row]);
            least.push(Reverse((spans[row], row)));
        }
    }
    rows.retain(|row| row.number > 0);
    rows
}

fn add(sums: &mut [u64; 2], counts: &[u64; 2]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

fn add_all(sums: &mut Cells, cells: &Cells) {
    for (sums, counts) in sums.iter_mut().zip(cells) {
        add(sums, counts);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sums(rows: &[Vec<u64>]) -> Vec<u64> {
        rows.iter().map(|row| row.iter().sum()).collect()
    }

    #[test]
    fn columns_double_when_time_goes_on() {
        let mut map = Map::new();
        for now in [0, 255, 256, 32_767] {
            map.note(0, 0x1000, now, [1, 0]);
        }
        let heat = map.heat(32_768);
        assert_eq!(heat.cycles.len(), 128);
        assert_eq!(heat.misses[0][..3], [2, 1, 0]);
        map.note(0, 0x1000, 32_768, [1, 1]);
        let heat = map.heat(32_800);
        // The map has 64 columns of 512 cycles, and has started a 65th column.
        assert_eq!(heat.cycles.len(), 65);
        assert_eq!((heat.cycles[0], heat.cycles[64]), (512, 32_800));
        assert_eq!((heat.misses[0][0], heat.misses[0][63]), (3, 1));
        assert_eq!((heat.misses[0][64], heat.transfers[0][64]), (1, 1));
    }

    #[test]
    fn blocks_double_when_there_are_4096() {
        let mut map = Map::new();
        for page in 0..5_000 {
            map.note(1, page * 8192, page, [1, 0]);
        }
        let heat = map.heat(5_000);
        assert_eq!(heat.page_bytes, 16_384);
        assert_eq!(heat.bytes.iter().sum::<u64>(), 5_000 * 8192);
        assert_eq!(sums(&heat.misses).iter().sum::<u64>(), 5_000);
    }

    #[test]
    fn programs_stay_apart() {
        let mut map = Map::new();
        for program in 0..48 {
            map.note(program, 0x1000, 0, [1, 0]);
            map.note(program, 0x7000_0000, 0, [1, 0]);
        }
        let heat = map.heat(1);
        assert_eq!(heat.program.len(), 64);
        assert_eq!(sums(&heat.misses).iter().sum::<u64>(), 96);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

        /// No miss is lost. The rows are sorted and do not overlap. Each row counts the misses at its own addresses.
        #[test]
        fn every_miss_is_in_its_row(misses in prop::collection::vec((any::<u64>(), 0..60_u32, 0..1_000_000_u64), 1..300)) {
            let mut map = Map::new();
            for (address, shift, now) in &misses {
                map.note(0, address >> shift, *now, [1, 0]);
            }
            let heat = map.heat(1_000_000);
            prop_assert!(heat.first.len() <= ROWS && heat.cycles.len() <= COLUMNS);
            let rows: Vec<_> = heat.first.iter().zip(&heat.bytes).map(|(first, bytes)| (*first, first + (bytes - 1))).collect();
            prop_assert!(rows.windows(2).all(|rows| rows[0].1 < rows[1].0));
            let found = rows.iter().map(|(first, last)| {
                misses.iter().filter(|(address, shift, _)| (*first..=*last).contains(&(address >> shift))).count() as u64
            });
            prop_assert_eq!(found.collect::<Vec<_>>(), sums(&heat.misses));
        }
    }
}
