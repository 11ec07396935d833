//! Finds which lines move between nodes, and which instructions use them. A single replay gives only an estimate. For exact numbers, see
//! [`crate::analysis::sharing`].

use std::collections::HashSet;

use guest_abi::{Node, StrandId};
use serde::{Deserialize, Serialize};

use crate::analysis::sharing::{SharedLine, Users, hottest};
use crate::memory::geometry::{ADDRESS_MASK, LINE_SHIFT};
use crate::memory::{MovedLines, Moves, OtherMoves};
use crate::recording::Reference;

/// The maximum number of lines whose users are recorded. These lines together have at most [`MAX_USERS`] recorded users.
const MAX_LINES: usize = 1 << 14;
const MAX_USERS: usize = 1 << 17;
const SHOWN: usize = 20;

/// Lines that moved between the L2 caches of nodes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lines {
    /// The number of different lines that moved. If this number exceeds 524,288, lines that moved rarely may be counted several times.
    pub moved: usize,
    /// The number of misses that another node's cache served.
    pub transfers: u64,
    /// The number of times that a node lost its copy of a line because another node wrote to the line.
    pub invalidations: u64,
    /// The 20 lines that moved most often, in descending order of moves. Each has the instructions that have used the line since its
    /// first move.
    pub hottest: Vec<SharedLine>,
}

/// The users of the lines that have moved.
pub(super) struct Moved {
    users: Users,
    /// Whether one thread's references are [dealt](crate::replay::placement::Placement::Deal) to several strands.
    dealt: bool,
}

impl Moved {
    pub(super) fn new(dealt: bool) -> Self {
        Self { users: Users::new([].into_iter()), dealt }
    }

    /// Notes a reference to a line that may have moved. `user` is the reference's thread, strand and instruction address.
    pub(super) fn note(
        &mut self,
        user: (usize, StrandId, Option<u64>),
        offset: u64,
        reference: &Reference,
        moved: &MovedLines,
    ) {
        let line = (reference.address.wrapping_add(offset) & ADDRESS_MASK) >> LINE_SHIFT;
        if !self.users.has(line) && moved.get(line).is_some() {
            self.users.add(line);
            if self.users.len() > MAX_LINES {
                self.forget(MAX_LINES / 2, moved);
            }
        }
        self.users.note_use(user, offset, reference);
        if self.users.users() > MAX_USERS {
            self.forget(self.users.len() / 2, moved);
        }
    }

    /// Forgets the users of all lines except the `most` lines that moved most often.
    #[cold]
    fn forget(&mut self, most: usize, moved: &MovedLines) {
        let lines = self.users.lines();
        let lines = lines.filter_map(|line| Some((line, moved.get(line)?)));
        let kept = hottest(lines.collect(), most);
        let kept: HashSet<u64> = kept.into_iter().map(|(line, _)| line).collect();
        self.users.retain(|line| kept.contains(&line));
    }

    /// Returns the lines that moved. `all` has the moves of individual lines, in any order. `others` has the total moves of all other
    /// lines. `home` returns a line's home node.
    pub(super) fn lines(
        &self,
        all: Vec<(u64, Moves)>,
        others: OtherMoves,
        home: impl Fn(u64) -> Node,
    ) -> Lines {
        let line = |(line, moves)| {
            let (address, mut users) = self.users.users_of(line);
            if self.dealt {
                users.iter_mut().for_each(|user| user.thread = 0);
            }
            SharedLine::new(address, home(line), moves, users)
        };
        let sum = |others: u64, part: fn(&Moves) -> u64| {
            others + all.iter().map(|(_, moves)| part(moves)).sum::<u64>()
        };
        Lines {
            moved: others.lines + all.len(),
            transfers: sum(others.moves.transfers, |moves| moves.transfers),
            invalidations: sum(others.moves.invalidations, |moves| moves.invalidations),
            hottest: hottest(all, SHOWN).into_iter().map(line).collect(),
        }
    }
}
