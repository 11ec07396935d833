//! A replay's progress.

use crate::recording::{BytesRead, Recording};

/// How far a replay of recordings has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of references that have been replayed.
    pub references: u64,
    /// The number of references in all recordings; `None` if it is [unknown](Recording::expected) for any of them.
    pub total: Option<u64>,
    /// How much of all recordings together has been read, in bytes. Reading is ahead of the replay.
    pub bytes: BytesRead,
}

impl Progress {
    /// Returns the progress of a replay that has replayed `references` of these recordings' references.
    #[must_use]
    pub fn new<'a>(
        references: u64,
        recordings: impl Iterator<Item = &'a Recording> + Clone,
    ) -> Self {
        let read = recordings.clone().map(Recording::progress);
        let bytes = BytesRead {
            read: read.clone().map(|one| one.read).sum(),
            total: read.map(|one| one.total).sum(),
        };
        Self { references, total: recordings.map(Recording::expected).sum(), bytes }
    }

    /// Returns the number of replayed references, and the total number of references; `None` while the total is unknown.
    #[must_use]
    pub fn done_of_all(&self) -> Option<(u64, u64)> {
        // The total can be an estimate that is too low.
        self.total.map(|total| (self.references, total.max(self.references)))
    }

    /// Returns the fraction of [all references](Self::done_of_all) that has been replayed, from 0 to 1; `None` while their number
    /// is unknown.
    #[must_use]
    pub fn fraction(&self) -> Option<f64> {
        let (done, all) = self.done_of_all()?;
        Some(if all == 0 { 1.0 } else { done as f64 / all as f64 })
    }
}
