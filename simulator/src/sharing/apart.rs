//! Bytes in lines of their own.

use std::collections::HashMap;

use guest_abi::Node;

use super::report::{Line, Sharing};
use super::users::REGION;
use crate::memory::geometry::{ADDRESS_MASK, INTERLEAVE_SHIFT, LINE_SHIFT};

const LINE: u64 = 1 << LINE_SHIFT;
const NODES: usize = Node::ALL.len();

/// Where the bytes of falsely shared lines are: for each node, those that it uses most are in another line of the same home, channel and
/// bank, as if there was padding between them. A reference goes where its first byte is.
pub(super) struct Apart {
    /// By the line's number: where each byte's line begins; `None` for bytes that are not used.
    lines: HashMap<u64, [Option<u64>; LINE as usize]>,
}

impl Apart {
    /// Puts the bytes of the falsely shared ones among these lines into a free region, as far as there is room. The memory
    /// interleaves between so many `homes`.
    pub(super) fn new(lines: &[Line], homes: u64, free: Option<u64>) -> Self {
        let mut apart = HashMap::new();
        let shared = lines.iter().filter(|line| line.sharing == Sharing::False);
        // From one place of a home to its next.
        let step = homes << INTERLEAVE_SHIFT;
        let Some(free) = free.map(|free| free.next_multiple_of(step)) else {
            return Self { lines: apart };
        };
        let places = (REGION - step) / step / NODES as u64;
        for (number, line) in shared.enumerate().take(places as usize) {
            let physical = line.address & ADDRESS_MASK;
            let place = |byte| {
                let owner = owner(line, byte)?;
                let other = free + (number * NODES + owner.index()) as u64 * step;
                Some(other + physical % step)
            };
            apart.insert(physical >> LINE_SHIFT, std::array::from_fn(place));
        }
        Self { lines: apart }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns how many lines are taken apart.
    pub(super) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Returns where data is that a program accesses at an address.
    pub(super) fn address(&self, address: u64) -> u64 {
        let byte = address % LINE;
        let line = self.lines.get(&((address & ADDRESS_MASK) >> LINE_SHIFT));
        let apart = line.and_then(|bytes| bytes[byte as usize]);
        apart.map_or(address, |line| line + byte)
    }
}

/// Returns the node that uses a byte of a line most; the first, if there are several, and `None` if there is none.
fn owner(line: &Line, byte: usize) -> Option<Node> {
    let mut times = [0; NODES];
    for user in line.users.iter().filter(|user| user.bytes >> byte & 1 != 0) {
        times[user.strand.node().index()] += user.times;
    }
    let used = Node::ALL
        .iter()
        .rev()
        .max_by_key(|node| times[node.index()]);
    used.filter(|node| times[node.index()] > 0).copied()
}
