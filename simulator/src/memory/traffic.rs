//! Messages between nodes about a line.

use guest_abi::{Hub, Node};

/// The node and the unit that supply a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supplier {
    Memory(Node),
    Cache(Node),
}

/// The answer of a node: the state of the line in its L2 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnoopAnswer {
    Modified,
    Owned,
    /// A clean copy, which may be the only copy.
    Shared,
    Miss,
}

impl SnoopAnswer {
    /// Returns `true` if the node has the line.
    pub(super) fn has(self) -> bool {
        self != Self::Miss
    }
}

/// The answers of all nodes; `None` for the requester and for absent nodes.
pub(super) type Answers = [Option<SnoopAnswer>; Node::ALL.len()];

/// A request to the other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeRequest {
    /// RTS, which reads the line; or RTO, which reads it to write and invalidates all other copies.
    Read { to_own: bool, source: Supplier, answers: Answers },
    /// INV, which invalidates all other copies.
    Invalidate { answers: Answers },
    /// WB, which writes a line back to the memory of another node.
    WriteBack { home: Node },
}

/// A request that passes a hub.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction {
    pub(super) hub: Hub,
    pub(super) requester: Node,
    pub(super) request: NodeRequest,
    /// The request waited for another request for the same line.
    pub(super) met: bool,
    /// The cycles that the request waited for another request and for the hub.
    pub(super) waited: u64,
}
