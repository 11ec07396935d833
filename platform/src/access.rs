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
/// - [`read`](Self::read), [`write`](Self::write) and [`read_or_trap`](Self::read_or_trap) return when the access is complete:
///   the device has taken it and has answered, and no store or atomic that follows on the strand becomes visible before.
/// - [`write_or_trap`](Self::write_or_trap) may return earlier. Then [`complete_writes`](Self::complete_writes) waits until these
///   writes are complete, and the caller calls it before it lets another strand access the device.
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

    /// Returns whether [`read_or_trap`](Self::read_or_trap) and [`write_or_trap`](Self::write_or_trap) are a single access
    /// instruction each, without a call, as functions without a stack need them, and `membar #Sync` does what
    /// [`complete_writes`](Self::complete_writes) does. Never for a reference to a bus.
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

    /// Writes a register as [`write`](Self::write) does, with the exception of [`read_or_trap`](Self::read_or_trap), and may
    /// return before the write is complete. A write that faults after that traps at the latest in
    /// [`complete_writes`](Self::complete_writes); the handler of that trap tells the service the address
    /// (`PerfCounterService::faulted_late` for the performance counters). On SPARC V9, `platform::sparc64` has the handler.
    #[inline(always)]
    fn write_or_trap(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError> {
        self.write(strand, address, value)
    }

    /// Waits until every write that the strand has made by [`write_or_trap`](Self::write_or_trap) is complete. An implementation
    /// with a `write_or_trap` of its own has a `complete_writes` of its own.
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
