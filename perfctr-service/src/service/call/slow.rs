//! The slow path performs the checks in the order of the contract, and ends calls whose access failed.

use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{Hub, HvError, PerfReg, RegisterKind};
use hv_core::trace::{Trace, duration};
use platform::{AccessError, PhysicalAddress};

use super::{Access, RequestedRegister};
use crate::hubs::{Blocked, HubGuard};
use crate::l2;
use crate::service::StrandContext;
use crate::statistics::{Class, Operation, Outcome, Refusal};
use crate::table;
use crate::trace::Conflict;
use crate::{Cause, Environment, Grant, Outage, PerfCounterContext, StrandRight, Unit};

impl<E: Environment> PerfCounterContext<'_, E> {
    /// Cleans up after an access of an assembly fast path has faulted. Releases the hub of register `id`, or the L2 control, if the strand
    /// holds it. The fault may also have come before the strand took the unit, or after the strand released it. Afterwards, the slow path
    /// must serve the call as if it had just trapped. This function therefore gives the strand the next turn at the hub: if the strand were
    /// refused there, no strand would learn of the fault.
    ///
    /// If the L2 control cannot be restored, takes it out of service, because its banks may differ.
    pub fn undo_fast_path(&self, id: u64) {
        if let Some((_, arbiter)) = self.strand.hub(id)
            && let Some(guard) = arbiter.held(self.strand.caller.strand)
        {
            guard.keep_turn();
        }
        let (service, unit) = (self.strand.service, Unit::L2(self.strand.node));
        if let Some(held) = service.l2(self.strand.node).held(self.strand.caller.strand) {
            let undone = held.undo(service.bus(), self.strand.caller.strand);
            held.count_access_end();
            if undone.is_err() {
                service.units.set_unclean(unit);
                let _ = self.strand.faulted(Some(unit), Cause::Write(None), held);
            }
        }
    }

    /// Handles a store to `address` that failed after an assembly fast path had already answered EOK. If register `id` of that call
    /// belongs to the unit at `address`, counts the call as refused and returns the new status.
    pub fn refused_late(
        &self,
        address: PhysicalAddress,
        function: u64,
        id: u64,
    ) -> Option<HvError> {
        let failed = table::unit_at(self.strand.node, address)?;
        let unit = Unit::for_register(PerfReg::new(id)?, self.strand.node)?;
        let operation = match function {
            VFALLS_GET_PERFREG => Operation::Get,
            VFALLS_SET_PERFREG => Operation::Set,
            _ => return None,
        };
        (unit == failed).then(|| {
            let class = Class::from_id(id);
            self.strand.counts.uncount_ok(operation, class);
            self.strand.counts.add(operation, class, Outcome::Refused(Refusal::NoAccess));
            Refusal::NoAccess.error()
        })
    }
}

impl<E: Environment> StrandContext<'_, E> {
    /// Serves a call on the slow path, and counts and records its outcome.
    pub(in crate::service) fn serve_counted(
        &self,
        named: RequestedRegister,
        access: Access,
        call: impl FnOnce() -> Result<u64, Refusal>,
    ) -> Result<u64, Refusal> {
        let started = self.service.trace().time(self.caller.strand);
        let result = call();
        let outcome = match &result {
            Ok(_) => Outcome::Ok,
            Err(refusal) => Outcome::Refused(*refusal),
        };
        (self.counts).add(access.operation(), named.class(), outcome);
        if let Some(started) = started
            && let Some(ended) = self.service.trace().time(self.caller.strand)
        {
            let (number, duration) = (named.number(), duration(started, ended));
            match result {
                Ok(read) => {
                    self.record_served::<true>(number, access, read, duration, ended);
                }
                Err(refusal) => self.record_refused(number, access, refusal, duration, ended),
            }
        }
        result
    }

    /// Performs the checks of the contract in order, then the access, for a guest that holds `grant`. `has` says whether the guest's
    /// negotiated version of the call's group includes a register.
    pub(in crate::service) fn call(
        &self,
        grant: Grant,
        named: RequestedRegister,
        access: Access,
        has: impl FnOnce(PerfReg) -> bool,
    ) -> Result<u64, Refusal> {
        let RequestedRegister::Known(register) = named else {
            return Err(Refusal::Invalid);
        };
        if !has(register) || !self.has(register) {
            return Err(Refusal::NotSupported);
        }
        self.check(grant, register, access)?;
        self.access(register, access)
    }

    /// Checks whether a guest that holds `grant` may perform an access now. This policy applies to every group.
    #[inline(always)]
    fn check(&self, grant: Grant, register: PerfReg, access: Access) -> Result<(), Refusal> {
        let covered = grant.covers(register, self.guest.nodes())
            && !(access.sets_ht()
                && register == PerfReg::SPARC_PCR
                && grant.strand != StrandRight::HtStrand);
        match covered && !self.service.units.is_out(register, self.node) {
            true => Ok(()),
            false => Err(Refusal::NoAccess),
        }
    }

    /// Reads or writes a register that the guest may access. Returns the value read; 0 for a write.
    #[inline(always)]
    fn access(&self, register: PerfReg, access: Access) -> Result<u64, Refusal> {
        let service = self.service;
        match register.kind() {
            RegisterKind::Strand => Ok(self.pcr(access)),
            RegisterKind::L2 => self.l2(access),
            RegisterKind::Dram { .. } => self
                .device(register.index(), access)
                .map_err(|error| self.failed(register, access.operation(), None, error)),
            RegisterKind::Hub { hub, .. } => {
                let watch = self.watches.hub(hub);
                let asked = self.arbiter(hub).ask(self.caller.strand, watch, || self.now());
                let guard = asked.map_err(|blocked| {
                    let why = match blocked {
                        Blocked::Turn => Conflict::Turn,
                        Blocked::Taken | Blocked::Stuck => Conflict::InFlight,
                    };
                    self.blocked(hub, blocked, why)
                })?;
                // The hub's last holder may have taken it out of service.
                if service.units.out().contains(Unit::Hub(hub)) {
                    return Err(Refusal::NoAccess);
                }
                match self.device(register.index(), access) {
                    Ok(value) => {
                        guard.complete();
                        Ok(value)
                    }
                    Err(error) => {
                        let guard = Some((hub, guard));
                        Err(self.failed(register, access.operation(), guard, error))
                    }
                }
            }
        }
    }

    /// Returns `true` if this machine has the register's unit. Every machine has register 0.
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
        operation: Operation,
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
        let address = self.rows.get(register.index()).map(|row| row.address);
        let cause = match operation {
            Operation::Get => Cause::Read(address),
            Operation::Set => Cause::Write(address),
        };
        self.faulted(Unit::for_register(register, self.node), cause, guard)
    }

    /// Takes a unit out of service because an access to it has faulted, and then drops `held`. In this order, the next holder finds the
    /// unit out of service.
    #[inline(always)]
    fn faulted(&self, unit: Option<Unit>, cause: Cause, held: impl Sized) -> Refusal {
        let outage = unit.map(|unit| Outage { unit, strand: self.caller.strand, cause });
        let was_in_service = outage.filter(|outage| self.service.faulted(*outage));
        drop(held);
        if let Some(outage) = was_in_service {
            self.service.log_outage(outage);
        }
        Refusal::NoAccess
    }

    /// Ends a call that did not get the hub, or that found the chip busy. Returns why the call is
    /// refused.
    #[inline(always)]
    fn blocked(&self, hub: Hub, blocked: Blocked, why: Conflict) -> Refusal {
        self.record_conflict(hub, why);
        match blocked {
            Blocked::Taken | Blocked::Turn => Refusal::WouldBlock,
            Blocked::Stuck => self.service.stuck(self.caller.strand, Unit::Hub(hub)),
        }
    }

    /// Reads or writes register 1. Returns the value read; 0 for a write.
    #[inline(always)]
    fn l2(&self, access: Access) -> Result<u64, Refusal> {
        let Self { service, node, .. } = *self;
        let unit = Unit::L2(node);
        let Access::Set(value) = access else {
            return l2::get(service.bus(), self.caller.strand)
                .map_err(|_| self.faulted(Some(unit), Cause::Read(None), ()));
        };
        let Some(held) = service.l2(node).lock(self.caller.strand) else {
            let stuck = service.l2(node).found_busy(&self.watches.l2, || self.now());
            return Err(if stuck {
                service.stuck(self.caller.strand, unit)
            } else {
                Refusal::WouldBlock
            });
        };
        // The unit's last holder may have taken it out of service.
        if service.units.out().contains(unit) {
            return Err(Refusal::NoAccess);
        }
        let differ = || service.units.set_unclean(unit);
        let result = held.set(service.bus(), self.caller.strand, value, differ);
        held.count_access_end();
        result.map(|()| 0).map_err(|_| self.faulted(Some(unit), Cause::Write(None), held))
    }
}
