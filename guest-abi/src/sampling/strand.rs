//! The calling strand's own counters, as a [`CounterUnit`].

use super::program::Program;
use super::sparc::SparcMode;
use super::unit::CounterUnit;
use crate::counter::{Counter, CounterSet};
use crate::event::SparcEvent;
use crate::guest::{Hypercall, PerfCounters, StrandCounters};
use crate::layout::{SparcPcr, SparcSelect};
use crate::status::HvError;

/// %pcr and %pic of the strand that executes the code. Only writes that change HT need the service.
#[derive(Debug)]
#[must_use]
pub struct OwnCounters<S, H> {
    counters: S,
    service: Option<PerfCounters<H>>,
}

impl<S: StrandCounters, H: Hypercall> OwnCounters<S, H> {
    /// Returns the counters as a unit. Call its methods only on the strand of the counters. Only
    /// hyperprivileged events need `service`.
    pub const fn new(counters: S, service: Option<PerfCounters<H>>) -> Self {
        Self { counters, service }
    }

    fn set_pcr(&self, pcr: SparcPcr) -> Result<(), HvError> {
        if pcr.hypervisor() == self.counters.pcr().hypervisor() {
            self.counters.set_pcr(pcr);
            return Ok(());
        }
        match &self.service {
            Some(service) => service.set_strand_pcr(pcr),
            None => Err(HvError::NoAccess),
        }
    }
}

impl<S: StrandCounters, H: Hypercall> CounterUnit for OwnCounters<S, H> {
    type Event = SparcSelect;
    type Mode = SparcMode;
    /// The status with which the service refuses HT in register 0: ENOACCESS while the guest has no right to HT.
    type Refusal = HvError;

    const OVERFLOWS_AT: u32 = 0;
    const EARLY: u32 = 15;

    fn events() -> impl Iterator<Item = SparcSelect> {
        SparcEvent::ALL.iter().copied().map(SparcSelect::from)
    }

    fn start(&mut self, program: &Program<SparcSelect, SparcMode>) -> Result<(), HvError> {
        let pcr = program.applied_to(self.counters.pcr());
        self.set_pcr(pcr).inspect_err(|_| self.stop())
    }

    /// If HT is set and the service does not clear it, hyperprivileged events still count.
    fn stop(&mut self) {
        let pcr = self.counters.pcr().stopped();
        self.counters.set_pcr(pcr);
        if self.counters.pcr().hypervisor() {
            let _ = self.set_pcr(pcr);
        }
    }

    fn read(&self, counter: Counter) -> u32 {
        self.counters.pic().counter(counter)
    }

    fn write(&mut self, counter: Counter, value: u32) {
        let pic = self.counters.pic().with_counter(counter, value);
        self.counters.set_pic(pic);
    }

    fn overflowed(&self) -> CounterSet {
        self.counters.pcr().trapping()
    }

    fn acknowledge(&mut self, counters: CounterSet) {
        let pcr = self.counters.pcr().acknowledging(counters);
        self.counters.set_pcr(pcr);
    }
}
