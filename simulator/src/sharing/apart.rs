//! Bytes in lines of their own.

use std::collections::HashMap;

use guest_abi::{Node, StrandId};

use super::report::{Line, Sharing};
use super::users::REGION;
use crate::memory::geometry::{ADDRESS_MASK, INTERLEAVE_SHIFT, LINE_SHIFT};

const LINE: u64 = 1 << LINE_SHIFT;
const NODES: usize = Node::ALL.len();

/// Where the bytes of falsely shared lines are that only one node uses: in a line of the same home, channel and bank, for each
/// node another. A reference goes where its first byte is.
pub(super) struct Apart {
    /// By the line's number: where each node has its bytes, and which bytes these are.
    lines: HashMap<u64, [(u64, u64); NODES]>,
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
            let place = |node: usize| {
                let other = free + (number * NODES + node) as u64 * step;
                (other + physical % step, own(line, Node::ALL[node]))
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

    /// Returns where data is that a strand accesses at an address.
    pub(super) fn address(&self, strand: StrandId, address: u64) -> u64 {
        let byte = address % LINE;
        match self.lines.get(&((address & ADDRESS_MASK) >> LINE_SHIFT)) {
            Some(places) => {
                let (other, own) = places[strand.node().index()];
                if own >> byte & 1 != 0 {
                    other + byte
                } else {
                    address
                }
            }
            None => address,
        }
    }
}

/// The bytes of a line that a node uses and no other.
fn own(line: &Line, node: Node) -> u64 {
    let bytes = |own: bool| {
        let users = line.users.iter();
        users
            .filter(|user| (user.strand.node() == node) == own)
            .fold(0, |bytes, user| bytes | user.bytes)
    };
    bytes(true) & !bytes(false)
}
