//! What the nodes take from each other, line by line.

use std::collections::HashMap;

use serde::Serialize;

use super::geometry::Line;
use super::traffic::{Answer, Request, Source};

/// What happened to a line between the L2 caches of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moves {
    /// How often the cache of one node served the miss of another.
    pub transfers: u64,
    /// How often a node lost the line because another wrote to it.
    pub invalidations: u64,
}

impl Moves {
    /// Returns both together: by this, lines are compared.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.transfers + self.invalidations
    }
}

/// The lines that moved, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct MovedLines(pub(super) HashMap<u64, Moves>);

impl MovedLines {
    /// A request to the other nodes is complete.
    pub(super) fn note(&mut self, line: Line, request: &Request) {
        let lost = |answers: &[Option<Answer>]| {
            let answers = answers.iter().flatten();
            answers.filter(|answer| answer.has()).count() as u64
        };
        let (transfers, invalidations) = match request {
            Request::Read {
                to_own,
                source,
                answers,
            } => (
                u64::from(matches!(source, Source::Cache(_))),
                if *to_own { lost(answers) } else { 0 },
            ),
            Request::Invalidate { answers } => (0, lost(answers)),
            Request::WriteBack { .. } => (0, 0),
        };
        if transfers + invalidations > 0 {
            let moves = self.0.entry(line.0).or_default();
            moves.transfers += transfers;
            moves.invalidations += invalidations;
        }
    }
}
