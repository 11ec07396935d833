//! The slow path makes the checks in the order of the contract, and ends calls whose access failed.

use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{Hub, HvError, Kind, PerfReg};
use hv_core::NegotiatedVersion;
use hv_core::trace::{Trace, duration};
use platform::{AccessError, PhysicalAddress};

use super::Access;
use crate::hubs::{Blocked, HubGuard};
use crate::l2;
use crate::statistics::{Class, Operation, Outcome, Refusal};
use crate::table;
use crate::trace::Conflict;
use crate::{Environment, PerfCounterContext, StrandRight, Unit};

impl<E: Environment> PerfCounterContext<'_, E> {
    /// Releases the hub of register `id` or the L2 control if the strand holds it, after an access of a fast path in assembly has faulted.
    /// The fault may have come before the strand took the unit, or after it released the unit. Then the call takes the slow path as if it
    /// had just trapped.
    ///
    /// First restores the L2 control. If this fails, takes the L2 control out of service, because its banks may differ.
    pub fn undo_fast_path(&self, id: u64) {
        if let Some((_, arbiter)) = self.hub(id) {
            drop(arbiter.held(self.strand));
        }
        let (service, unit) = (self.service, Unit::L2(self.node));
        if let Some(held) = service.l2(self.node).held(self.strand) {
            let undone = held.undo(service.bus(), self.strand);
            held.access_ended();
            if undone.is_err() {
                service.units.set_unclean(unit);
                let _ = self.faulted(Some(unit), held);
            }
        }
    }

    /// A store to `address` has failed after a fast path in assembly has answered its call with EOK. If the register `id` of the call
    /// belongs to the unit at `address`, counts the call as refused and returns its new status.
    pub fn refused_late(
        &self,
        address: PhysicalAddress,
        function: u64,
        id: u64,
    ) -> Option<HvError> {
        let failed = table::unit_at(self.node, address)?;
        let unit = Unit::for_register(PerfReg::new(id)?, self.node)?;
        let operation = match function {
            VFALLS_GET_PERFREG => Operation::Get,
            VFALLS_SET_PERFREG => Operation::Set,
            _ => return None,
        };
        (unit == failed).then(|| {
            let class = Class::from_id(id);
            self.counts.take_back(operation, class);
            self.counts.add(operation, class, Outcome::Refused(Refusal::NoAccess));
            Refusal::NoAccess.error()
        })
    }

    /// Makes a call on the slow path, and counts and records its outcome.
    pub(super) fn counted(
        &self,
        id: u64,
        access: Access,
        call: impl FnOnce() -> Result<u64, Refusal>,
    ) -> Result<u64, Refusal> {
        let started = self.service.trace().time(self.strand);
        let result = call();
        let outcome = match &result {
            Ok(_) => Outcome::Ok,
            Err(refusal) => Outcome::Refused(*refusal),
        };
        (self.counts).add(access.operation(), Class::from_id(id), outcome);
        if let Some(started) = started
            && let Some(ended) = self.service.trace().time(self.strand)
        {
            let duration = duration(started, ended);
            match result {
                Ok(read) => {
                    self.record_served::<true>(id, access, read, duration, ended);
                }
                Err(refusal) => self.record_refused(id, access, refusal, duration, ended),
            }
        }
        result
    }

    /// Makes the checks of the contract in order, and then the access, for a guest that has negotiated `version`.
    pub(super) fn slow(
        &self,
        id: u64,
        access: Access,
        version: NegotiatedVersion,
    ) -> Result<u64, Refusal> {
        let Self { service, guest, .. } = *self;
        let allowed = guest.access();
        if allowed.version() != version {
            // The strand that negotiated is about to open the fast path, or was disturbed too often to open it.
            guest.version_changed(self.version, service.units.out());
        }
        let grant = allowed.grant();
        let register = PerfReg::new(id).ok_or(Refusal::Invalid)?;
        if !guest.version_has(version, register) || !self.has(register) {
            return Err(Refusal::NotSupported);
        }
        if !grant.covers(register, guest.nodes()) || service.units.is_out(register, self.node) {
            return Err(Refusal::NoAccess);
        }
        match register.kind() {
            Kind::Strand if access.sets_ht() && grant.strand != StrandRight::HtStrand => {
                Err(Refusal::NoAccess)
            }
            Kind::Strand => Ok(self.pcr(access)),
            Kind::L2 => self.l2(access),
            Kind::Dram { .. } => self
                .device(register.index(), access)
                .map_err(|error| self.failed(register, None, error)),
            Kind::Hub { hub, .. } => {
                let watch = self.watches.hub(hub);
                let asked = self.arbiter(hub).ask(self.strand, watch, || self.now());
                let guard = asked.map_err(|blocked| {
                    let why = match blocked {
                        Blocked::Turn => Conflict::Turn,
                        Blocked::Taken | Blocked::Stuck => Conflict::InFlight,
                    };
                    self.blocked(hub, blocked, why)
                })?;
                // The last holder may have taken the hub out of service.
                if service.units.out().has(Unit::Hub(hub)) {
                    return Err(Refusal::NoAccess);
                }
                match self.device(register.index(), access) {
                    Ok(value) => {
                        guard.complete();
                        Ok(value)
                    }
                    Err(error) => Err(self.failed(register, Some((hub, guard)), error)),
                }
            }
        }
    }

    /// Returns `true` if the machine has a register.
    fn has(&self, register: PerfReg) -> bool {
        let unit = Unit::for_register(register, self.node);
        unit.is_none_or(|unit| self.service.has_unit(unit))
    }

    /// Ends a call whose device access failed. `guard` holds the register's hub, if the register has one. Inlined, because SPARC has few
    /// register windows for nested calls.
    #[inline(always)]
    pub(super) fn failed(
        &self,
        register: PerfReg,
        guard: Option<(Hub, HubGuard<'_>)>,
        error: AccessError,
    ) -> Refusal {
        let guard = match (error, guard) {
            (AccessError::Busy, Some((hub, guard))) => {
                let blocked = guard.device_busy(self.watches.hub(hub), || self.now());
                return self.blocked(hub, blocked, Conflict::Busy);
            }
            // Only hubs can be busy. Another device that answers "busy" is faulty.
            (_, guard) => guard,
        };
        self.faulted(Unit::for_register(register, self.node), guard)
    }

    /// Takes a unit whose access has faulted out of service. Then drops `held`, so that the next holder finds the unit out of service.
    #[inline(always)]
    fn faulted(&self, unit: Option<Unit>, held: impl Sized) -> Refusal {
        let was_in_service = unit.filter(|unit| self.service.faulted(self.strand, *unit));
        drop(held);
        // Logged last, so that no strand is refused while a slow logger writes.
        if let Some(unit) = was_in_service {
            log::error!("{unit} faulted and is out of service");
        }
        Refusal::NoAccess
    }

    /// Ends a call that did not get the hub or found the chip busy. Returns the reason for the
    /// refusal.
    #[inline(always)]
    fn blocked(&self, hub: Hub, blocked: Blocked, why: Conflict) -> Refusal {
        self.note_conflict(hub, why);
        match blocked {
            Blocked::Taken | Blocked::Turn => Refusal::WouldBlock,
            Blocked::Stuck => self.service.stuck(self.strand, Unit::Hub(hub)),
        }
    }

    /// Reads or writes register 1. Returns the value read; 0 for a write.
    #[inline(always)]
    fn l2(&self, access: Access) -> Result<u64, Refusal> {
        let Self { service, node, .. } = *self;
        let unit = Unit::L2(node);
        let Access::Set(value) = access else {
            return l2::get(service.bus(), self.strand).map_err(|_| self.faulted(Some(unit), ()));
        };
        let Some(held) = service.l2(node).take(self.strand) else {
            let stuck = service.l2(node).found_busy(&self.watches.l2, || self.now());
            return Err(if stuck { service.stuck(self.strand, unit) } else { Refusal::WouldBlock });
        };
        // The last holder may have taken the unit out of service.
        if service.units.out().has(unit) {
            return Err(Refusal::NoAccess);
        }
        let differ = || service.units.set_unclean(unit);
        let result = held.set(service.bus(), self.strand, value, differ);
        held.access_ended();
        result.map(|()| 0).map_err(|_| self.faulted(Some(unit), held))
    }
}
