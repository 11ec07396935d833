//! Events that have happened and are not in PIC yet.

use guest_abi::sampling::CounterSet;

/// The clock, of every eight, in which PIC is brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase(u8);

impl Phase {
    /// The clocks from one update of PIC to the next.
    pub const CLOCKS: u8 = 8;

    /// Returns the phase in which the first update is this number of clocks ahead; `None` unless it is 1 to 8.
    pub const fn new(clocks: u8) -> Option<Self> {
        if clocks >= 1 && clocks <= Self::CLOCKS {
            Some(Self(clocks))
        } else {
            None
        }
    }
}

/// The accumulators of both counters, and when they are emptied into PIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    /// The clocks to the next update, 1 to 8.
    ahead: u8,
    waiting: [u32; 2],
}

impl Behind {
    pub(super) const fn new(Phase(ahead): Phase) -> Self {
        Self {
            ahead,
            waiting: [0; 2],
        }
    }

    /// Takes an event in the present clock.
    pub(super) fn wait(&mut self, counters: CounterSet) {
        for counter in counters.iter() {
            let waiting = &mut self.waiting[counter.index()];
            *waiting = waiting.saturating_add(1);
        }
    }

    /// Lets clocks pass. Returns the events that go to PIC meanwhile.
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

    /// PIC is written at the end of the present clock. An update that is due in the next one would be overwritten.
    pub(super) fn written(&mut self) {
        if self.ahead == 1 {
            self.lose(CounterSet::BOTH);
        }
    }

    /// Drops the events of these counters that wait.
    pub(super) fn lose(&mut self, counters: CounterSet) {
        for counter in counters.iter() {
            self.waiting[counter.index()] = 0;
        }
    }
}
