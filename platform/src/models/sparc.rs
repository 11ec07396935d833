//! A strand's counters as a [`CounterUnit`].

use core::ops::DerefMut;

use guest_abi::Counter;
use guest_abi::event::SparcEvent;
use guest_abi::layout::{SparcPcr, SparcPic, SparcSelect};
use guest_abi::sampling::{CounterSet, CounterUnit, Program, SparcMode};

use super::StrandUnit;

/// The error of a guest that tries to count hyperprivileged events without the right to set HT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoHtRight;

impl core::fmt::Display for NoHtRight {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no right to count hyperprivileged events (HT of the PCR)")
    }
}

impl core::error::Error for NoHtRight {}

/// %pcr and %pic as a guest uses them. The guest writes them directly, except HT: the hypervisor sets HT only for a guest that has the
/// right to set HT. `S` is a reference to the [`StrandUnit`], or the guard of a lock that holds it.
#[derive(Clone, Debug)]
pub struct SparcUnit<S> {
    strand: S,
    ht: bool,
}

impl<S: DerefMut<Target = StrandUnit>> SparcUnit<S> {
    /// Returns a unit for a guest without the right to set HT.
    pub const fn new(strand: S) -> Self {
        Self { strand, ht: false }
    }

    /// Grants the right to set HT, or revokes it and clears HT.
    pub fn grant_ht(&mut self, granted: bool) {
        self.ht = granted;
        if !granted {
            let pcr = self.pcr().acknowledging(CounterSet::NONE);
            self.strand.set_pcr(pcr.with_hypervisor(false).into_bits());
        }
    }

    /// Returns the model of the strand's counters, so that the caller can read its state.
    pub fn strand(&self) -> &StrandUnit {
        &self.strand
    }

    /// Returns the model of the counters, so that the caller can report events.
    pub fn strand_mut(&mut self) -> &mut StrandUnit {
        &mut self.strand
    }

    /// Switches to `mode`. For each pair, counts the event in the given number of clocks. Then lets one clock pass.
    pub fn step(&mut self, mode: SparcMode, events: &[(SparcSelect, u32)]) {
        self.strand.set_mode(mode);
        for (event, n) in events {
            self.strand.count(*event, *n);
        }
        self.strand.pass(1);
    }

    fn pcr(&self) -> SparcPcr {
        SparcPcr::from_bits(self.strand.pcr())
    }

    /// Writes %pcr as a guest does: directly, or through the hypervisor if HT changes. Every guest may clear HT.
    fn set_pcr(&mut self, pcr: SparcPcr) -> Result<(), NoHtRight> {
        if pcr.hypervisor() && !self.ht {
            return Err(NoHtRight);
        }
        if pcr.hypervisor() == self.pcr().hypervisor() {
            self.strand.set_pcr_privileged(pcr.into_bits());
        } else {
            self.strand.set_pcr(pcr.into_bits());
        }
        Ok(())
    }
}

impl<S: DerefMut<Target = StrandUnit>> CounterUnit for SparcUnit<S> {
    type Event = SparcSelect;
    type Mode = SparcMode;
    type Refusal = NoHtRight;

    const OVERFLOWS_AT: u32 = 0;
    const MAX_EARLY: u32 = 15;

    fn events() -> impl Iterator<Item = SparcSelect> {
        SparcEvent::ALL.iter().copied().map(SparcSelect::from)
    }

    fn start(&mut self, program: &Program<SparcSelect, SparcMode>) -> Result<(), NoHtRight> {
        let pcr = program.applied_to(self.pcr());
        self.set_pcr(pcr).inspect_err(|_| self.stop())
    }

    fn stop(&mut self) {
        let pcr = self.pcr().stopped();
        self.strand.set_pcr(pcr.into_bits());
    }

    fn read(&self, counter: Counter) -> u32 {
        SparcPic::from_bits(self.strand.pic()).counter(counter)
    }

    fn write(&mut self, counter: Counter, value: u32) {
        let pic = SparcPic::from_bits(self.strand.pic()).with_counter(counter, value);
        self.strand.set_pic(pic.into_bits());
    }

    fn overflowed(&self) -> CounterSet {
        self.pcr().trapping()
    }

    fn acknowledge(&mut self, counters: CounterSet) {
        let pcr = self.pcr().acknowledging(counters);
        self.strand.set_pcr_privileged(pcr.into_bits());
    }
}
