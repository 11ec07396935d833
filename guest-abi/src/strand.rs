//! Strands: hardware threads.

use core::fmt;

use crate::error::in_range;
use crate::register::Node;

/// A strand's number in the machine. A machine has up to four nodes, a node has 8 cores, and a core has 8 strands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrandId(u8);

impl StrandId {
    /// The number of strands in a machine with four nodes. The strands are numbered 0 to 255.
    pub const COUNT: usize = 256;

    /// The number of strands in a node: 8 strands in each of 8 cores.
    pub const PER_NODE: usize = 64;

    /// The number of strands in a core. A core's strands are numbered consecutively: core 0 has strands 0 to 7.
    pub const PER_CORE: usize = 8;

    /// Returns the strand with this number; `None` if the number is above 255.
    pub const fn new(number: usize) -> Option<Self> {
        if number < Self::COUNT { Some(Self(number as u8)) } else { None }
    }

    /// Returns the strand's number in the machine.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the strand's number in the machine, as a byte.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the node that the strand is on. Strands 0 to 63 are on node 0.
    pub const fn node(self) -> Node {
        match self.0 >> 6 {
            0 => Node::Node0,
            1 => Node::Node1,
            2 => Node::Node2,
            _ => Node::Node3,
        }
    }

    /// Returns the number of the strand's core in the machine, 0 to 31.
    pub const fn core(self) -> usize {
        self.index() / Self::PER_CORE
    }
}

in_range!(StrandId, usize, "strand", 0, Self::COUNT - 1);

impl From<u8> for StrandId {
    fn from(number: u8) -> Self {
        Self(number)
    }
}

impl fmt::Display for StrandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
