//! The counters of a strand as a unit that can sample.

use core::ops::DerefMut;

use guest_abi::Counter;
use guest_abi::event::SparcEvent;
use guest_abi::layout::{SparcPcr, SparcPic, SparcSelect};
use guest_abi::sampling::{CounterSet, CounterUnit, Program, SparcMode};

use super::StrandUnit;

/// Hyperprivileged events may not be counted: the guest has no right to HT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoHtRight;

impl core::fmt::Display for NoHtRight {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no right to count hyperprivileged events (HT of the PCR)")
    }
}

impl core::error::Error for NoHtRight {}

/// %pcr and %pic as a guest uses them: by writes of its own, and for HT through a hypervisor that grants it, or not.
///
/// It holds its [`StrandUnit`] however it likes: by reference, or locked.
#[derive(Clone, Debug)]
pub struct SparcUnit<S> {
    strand: S,
    ht: bool,
}

impl<S: DerefMut<Target = StrandUnit>> SparcUnit<S> {
    /// A guest without the right to HT.
    pub const fn new(strand: S) -> Self {
        Self { strand, ht: false }
    }

    /// The hypervisor gives the right to HT, or takes it away: HT is clear then.
    pub fn grant_ht(&mut self, granted: bool) {
        self.ht = granted;
        if !granted {
            let pcr = self.pcr().acknowledging(CounterSet::NONE);
            self.strand.set_pcr(pcr.with_hypervisor(false).into_bits());
        }
    }

    /// What counts.
    pub fn strand(&self) -> &StrandUnit {
        &self.strand
    }

    /// What counts, to be told what happens.
    pub fn strand_mut(&mut self) -> &mut StrandUnit {
        &mut self.strand
    }

    /// An instruction that runs with this privilege does all this. Its trap is pending afterwards, if any.
    pub fn step(&mut self, mode: SparcMode, events: &[(SparcEvent, u32)]) {
        self.strand.set_mode(mode);
        for (event, n) in events {
            self.strand.count(*event, *n);
        }
    }

    fn pcr(&self) -> SparcPcr {
        SparcPcr::from_bits(self.strand.pcr())
    }

    /// Writes %pcr as a guest does: HT takes the hypervisor, which always lets it be cleared.
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
    const EARLY: u32 = 16;

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
