//! The strand's own counters, %pcr and %pic. A guest reaches them without a hypercall, except for HT
//! (FWARC/2007/529 section 2.1).

use core::fmt;

use super::{Hypercall, PerfCounters};
use crate::layout::{SparcPcr, SparcPic};
use crate::status::HvError;

/// %pcr and %pic of the strand that executes the call, as privileged code reaches them.
///
/// # When events reach %pic
/// Hardware brings %pic up to date every 8 clocks (so it is in the UltraSPARC T2). Each counter counts at most one event a
/// clock. Therefore:
/// - A read of %pic lacks up to 8 events of each counter, which happened just before it.
/// - A write of %pic is followed by up to 7 events of each counter that happened before it.
/// - A write of %pcr that clears UT, ST or HT loses up to 8 events of each counter, which happened just before it. One that
///   changes the SL of a counter loses up to 8 events of that counter.
///
/// Nothing lags and nothing is lost if 8 clocks without an event that is counted come first: in a handler whose own mode is not
/// counted, those pass between the trap and the handler's first access.
pub trait StrandCounters {
    /// Reads %pcr (ASR 16).
    fn pcr(&self) -> SparcPcr;

    /// Writes %pcr. HT stays as it was: only the hypervisor writes it.
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

/// HT is set, or is to be set, which only the service can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtSet;

impl fmt::Display for HtSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HT of the PCR can only be changed by the hypervisor")
    }
}

impl core::error::Error for HtSet {}

/// Starts and stops a strand's counters: by direct writes where these suffice, by the service where HT changes.
#[derive(Clone, Copy, Debug)]
pub struct StrandDriver<S> {
    counters: S,
}

impl<S: StrandCounters> StrandDriver<S> {
    /// Returns a driver of these counters. Its methods have to run on their strand.
    pub const fn new(counters: S) -> Self {
        Self { counters }
    }

    /// Reads both counters at the same moment. While they count, they lack up to 8 events each: see [`StrandCounters`].
    pub fn read(&self) -> SparcPic {
        self.counters.pic()
    }

    /// Sets both counters to 0. While they count, up to 7 events each that happened before are counted after it.
    pub fn clear(&self) {
        self.counters.set_pic(SparcPic::new());
    }

    /// Stops counting: clears UT and ST, and leaves the rest of the PCR as it is, even an OV bit that is set meanwhile. Up to 8
    /// events of each counter just before it are lost: see [`StrandCounters`].
    ///
    /// # Errors
    /// If HT is set. Hyperprivileged events are then still counted.
    pub fn stop(&self) -> Result<(), HtSet> {
        let pcr = self.counters.pcr();
        // HT stays as it is: a direct write does not change it.
        self.counters.set_pcr(pcr.stopped());
        if pcr.hypervisor() { Err(HtSet) } else { Ok(()) }
    }

    /// Stops counting, sets the counters to `from`, and starts to count as `pcr` says. What happened before is not counted. For a
    /// `pcr` of one event, begin with [`SparcPcr::OFF`].
    ///
    /// # Errors
    /// If `pcr` has HT, in which case nothing is done; or if HT is set, in which case UT and ST are cleared.
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
        match self.stop() {
            Ok(()) => Ok(()),
            Err(HtSet) => service.set_strand_pcr(self.counters.pcr().stopped()),
        }
    }

    /// Stops counting, sets the counters to `from`, and starts to count as `pcr` says. Makes no hypercall if HT neither is
    /// set nor is to be set.
    ///
    /// # Errors
    /// The service's status: ENOACCESS without the right to HT. The counters are then stopped.
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

    /// Returns `true` if the hypervisor has cleared HT since the counters were started with this PCR. What they hold is then
    /// not what `started_with` asked for.
    pub fn revoked(&self, started_with: SparcPcr) -> bool {
        started_with.hypervisor() && !self.counters.pcr().hypervisor()
    }
}
