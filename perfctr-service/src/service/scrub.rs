//! Scrubs units for their next user, and takes units out of service.

use guest_abi::{Hub, Node, StrandId};
use platform::{AccessError, Bus, PhysicalAddress, StrandRegisters};

use crate::hubs::HubArbiter;
use crate::l2::{L2Arbiter, L2Guard};
use crate::statistics::Refusal;
use crate::table;
use crate::{Cause, Environment, Outage, PerfCounterService, Unit};

impl<E: Environment> PerfCounterService<E> {
    /// Stops and scrubs a unit that no guest can use now. Its registers become 0; in an L2 control, only PERF_CONFIG becomes 0. An L2
    /// control can be scrubbed only on a strand of its node. If the unit was busy before, continues the earlier scrub. The caller marks the
    /// unit clean.
    ///
    /// A memory channel with PCR 0 counts reads, as after power-on.
    #[inline(always)]
    pub(super) fn scrub(&self, on: StrandId, unit: Unit) -> Result<(), AccessError> {
        if let Unit::L2(node) = unit {
            let held = self.lock_l2(on, node).ok_or(AccessError::Busy)?;
            return self.scrub_l2(on, &held);
        }
        for register in self.units.unscrubbed(unit) {
            let row = table::rows(on.node()).get(register.index());
            let row = row.ok_or(AccessError::Fault)?;
            if let Err(mut error) = self.bus().write(on, row.address, 0) {
                if !matches!(unit, Unit::Hub(_)) {
                    // Only hubs can be busy.
                    error = AccessError::Fault;
                }
                if error == AccessError::Fault {
                    // The unit will be repaired, and the repair may leave any values in its registers, so the next scrub begins with the
                    // first register.
                    self.units.scrub_from_start(unit);
                }
                return Err(error);
            }
            self.units.count_scrubbed(unit);
            if let Unit::Hub(hub) = unit {
                self.hub(hub).count_access_end();
            }
        }
        if let Unit::Hub(hub) = unit {
            self.hub(hub).reset();
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn lock_l2(&self, on: StrandId, node: Node) -> Option<L2Guard<'_>> {
        self.l2(node).lock(on)
    }

    #[inline(always)]
    pub(super) fn scrub_l2(&self, on: StrandId, held: &L2Guard<'_>) -> Result<(), AccessError> {
        // The unit stays unclean if this fails.
        held.set(self.bus(), on, 0, || ()).map_err(|_| AccessError::Fault)?;
        held.count_access_end();
        Ok(())
    }

    pub(super) fn hub(&self, hub: Hub) -> &HubArbiter {
        &self.hubs[hub.index() % Hub::ALL.len()]
    }

    pub(super) fn l2(&self, node: Node) -> &L2Arbiter {
        &self.l2[node.index() % Node::ALL.len()]
    }

    /// Records that a scrub found a unit busy. If the unit has been busy for too long, takes it out of service and returns `true`.
    pub(super) fn found_busy(&self, strand: StrandId, unit: Unit) -> bool {
        let watches = &self.strands[strand.index()].stopwatches;
        let now = || self.registers().ticks(strand);
        let stuck = match unit {
            Unit::Mcu(..) => false,
            Unit::Hub(hub) => self.hub(hub).record_chip_busy(watches.hub(hub), now),
            Unit::L2(node) => self.l2(node).found_busy(&watches.l2, now),
        };
        if stuck {
            let _ = self.stuck(strand, unit);
        }
        stuck
    }

    /// Takes a unit out of service because it has been busy for too long. Returns the reason for refusing a call for the unit.
    pub(super) fn stuck(&self, strand: StrandId, unit: Unit) -> Refusal {
        let outage = Outage { unit, strand, cause: Cause::Busy };
        if self.take_out_of_service(outage) {
            self.units.count_stuck(unit);
            self.log_outage(outage);
        }
        Refusal::NoAccess
    }

    /// Takes a unit out of service because an access to it has faulted. Returns `true` if the unit was in service before.
    #[inline(always)]
    pub(super) fn faulted(&self, outage: Outage) -> bool {
        self.units.count_fault(outage.unit);
        self.take_out_of_service(outage)
    }

    /// Takes the unit at `address` out of service, because one of this strand's writes has faulted after the end of its call. Returns the
    /// unit; `None` if the strand has no performance register at this address.
    ///
    /// The image's trap handler calls this function on the strand that executed the write. At this time, the strand is between two calls or
    /// on the fast path, or the bus is waiting for one of the strand's accesses (see [`Bus::complete_writes`]). With the traps of
    /// `platform::sparc64`, `TrapHandler::faulted_late` calls this function.
    pub fn faulted_late(&self, strand: StrandId, address: PhysicalAddress) -> Option<Unit> {
        let unit = table::unit_at(strand.node(), address)?;
        let outage = Outage { unit, strand, cause: Cause::Write(Some(address)) };
        if self.faulted(outage) {
            self.log_outage(outage);
        }
        Some(unit)
    }

    /// Takes a unit out of service for all guests. Returns `true` if the unit was in service before.
    #[inline(always)]
    pub(super) fn take_out_of_service(&self, outage: Outage) -> bool {
        let Outage { unit, strand, cause } = outage;
        let was_in_service = self.units.take_out(unit);
        self.rights.withdraw(unit, self.units.out());
        if was_in_service {
            self.record_unit_out(strand, unit, cause.reason());
            self.environment.out_of_service(outage);
        }
        was_in_service
    }
}
