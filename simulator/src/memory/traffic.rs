//! What nodes say to each other about a line.

use guest_abi::{Hub, Node};

/// The source of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The memory of a node.
    Memory(Node),
    /// The L2 cache of a node.
    Cache(Node),
}

/// The state of a line in a node that is asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Modified,
    Owned,
    /// A clean copy, be it the only one.
    Shared,
    Miss,
}

impl Answer {
    /// Whether the node has the line.
    pub(super) fn has(self) -> bool {
        self != Self::Miss
    }
}

/// The answers of the other nodes of the machine; none of the requester and of absent nodes.
pub(super) type Answers = [Option<Answer>; Node::ALL.len()];

/// A request to the other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// RTS: the line, to read it; or RTO: the line, to write it, and all other copies go.
    Read {
        to_own: bool,
        source: Source,
        answers: Answers,
    },
    /// INV: all other copies go.
    Invalidate { answers: Answers },
    /// WB: a line for the memory of another node.
    WriteBack { home: Node },
}

/// A request on its way through a hub.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction {
    pub(super) hub: Hub,
    pub(super) requester: Node,
    pub(super) request: Request,
    /// It waited for another request for the same line.
    pub(super) met: bool,
    /// The cycles that it waited for this and for the hub.
    pub(super) waited: u64,
}
