//! The strand's own counters, %pcr and %pic. A guest needs a hypercall only to change HT (FWARC/2007/529 section 2.1).

use super::{Hypercall, PerfCounters};
use crate::error::error_text;
use crate::layout::{SparcPcr, SparcPic};
use crate::status::HvError;

/// %pcr and %pic of the strand that executes the call. Only privileged code can use them.
///
/// # When events reach %pic
/// Hardware updates %pic every 8 clocks (a fact of the UltraSPARC T2). Each counter counts at most one event per clock. Therefore:
/// - A read of %pic lacks up to 8 events of each counter: the last events before the read.
/// - After a write of %pic, hardware still adds up to 7 events of each counter from before the write.
/// - A write of %pcr that clears UT, ST or HT loses up to 8 events of each counter: the last events before the write.
/// - A write of %pcr that changes the SL of a counter loses up to 8 events of that counter.
///
/// No event is late or lost if no counted event happens in the 8 clocks before the access. In a handler whose own mode is not
/// counted, these 8 clocks pass between the trap and the handler's first access.
pub trait StrandCounters {
    /// Reads %pcr (ASR 16).
    fn pcr(&self) -> SparcPcr;

    /// Writes %pcr, except HT, which only the hypervisor can write.
    fn set_pcr(&self, pcr: SparcPcr);

    /// Reads %pic (ASR 17).
    fn pic(&self) -> SparcPic;

    /// Writes %pic.
    fn set_pic(&self, pic: SparcPic);
}

impl<S: StrandCounters + ?Sized> StrandCounters for &S {
    fn pcr(&self) -> SparcPcr {
        (**self).pcr()
    }

    fn set_pcr(&self, pcr: SparcPcr) {
        (**self).set_pcr(pcr);
    }

    fn pic(&self) -> SparcPic {
        (**self).pic()
    }

    fn set_pic(&self, pic: SparcPic) {
        (**self).set_pic(pic);
    }
}

/// The error if HT is set or requested: only the hypervisor can change HT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HtSet;

error_text!(HtSet, |_| "HT of the PCR can only be changed by the hypervisor");

/// Starts and stops a strand's counters. Writes %pcr directly if HT does not change, and calls the service if HT changes.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct StrandDriver<S> {
    counters: S,
}

impl<S: StrandCounters> StrandDriver<S> {
    /// Returns a driver of `counters`. Call its methods only on the strand of the counters.
    pub const fn new(counters: S) -> Self {
        Self { counters }
    }

    /// Reads both counters at the same moment. If they are counting, each value lacks up to 8 events: see [`StrandCounters`].
    pub fn read(&self) -> SparcPic {
        self.counters.pic()
    }

    /// Sets both counters to 0. If they are counting, hardware then still adds up to 7 earlier events to each.
    pub fn clear(&self) {
        self.counters.set_pic(SparcPic::new());
    }

    /// Stops counting: clears UT and ST, and keeps the other bits of the PCR. Each counter loses up to 8 events: see [`StrandCounters`].
    ///
    /// # Errors
    /// If HT is set. Hyperprivileged events still count then.
    pub fn stop(&self) -> Result<(), HtSet> {
        let pcr = self.counters.pcr();
        // A direct write does not change HT.
        self.counters.set_pcr(pcr.stopped());
        if pcr.hypervisor() { Err(HtSet) } else { Ok(()) }
    }

    /// Stops counting, sets the counters to `from`, and starts to count as `pcr` says. Earlier events are not counted. To count
    /// only one event, build `pcr` from [`SparcPcr::OFF`].
    ///
    /// # Errors
    /// If HT is set in `pcr` (nothing then changes) or in %pcr (UT and ST are then cleared, and counting does not start).
    pub fn start(&self, pcr: SparcPcr, from: SparcPic) -> Result<(), HtSet> {
        if pcr.hypervisor() {
            return Err(HtSet);
        }
        self.stop()?;
        self.counters.set_pic(from);
        self.counters.set_pcr(pcr);
        Ok(())
    }

    /// Stops counting, hyperprivileged events included. Makes no hypercall if HT is clear.
    ///
    /// # Errors
    /// The status of the call that clears HT. UT and ST are cleared in any case.
    pub fn stop_by<H: Hypercall>(&self, service: &PerfCounters<H>) -> Result<(), HvError> {
        let by_service = |HtSet| service.set_strand_pcr(self.counters.pcr().stopped());
        self.stop().or_else(by_service)
    }

    /// Stops counting, sets the counters to `from`, and starts to count as `pcr` says. Makes no hypercall if HT is clear and stays clear.
    ///
    /// # Errors
    /// The service's status: ENOACCESS if the guest has no right to HT. The counters then stay stopped.
    pub fn start_by<H: Hypercall>(
        &self,
        service: &PerfCounters<H>,
        pcr: SparcPcr,
        from: SparcPic,
    ) -> Result<(), HvError> {
        self.stop_by(service)?;
        self.counters.set_pic(from);
        if pcr.hypervisor() {
            service.set_strand_pcr(pcr)
        } else {
            self.counters.set_pcr(pcr);
            Ok(())
        }
    }

    /// Returns `true` if the hypervisor has cleared HT since the driver started with
    /// `started_with`. The counts then lack hyperprivileged events.
    pub fn revoked(&self, started_with: SparcPcr) -> bool {
        started_with.hypervisor() && !self.counters.pcr().hypervisor()
    }
}
