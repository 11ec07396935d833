//! The calling strand's own counters, as a [`CounterUnit`].

use core::convert::Infallible;

use super::program::Program;
use super::sparc::SparcMode;
use super::unit::CounterUnit;
use crate::counter::{Counter, CounterSet};
use crate::event::SparcEvent;
use crate::guest::{Hypercall, PerfCounters, StrandCounters, StrandDriver};
use crate::layout::SparcSelect;
use crate::status::HvError;

/// The calling strand's %pcr and %pic. Only writes that change HT need the service.
#[derive(Debug)]
#[must_use]
pub struct OwnCounters<S, H = Infallible>(StrandDriver<S, H>);

impl<S: StrandCounters> OwnCounters<S> {
    /// Returns a unit that counts no hyperprivileged events. Call the unit's methods only on the strand to which `counters` belong.
    pub const fn new(counters: S) -> Self {
        Self(StrandDriver::new(counters))
    }
}

impl<S: StrandCounters, H: Hypercall> OwnCounters<S, H> {
    /// Like [`new`](OwnCounters::new), but also counts hyperprivileged events, if there is a service.
    pub fn with_service(counters: S, service: impl Into<Option<PerfCounters<H>>>) -> Self {
        Self(StrandDriver::with_service(counters, service))
    }
}

impl<S: StrandCounters, H: Hypercall> CounterUnit for OwnCounters<S, H> {
    type Event = SparcSelect;
    type Mode = SparcMode;
    /// The service's status if it refuses to set HT in register 0: ENOACCESS while the guest has no right to HT.
    type Refusal = HvError;

    const OVERFLOWS_AT: u32 = 0;
    const MAX_EARLY: u32 = 15;

    fn events() -> impl Iterator<Item = SparcSelect> {
        SparcEvent::ALL.iter().copied().map(SparcSelect::from)
    }

    fn start(&mut self, program: &Program<SparcSelect, SparcMode>) -> Result<(), HvError> {
        let before = self.0.counters().pcr();
        let started = self.0.change(before.hypervisor(), program.applied_to(before));
        started.inspect_err(|_| self.stop())
    }

    /// Stops counting. If HT is set and no service clears it, the counters still count hyperprivileged events.
    fn stop(&mut self) {
        let _ = self.0.stop();
    }

    fn read(&self, counter: Counter) -> u32 {
        self.0.counters().pic().counter(counter)
    }

    fn write(&mut self, counter: Counter, value: u32) {
        let pic = self.0.counters().pic().with_counter(counter, value);
        self.0.counters().set_pic(pic);
    }

    fn overflowed(&self) -> CounterSet {
        self.0.counters().pcr().trapping()
    }

    fn acknowledge(&mut self, counters: CounterSet) {
        let pcr = self.0.counters().pcr().acknowledging(counters);
        self.0.counters().set_pcr(pcr);
    }
}
