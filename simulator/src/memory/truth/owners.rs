//! Determines which units a line belongs to. Unlike the memory system's [maps](crate::memory::geometry), which compute the units
//! from bits of a line's number, this module lists the units in the order in which they take successive lines.

use std::collections::BTreeMap;

use guest_abi::{Hub, Mcu, Node};
use platform::{Interleave, Machine};

use crate::memory::geometry::L2Line;
use crate::memory::pages::Pages;

/// The units that a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) struct LineUnits {
    pub(super) bank: u8,
    pub(super) channel: (Node, Mcu),
    /// The hub that carries the line between nodes. On a machine without hubs, the value stands for the link with the same number.
    pub(super) hub: Hub,
}

/// The number of a node's successive lines after which the sequence of banks, channels and hubs repeats.
const UNITS_PERIOD: usize = 8;

/// The size in bytes of a page that the first touch places.
const PAGE_BYTES: u64 = 8192;

/// The number of pages in one list of [`Touches`].
const PAGES_PER_LIST: usize = 2048;

/// Finds the units that a line belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnitsByLine {
    /// The nodes in the order in which they get successive pieces of memory. An entry holds the units of eight successive lines of
    /// its node.
    sequence: Vec<[LineUnits; UNITS_PERIOD]>,
    /// The number of lines in a piece of memory that belongs to one node. The next piece belongs to the next node.
    piece: u64,
    /// All units in `sequence` as one list, if a piece has eight lines and `touches` is `None`. Otherwise empty.
    successive: Vec<LineUnits>,
    touches: Option<Touches>,
}

/// Puts each page on a node according to the page's first touch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Touches {
    /// The number of lines in a page.
    lines: u64,
    /// For each node with memory, the units of eight successive lines.
    by_node: BTreeMap<usize, [LineUnits; UNITS_PERIOD]>,
    /// For each page, the node of the first core that missed a line of it. Each list covers [`PAGES_PER_LIST`] successive pages.
    missed_by: BTreeMap<u64, Vec<Option<u8>>>,
}

impl UnitsByLine {
    /// Returns the units of a machine's lines of `line` bytes.
    pub(super) fn new(machine: &Machine, line: u64, pages: Pages) -> Self {
        let carriers = if machine.hubs().is_empty() { Hub::ALL } else { machine.hubs() };
        let mut by_node = BTreeMap::new();
        for node in Node::ALL {
            let channels: Vec<_> = machine.channels().filter(|(of, _)| of == node).collect();
            let (Some(first), Some(last)) = (channels.first(), channels.last()) else { continue };
            // Hubs take turns: each carries two successive lines.
            let hub = |bank| carriers[bank / 2 % carriers.len()];
            let channel = |bank| if bank < UNITS_PERIOD / 2 { *first } else { *last };
            let units =
                |bank| LineUnits { bank: bank as u8, channel: channel(bank), hub: hub(bank) };
            by_node.insert(node.index(), std::array::from_fn(units));
        }
        let mut sequence: Vec<_> = by_node.values().copied().collect();
        let piece = match (pages, machine.interleave()) {
            (Pages::Hardware, Interleave::Bytes512) => UNITS_PERIOD as u64,
            (Pages::Hardware, Interleave::Gigabyte) => {
                if let [first, _, _] = sequence[..] {
                    // Two address bits choose the node, so with three nodes, one of them gets two of the four values.
                    sequence.push(first);
                }
                (1 << 30) / line
            }
            (Pages::Interleave(size), _) => size.bytes() / line,
            (Pages::FirstTouch | Pages::Node(_), _) => PAGE_BYTES / line,
        };
        if let Pages::Node(node) = pages {
            sequence = vec![by_node[&node.index()]];
        }
        let touches = (pages == Pages::FirstTouch).then(|| Touches {
            lines: PAGE_BYTES / line,
            by_node,
            missed_by: BTreeMap::new(),
        });
        let eights = piece == UNITS_PERIOD as u64 && touches.is_none();
        let successive = if eights { sequence.concat() } else { Vec::new() };
        Self { sequence, piece, successive, touches }
    }

    /// Notes that a core missed a line. The first miss in a page puts the page on the core's node.
    #[inline(always)]
    pub(super) fn missed(&mut self, line: L2Line, core: usize) {
        if let Some(touches) = &mut self.touches {
            touches.missed(line, core / 8);
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, line: L2Line) -> LineUnits {
        match (line.0 as usize).checked_rem(self.successive.len()) {
            Some(number) => self.successive[number],
            None => self.in_pieces(line),
        }
    }

    #[inline(never)]
    fn in_pieces(&self, line: L2Line) -> LineUnits {
        let touched = self.touches.as_ref().and_then(|touches| touches.units(line));
        let turn = (line.0 / self.piece) as usize % self.sequence.len();
        touched.unwrap_or(&self.sequence[turn])[line.0 as usize % UNITS_PERIOD]
    }
}

impl Touches {
    #[inline(never)]
    fn missed(&mut self, line: L2Line, node: usize) {
        let (list, page) = self.page(line);
        let list = self.missed_by.entry(list).or_insert_with(|| vec![None; PAGES_PER_LIST]);
        list[page].get_or_insert(node as u8);
    }

    /// Returns the units of eight successive lines of the line's page; `None` if the page has not been touched, or if the node
    /// that touched it first has no memory.
    fn units(&self, line: L2Line) -> Option<&[LineUnits; UNITS_PERIOD]> {
        let (list, page) = self.page(line);
        self.by_node.get(&self.missed_by.get(&list)?[page]?.into())
    }

    /// Returns the number of the list that contains a line's page, and the page's index in that list.
    fn page(&self, line: L2Line) -> (u64, usize) {
        let page = line.0 / self.lines;
        (page / PAGES_PER_LIST as u64, page as usize % PAGES_PER_LIST)
    }
}
