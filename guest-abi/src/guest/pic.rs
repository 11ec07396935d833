//! The strand's own counters, %pcr and %pic. A guest needs a hypercall only to change HT (FWARC/2007/529 section 2.1).

use core::convert::Infallible;

use super::{Hypercall, PerfCounters};
use crate::layout::{SparcPcr, SparcPic};
use crate::status::HvError;

/// The calling strand's %pcr and %pic. Only privileged code can use them.
///
/// # When events reach %pic
/// Hardware updates %pic every 8 clocks (on the UltraSPARC T2). Each counter counts at most one event per clock. Therefore:
/// - A read of %pic misses up to 8 events of each counter: the last events before the read.
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

    /// Writes %pic, which holds the values of both counters.
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

/// Starts and stops a strand's counters. Writes %pcr directly if HT does not change; only the service can change HT.
#[derive(Debug)]
#[must_use]
pub struct StrandDriver<S, H = Infallible> {
    counters: S,
    service: Option<PerfCounters<H>>,
}

impl<S: StrandCounters> StrandDriver<S> {
    /// Returns a driver that cannot change HT. Call the driver's methods only on the strand to which `counters` belong.
    pub const fn new(counters: S) -> Self {
        Self { counters, service: None }
    }
}

impl<S: StrandCounters, H: Hypercall> StrandDriver<S, H> {
    /// Like [`new`](StrandDriver::new), but changes HT through `service`, if there is one.
    pub fn with_service(counters: S, service: impl Into<Option<PerfCounters<H>>>) -> Self {
        Self { counters, service: service.into() }
    }

    /// Returns the registers that the driver reads and writes.
    pub const fn counters(&self) -> &S {
        &self.counters
    }

    /// Reads both counters at the same moment. If they are counting, each value misses up to 8 events: see [`StrandCounters`].
    pub fn read(&self) -> SparcPic {
        self.counters.pic()
    }

    /// Sets both counters to 0. If the counters are running, hardware still adds up to 7 earlier events to each of them afterwards.
    pub fn clear(&self) {
        self.counters.set_pic(SparcPic::new());
    }

    /// Stops counting: clears UT, ST and HT, and keeps the other bits of the PCR. Makes no hypercall if HT is clear. Each counter
    /// loses up to 8 events: see [`StrandCounters`].
    ///
    /// # Errors
    /// Fails with the status of the call that clears HT, or with ENOACCESS without a service. After an error, hyperprivileged events are
    /// still counted.
    pub fn stop(&self) -> Result<(), HvError> {
        let pcr = self.counters.pcr();
        // A direct write does not change HT.
        self.counters.set_pcr(pcr.stopped());
        if pcr.hypervisor() { self.set_by_service(pcr.stopped()) } else { Ok(()) }
    }

    /// Stops counting, sets the counters to `from`, and starts counting as `pcr` says. Earlier events are not counted. Makes no hypercall
    /// if HT is clear and stays clear. To count only one event, build `pcr` from [`SparcPcr::OFF`].
    ///
    /// # Errors
    /// Fails with the status of the call that changes HT: ENOACCESS if the guest has no right to HT, or if there is no service. The
    /// counters then stay stopped.
    pub fn start(&self, pcr: SparcPcr, from: SparcPic) -> Result<(), HvError> {
        self.stop()?;
        self.counters.set_pic(from);
        self.change(false, pcr)
    }

    /// Writes the PCR, with a hypercall if the write changes HT. `ht` is the current value of HT in the PCR.
    pub(crate) fn change(&self, ht: bool, pcr: SparcPcr) -> Result<(), HvError> {
        if pcr.hypervisor() != ht {
            return self.set_by_service(pcr);
        }
        self.counters.set_pcr(pcr);
        Ok(())
    }

    fn set_by_service(&self, pcr: SparcPcr) -> Result<(), HvError> {
        match &self.service {
            Some(service) => service.set_strand_pcr(pcr),
            None => Err(HvError::NoAccess),
        }
    }

    /// Returns `true` if the hypervisor has cleared HT since the driver started with `started_with`.
    /// Hyperprivileged events are then missing from the counts.
    pub fn revoked(&self, started_with: SparcPcr) -> bool {
        started_with.hypervisor() && !self.counters.pcr().hypervisor()
    }
}
