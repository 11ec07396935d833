//! The calls `VFALLS_GET_PERFREG` (get) and `VFALLS_SET_PERFREG` (set) (FWARC/2007/529 sections 3.2.1 and 3.2.2).
//!
//! The [fast path](PerfCounterContext::fast) tests one word of the guest, makes the access and increments one count. It serves the whole
//! call or changes nothing. It needs no stack unless the device fails. A call that this word does not allow is
//! [refused](PerfCounterContext::refused) if another word of the guest says why. Every other call takes the
//! [slow path](PerfCounterContext::slow), which checks in the order of the contract.
//!
//! The fast path is written so that it has few instructions. [`serve`](PerfCounterContext::serve) takes the test as a closure, because it
//! makes the same test on the word for unrecorded calls and on the word for recorded calls. It takes the work twice: as a closure that is
//! inlined where its operands are in registers, and as a function for the outlined code that records calls.

use guest_abi::layout::SparcPcr;
use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{Hub, HvError, Kind, PerfReg, Registers};
use hv_core::sync::{Ordering, fence};
use hv_core::trace::{Trace, duration};
use hv_core::{Context, Frame, NegotiatedVersion, Reply};
use platform::{AccessError, Bus, PhysicalAddress, StrandRegisters};

use crate::hubs::{Blocked, HubArbiter, HubGuard};
use crate::l2;
use crate::rights::access::{AccessWord, HUB_REGISTERS, SINGLE_REGISTERS};
use crate::statistics::{Class, Operation, Outcome, Refusal};
use crate::table::{self, Row};
use crate::trace::Conflict;
use crate::{Environment, PerfCounterContext, StrandRight, Unit};

/// Returns `index / HUB_REGISTERS` for the registers of all hubs. A general division would need a 128-bit product.
#[inline(always)]
const fn hub_of(index: u64) -> u64 {
    (index * 57) >> 10
}

// A check of the first and the last register of each hub suffices, because `hub_of` never decreases.
const _: () = assert!(
    matches!([hub_of(0), hub_of(17), hub_of(18), hub_of(35)], [0, 0, 1, 1])
        && matches!([hub_of(36), hub_of(53), hub_of(54), hub_of(71)], [2, 2, 3, 3])
        && HUB_REGISTERS == 18
);

/// The longest duration in ticks that is recorded without a comparison with `u32::MAX`. It fits into the immediate
/// operand of an x86-64 instruction.
const SHORT: u64 = i32::MAX as u64;

#[cold]
#[inline(always)]
const fn cold() {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// A read: `VFALLS_GET_PERFREG`.
    Get,
    /// A write of this value: `VFALLS_SET_PERFREG`.
    Set(u64),
}

impl Access {
    /// Returns the access that a call requests; `None` if the service does not have the function.
    fn from_call(function: u64, registers: &Registers) -> Option<Self> {
        match function {
            VFALLS_GET_PERFREG => Some(Self::Get),
            VFALLS_SET_PERFREG => Some(Self::Set(registers.o1)),
            _ => None,
        }
    }

    #[inline(always)]
    const fn new<const SET: bool>(value: u64) -> Self {
        if SET { Self::Set(value) } else { Self::Get }
    }

    #[inline(always)]
    fn answer(self, result: Result<u64, Refusal>) -> Result<Reply, HvError> {
        match (self, result) {
            (Self::Get, Ok(value)) => Ok(Reply::Value(value)),
            (Self::Set(_), Ok(_)) => Ok(Reply::Done),
            (_, Err(refusal)) => Err(refusal.error()),
        }
    }

    #[inline(always)]
    const fn operation(self) -> Operation {
        match self {
            Self::Get => Operation::Get,
            Self::Set(_) => Operation::Set,
        }
    }

    #[inline(always)]
    const fn sets_ht(self) -> bool {
        match self {
            Self::Get => false,
            Self::Set(value) => value & SparcPcr::HT != 0,
        }
    }
}

impl<E: Environment> Context for PerfCounterContext<'_, E> {
    #[inline(always)]
    fn fast_path(&self, function: u64, frame: &mut Frame<'_>) -> bool {
        match function {
            VFALLS_GET_PERFREG => self.fast::<false>(frame),
            VFALLS_SET_PERFREG => self.fast::<true>(frame),
            _ => false,
        }
    }

    fn slow_path(
        &self,
        function: u64,
        version: NegotiatedVersion,
        registers: &Registers,
    ) -> Result<Reply, HvError> {
        let access = Access::from_call(function, registers).ok_or(HvError::BadTrap)?;
        let id = registers.o0;
        access.answer(self.counted(id, access, || self.slow(id, access, version)))
    }

    #[inline(always)]
    fn is_current(&self, version: NegotiatedVersion) -> bool {
        // Without a version in the word the answer is `false`: a call may be opening the fast path for a version that another
        // strand gives up.
        version != NegotiatedVersion::NONE && self.guest.access().version() == version
    }

    #[inline(always)]
    fn change_version(&self, _: NegotiatedVersion, store: impl FnOnce()) -> bool {
        store();
        self.guest.change_version(self.version, self.service.units.out());
        true
    }

    fn not_negotiated(&self, function: u64, registers: &Registers) {
        if let Some(access) = Access::from_call(function, registers) {
            let _ = self.counted(registers.o0, access, || Err(Refusal::BadTrap));
        }
    }
}

impl<E: Environment> PerfCounterContext<'_, E> {
    /// Serves and answers a call for an allowed register whose hub is free, or refuses it. Otherwise changes nothing and returns `false`.
    #[inline(always)]
    fn fast<const SET: bool>(&self, frame: &mut Frame<'_>) -> bool {
        let (id, access) = (frame.o0, Access::new::<SET>(frame.o1));
        if id == 0 {
            let inlined = || access.answer(self.pcr_fast(id, access));
            // Two separate calls, so that the test for HT is a branch that is seldom taken.
            let served = if access.sets_ht() {
                cold();
                let allows = |word: AccessWord, _| word.register(0) && word.ht();
                self.serve::<SET>(frame, id, allows, inlined, Self::pcr_fast)
            } else {
                let allows = |word: AccessWord, _| word.register(0);
                self.serve::<SET>(frame, id, allows, inlined, Self::pcr_fast)
            };
            return served || self.refused::<SET>(frame, Class::Strand, id);
        }
        if id < SINGLE_REGISTERS {
            let allows = |word: AccessWord, id| word.register(id);
            let inlined = || access.answer(self.dram_fast(id, access));
            return self.serve::<SET>(frame, id, allows, inlined, Self::dram_fast)
                || match id {
                    1 => self.refused::<SET>(frame, Class::L2, id),
                    _ => self.refused::<SET>(frame, Class::Dram, id),
                };
        }
        let Some((hub, arbiter)) = self.hub(id) else {
            return self.refused::<SET>(frame, Class::Invalid, id);
        };
        let allows_and_takes = |word: AccessWord, id| {
            self.hub(id).is_some_and(|(hub, _)| word.hub(hub)) && arbiter.take_free(self.token)
        };
        let inlined = || access.answer(self.with_hub(arbiter, id, access));
        self.serve::<SET>(frame, id, allows_and_takes, inlined, Self::hub_fast)
            || self.refused::<SET>(frame, Class::Hub, hub.index() as u64)
    }

    /// Serves and answers a call if one of the guest's two words `allows` it. `inlined` and `outlined` do the same work.
    #[inline(always)]
    fn serve<const SET: bool>(
        &self,
        frame: &mut Frame<'_>,
        id: u64,
        allows: impl Fn(AccessWord, u64) -> bool,
        inlined: impl FnOnce() -> Result<Reply, HvError>,
        outlined: impl Fn(&Self, u64, Access) -> Result<u64, Refusal>,
    ) -> bool {
        if allows(self.guest.access(), id) {
            frame.answer(inlined());
            return true;
        }
        // Loads the number again. Otherwise LLVM moves the common part of both tests before the first test.
        let allowed = E::Trace::RECORDS && allows(self.guest.recorded(), frame.o0);
        if allowed {
            self.recorded::<SET>(frame.reborrow(), id, outlined);
        }
        allowed
    }

    /// Refuses and answers a call for a register of this class that the guest cannot have. `index` is the number of the hub, or else of the
    /// register. Otherwise changes nothing and returns `false`.
    #[inline(always)]
    fn refused<const SET: bool>(&self, frame: &mut Frame<'_>, class: Class, index: u64) -> bool {
        let access = Access::new::<SET>(frame.o1);
        let version = self.version.get();
        // The refusals are loaded after the version, as on the slow path.
        fence(Ordering::Acquire);
        let Some(refusal) = self.guest.refusals().refusal(version, class, index, access.sets_ht())
        else {
            return false;
        };
        self.counts.add(access.operation(), class, Outcome::Refused(refusal));
        frame.answer(Err(refusal.error()));
        true
    }

    /// Serves a recorded call. Answers the call first, so that no work is left after the event.
    #[cold]
    #[inline(never)]
    fn recorded<const SET: bool>(
        &self,
        mut frame: Frame<'_>,
        id: u64,
        call: impl Fn(&Self, u64, Access) -> Result<u64, Refusal>,
    ) {
        let value = if SET { frame.o1 } else { 0 };
        let access = Access::new::<SET>(value);
        let trace = self.service.trace();
        let (started, result, ended) = trace.timed(self.strand, || {
            let result = call(self, id, access);
            frame.answer(access.answer(result));
            result
        });
        let ticks = ended.wrapping_sub(started);
        match result {
            Ok(read)
                if ticks <= SHORT
                    && self.record_served::<false>(id, access, read, ticks as u32, ended) => {}
            Ok(read) => {
                let value = if SET { value } else { read };
                self.record_late::<SET>(ticks, id, started, value);
            }
            Err(refusal) => self.record_failed(ticks, id, started, access, refusal),
        }
    }

    /// Records a served call, even if this takes many instructions. The end of the call is `started` plus `ticks`, so
    /// it needs no register.
    #[cold]
    #[inline(never)]
    fn record_late<const SET: bool>(&self, ticks: u64, id: u64, started: u64, value: u64) {
        let (access, ended) = (Access::new::<SET>(value), started.wrapping_add(ticks));
        self.record_served::<true>(id, access, value, duration(started, ended), ended);
    }

    #[cold]
    #[inline(never)]
    fn record_failed(&self, ticks: u64, id: u64, started: u64, access: Access, refusal: Refusal) {
        let ended = started.wrapping_add(ticks);
        self.record_refused(id, access, refusal, duration(started, ended), ended);
    }

    #[inline(always)]
    fn pcr_fast(&self, _: u64, access: Access) -> Result<u64, Refusal> {
        (self.counts).add(access.operation(), Class::Strand, Outcome::Ok);
        Ok(self.pcr(access))
    }

    #[inline(always)]
    fn dram_fast(&self, id: u64, access: Access) -> Result<u64, Refusal> {
        match self.device(id as usize, access) {
            Ok(value) => {
                (self.counts).add(access.operation(), Class::Dram, Outcome::Ok);
                Ok(value)
            }
            Err(error) => Err(self.failed_fast(access.operation(), id, error)),
        }
    }

    #[inline(always)]
    fn hub_fast(&self, id: u64, access: Access) -> Result<u64, Refusal> {
        match self.hub(id) {
            Some((_, arbiter)) => self.with_hub(arbiter, id, access),
            None => Err(Refusal::Invalid),
        }
    }

    #[inline(always)]
    fn with_hub(&self, arbiter: &HubArbiter, id: u64, access: Access) -> Result<u64, Refusal> {
        match self.device(id as usize, access) {
            Ok(value) => {
                arbiter.give_back_free();
                (self.counts).add(access.operation(), Class::Hub, Outcome::Ok);
                Ok(value)
            }
            Err(error) => Err(self.failed_fast(access.operation(), id, error)),
        }
    }

    /// Ends a fast-path call whose device access failed. Do not call it if the fast path only declined the call.
    #[cold]
    #[inline(never)]
    fn failed_fast(&self, operation: Operation, id: u64, error: AccessError) -> Refusal {
        let refusal = match PerfReg::new(id) {
            Some(register) => {
                let guard = match register.kind() {
                    Kind::Hub { hub, .. } => Some((hub, self.arbiter(hub).guard(self.strand))),
                    _ => None,
                };
                self.failed(register, guard, error)
            }
            None => Refusal::Invalid,
        };
        self.counts.add(operation, Class::from_id(id), Outcome::Refused(refusal));
        refusal
    }

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
    fn counted(
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
    fn slow(&self, id: u64, access: Access, version: NegotiatedVersion) -> Result<u64, Refusal> {
        let Self { service, guest, .. } = *self;
        let allowed = guest.access();
        if allowed.version() != version {
            // The strand that negotiated is about to open the fast path, or was disturbed too often to open it.
            guest.version_changed(self.version, service.units.out());
        }
        let grant = allowed.grant();
        let register = PerfReg::new(id).ok_or(Refusal::Invalid)?;
        if !guest.version_has(version, register) || !service.machine().has_register(register) {
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

    /// Ends a call whose device access failed. `guard` holds the register's hub, if the register has one. Inlined, because SPARC has few
    /// register windows for nested calls.
    #[inline(always)]
    fn failed(
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

    /// Reads or writes register 0. Returns the value read; 0 for a write.
    #[inline(always)]
    fn pcr(&self, access: Access) -> u64 {
        let registers = self.service.registers();
        match access {
            Access::Get => registers.pcr(self.strand),
            Access::Set(value) => {
                registers.set_pcr(self.strand, value & PerfReg::SPARC_PCR.info().write_mask);
                0
            }
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

    /// Reads or writes a register that has an address. Returns the value read; 0 for a write.
    #[inline(always)]
    fn device(&self, index: usize, access: Access) -> Result<u64, AccessError> {
        let Row { address, mask, .. } = *self.rows.get(index).ok_or(AccessError::Fault)?;
        let bus = self.service.bus();
        match access {
            Access::Get => bus.read(self.strand, address),
            Access::Set(value) => bus.write(self.strand, address, value & mask).map(|()| 0),
        }
    }

    fn now(&self) -> u64 {
        self.service.registers().ticks(self.strand)
    }

    /// Returns the hub of a register; `None` if `id` is not a register of a hub.
    #[inline(always)]
    pub(super) fn hub(&self, id: u64) -> Option<(Hub, &HubArbiter)> {
        let index = id.wrapping_sub(SINGLE_REGISTERS);
        if index >= HUB_REGISTERS * Hub::ALL.len() as u64 {
            return None;
        }
        let hub = Hub::new(hub_of(index) as usize)?;
        Some((hub, self.arbiter(hub)))
    }

    #[inline(always)]
    fn arbiter(&self, hub: Hub) -> &HubArbiter {
        // Compilers do not always see that the number of a hub is below 4.
        self.hubs[hub.index() % Hub::ALL.len()]
    }
}
