//! Several replays of the same recordings, each of which counts different events.

use guest_abi::Pmu;

use super::{CounterResult, Replayed};

/// The error for two passes that are not replays of the same setup: they differ in a result that does not depend on counters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("internal error: two passes of one replay have different {0}")]
#[non_exhaustive]
pub struct PassError(pub &'static str);

impl Replayed {
    /// Adds another pass's counters and notes. A unit's added counters follow this pass's counters for the same unit. Afterwards,
    /// `truth_matches` covers both passes. All other results remain those of this pass, including the hypercalls, which differ from
    /// pass to pass.
    ///
    /// # Errors
    /// The passes differ in cycles, references, threads, waits or use of units, although both replay the same recordings.
    pub fn add_pass(&mut self, pass: Self) -> Result<(), PassError> {
        let same = [
            ("cycles", self.cycles == pass.cycles),
            ("references", self.references == pass.references),
            ("threads", self.threads == pass.threads),
            ("waits", self.waits == pass.waits),
            ("use of units", self.usage == pass.usage),
        ];
        if let Some((what, _)) = same.iter().find(|(_, same)| !same) {
            return Err(PassError(what));
        }
        let mut others = pass.counters;
        let own = std::mem::take(&mut self.counters);
        for counters in own.chunk_by(|one, other| unit(one) == unit(other)) {
            self.counters.extend_from_slice(counters);
            let of_unit = others.extract_if(.., |other| unit(other) == unit(&counters[0]));
            self.counters.extend(of_unit);
        }
        self.counters.append(&mut others);
        self.truth_matches &= pass.truth_matches;
        for note in pass.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        if let (Some(details), Some(other)) = (&mut self.details, &pass.details) {
            details.series.add_counters(&other.series);
        }
        Ok(())
    }
}

/// Returns what identifies a counter's unit: the PMU, or the strand's number.
fn unit(counter: &CounterResult) -> (Option<Pmu>, Option<usize>) {
    (counter.perfreg.and_then(Pmu::from_register), counter.strand.map(|strand| strand.index()))
}
