//! The traits by which a service accesses hardware registers, and their error.

use core::fmt;

use guest_abi::StrandId;
use static_assertions::assert_obj_safe;

use crate::address::PhysicalAddress;

/// Why an access to a register failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessError {
    /// The device does not answer, or answers with an error. A retry fails too.
    Fault,
    /// The hub is executing another access. This one had no effect, and a later retry can succeed. Only hubs are ever
    /// busy: a caller may treat `Busy` from any other device as a fault.
    Busy,
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fault => "fault",
            Self::Busy => "busy",
        })
    }
}

impl core::error::Error for AccessError {}

/// Physical access to device registers, 64 bits at a time. Several strands call it concurrently.
///
/// `strand` is the strand that executes the access: a local address means a device of its node. Hardware ignores the
/// argument; a simulation needs it.
pub trait Bus {
    /// Reads a register. An access that returns an error has no effect.
    fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError>;

    /// Writes a register. An access that returns an error has no effect.
    fn write(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError>;

    /// Returns whether [`read_or_trap`](Self::read_or_trap) and [`write_or_trap`](Self::write_or_trap) are a single access
    /// instruction each, without a call, as functions without a stack need them. Never for a reference to a bus.
    fn is_direct() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Reads a register as [`read`](Self::read) does, except that an implementation may leave a fault to the trap handler
    /// and then never returns. Only for callers that such a handler recovers: see `platform::sparc64::Mmio`.
    #[inline(always)]
    fn read_or_trap(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        self.read(strand, address)
    }

    /// Writes a register as [`write`](Self::write) does, with the exception of [`read_or_trap`](Self::read_or_trap).
    #[inline(always)]
    fn write_or_trap(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError> {
        self.write(strand, address, value)
    }
}

/// The registers of the strand that executes the call, and cross-calls to other strands.
///
/// Except in [`cross_call`](Self::cross_call), `strand` is always the strand that executes the call.
pub trait StrandRegisters {
    /// Reads %pcr (ASR 16).
    fn pcr(&self, strand: StrandId) -> u64;

    /// Writes %pcr (ASR 16).
    fn set_pcr(&self, strand: StrandId, value: u64);

    /// Writes %pic (ASR 17).
    fn set_pic(&self, strand: StrandId, value: u64);

    /// Reads %stick (ASR 24), in ticks. Callers compare values of the same strand only.
    fn ticks(&self, strand: StrandId) -> u64;

    /// Sends a cross-call to a strand, which may be the one that executes this. Returns at once.
    ///
    /// The implementation delivers a cross-call between two hypercalls of the target strand, never during one, and before
    /// the strand next executes guest code: the strand then calls the handler of the service that sent it
    /// (`PerfCounterService::cross_called` for the performance counters). A cross-call that arrives while the strand
    /// handles an earlier one is delivered afterwards. A cross-call to a dead strand stays pending until the strand
    /// restarts.
    fn cross_call(&self, strand: StrandId);
}

assert_obj_safe!(Bus, StrandRegisters);

impl<T: Bus + ?Sized> Bus for &T {
    #[inline]
    fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        (**self).read(strand, address)
    }

    #[inline]
    fn write(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError> {
        (**self).write(strand, address, value)
    }

    #[inline(always)]
    fn read_or_trap(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        (**self).read_or_trap(strand, address)
    }

    #[inline(always)]
    fn write_or_trap(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError> {
        (**self).write_or_trap(strand, address, value)
    }
}

impl<T: StrandRegisters + ?Sized> StrandRegisters for &T {
    #[inline]
    fn pcr(&self, strand: StrandId) -> u64 {
        (**self).pcr(strand)
    }

    #[inline]
    fn set_pcr(&self, strand: StrandId, value: u64) {
        (**self).set_pcr(strand, value);
    }

    fn set_pic(&self, strand: StrandId, value: u64) {
        (**self).set_pic(strand, value);
    }

    fn ticks(&self, strand: StrandId) -> u64 {
        (**self).ticks(strand)
    }

    fn cross_call(&self, strand: StrandId) {
        (**self).cross_call(strand);
    }
}
