//! Which lines the nodes take from each other, and who uses them: what [`crate::sharing`] says, from one replay.

use std::collections::HashSet;

use guest_abi::{Node, StrandId};
use serde::Serialize;

use crate::memory::geometry::{ADDRESS_MASK, LINE_SHIFT};
use crate::memory::{Moves, Watched};
use crate::recording::Reference;
use crate::sharing::{Line, Users, hottest};

/// Of how many lines the users are noted, and how many lines are left in the end.
const MOST: usize = 1 << 14;
const SHOWN: usize = 20;

/// Lines that the nodes take from each other.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lines {
    /// How many lines move between nodes.
    pub moved: usize,
    /// How often the cache of one node gave a line to another.
    pub transfers: u64,
    /// How often a node lost its copy because another wrote to the line.
    pub invalidations: u64,
    /// The lines that move most, 20 at most, the first most. Their users are those from the first move on.
    pub hottest: Vec<Line>,
}

/// The users of lines that have moved.
pub(super) struct Moved {
    users: Users,
    /// The references are dealt: they are of one thread, on several strands.
    dealt: bool,
}

impl Moved {
    pub(super) fn new(dealt: bool) -> Self {
        Self {
            users: Users::new([].into_iter()),
            dealt,
        }
    }

    pub(super) fn note(
        &mut self,
        thread: usize,
        strand: StrandId,
        offset: u64,
        reference: &Reference,
        watched: &Watched<'_>,
    ) {
        let line = (reference.address.wrapping_add(offset) & ADDRESS_MASK) >> LINE_SHIFT;
        if watched.moves(line).is_some() {
            self.users.add(line);
            if self.users.len() > MOST {
                let lines = self.users.lines();
                let lines = lines.filter_map(|line| Some((line, watched.moves(line)?)));
                let kept = hottest(lines.collect(), MOST / 2);
                let kept: HashSet<u64> = kept.into_iter().map(|(line, _)| line).collect();
                self.users.retain(|line| kept.contains(&line));
            }
        }
        self.users.note(thread, strand, offset, reference);
    }

    /// Returns the lines, given how often each has moved, in any order, and where it is at home.
    pub(super) fn lines(&self, all: Vec<(u64, Moves)>, home: impl Fn(u64) -> Node) -> Lines {
        let line = |(line, moves)| {
            let (address, mut users) = self.users.of(line);
            if self.dealt {
                users.iter_mut().for_each(|user| user.thread = 0);
            }
            Line::new(address, home(line), moves, users)
        };
        Lines {
            moved: all.len(),
            transfers: all.iter().map(|(_, moves)| moves.transfers).sum(),
            invalidations: all.iter().map(|(_, moves)| moves.invalidations).sum(),
            hottest: hottest(all, SHOWN).into_iter().map(line).collect(),
        }
    }
}
