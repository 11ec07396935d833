//! Negotiation of group 0x205, and its two calls (FWARC/2007/529 section 3.2).

use core::fmt;

use static_assertions::{assert_impl_all, assert_not_impl_any};

use super::transport::{get_perfreg, set_perfreg};
use super::{Core, Hypercall};
use crate::counter::Counter;
use crate::group::{ApiGroup, Version};
use crate::layout::{EventSelect, PerfConfig, SparcPcr};
use crate::register::{PerfReg, PmuKind};
use crate::status::HvError;

/// The performance counters of a guest that has negotiated group 0x205.
///
/// All strands of a guest share one negotiated version. One strand negotiates; the other strands [join](Self::join), or share a reference
/// to this value. After a [release](Self::release), all the guest's calls to the group fail with EBADTRAP.
#[derive(Debug)]
#[must_use]
pub struct PerfCounters<H> {
    hypercall: H,
    version: Version,
}

// Strands share the negotiated version, so they may share a reference. The type cannot be cloned, because a copy could be used after the
// group was released.
assert_impl_all!(PerfCounters<()>: Send, Sync);
assert_not_impl_any!(PerfCounters<()>: Clone);

impl<H: Hypercall> PerfCounters<H> {
    /// Negotiates version `wanted`. The hypervisor may grant a lower minor number: see [`version`](Self::version).
    ///
    /// # Errors
    /// Fails if the hypervisor refuses (the guest then keeps its version), or grants a higher minor number (the group is then released).
    pub fn negotiate(hypercall: H, wanted: Version) -> Result<Self, NegotiateError> {
        let version = request_version(&hypercall, wanted)?;
        Ok(Self { hypercall, version })
    }

    /// Negotiates 1.1. If 1.1 is refused, negotiates 1.0. Fails like [`negotiate`](Self::negotiate) with version 1.0.
    pub fn negotiate_best(hypercall: H) -> Result<Self, NegotiateError> {
        let version = request_version(&hypercall, Version::V1_1).or_else(|error| match error {
            NegotiateError::Refused(_) => request_version(&hypercall, Version::V1_0),
            other => Err(other),
        })?;
        Ok(Self { hypercall, version })
    }

    /// Joins the version that another strand of this guest has negotiated. Returns `None` if no strand has negotiated. Fails with EINVAL
    /// if the hypervisor does not know the group.
    pub fn join(hypercall: H) -> Result<Option<Self>, HvError> {
        let version = Core::new(&hypercall).api_get_version(ApiGroup::VFALLS)?;
        Ok((version.major != 0).then_some(Self { hypercall, version }))
    }

    /// Returns the granted version. Its minor number may be lower than requested.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Releases the group for the whole guest. The counters keep their values. Fails with the status of `api_set_version`.
    pub fn release(self) -> Result<(), HvError> {
        Core::new(&self.hypercall).api_set_version(ApiGroup::VFALLS, Version::NONE)?;
        Ok(())
    }

    /// Returns the value of a performance register.
    ///
    /// # Errors
    /// - ENOTSUPPORTED if this version or machine does not have the register.
    /// - ENOACCESS while the guest may not use the register, or while its unit is out of service.
    /// - EWOULDBLOCK if the register's hub is in use at this moment (see [`Tries::retry`](super::Tries::retry)). If the strand repeats the
    ///   call at least once every half millisecond, no other strand gets more than one access before this strand is served.
    #[doc(alias = "vfalls_get_perfreg")]
    pub fn get(&self, register: PerfReg) -> Result<u64, HvError> {
        get_perfreg(&self.hypercall, register.id())
    }

    /// Writes a register. The service ignores the bits that a guest cannot write. Fails like [`get`](Self::get), and also with ENOACCESS if
    /// the guest sets HT without the right to do so. A write that fails changes nothing.
    #[doc(alias = "vfalls_set_perfreg")]
    pub fn set(&self, register: PerfReg, value: u64) -> Result<(), HvError> {
        set_perfreg(&self.hypercall, register.id(), value)
    }

    /// Reads the PCR of the calling strand. Fails like [`get`](Self::get).
    pub fn strand_pcr(&self) -> Result<SparcPcr, HvError> {
        self.get(PerfReg::SPARC_PCR).map(SparcPcr::from)
    }

    /// Writes the PCR of the calling strand, HT included. Fails like [`set`](Self::set).
    pub fn set_strand_pcr(&self, pcr: SparcPcr) -> Result<(), HvError> {
        self.set(PerfReg::SPARC_PCR, pcr.into())
    }

    /// Reads register 1, which selects the L2 misses that are counted on the caller's node. Fails like [`get`](Self::get).
    pub fn perf_config(&self) -> Result<PerfConfig, HvError> {
        self.get(PerfReg::L2_PERF_CONFIG).map(PerfConfig::from_value)
    }

    /// Selects which L2 misses are counted by all strands on the caller's node. Fails like [`set`](Self::set).
    pub fn set_perf_config(&self, config: PerfConfig) -> Result<(), HvError> {
        self.set(PerfReg::L2_PERF_CONFIG, config.value())
    }

    /// Reads the PCR of a PMU. Fails like [`get`](Self::get).
    pub fn pcr<U: PmuKind>(&self, pmu: U) -> Result<U::Pcr, HvError> {
        self.get(pmu.into().pcr()).map(U::Pcr::from)
    }

    /// Writes the PCR of a PMU. Fails like [`set`](Self::set).
    pub fn set_pcr<U: PmuKind>(&self, pmu: U, pcr: U::Pcr) -> Result<(), HvError> {
        self.set(pmu.into().pcr(), pcr.into())
    }

    /// Selects the event for one of a PMU's counters; the other counter keeps its event. The method reads the PCR and then writes it. If
    /// two callers use the method at the same time, one may undo the other's change. Fails like [`get`](Self::get) and [`set`](Self::set).
    pub fn select<U: PmuKind>(
        &self,
        pmu: U,
        counter: Counter,
        event: <U::Pcr as EventSelect>::Event,
    ) -> Result<(), HvError> {
        let pcr = self.pcr(pmu)?;
        self.set_pcr(pmu, pcr.with_event(counter, event))
    }
}

fn request_version(hypercall: &impl Hypercall, wanted: Version) -> Result<Version, NegotiateError> {
    if wanted.major == 0 {
        return Err(NegotiateError::MajorZero);
    }
    let core = Core::new(hypercall);
    let granted =
        core.api_set_version(ApiGroup::VFALLS, wanted).map_err(NegotiateError::Refused)?;
    if granted.minor <= wanted.minor {
        return Ok(granted);
    }
    match core.api_set_version(ApiGroup::VFALLS, Version::NONE) {
        Ok(_) => Err(NegotiateError::MinorTooHigh(granted)),
        Err(error) => Err(NegotiateError::Refused(error)),
    }
}

/// The reason why a negotiation failed. The guest has no counters, because the hypervisor refused the version, granted too high a version,
/// or was not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NegotiateError {
    /// The hypervisor refused: EINVAL if it does not know the group, ENOTSUPPORTED if it does not know the major number.
    Refused(HvError),
    /// The hypervisor granted this version, whose minor number is higher than requested. The group has been released again.
    MinorTooHigh(Version),
    /// The caller requested major number 0, which releases a group. No call was made.
    MajorZero,
}

impl NegotiateError {
    /// Returns the status with which the hypervisor refused; `None` if no call failed.
    pub const fn status(&self) -> Option<HvError> {
        match self {
            Self::Refused(status) => Some(*status),
            Self::MinorTooHigh(_) | Self::MajorZero => None,
        }
    }
}

impl fmt::Display for NegotiateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = ApiGroup::VFALLS;
        match self {
            Self::Refused(error) => write!(f, "API group {group} refused: {error}"),
            Self::MinorTooHigh(granted) => {
                write!(f, "API group {group}: {granted} granted, more than asked for")
            }
            Self::MajorZero => write!(f, "API group {group}: 0 is not a major version"),
        }
    }
}

impl core::error::Error for NegotiateError {}
