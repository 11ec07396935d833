//! The map from each physical address to the node whose memory holds it. Replay, execution and guest descriptions share this map.
//!
//! A T2 Plus spreads physical addresses over nodes in two ways ([`Interleave`]). These address bits are the node number:
//!
//! | interleave | two nodes | four nodes | three nodes |
//! |---|---|---|---|
//! | 512 bytes | 9 | 10:9 | none |
//! | 1 GB | 30 | 31:30 | 31:30 |
//!
//! The source of this table is Sun's memory test for the processor (`mtst`, files `mtst_vf.h` and `mtst_vf.c`, function
//! `vf_get_mem_node_id`). In that test, the ceiling mask of the L2 control register divides memory: memory below the ceiling interleaves by
//! 512 bytes, and memory from the ceiling up interleaves by 1 GB. In this project, all of a machine's memory interleaves in the same way.
//!
//! It is *assumed* that
//! - with 512 bytes, consecutive stripes are on the nodes in turn, even if there are three nodes (Sun's test says that three nodes cannot
//!   interleave by 512 bytes),
//! - nodes without memory have no stripes, and the remaining nodes are numbered without gaps,
//! - with 1 GB and three nodes, the addresses whose bits 31:30 are 3 are on the first node.

use guest_abi::{Mcu, Node};

use crate::interleave::Interleave;
use crate::machine::Machine;
use crate::memory_map::PAGE;

/// The size of a memory address in bits. A physical address has one more bit: bit 39 selects input and output.
pub const ADDRESS_BITS: u32 = 39;

/// The map from physical addresses to nodes, for one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Homes {
    interleave: Interleave,
    /// The first `count` elements are the nodes that have memory. The other elements are copies of the first element.
    nodes: [Node; Node::ALL.len()],
    count: u8,
}

/// A part of memory that is on one node. The part consists of the addresses for which `address & mask == matches`. In a guest's
/// description, `mask` and `matches` are the properties `address-mask` and `address-match` of a `memory-latency-group`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Stripe {
    pub mask: u64,
    pub matches: u64,
    pub home: Node,
}

impl Homes {
    /// Returns the map of a machine; `None` if none of its memory channels is enabled.
    pub fn new(machine: Machine) -> Option<Self> {
        let has_memory = |node: &Node| Mcu::ALL.iter().any(|mcu| machine.has_channel(*node, *mcu));
        let with_memory = || Node::ALL.iter().copied().filter(has_memory);
        let mut nodes = [with_memory().next()?; Node::ALL.len()];
        let mut count = 0;
        for (place, node) in nodes.iter_mut().zip(with_memory()) {
            *place = node;
            count += 1;
        }
        Some(Self { interleave: machine.interleave(), nodes, count })
    }

    /// Returns the node to which a physical address belongs. Ignores the bits above bit 38.
    pub fn home(self, address: u64) -> Node {
        self.node(self.stripe(address))
    }

    /// Returns the stripe number of a physical address. Consecutive stripes are on the nodes that have memory, in cyclic order.
    #[inline]
    pub const fn stripe(self, address: u64) -> u64 {
        let number = (address & ((1 << ADDRESS_BITS) - 1)) >> self.interleave.shift();
        match self.interleave {
            Interleave::Bytes512 => number,
            Interleave::Gigabyte => number & (self.stripes() - 1),
        }
    }

    /// Returns the node of a stripe number that [`stripe`](Self::stripe) has returned.
    #[inline]
    pub fn node(self, stripe: u64) -> Node {
        let index = stripe.checked_rem(self.count.into()).unwrap_or(0);
        self.nodes.get(index as usize).copied().unwrap_or(self.nodes[0])
    }

    /// Returns the nodes that have memory, in ascending order. There is at least one.
    pub fn nodes(&self) -> &[Node] {
        self.nodes.get(..self.count.into()).unwrap_or(&self.nodes)
    }

    /// Returns the interleave of the machine's memory.
    #[inline]
    pub const fn interleave(self) -> Interleave {
        self.interleave
    }

    /// Returns the stripes between which a guest chooses when it chooses a page. Returns no stripes if each page is on several nodes, or if
    /// one node has all memory.
    pub fn page_stripes(self) -> impl Iterator<Item = Stripe> {
        let (shift, stripes) = (self.interleave.shift(), self.page_stripe_count());
        (0..stripes).map(move |stripe| Stripe {
            mask: (stripes - 1) << shift,
            matches: stripe << shift,
            home: self.node(stripe),
        })
    }

    /// Returns the number of stripes in [`page_stripes`](Self::page_stripes); 0 if a guest has no choice.
    pub const fn page_stripe_count(self) -> u64 {
        if self.interleave.bytes() >= PAGE && self.count > 1 { self.stripes() } else { 0 }
    }

    /// Returns the number of values of the address field that selects a node. This is the number of nodes with memory, rounded up to a
    /// power of two.
    const fn stripes(self) -> u64 {
        (self.count as u64).next_power_of_two()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::Model;

    fn homes(nodes: usize, interleave: Interleave) -> Homes {
        let machine = Machine::new(Model::Batoka, nodes).unwrap();
        Homes::new(machine.with_interleave(interleave)).unwrap()
    }

    /// Sun's test states which address bits are the node number: bit 9 or 30 if there are two nodes, bits 10:9 or 31:30 if there are four,
    /// bits 31:30 if there are three.
    #[test]
    fn bits_of_the_address_are_the_node() {
        for (nodes, interleave, shift, mask) in [
            (1, Interleave::Bytes512, 9, 0),
            (2, Interleave::Bytes512, 9, 1),
            (4, Interleave::Bytes512, 9, 3),
            (1, Interleave::Gigabyte, 30, 0),
            (2, Interleave::Gigabyte, 30, 1),
            (3, Interleave::Gigabyte, 30, 3),
            (4, Interleave::Gigabyte, 30, 3),
        ] {
            let homes = homes(nodes, interleave);
            for stripe in 0..9_u64 {
                let node = (stripe & mask) as usize;
                // If there are three nodes, Sun's test has no address for which these bits are 3.
                if node < nodes {
                    for within in [0, interleave.bytes() - 1] {
                        let address = (stripe << shift) + within;
                        assert_eq!(homes.home(address).index(), node, "{nodes}: {address:#x}");
                        assert_eq!(homes.home(1 << 39 | address).index(), node);
                    }
                }
            }
        }
    }

    #[test]
    fn nodes_without_memory_are_left_out() {
        let mut machine = Machine::new(Model::Batoka, 4).unwrap();
        for mcu in Mcu::ALL {
            machine = machine.without_channel(Node::Node1, *mcu);
        }
        let homes = Homes::new(machine).unwrap();
        let nodes: Vec<_> = (0..4).map(|stripe| homes.home(stripe << 9).index()).collect();
        assert_eq!(nodes, [0, 2, 3, 0]);
        assert_eq!(homes.nodes(), [Node::Node0, Node::Node2, Node::Node3]);
        let homes = Homes::new(machine.with_interleave(Interleave::Gigabyte)).unwrap();
        let nodes: Vec<_> = (0..5).map(|stripe| homes.home(stripe << 30).index()).collect();
        assert_eq!(nodes, [0, 2, 3, 0, 0]);
        let only = Machine::new(Model::Batoka, 1).unwrap();
        let without = Mcu::ALL.iter().fold(only, |one, mcu| one.without_channel(Node::Node0, *mcu));
        assert_eq!(Homes::new(without), None);
    }

    /// For each address, the matching stripe has the node that the map returns.
    #[test]
    fn stripes_agree_with_the_map() {
        for nodes in 1..=4 {
            assert_eq!(homes(nodes, Interleave::Bytes512).page_stripes().count(), 0);
            let homes = homes(nodes, Interleave::Gigabyte);
            let stripes: Vec<_> = homes.page_stripes().collect();
            assert_eq!(stripes.len(), [0, 2, 4, 4][nodes - 1], "{nodes}");
            for address in (0..16).map(|number| number << 30 | 0x1234_5678) {
                let of: Vec<_> =
                    stripes.iter().filter(|one| address & one.mask == one.matches).collect();
                match of[..] {
                    [] => assert_eq!(nodes, 1),
                    [one] => assert_eq!(one.home, homes.home(address), "{address:#x}"),
                    _ => panic!("{of:?}"),
                }
            }
        }
    }
}
