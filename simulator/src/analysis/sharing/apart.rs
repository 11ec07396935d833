//! Moves the bytes of falsely shared lines to separate lines.

use std::collections::HashMap;

use guest_abi::Node;
use platform::Interleave;

use super::report::{SharedLine, Sharing};
use super::users::REGION;
use crate::memory::geometry::{ADDRESS_MASK, LINE_SHIFT};

const LINE: u64 = 1 << LINE_SHIFT;
const NODES: usize = Node::ALL.len();

/// New addresses for the bytes of falsely shared lines, as if the program had padding. A byte belongs to the node that uses it most. Each
/// node's bytes move to a separate line, which has the same channel and bank as the old line. If memory interleaves by 512 bytes, the new
/// line also has the same home. Otherwise the new page determines the home, as with real padding. A reference to several bytes moves to
/// the new address of its first byte.
pub(super) struct Apart {
    /// For each byte of a line, the start of the byte's new line; `None` if no node uses the byte. The key is the line's number.
    lines: HashMap<u64, [Option<u64>; LINE as usize]>,
}

impl Apart {
    /// Moves the bytes of the falsely shared lines to the region at `free`, until the region is full. `lines` has each line with its number
    /// in memory. `homes` is the number of nodes that have memory.
    pub(super) fn new<'a>(
        lines: impl Iterator<Item = (u64, &'a SharedLine)>,
        homes: u64,
        free: Option<u64>,
    ) -> Self {
        let mut apart = HashMap::new();
        let shared = lines.filter(|(_, line)| line.sharing == Sharing::False);
        // The distance between lines with the same home, channel and bank.
        let step = homes * Interleave::Bytes512.bytes();
        let Some(free) = free.map(|free| free.next_multiple_of(step)) else {
            return Self { lines: apart };
        };
        let places = (REGION - step) / step / NODES as u64;
        for (number, (at, line)) in shared.enumerate().take(places as usize) {
            let physical = at << LINE_SHIFT;
            let place = |byte| {
                let owner = owner(line, byte)?;
                let other = free + (number * NODES + owner.index()) as u64 * step;
                Some(other + physical % step)
            };
            apart.insert(at, std::array::from_fn(place));
        }
        Self { lines: apart }
    }

    pub(super) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Returns the new address of the data at `address`. Returns `address` itself if the data do not move. Both are memory addresses,
    /// which include the program's offset.
    pub(super) fn address(&self, address: u64) -> u64 {
        let byte = address % LINE;
        let line = self.lines.get(&((address & ADDRESS_MASK) >> LINE_SHIFT));
        let apart = line.and_then(|bytes| bytes[byte as usize]);
        apart.map_or(address, |line| line + byte)
    }
}

/// Returns the node that uses a byte of a line most, or the one with the lowest number if several nodes use it equally often. Returns
/// `None` if no node uses the byte.
fn owner(line: &SharedLine, byte: usize) -> Option<Node> {
    let mut times = [0; NODES];
    for user in line.users.iter().filter(|user| user.bytes >> byte & 1 != 0) {
        times[user.strand.node().index()] += user.times;
    }
    let used = Node::ALL.iter().rev().max_by_key(|node| times[node.index()]);
    used.filter(|node| times[node.index()] > 0).copied()
}
