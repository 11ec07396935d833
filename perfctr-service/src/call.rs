//! Get and set (FWARC/2007/529 sections 3.2.1 and 3.2.2).
//!
//! The [fast path](PerfCounterContext::get_fast) is short: one look at what the guest may do, the access, one count. It
//! does the whole call or nothing, and needs no stack unless the device fails. Every other call goes to [`slow_path`](PerfCounterContext::slow_path), which
//! makes each check in the order of the contract and so works out the reason of a refusal.

use guest_abi::layout::SparcPcr;
use guest_abi::{Hub, HvError, Kind, PerfReg};
use hv_core::NegotiatedVersion;
use hv_core::trace::Trace;
use platform::{AccessError, Bus, PhysicalAddress, StrandRegisters};

use crate::access::{HUB_REGISTERS, SINGLE_REGISTERS};
use crate::arbitration::{HubGate, Refused};
use crate::l2::HeldL2;
use crate::policy::StrandRight;
use crate::service::PerfCounterContext;
use crate::statistics::{Class, Operation, Outcome, Refusal};
use crate::table::{Row, write_mask};
use crate::trace::Conflict;
use crate::units::Unit;

/// `index / HUB_REGISTERS` for the registers of all hubs. In general the division takes a 128-bit product, which SPARC has
/// no instruction for.
#[inline(always)]
const fn hub_of(index: u64) -> u64 {
    (index * 57) >> 10
}

const _: () = {
    let mut index = 0;
    while index < HUB_REGISTERS * Hub::ALL.len() as u64 {
        assert!(hub_of(index) == index / HUB_REGISTERS);
        index += 1;
    }
};

/// What a call does to a register. Get and set share every check and differ in these accesses.
trait Access: Copy {
    const OPERATION: Operation;
    type Value;

    /// Whether the call sets HT in the strand's PCR.
    fn sets_ht(self) -> bool;

    /// Register 0.
    fn pcr<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
    ) -> Self::Value;

    /// Register 1.
    fn l2<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
        held: &HeldL2<'_>,
    ) -> Result<Self::Value, AccessError>;

    /// A register that has an address.
    fn device<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
        address: PhysicalAddress,
        mask: u64,
    ) -> Result<Self::Value, AccessError>;

    /// Records the call, which ends now.
    fn record<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
        id: u64,
        result: &Result<Self::Value, Refusal>,
        started: u64,
    );
}

#[derive(Clone, Copy)]
struct Get;

impl Access for Get {
    const OPERATION: Operation = Operation::Get;
    type Value = u64;

    #[inline(always)]
    fn sets_ht(self) -> bool {
        false
    }

    #[inline(always)]
    fn pcr<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
    ) -> u64 {
        context.service.registers.pcr(context.strand)
    }

    fn l2<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
        held: &HeldL2<'_>,
    ) -> Result<u64, AccessError> {
        held.get(&context.service.bus, context.strand)
    }

    #[inline(always)]
    fn device<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
        address: PhysicalAddress,
        _: u64,
    ) -> Result<u64, AccessError> {
        context.service.bus.read(context.strand, address)
    }

    fn record<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
        id: u64,
        result: &Result<u64, Refusal>,
        started: u64,
    ) {
        context.record_get(id, *result, started);
    }
}

#[derive(Clone, Copy)]
struct Set(u64);

impl Access for Set {
    const OPERATION: Operation = Operation::Set;
    type Value = ();

    #[inline(always)]
    fn sets_ht(self) -> bool {
        self.0 & SparcPcr::HT != 0
    }

    #[inline(always)]
    fn pcr<B: Bus, R: StrandRegisters, T: Trace>(self, context: &PerfCounterContext<'_, B, R, T>) {
        context
            .service
            .registers
            .set_pcr(context.strand, self.0 & write_mask(PerfReg::SPARC_PCR));
    }

    fn l2<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
        held: &HeldL2<'_>,
    ) -> Result<(), AccessError> {
        held.set(&context.service.bus, context.strand, self.0)
    }

    #[inline(always)]
    fn device<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
        address: PhysicalAddress,
        mask: u64,
    ) -> Result<(), AccessError> {
        context
            .service
            .bus
            .write(context.strand, address, self.0 & mask)
    }

    fn record<B: Bus, R: StrandRegisters, T: Trace>(
        self,
        context: &PerfCounterContext<'_, B, R, T>,
        id: u64,
        result: &Result<(), Refusal>,
        started: u64,
    ) {
        context.record_set(id, self.0, *result, started);
    }
}

impl<B: Bus, R: StrandRegisters, T: Trace> PerfCounterContext<'_, B, R, T> {
    /// Reads a register: `VFALLS_GET_PERFREG`. An error changes nothing.
    #[doc(alias = "VFALLS_GET_PERFREG")]
    pub fn get(&self, id: u64, version: NegotiatedVersion) -> Result<u64, HvError> {
        self.counted(id, Get, |get| self.slow_path(id, get, version))
    }

    /// Writes a register: `VFALLS_SET_PERFREG`. An error changes nothing.
    #[doc(alias = "VFALLS_SET_PERFREG")]
    pub fn set(&self, id: u64, value: u64, version: NegotiatedVersion) -> Result<(), HvError> {
        self.counted(id, Set(value), |set| self.slow_path(id, set, version))
    }

    /// Counts and records a get that was refused because the group is not negotiated.
    pub(crate) fn get_not_negotiated(&self, id: u64) {
        let _ = self.counted(id, Get, |_| Err(Refusal::BadTrap));
    }

    /// Counts and records a set that was refused because the group is not negotiated.
    pub(crate) fn set_not_negotiated(&self, id: u64, value: u64) {
        let _ = self.counted(id, Set(value), |_| Err(Refusal::BadTrap));
    }

    /// [`get`](Self::get) of a register that the guest may use and whose hub is free. `None`: nothing was done, and `get`
    /// has to.
    #[inline(always)]
    pub fn get_fast(&self, id: u64) -> Option<Result<u64, HvError>> {
        self.fast_path(id, Get)
    }

    /// [`set`](Self::set) of a register that the guest may use and whose hub is free. `None`: nothing was done, and `set`
    /// has to.
    #[inline(always)]
    pub fn set_fast(&self, id: u64, value: u64) -> Option<Result<(), HvError>> {
        self.fast_path(id, Set(value))
    }

    #[inline(always)]
    fn fast_path<A: Access>(&self, id: u64, access: A) -> Option<Result<A::Value, HvError>> {
        if id == 0 {
            return self
                .may_use_pcr(A::OPERATION, access.sets_ht())
                .then(|| Ok(access.pcr(self)));
        }
        let accessed = if id < SINGLE_REGISTERS {
            self.dram_fast(id, A::OPERATION, |index| self.device(index, access))?
        } else {
            self.hub_fast(id, A::OPERATION, |index| self.device(index, access))?
        };
        Some(accessed.map_err(|error| self.failed_fast(A::OPERATION, id, error).error()))
    }

    /// The fast path of a DRAM register: `id` is from 1 to 17, and 1 refused. If the access fails, it remains to say
    /// so to [`failed_fast`](Self::failed_fast).
    #[inline(always)]
    pub(crate) fn dram_fast<V>(
        &self,
        id: u64,
        operation: Operation,
        access: impl FnOnce(usize) -> Result<V, AccessError>,
    ) -> Option<Result<V, AccessError>> {
        if !self.guest.access().register(id) {
            return None;
        }
        let result = access(id as usize);
        if result.is_ok() {
            self.counts.add(operation, Class::Dram, Outcome::Ok);
        }
        Some(result)
    }

    /// The fast path of a register of a hub; `None` if `id` is none. If the access fails, the strand still has the hub,
    /// and it remains to say so to [`failed_fast`](Self::failed_fast).
    #[inline(always)]
    pub(crate) fn hub_fast<V>(
        &self,
        id: u64,
        operation: Operation,
        access: impl FnOnce(usize) -> Result<V, AccessError>,
    ) -> Option<Result<V, AccessError>> {
        let (hub, gate) = self.hub(id)?;
        if !self.guest.access().hub(hub) || !gate.take_free(self.token) {
            return None;
        }
        let result = access(id as usize);
        if result.is_ok() {
            gate.release(self.token);
            self.counts.add(operation, Class::Hub, Outcome::Ok);
        }
        Some(result)
    }

    /// The fast path of register 0: if the guest may use it, counts the access, which the caller makes.
    #[inline(always)]
    pub(crate) fn may_use_pcr(&self, operation: Operation, sets_ht: bool) -> bool {
        let allowed = self.guest.access();
        let may = allowed.register(0) && (!sets_ht || allowed.ht());
        if may {
            self.counts.add(operation, Class::Strand, Outcome::Ok);
        }
        may
    }

    /// The access of a fast path failed. Not for a fast path that comes to nothing for any other reason.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed_fast(&self, operation: Operation, id: u64, error: AccessError) -> Refusal {
        let refusal = match PerfReg::new(id) {
            Some(register) => self.failed(register, error),
            None => Refusal::Invalid,
        };
        self.counts
            .add(operation, Class::of(id), Outcome::Refused(refusal));
        refusal
    }

    fn counted<A: Access>(
        &self,
        id: u64,
        access: A,
        call: impl FnOnce(A) -> Result<A::Value, Refusal>,
    ) -> Result<A::Value, HvError> {
        let started = self.service.trace.time(self.strand);
        let result = call(access);
        let outcome = match &result {
            Ok(_) => Outcome::Ok,
            Err(refusal) => Outcome::Refused(*refusal),
        };
        self.counts.add(A::OPERATION, Class::of(id), outcome);
        if let Some(started) = started {
            access.record(self, id, &result, started);
        }
        result.map_err(Refusal::error)
    }

    /// The contract, check by check, for a guest that has negotiated this version.
    fn slow_path<A: Access>(
        &self,
        id: u64,
        access: A,
        version: NegotiatedVersion,
    ) -> Result<A::Value, Refusal> {
        let Self { service, guest, .. } = *self;
        let grant = guest.access().grant();
        let register = PerfReg::new(id).ok_or(Refusal::Invalid)?;
        if !guest.version_has(version, register)
            || !service.machine.has_register(register)
            || service.units.is_out(register, self.node)
        {
            return Err(Refusal::NotSupported);
        }
        if !grant.covers(register, guest.nodes()) {
            return Err(Refusal::NoAccess);
        }
        let result = match register.kind() {
            Kind::Strand if access.sets_ht() && grant.strand != StrandRight::HtStrand => {
                return Err(Refusal::NoAccess);
            }
            Kind::Strand => Ok(access.pcr(self)),
            Kind::L2 => {
                let unit = Unit::L2(self.node);
                let Some(held) = service.l2[self.node.index()].take(self.strand) else {
                    return Err(service.found_busy(self.strand, unit));
                };
                // The strand that had it before may have found it faulty.
                if service.units.out.has(unit) {
                    return Err(Refusal::NotSupported);
                }
                let result = access.l2(self, &held);
                service.access_ended(unit);
                result
            }
            Kind::Dram { .. } => self.device(register.index(), access),
            Kind::Hub { hub, .. } => {
                let gate = self.gate(hub);
                gate.ask(self.strand)
                    .map_err(|refused| self.refused(hub, refused))?;
                // The strand that had the hub before may have found it faulty.
                if service.units.out.has(Unit::Hub(hub)) {
                    gate.release(self.strand);
                    return Err(Refusal::NotSupported);
                }
                if let Some(progress) = service.progress.of(Unit::Hub(hub)) {
                    progress.found_free();
                }
                self.device(register.index(), access).inspect(|_| {
                    service.access_ended(Unit::Hub(hub));
                    gate.release(self.strand);
                })
            }
        };
        result.map_err(|error| self.failed(register, error))
    }

    /// An access was made and failed. If it was to a hub, the caller still has the hub.
    ///
    /// Inlined: on SPARC calls nest in few register windows.
    #[inline(always)]
    fn failed(&self, register: PerfReg, error: AccessError) -> Refusal {
        match (error, register.kind()) {
            (AccessError::Busy, Kind::Hub { hub, .. }) => {
                if let Some(progress) = self.service.progress.of(Unit::Hub(hub)) {
                    progress.given_back(self.strand);
                }
                self.gate(hub).give_back(self.strand);
                self.note_conflict(hub, Conflict::Busy);
                self.service.found_busy(self.strand, Unit::Hub(hub))
            }
            // What is no hub is never busy for a good reason.
            (_, kind) => {
                let unit = Unit::of(register, self.node);
                let news = unit.filter(|unit| self.service.faulted(self.strand, *unit));
                if let Kind::Hub { hub, .. } = kind {
                    self.gate(hub).release(self.strand);
                }
                // Last, so that nobody is refused while a slow logger writes.
                if let Some(unit) = news {
                    log::error!("{unit} faulted and is out of service");
                }
                Refusal::NotSupported
            }
        }
    }

    /// The hub's gate did not let the strand in.
    #[inline(always)]
    fn refused(&self, hub: Hub, refused: Refused) -> Refusal {
        self.note_conflict(
            hub,
            match refused {
                Refused::Taken => Conflict::InFlight,
                Refused::Turn => Conflict::Turn,
            },
        );
        let progress = self.service.progress.of(Unit::Hub(hub));
        match (refused, self.gate(hub).holder(), progress) {
            (Refused::Turn, _, Some(progress)) => {
                progress.found_free();
                Refusal::WouldBlock
            }
            (Refused::Taken, holder, Some(progress)) => {
                if let Some(holder) = holder {
                    progress.taken(holder);
                }
                self.service.found_busy(self.strand, Unit::Hub(hub))
            }
            (_, _, None) => Refusal::WouldBlock,
        }
    }

    #[inline(always)]
    fn device<A: Access>(&self, index: usize, access: A) -> Result<A::Value, AccessError> {
        let Row { address, mask } = *self.rows.get(index).ok_or(AccessError::Fault)?;
        access.device(self, address, mask)
    }

    /// The hub of a register from 18 on.
    #[inline(always)]
    pub(crate) fn hub(&self, id: u64) -> Option<(Hub, &HubGate)> {
        let index = id.wrapping_sub(SINGLE_REGISTERS);
        if index >= HUB_REGISTERS * Hub::ALL.len() as u64 {
            return None;
        }
        let hub = Hub::new(hub_of(index) as usize)?;
        Some((hub, self.gate(hub)))
    }

    #[inline(always)]
    fn gate(&self, hub: Hub) -> &HubGate {
        // Not all compilers see everywhere that the number of a hub is below 4.
        &self.hubs[hub.index() % Hub::ALL.len()]
    }
}
