//! Maps addresses to the units that serve them.
//!
//! If L2 lines have 64 bytes, the table shows which bits of the physical address choose the unit. If they have another length, bits
//! of the line's number choose the unit instead: bit n of the line's number replaces bit n + 6 of the address.
//!
//! | bits | choose |
//! |---|---|
//! | 8:6 | the L2 bank |
//! | 8:7, modulo the number of hubs | the hub that carries the line; without hubs, the link |
//! | 8 | the MCU of the home node; if that MCU is disabled, the node's other MCU |
//! | 38:9 or 38:30, modulo the nodes that have memory | the home node: see [`platform::homes`] |
//!
//! An operating system may choose other home nodes: see [`Pages`].

use guest_abi::{Hub, Mcu, Node};
use platform::{Homes, Interleave as Way, Machine};

use super::broken::{Map, mapped};
use super::pages::{PAGE_SHIFT, Pages, Touched};

pub use platform::homes::ADDRESS_BITS;

/// The mask for the low [`ADDRESS_BITS`] bits of an address, which are the physical address.
pub const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

/// The binary logarithm of the number of bytes in an L2 line of a T2 Plus.
pub const LINE_SHIFT: u32 = 6;

/// The number of an L2 line: the address without the bits within the line. On a T2 Plus, these are bits 38:6 of the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct L2Line(pub(super) u64);

impl L2Line {
    /// No line has this number.
    pub(super) const NONE: Self = Self(u64::MAX);

    #[inline(always)]
    pub(super) fn bank(self) -> usize {
        mapped(Map::Bank, self.0 as usize) & 7
    }
}

/// The maximum number of L1 cache lines in one L2 line.
pub(super) const MAX_PARTS: u64 = 4;
pub(super) const PARTS: usize = MAX_PARTS as usize;

/// The error for a machine that has no enabled memory channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory channel of the machine is enabled")]
pub struct NoMemory;

/// The length of [`Interleave::node_sequence`]: a multiple of every possible number of nodes. It is a constant because dividing by a
/// constant is faster.
const NODE_SEQUENCE_LENGTH: usize = 12;

/// The assignment of lines to memory channels and hubs.
#[derive(Clone, Debug)]
pub(super) struct Interleave {
    homes: Homes,
    /// The nodes of successive stripes or pages. The length is a multiple of the number of nodes, so the sequence can start again
    /// after the last entry.
    node_sequence: [Node; NODE_SEQUENCE_LENGTH],
    pages: Pages,
    /// The node of each page that has been touched. Used only if the first touch places pages.
    touched: Touched,
    /// Each node's channels, one for each value of address bit 8. The entries of a node without memory are not used.
    channels: [[Mcu; 2]; Node::ALL.len()],
    /// The hub for each value of address bits 8:7. On a machine without hubs, an entry stands for the link with the same number.
    hubs: [Hub; 4],
    /// The binary logarithm of the number of bytes in an L2 line.
    line_shift: u32,
}

impl Interleave {
    /// Returns the assignment for a machine whose L2 lines have `1 << line_shift` bytes.
    pub(super) fn new(machine: &Machine, line_shift: u32, pages: Pages) -> Result<Self, NoMemory> {
        let has =
            |node, mcu| mapped(Map::EnabledChannel, machine.has_channel(node, mcu).into()) != 0;
        let channels = std::array::from_fn(|node| {
            let node = Node::ALL[node];
            match (has(node, Mcu::Mcu0), has(node, Mcu::Mcu1)) {
                (true, false) => [Mcu::Mcu0; 2],
                (false, true) => [Mcu::Mcu1; 2],
                _ => [Mcu::Mcu0, Mcu::Mcu1],
            }
        });
        let hubs = if machine.hubs().is_empty() { Hub::ALL } else { machine.hubs() };
        let hubs = std::array::from_fn(|bits| hubs[bits % hubs.len()]);
        let homes = Homes::new(*machine).ok_or(NoMemory)?;
        let node_sequence = std::array::from_fn(|number| homes.node(number as u64));
        Ok(Self {
            homes,
            node_sequence,
            pages,
            touched: Touched::default(),
            channels,
            hubs,
            line_shift,
        })
    }

    /// Returns the number of nodes that have memory.
    pub(super) fn nodes(&self) -> u64 {
        self.homes.nodes().len() as u64
    }

    /// Returns the home node of a line, and the line's channel there.
    #[inline(always)]
    pub(super) fn home(&self, line: L2Line) -> (Node, Mcu) {
        let node = match self.pages {
            Pages::Hardware => {
                // With a 512-byte interleave, each node in turn gets eight lines, whatever their length. So compute the stripe as
                // if all lines had 64 bytes.
                let shift = match self.homes.interleave() {
                    Way::Bytes512 => LINE_SHIFT,
                    Way::Gigabyte => self.line_shift,
                };
                let stripe = self.homes.stripe(line.0 << shift);
                self.node_sequence(mapped(Map::Home, stripe as usize) as u64)
            }
            Pages::FirstTouch => {
                let page = self.number(line, PAGE_SHIFT);
                self.touched.get(page).unwrap_or_else(|| self.node_sequence(page))
            }
            Pages::Node(node) => node,
            Pages::Interleave(size) => self.node_sequence(self.number(line, size.shift())),
        };
        (node, self.channels[node.index()][mapped(Map::Channel, (line.0 >> 2) as usize) & 1])
    }

    /// Returns the node of a stripe or page.
    #[inline(always)]
    fn node_sequence(&self, number: u64) -> Node {
        self.node_sequence[number as usize % NODE_SEQUENCE_LENGTH]
    }

    /// Notes that a strand of this node touches a line. Must be called before the line is first read from memory.
    #[inline(always)]
    pub(super) fn touch(&mut self, line: L2Line, node: Node) {
        if self.pages == Pages::FirstTouch {
            let page = self.number(line, PAGE_SHIFT);
            let home = match self.homes.nodes().contains(&node) {
                true => node,
                false => self.node_sequence(page),
            };
            self.touched.touch(page, home);
        }
    }

    /// Returns the number of a line's page. A page has `1 << shift` bytes.
    fn number(&self, line: L2Line, shift: u32) -> u64 {
        mapped(Map::Page, (line.0 << self.line_shift >> shift) as usize) as u64
    }

    #[inline(always)]
    pub(super) fn hub(&self, line: L2Line) -> Hub {
        self.hubs[mapped(Map::Hub, (line.0 >> 1) as usize) & 3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::Model;

    fn line(address: u64) -> L2Line {
        L2Line(address >> 6)
    }

    #[test]
    fn interleave_of_four_nodes() {
        let interleave = without(4, &[]).unwrap();
        for (address, bank, hub, home, mcu) in [
            (0x000, 0, 0, 0, 0),
            (0x07f, 1, 0, 0, 0),
            (0x080, 2, 1, 0, 0),
            (0x100, 4, 2, 0, 1),
            (0x1c0, 7, 3, 0, 1),
            (0x200, 0, 0, 1, 0),
            (0x7c0, 7, 3, 3, 1),
            (0x840, 1, 0, 0, 0),
        ] {
            let line = line(address);
            assert_eq!(line.bank(), bank, "{address:#x}");
            assert_eq!(interleave.hub(line).index(), hub, "{address:#x}");
            let (node, channel) = interleave.home(line);
            assert_eq!((node.index(), channel.index()), (home, mcu), "{address:#x}");
        }
    }

    /// Returns the interleave of a Batoka with `nodes` nodes that lacks the given channels.
    fn without(nodes: usize, channels: &[(Node, Mcu)]) -> Result<Interleave, NoMemory> {
        let whole = Machine::new(Model::Batoka, nodes).unwrap();
        let machine = (channels.iter())
            .fold(whole, |machine, (node, mcu)| machine.without_channel(*node, *mcu));
        Interleave::new(&machine, LINE_SHIFT, Pages::Hardware)
    }

    #[test]
    fn a_disabled_channel_leaves_its_lines_to_the_other() {
        let interleave = without(2, &[(Node::Node1, Mcu::Mcu0)]).unwrap();
        assert_eq!(interleave.home(line(0x200)), (Node::Node1, Mcu::Mcu1));
        assert_eq!(interleave.home(line(0x300)), (Node::Node1, Mcu::Mcu1));
        assert_eq!(interleave.home(line(0x400)), (Node::Node0, Mcu::Mcu0));
        let interleave = without(2, &[(Node::Node0, Mcu::Mcu1)]).unwrap();
        assert_eq!(interleave.home(line(0x000)), (Node::Node0, Mcu::Mcu0));
        assert_eq!(interleave.home(line(0x100)), (Node::Node0, Mcu::Mcu0));
        assert_eq!(interleave.home(line(0x300)), (Node::Node1, Mcu::Mcu1));
    }

    #[test]
    fn a_node_without_channels_is_no_home() {
        let both = [(Node::Node0, Mcu::Mcu0), (Node::Node0, Mcu::Mcu1)];
        let interleave = without(3, &both).unwrap();
        assert_eq!(interleave.home(line(0x000)), (Node::Node1, Mcu::Mcu0));
        assert_eq!(interleave.home(line(0x200)), (Node::Node2, Mcu::Mcu0));
        assert_eq!(interleave.home(line(0x400)), (Node::Node1, Mcu::Mcu0));
        assert_eq!(without(1, &both).unwrap_err(), NoMemory);
    }
}
