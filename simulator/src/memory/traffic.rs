//! Describes the messages that nodes exchange about a line.

use guest_abi::Node;

/// The cache or memory that supplies a line, with its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supplier {
    Memory(Node),
    Cache(Node),
}

/// A node's answer: the state of the line in its L2 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnoopAnswer {
    Modified,
    Owned,
    /// A clean copy, possibly the only one.
    Shared,
    Miss,
}

impl SnoopAnswer {
    /// All answers, in the order of their values.
    pub(super) const ALL: [Self; 4] = [Self::Modified, Self::Owned, Self::Shared, Self::Miss];

    /// Returns `true` if the node has a copy of the line.
    pub(super) fn has(self) -> bool {
        self != Self::Miss
    }
}

/// The answers of all nodes; `None` for the requester and for absent nodes.
pub(super) type Answers = [Option<SnoopAnswer>; Node::ALL.len()];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeRequest {
    /// A read to share (RTS) or to own (RTO). A read to own also invalidates all other copies so that the requester can write.
    Read { to_own: bool, source: Supplier, answers: Answers },
    /// An invalidation (INV) of all other copies.
    Invalidate { answers: Answers },
    /// A write-back (WB) of a line to the memory of another node.
    WriteBack { home: Node },
}

/// A request that passes through a hub.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction {
    pub(super) requester: Node,
    pub(super) request: NodeRequest,
    /// Whether the request waited for another request for the same line.
    pub(super) met: bool,
    /// The number of cycles for which the request waited for another request and for the hub.
    pub(super) waited: u64,
}
