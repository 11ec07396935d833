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
///
/// # Order
/// The caller orders accesses of different strands by atomics in memory: before a strand lets another access a device, it
/// releases a word, and the other strand acquires it. The implementation makes this order hold at the devices, on every
/// machine:
///
/// - An access is made after every load of memory that precedes it on the strand.
/// - [`read`](Self::read) and [`write`](Self::write) return when the access is complete: the device has taken it and has
///   answered, and no store or atomic that follows on the strand becomes visible before.
/// - A fast path in assembly ([`is_direct`](Self::is_direct)) may end before its write is complete. Then
///   [`complete_writes`](Self::complete_writes) waits for it, and the service calls that before it lets another strand access the
///   device.
///
/// Where stores to devices are not ordered with accesses to memory, this takes a barrier: `membar #Sync` on SPARC V9.
pub trait Bus {
    /// Reads a register. An access that returns an error has no effect.
    fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError>;

    /// Writes a register. Returns when the write is complete. An access that returns an error has no effect.
    fn write(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError>;

    /// Returns whether a fast path in assembly may access the registers by instructions of its own, at the addresses that
    /// [`read`](Self::read) and [`write`](Self::write) are given. Then `membar #Sync` does what
    /// [`complete_writes`](Self::complete_writes) does. Never for a reference to a bus.
    fn is_direct() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Waits until every write that the strand has made by a fast path of its own is complete, or has trapped. The handler of that
    /// trap tells the service the address (`PerfCounterService::faulted_late` for the performance counters). On SPARC V9,
    /// `platform::sparc64` has the handler.
    #[inline(always)]
    fn complete_writes(&self, _strand: StrandId) {}
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
    ///
    /// What the sending strand has written to memory before is visible to the target when it takes the cross-call. Where an
    /// interrupt is sent by a store to a device, which can overtake a store to memory, this takes a barrier before it:
    /// `membar #Sync` on SPARC V9.
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
    fn complete_writes(&self, strand: StrandId) {
        (**self).complete_writes(strand);
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
