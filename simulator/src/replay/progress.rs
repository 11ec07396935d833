//! How far a replay has come.

use crate::recording::{BytesRead, Recording};

/// How far a replay of recordings has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of references that have been replayed.
    pub references: u64,
    /// The number of references of all recordings; `None` if the number is [unknown](Recording::expected) for a recording.
    pub total: Option<u64>,
    /// How far all recordings together have been read, in bytes. Reading is ahead of the replay.
    pub bytes: BytesRead,
}

impl Progress {
    /// Returns the progress of a replay that has replayed `references` of these recordings.
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

    /// Returns the number of replayed references, and the number of all references. Returns `None` while the number of all references is
    /// unknown.
    #[must_use]
    pub fn done_of_all(&self) -> Option<(u64, u64)> {
        // An estimate can be too low.
        self.total.map(|total| (self.references, total.max(self.references)))
    }

    /// Returns the part of [all references](Self::done_of_all) that is done, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> Option<f64> {
        let (done, all) = self.done_of_all()?;
        Some(if all == 0 { 1.0 } else { done as f64 / all as f64 })
    }
}
