//! Processes that start and end each other.

use std::collections::HashSet;

use refs::process_ends;

use super::signals::Signals;
use crate::recording::Recording;

/// The processes in one file.
#[derive(Default)]
pub(super) struct Family {
    /// The signals for the processes' starts and ends.
    pub(super) signals: Signals,
    /// The signals that the replayed processes send when they end.
    pub(super) ends: HashSet<u64>,
}

/// Returns the families of recordings, and the index of each recording's family.
pub(super) fn families<'a>(
    recordings: impl Iterator<Item = &'a Recording>,
) -> (Vec<Family>, Vec<usize>) {
    let mut known: Vec<u64> = Vec::new();
    let mut families: Vec<Family> = Vec::new();
    let family = recordings.map(|recording| {
        let found = known.iter().position(|family| *family == recording.family());
        let index = found.filter(|_| recording.family() != 0).unwrap_or(families.len());
        if index == families.len() {
            known.push(recording.family());
            families.push(Family::default());
        }
        families[index].ends.extend(recording.process().ends.map(process_ends));
        index
    });
    let family = family.collect();
    (families, family)
}
