//! Which units a line belongs to. The memory system has maps of its own, in [`geometry`](crate::memory::geometry): it computes the
//! units from bits of a line's number. Here, the units are listed in the order in which they take successive lines.

use std::collections::BTreeMap;

use guest_abi::{Hub, Mcu, Node};
use platform::{Interleave, Machine};

use crate::memory::geometry::L2Line;
use crate::memory::pages::Pages;

/// The units that one line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owners {
    pub(super) bank: usize,
    pub(super) channel: (Node, Mcu),
    /// The hub that carries the line. Without hubs, the link with the hub's number.
    pub(super) hub: Hub,
}

/// The number of successive lines after which banks, channels of a node and hubs begin again.
const LINES_OF_A_NODE: usize = 8;

/// The number of bytes in a page of which the first touch decides.
const PAGE: u64 = 8192;

/// The owners of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnersByLine {
    /// For each node with memory, the owners of eight successive lines, if they are on this node.
    of_nodes: BTreeMap<usize, [Owners; LINES_OF_A_NODE]>,
    /// The nodes in the order in which they take successive pieces of memory. After the last, the list begins again.
    turns: Vec<usize>,
    /// The number of lines in such a piece.
    piece: u64,
    pages: Pages,
    /// The number of bytes in a line.
    line: u64,
    /// The node of the first core that missed a line of a page, by page.
    missed_by: BTreeMap<u64, usize>,
}

impl OwnersByLine {
    /// Returns the owners of a machine's lines, which have `line` bytes.
    pub(super) fn new(machine: &Machine, line: u64, pages: Pages) -> Self {
        let carriers = if machine.hubs().is_empty() { Hub::ALL } else { machine.hubs() };
        let mut of_nodes = BTreeMap::new();
        for node in Node::ALL {
            let channels: Vec<_> = machine.channels().filter(|(of, _)| of == node).collect();
            let (Some(first), Some(last)) = (channels.first(), channels.last()) else { continue };
            // A hub carries two successive lines, then the next hub does.
            let hub = |bank| carriers[bank / 2 % carriers.len()];
            let channel = |bank| if bank < LINES_OF_A_NODE / 2 { *first } else { *last };
            let owners = |bank| Owners { bank, channel: channel(bank), hub: hub(bank) };
            of_nodes.insert(node.index(), std::array::from_fn(owners));
        }
        let mut turns: Vec<usize> = of_nodes.keys().copied().collect();
        let piece = match (pages, machine.interleave()) {
            (Pages::Hardware, Interleave::Bytes512) => LINES_OF_A_NODE as u64,
            (Pages::Hardware, Interleave::Gigabyte) => {
                if let [first, _, _] = turns[..] {
                    // Two bits of the address choose among three nodes.
                    turns.push(first);
                }
                (1 << 30) / line
            }
            (Pages::Interleave(size), _) => size.bytes() / line,
            (Pages::FirstTouch | Pages::Node(_), _) => PAGE / line,
        };
        if let Pages::Node(node) = pages {
            turns = vec![node.index()];
        }
        Self { of_nodes, turns, piece, pages, line, missed_by: BTreeMap::new() }
    }

    /// Notes that a core missed a line. The first such core decides where the line's page is.
    pub(super) fn missed(&mut self, line: L2Line, core: usize) {
        if self.pages == Pages::FirstTouch {
            let page = line.0 * self.line / PAGE;
            self.missed_by.entry(page).or_insert(core / 8);
        }
    }

    pub(super) fn of(&self, line: L2Line) -> Owners {
        let toucher = self.missed_by.get(&(line.0 * self.line / PAGE));
        let touched = toucher.and_then(|node| self.of_nodes.get(node));
        let turn = (line.0 / self.piece % self.turns.len() as u64) as usize;
        let owners = touched.unwrap_or_else(|| &self.of_nodes[&self.turns[turn]]);
        owners[line.0 as usize % LINES_OF_A_NODE]
    }
}
