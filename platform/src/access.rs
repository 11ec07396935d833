//! How registers are reached.

use core::fmt;

use guest_abi::{Node, StrandId};

use crate::address::PhysicalAddress;

/// Why an access did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessError {
    /// The device does not answer, or answers with an error. It will not get better by itself.
    Fault,
    /// The device, a hub, is at work on another access. Nothing happened; a later try can succeed. Who gets this from another
    /// device may take it for a fault.
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

/// Physical access to device registers, 64 bits at a time. Called by several strands at once.
///
/// `strand` is the strand that executes the access: local addresses are those of its node. Hardware knows it
/// without being told; a simulation does not.
pub trait Bus {
    /// Reads a register. On an error nothing has changed.
    fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError>;

    /// Writes a register. On an error nothing has changed.
    fn write(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError>;

    /// [`read`](Self::read) for a caller that something else saves when the access faults: on hardware the trap does not
    /// come back here. See `platform::sparc64::Mmio`.
    #[inline(always)]
    fn read_or_trap(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        self.read(strand, address)
    }

    /// [`write`](Self::write) for a caller that something else saves when the access faults.
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

/// The registers of the strand that executes the call, and its way to other strands. Only ever asked for the strand that
/// executes the call, but for [`node`](Self::node) and [`cross_call`](Self::cross_call).
pub trait StrandRegisters {
    /// The node that the strand is on. Asked for every strand, once, while the machine starts.
    fn node(&self, strand: StrandId) -> Node;

    /// Reads %pcr (ASR 16).
    fn pcr(&self, strand: StrandId) -> u64;

    /// Writes %pcr (ASR 16).
    fn set_pcr(&self, strand: StrandId, value: u64);

    /// Writes %pic (ASR 17).
    fn set_pic(&self, strand: StrandId, value: u64);

    /// Reads %stick (ASR 24). Only times of the same strand are compared.
    fn ticks(&self, strand: StrandId) -> u64;

    /// Interrupts a strand, which may be the one that executes this. Returns at once.
    ///
    /// The strand takes the interrupt between two of its calls, never in one, and before it next executes guest code. It
    /// then tells whoever sent it: for the performance counters, `PerfCounterService::cross_called`. A cross-call that is
    /// sent while the strand is at work on an earlier one is taken after that. One to a strand that is dead stays until the
    /// strand comes back.
    fn cross_call(&self, strand: StrandId);
}

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
    fn node(&self, strand: StrandId) -> Node {
        (**self).node(strand)
    }

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
