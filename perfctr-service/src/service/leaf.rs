//! The fast path for functions without a stack, which the veneers of SPARC V9 call.
//!
//! Device accesses are those [that may trap](Bus::read_or_trap). The veneer itself accesses register 0.

use guest_abi::HvError;
use guest_abi::layout::SparcPcr;
use hv_core::NegotiatedVersion;
use platform::{AccessError, Bus};

use crate::environment::Environment;
use crate::hubs::HubArbiter;
use crate::service::PerfCounterContext;
use crate::statistics::{Class, Operation, Outcome, Refusal};
use crate::table::Row;

/// Bits that the number of a DRAM register has. With no others it is one that the tables have, which need not be checked.
const DRAM: u64 = 31;

impl<E: Environment> PerfCounterContext<'_, E> {
    /// Serves a get on the fast path, for a register from 1 to 17, which the veneer has looked at. (Of another number,
    /// its lower bits are taken.)
    #[inline(always)]
    pub fn leaf_get_dram(&self, id: u64) -> Option<u64> {
        self.dram_fast(id & DRAM, Operation::Get, |index| self.read_or_trap(index))?
            .ok()
    }

    /// Serves a set on the fast path, for a register from 1 to 17, as with [`leaf_get_dram`](Self::leaf_get_dram).
    #[inline(always)]
    pub fn leaf_set_dram(&self, id: u64, value: u64) -> Option<()> {
        self.dram_fast(id & DRAM, Operation::Set, |index| {
            self.write_or_trap(index, value)
        })?
        .ok()
    }

    /// Serves a get on the fast path, for a register of a hub.
    #[inline(always)]
    pub fn leaf_get_hub(&self, id: u64) -> Option<u64> {
        // If the access fails without a trap, the call is served next as if it had not been tried.
        let result = self.hub_fast(id, Operation::Get, |index| self.read_or_trap(index))?;
        if result.is_err() {
            self.leaf_faulted(id);
        }
        result.ok()
    }

    /// Serves a set on the fast path, for a register of a hub.
    #[inline(always)]
    pub fn leaf_set_hub(&self, id: u64, value: u64) -> Option<()> {
        let arbiter = self.leaf_begin_set_hub(id, value)?;
        self.service.bus().complete_writes(self.strand);
        self.leaf_end_set_hub(arbiter);
        Some(())
    }

    /// The first half of [`leaf_set_hub`](Self::leaf_set_hub): takes the hub and writes. When the write is complete,
    /// [`leaf_end_set_hub`](Self::leaf_end_set_hub) gives the hub back: earlier, the next strand's access could overtake it.
    #[inline(always)]
    pub(crate) fn leaf_begin_set_hub(&self, id: u64, value: u64) -> Option<&HubArbiter> {
        let arbiter = self.take_hub_fast(id)?;
        let written = self.write_or_trap(id as usize, value);
        if written.is_err() {
            drop(arbiter.guard(self.strand));
        }
        written.ok().map(|()| arbiter)
    }

    /// The second half of [`leaf_set_hub`](Self::leaf_set_hub).
    #[inline(always)]
    pub(crate) fn leaf_end_set_hub(&self, arbiter: &HubArbiter) {
        self.give_back_hub_fast(arbiter, Operation::Set);
    }

    #[inline(always)]
    fn read_or_trap(&self, index: usize) -> Result<u64, AccessError> {
        let Row { address, .. } = *self.rows.get(index).ok_or(AccessError::Fault)?;
        self.service.bus().read_or_trap(self.strand, address)
    }

    #[inline(always)]
    fn write_or_trap(&self, index: usize, value: u64) -> Result<(), AccessError> {
        let Row { address, mask } = *self.rows.get(index).ok_or(AccessError::Fault)?;
        self.service
            .bus()
            .write_or_trap(self.strand, address, value & mask)
    }

    /// Returns whether the guest may read register 0, which is %pcr, and counts the call if it may. The veneer then reads %pcr.
    #[inline(always)]
    pub fn leaf_get_pcr(&self) -> bool {
        self.may_use_pcr(Operation::Get, false)
    }

    /// Returns what the veneer writes to %pcr for a guest that sets register 0, and counts the call. `None`: nothing was done.
    #[inline(always)]
    pub fn leaf_set_pcr(&self, value: u64) -> Option<u64> {
        // From the table, because processors with small instructions take longer to make up a number of 64 bits.
        let [Row { mask, .. }, ..] = *self.rows;
        self.may_use_pcr(Operation::Set, value & SparcPcr::HT != 0)
            .then_some(value & mask)
    }

    /// Returns the status of a call that none of these served, if only the version and the number decide it: EBADTRAP or EINVAL.
    /// Such a call is counted. `None`: nothing was done, as always while calls are recorded.
    #[inline(always)]
    pub fn leaf_refusal(&self, operation: Operation, id: u64) -> Option<HvError> {
        if self.guest.is_traced() {
            return None;
        }
        let class = Class::of(id);
        // Not the version of the guest's word, which lags behind while the guest negotiates.
        let refusal = match self.version.get() {
            NegotiatedVersion::NONE => Refusal::BadTrap,
            _ if class == Class::Invalid => Refusal::Invalid,
            _ => return None,
        };
        self.counts.add(operation, class, Outcome::Refused(refusal));
        Some(refusal.error())
    }

    /// Undoes what one of these began for the register `id` before it trapped, which may be before it had the hub, or after it gave
    /// the hub back. The call is served next as if it had not been tried.
    pub fn leaf_faulted(&self, id: u64) {
        if let Some((_, arbiter)) = self.hub(id) {
            drop(arbiter.held(self.strand));
        }
    }
}
