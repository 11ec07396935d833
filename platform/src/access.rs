//! Traits for access to hardware registers, and the error of a failed access.

use core::fmt;

use guest_abi::StrandId;
use static_assertions::assert_obj_safe;

use crate::address::PhysicalAddress;

/// Why an access to a register failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessError {
    /// The device does not answer, or answers with an error. A second try would fail too.
    Fault,
    /// The hub is executing another access. The refused access had no effect, and a later try can succeed. Only hubs are ever busy.
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

/// Physical access to device registers, 64 bits at a time. Several strands may use the same bus concurrently. `strand` is the strand that
/// executes the access: a local address means a device on this strand's node. (Hardware ignores the argument; models need it.)
///
/// # Order
/// The caller orders accesses by different strands. To let another strand access a device, a strand stores a word with release ordering,
/// and the other strand loads this word with acquire ordering. The implementation must make this order hold at the devices, on every
/// machine:
///
/// - An access happens after every memory load that precedes the access on the strand.
/// - [`read`](Self::read) and [`write`](Self::write) return only when the device has answered, so a later store comes after the
///   access.
/// - A fast path in assembly may end before its write is complete. The strand then calls
///   [`complete_writes`](Self::complete_writes) before its next access.
///
/// If the machine does not order stores to devices with accesses to memory, a barrier is necessary: `membar #Sync` on SPARC V9.
pub trait Bus {
    /// Reads a register. An access that returns an error has no effect.
    fn read(&self, strand: StrandId, at: PhysicalAddress) -> Result<u64, AccessError>;

    /// Writes a register. Returns when the write is complete. An access that returns an error has no effect.
    fn write(&self, strand: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError>;

    /// Returns `true` if a fast path in assembly may access the registers with its own instructions, at the same addresses. In that case,
    /// `membar #Sync` replaces [`complete_writes`](Self::complete_writes). Always `false` for a reference to a bus.
    fn is_direct() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Waits until every write of the strand's fast path is complete or has trapped. The trap handler (on SPARC V9, in `platform::sparc64`)
    /// tells the service the address: see `PerfCounterService::faulted_late`.
    #[inline(always)]
    fn complete_writes(&self, _strand: StrandId) {}
}

/// The registers of a strand. `strand` is the strand that executes the call, except in [`cross_call`](Self::cross_call).
pub trait StrandRegisters {
    /// Reads %pcr (ASR 16), which controls the strand's two counters.
    fn pcr(&self, strand: StrandId) -> u64;

    /// Writes %pcr (ASR 16), HT included.
    fn set_pcr(&self, strand: StrandId, value: u64);

    /// Writes %pic (ASR 17), the strand's two counters: counter 0 in bits 31:0, counter 1 in bits 63:32.
    fn set_pic(&self, strand: StrandId, value: u64);

    /// Reads %stick (ASR 24), in ticks. Callers compare only values from the same strand.
    fn ticks(&self, strand: StrandId) -> u64;

    /// Sends a cross-call to a strand, which may be the executing strand. Returns immediately.
    ///
    /// - The implementation delivers a cross-call while the target strand is between two hypercalls, before the target next executes guest
    ///   code. The target then calls the handler of the service that sent the cross-call, such as `PerfCounterService::cross_called`.
    /// - A cross-call that arrives while the target handles another one is delivered afterwards. A dead strand gets its
    ///   cross-call when it restarts.
    ///
    /// When the target takes the cross-call, it must see all the sending strand's earlier writes to memory. If a store to a device sends
    /// the interrupt, and can overtake a store to memory, a barrier must come first: `membar #Sync` on SPARC V9.
    fn cross_call(&self, strand: StrandId);
}

assert_obj_safe!(Bus, StrandRegisters);

impl<T: Bus + ?Sized> Bus for &T {
    #[inline]
    fn read(&self, strand: StrandId, at: PhysicalAddress) -> Result<u64, AccessError> {
        (**self).read(strand, at)
    }

    #[inline]
    fn write(&self, strand: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        (**self).write(strand, at, value)
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
