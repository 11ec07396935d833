//! 64-bit counts from PMU snapshots.

use super::Snapshot;
use super::widen::{DramCount, HubCount, Reading};
use crate::counter::Counter;
use crate::error::error_text;
use crate::register::Pmu;

/// A 64-bit count of one PMU counter's events, however wide the counter is. See [`Snapshot::count`].
///
/// If the guest selects another event between two snapshots, the count includes both events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct PmuCount {
    pmu: Pmu,
    counter: Counter,
    count: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Count {
    Dram(DramCount),
    Hub(HubCount),
}

impl Snapshot {
    /// Returns a count of this counter's events since this snapshot. To update the count, pass later snapshots to [`PmuCount::update`].
    pub fn count(&self, counter: Counter) -> PmuCount {
        PmuCount::new(self.pmu, counter, self.raw(counter))
    }
}

impl PmuCount {
    /// Returns a count of 0 for a counter that the guest has just set to 0. If the counter belongs to a DRAM channel, the guest must also
    /// have cleared the counter's wrap flag.
    pub fn cleared(pmu: impl Into<Pmu>, counter: Counter) -> Self {
        Self::new(pmu.into(), counter, 0)
    }

    pub(super) fn new(pmu: Pmu, counter: Counter, raw: u64) -> Self {
        let count = match pmu {
            Pmu::Dram(_) => Count::Dram(DramCount::new(Reading::new(raw))),
            Pmu::Lpu(_) | Pmu::Gpd(_) | Pmu::Asu(_) => Count::Hub(HubCount::new(raw)),
        };
        Self { pmu, counter, count }
    }

    /// Returns the PMU whose events are counted.
    pub const fn pmu(&self) -> Pmu {
        self.pmu
    }

    /// Adds the events up to `snapshot`, and returns the count. The count is right if at most [`valid_up_to`](Self::valid_up_to)
    /// events happened since the last call.
    ///
    /// # Errors
    /// Fails if the snapshot is of another PMU. The count then does not change.
    pub fn update(&mut self, snapshot: &Snapshot) -> Result<u64, PmuMismatch> {
        if snapshot.pmu != self.pmu {
            return Err(PmuMismatch { counted: self.pmu, found: snapshot.pmu });
        }
        let raw = snapshot.raw(self.counter);
        Ok(match &mut self.count {
            Count::Dram(count) => count.update(Reading::new(raw)),
            Count::Hub(count) => count.update(raw),
        })
    }

    /// Returns the count at the last [`update`](Self::update).
    pub const fn events(&self) -> u64 {
        match &self.count {
            Count::Dram(count) => count.events(),
            Count::Hub(count) => count.events(),
        }
    }

    /// Returns a limit: the count is right if at most this number of events happened between the last two snapshots. See
    /// [`Widened::valid_up_to`](super::Widened::valid_up_to).
    pub const fn valid_up_to(&self) -> u64 {
        match &self.count {
            Count::Dram(count) => count.valid_up_to(),
            Count::Hub(count) => count.valid_up_to(),
        }
    }
}

/// The error when a count is updated with a snapshot of another PMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PmuMismatch {
    /// The PMU whose events are counted.
    pub counted: Pmu,
    /// The PMU of the snapshot.
    pub found: Pmu,
}

error_text!(PmuMismatch, |error| "a snapshot of {} is not one of {}", error.found, error.counted);
