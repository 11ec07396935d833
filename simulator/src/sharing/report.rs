//! What was found.

use guest_abi::Node;
use serde::{Serialize, Serializer};

use super::users::User;
use crate::configuration::Configuration;
use crate::memory::Moves;
use crate::nearest::hexadecimal;
use crate::placement::Placement;

/// The lines that nodes take from each other.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of the recording.
    pub program: String,
    /// The machine.
    pub configuration: Configuration,
    /// Where the threads were.
    pub placement: Placement,
    /// How many threads the program has.
    pub threads: usize,
    /// What the program costs as it is.
    pub cost: Cost,
    /// How many lines move between nodes.
    pub lines_moved: usize,
    /// Those that move most, the first most.
    pub lines: Vec<Line>,
    /// How many of these lines are falsely shared, and what the program costs with their bytes apart; `None` if none is.
    pub apart: Option<(usize, Cost)>,
    /// What somebody who reads this should know: whole sentences without a full stop.
    pub notes: Vec<String>,
}

/// What a program costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The cycles until its last thread ends.
    pub cycles: u64,
    /// Lines that the cache of one node gave to another.
    pub transfers: u64,
    /// Copies of lines that a node lost because another wrote to the line.
    pub invalidations: u64,
}

/// How nodes share a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum Sharing {
    /// No node uses bytes that another writes, or so seldom that this causes less than a tenth of the moves: they share the line,
    /// but hardly any data.
    False,
    /// Nodes use bytes that others write.
    True,
}

impl Sharing {
    /// Returns what it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::False => "false sharing",
            Self::True => "true sharing",
        }
    }
}

impl From<Sharing> for &'static str {
    fn from(sharing: Sharing) -> Self {
        sharing.name()
    }
}

/// A line that moves.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Its address in the program.
    #[serde(serialize_with = "hexadecimal")]
    pub address: u64,
    /// The node whose memory it is in, by its number.
    #[serde(serialize_with = "number")]
    pub home: Node,
    /// How often it moved.
    #[serde(flatten)]
    pub moves: Moves,
    /// How it is shared.
    pub sharing: Sharing,
    /// Who uses it: by thread, those that use it most first.
    pub users: Vec<User>,
}

fn number<S: Serializer>(node: &Node, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(node.index() as u64)
}

impl Line {
    pub(crate) fn new(address: u64, home: Node, moves: Moves, users: Vec<User>) -> Self {
        // A line moves there and back at most once each time that both have used the same bytes.
        let moved = |one: &User, other: &User| {
            let apart = one.strand.node() == other.strand.node() || one.bytes & other.bytes == 0;
            let shares = !apart && (one.writes() || other.writes());
            if shares {
                2 * one.times.min(other.times)
            } else {
                0
            }
        };
        let rest = |number: usize| users[number + 1..].iter();
        let pairs = users.iter().enumerate();
        let truly: u64 = pairs
            .flat_map(|(at, one)| rest(at).map(move |other| moved(one, other)))
            .sum();
        let sharing = match truly > 0 && truly * 10 >= moves.all() {
            true => Sharing::True,
            false => Sharing::False,
        };
        Self {
            address,
            home,
            moves,
            sharing,
            users,
        }
    }
}
