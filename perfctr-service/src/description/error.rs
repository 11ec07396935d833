//! Errors in the nodes that describe guests, with their offsets.

use core::fmt;

use guest_abi::StrandId;
use hv_core::GuestId;
use platform::md::{Node, NodeError, Problem};

/// An error in a node that describes guests, with its position in the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestError<'a> {
    /// The name of the faulty node, such as `guest`.
    pub node: &'a str,
    /// The offset in the description, in bytes, of the property whose content is wrong. For any other problem, such as a strand that does
    /// not exist, the node's offset.
    pub offset: usize,
    /// The rule that the node or the property breaks.
    pub problem: GuestProblem<'a>,
}

/// What is wrong with a node that describes guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GuestProblem<'a> {
    /// A problem that any kind of node can have, such as a missing property.
    Node(Problem<'a>),
    /// The machine does not have this strand. The second field is the machine's number of strands.
    NoSuchStrand(u64, usize),
    /// Two `cpu` nodes describe the same strand.
    StrandTwice(StrandId),
    /// An earlier guest has the same strand.
    SharedStrand(StrandId),
    /// There are more guests than strands.
    TooManyGuests,
    /// An earlier guest has the same `resource_id`.
    ResourceIdTwice(u64),
    /// An earlier guest also has `global`. The field is the offset of that guest's node.
    SecondGlobal(usize),
    /// The property `perf-counters` has this word, but no right has this name.
    UnknownWord(&'a str),
    /// The property `perf-counters` has this word twice.
    WordTwice(&'a str),
    /// The guest has both `strand` and `htstrand`, which exclude each other.
    StrandAndHtStrand,
}

impl<'a> GuestError<'a> {
    pub(super) fn new(node: Node<'a>, problem: GuestProblem<'a>) -> Self {
        Self { node: node.name(), offset: node.offset(), problem }
    }
}

impl<'a> From<NodeError<'a>> for GuestError<'a> {
    fn from(error: NodeError<'a>) -> Self {
        Self { node: error.node, offset: error.offset, problem: GuestProblem::Node(error.problem) }
    }
}

impl fmt::Display for GuestProblem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(problem) => problem.fmt(f),
            Self::NoSuchStrand(pid, count) => {
                write!(f, "pid {pid}, expected a strand from 0 to {}", count.saturating_sub(1))
            }
            Self::StrandTwice(strand) => write!(f, "pid {strand} is there twice"),
            Self::SharedStrand(strand) => {
                write!(f, "strand {strand} belongs to an earlier guest, too")
            }
            Self::TooManyGuests => write!(f, "has more than {} guests", GuestId::COUNT),
            Self::ResourceIdTwice(id) => write!(f, "resource_id {id} is there twice"),
            Self::SecondGlobal(offset) => {
                write!(f, "has global, as the guest at {offset:#x}; one guest of a machine can")
            }
            Self::UnknownWord(word) => write!(
                f,
                "perf-counters has '{}', expected global, strand or htstrand",
                word.escape_default()
            ),
            Self::WordTwice(word) => write!(f, "perf-counters has {word} twice"),
            Self::StrandAndHtStrand => {
                f.write_str("perf-counters has both strand and htstrand, which exclude each other")
            }
        }
    }
}

impl fmt::Display for GuestError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offset, node) = (self.offset, self.node.escape_default());
        write!(f, "offset {offset:#x}: node {node}: {}", self.problem)
    }
}

impl core::error::Error for GuestError<'_> {}
