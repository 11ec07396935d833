//! Events that the hardware has counted but PIC does not show yet.

use guest_abi::sampling::CounterSet;

/// Which of every eight clocks updates PIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase(u8);

impl Phase {
    const CLOCKS: u8 = 8;

    /// Returns the phase whose first update is `clocks` clocks ahead; `None` unless `clocks` is 1 to 8.
    pub const fn new(clocks: u8) -> Option<Self> {
        match clocks {
            1..=Self::CLOCKS => Some(Self(clocks)),
            _ => None,
        }
    }
}

/// The accumulators of both counters, and the time to the next update. An update adds the accumulators to PIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayedUpdates {
    /// The number of clocks to the next update, 1 to 8.
    ahead: u8,
    waiting: [u32; 2],
}

impl DelayedUpdates {
    pub(super) const fn new(Phase(ahead): Phase) -> Self {
        Self { ahead, waiting: [0; 2] }
    }

    /// Adds an event of the current clock to the accumulators of these counters.
    pub(super) fn wait(&mut self, counters: CounterSet) {
        for counter in counters.iter() {
            let waiting = &mut self.waiting[counter.index()];
            *waiting = waiting.saturating_add(1);
        }
    }

    /// Lets clocks pass. Returns, for each counter, the number of events that reach PIC in these clocks.
    pub(super) fn pass(&mut self, clocks: u64) -> [u32; 2] {
        let ahead = u64::from(self.ahead);
        if clocks < ahead {
            self.ahead -= clocks as u8;
            return [0; 2];
        }
        let since = (clocks - ahead) % u64::from(Phase::CLOCKS);
        self.ahead = Phase::CLOCKS - since as u8;
        core::mem::take(&mut self.waiting)
    }

    /// Cancels an update that is due in the next clock, because a write of PIC at the end of the current clock replaces the update.
    pub(super) fn cancel_due(&mut self) {
        if self.ahead == 1 {
            self.discard(CounterSet::BOTH);
        }
    }

    pub(super) fn discard(&mut self, counters: CounterSet) {
        for counter in counters.iter() {
            self.waiting[counter.index()] = 0;
        }
    }
}
