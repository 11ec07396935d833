//! Counts how often lines move between nodes.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::geometry::L2Line;
use super::traffic::{NodeRequest, SnoopAnswer, Supplier};

/// How often a line moved between the L2 caches of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moves {
    /// How often a node missed the line and received it from another node's cache.
    pub transfers: u64,
    /// How often a node lost its copy of the line because another node wrote to the line.
    pub invalidations: u64,
}

impl Moves {
    /// Returns the sum of transfers and invalidations. Reports sort lines by this sum.
    pub const fn all(self) -> u64 {
        self.transfers + self.invalidations
    }
}

/// The lines that moved between nodes. The key is the number of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct MovedLines(pub(super) HashMap<u64, Moves>);

impl MovedLines {
    /// Adds the transfers and invalidations of a completed request for the line.
    pub(super) fn note(&mut self, line: L2Line, request: &NodeRequest) {
        let lost = |answers: &[Option<SnoopAnswer>]| {
            let answers = answers.iter().flatten();
            answers.filter(|answer| answer.has()).count() as u64
        };
        let (transfers, invalidations) = match request {
            NodeRequest::Read { to_own, source, answers } => (
                u64::from(matches!(source, Supplier::Cache(_))),
                if *to_own { lost(answers) } else { 0 },
            ),
            NodeRequest::Invalidate { answers } => (0, lost(answers)),
            NodeRequest::WriteBack { .. } => (0, 0),
        };
        if transfers + invalidations > 0 {
            let moves = self.0.entry(line.0).or_default();
            moves.transfers += transfers;
            moves.invalidations += invalidations;
        }
    }
}
