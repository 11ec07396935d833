//! The report about a program's shared lines.

use std::borrow::Cow;

use guest_abi::Node;
use serde::{Deserialize, Serialize};

use super::users::User;
use crate::json;
use crate::machine::configuration::Configuration;
use crate::memory::Moves;
use crate::replay::placement::Placement;
use crate::run::RegionRun;

/// The memory lines that move between nodes while a program executes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct SharingReport {
    pub program: String,
    /// The machine's family, such as `batoka`.
    pub machine: Cow<'static, str>,
    pub nodes: usize,
    pub configuration: Configuration,
    /// The strand that executed each thread.
    pub placement: Placement,
    pub threads: usize,
    /// The part of the program that was replayed; `None` if it is the whole program. The costs and the lines are for this
    /// part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<RegionRun>,
    /// The cost of the replay with the recorded addresses.
    pub cost: Cost,
    /// The number of lines that moved between nodes.
    pub lines_moved: usize,
    /// The lines that moved most, in descending order of moves.
    pub lines: Vec<SharedLine>,
    /// The cost of the replay with separate lines; `None` if no line is falsely shared.
    pub apart: Option<Separated>,
    /// Notes for the reader. Each is a full sentence without a full stop.
    pub notes: Vec<String>,
    /// Sentences about program actions that are missing from the recording. `notes` contains these sentences, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether the observer stopped the job. If so, the costs or the lines' users are incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

/// What a replay costs: its time, and the lines that nodes take from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cost {
    /// The time in cycles at which the last thread ended.
    pub cycles: u64,
    /// The number of misses that another node's cache served.
    pub transfers: u64,
    /// The number of times that a node lost its copy of a line because another node wrote to the line.
    pub invalidations: u64,
}

/// What the program would cost if each falsely shared line's bytes were moved to several lines, one for each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Separated {
    /// The number of lines whose bytes were separated.
    pub lines: usize,
    /// The cost of the replay with separate lines.
    pub cost: Cost,
}

/// How nodes share a memory line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sharing {
    /// Nodes share the line, but hardly any data. Fewer than a tenth of the moves are due to bytes that one node writes and another node
    /// uses.
    #[serde(rename = "false sharing")]
    False,
    /// Nodes share data: each uses bytes that other nodes write.
    #[serde(rename = "true sharing")]
    True,
}

impl Sharing {
    /// Returns the name that tables and JSON use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::False => "false sharing",
            Self::True => "true sharing",
        }
    }
}

/// A line that moved between nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SharedLine {
    /// The line's address in the program.
    #[serde(with = "json")]
    pub address: u64,
    /// The node whose memory contains the line. In JSON, this is the node's number.
    #[serde(with = "json")]
    pub home: Node,
    /// How often the line moved between nodes.
    #[serde(flatten)]
    pub moves: Moves,
    /// Whether the nodes share data, or share only the line.
    pub sharing: Sharing,
    /// The instructions that use the line, sorted by thread. Within a thread, the instruction with the most uses comes first.
    pub users: Vec<User>,
    /// The names of the variables in the line; `None` until a tool that has the program's symbols sets this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<String>>,
}

impl SharedLine {
    pub(crate) fn new(address: u64, home: Node, moves: Moves, users: Vec<User>) -> Self {
        // If two instructions use the same bytes, each use moves the line at most twice: to the
        // other node, and back.
        let moved = |one: &User, other: &User| {
            let apart = one.strand.node() == other.strand.node() || one.bytes & other.bytes == 0;
            let shares = !apart && (one.writes() || other.writes());
            if shares { 2 * one.times.min(other.times) } else { 0 }
        };
        let rest = |number: usize| users[number + 1..].iter();
        let pairs = users.iter().enumerate();
        let truly: u64 =
            pairs.flat_map(|(at, one)| rest(at).map(move |other| moved(one, other))).sum();
        let sharing = match truly > 0 && truly * 10 >= moves.all() {
            true => Sharing::True,
            false => Sharing::False,
        };
        Self { address, home, moves, sharing, users, variables: None }
    }
}
