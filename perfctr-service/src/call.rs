//! Get and set (FWARC/2007/529 sections 3.2.1 and 3.2.2).
//!
//! The [common case](PerfCounterSeat::get_common) is short: one look at what the guest may do, the access, one count. It
//! does the whole call or nothing, and needs no stack unless the device fails. Every other call goes to [`exact`](PerfCounterSeat::exact), which
//! makes each check in the order of the contract and so works out the reason of a refusal.

use guest_abi::layout::SparcPcr;
use guest_abi::{Hub, HvError, Kind, PerfReg};
use hv_core::Place;
use platform::{AccessError, Bus, PhysicalAddress, StrandRegisters};

use crate::access::SINGLE_REGISTERS;
use crate::arbitration::HubGate;
use crate::l2::HeldL2;
use crate::service::PerfCounterSeat;
use crate::statistics::{Class, Operation, Outcome, Refusal};
use crate::table::{WRITE_MASKS, write_mask};
use crate::units::Unit;

/// The first register of a DRAM channel, and how many there are.
const DRAM: u64 = 2;
const DRAM_REGISTERS: u64 = 16;

/// How many registers a hub has.
const HUB_REGISTERS: u64 = 18;

/// What a call does to a register. Get and set share every check and differ in these accesses.
trait Access: Copy {
    const OPERATION: Operation;
    type Value;

    /// Whether the call sets HT in the strand's PCR.
    fn sets_ht(self) -> bool;

    /// Register 0.
    fn pcr<B: Bus, R: StrandRegisters>(self, seat: &PerfCounterSeat<'_, B, R>) -> Self::Value;

    /// Register 1.
    fn l2<B: Bus, R: StrandRegisters>(
        self,
        seat: &PerfCounterSeat<'_, B, R>,
        held: &HeldL2<'_>,
    ) -> Result<Self::Value, AccessError>;

    /// A register that has an address.
    fn device<B: Bus, R: StrandRegisters>(
        self,
        seat: &PerfCounterSeat<'_, B, R>,
        index: usize,
        address: PhysicalAddress,
    ) -> Result<Self::Value, AccessError>;
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
    fn pcr<B: Bus, R: StrandRegisters>(self, seat: &PerfCounterSeat<'_, B, R>) -> u64 {
        seat.service.registers.pcr(seat.strand)
    }

    fn l2<B: Bus, R: StrandRegisters>(
        self,
        seat: &PerfCounterSeat<'_, B, R>,
        held: &HeldL2<'_>,
    ) -> Result<u64, AccessError> {
        held.get(&seat.service.bus, seat.strand)
    }

    #[inline(always)]
    fn device<B: Bus, R: StrandRegisters>(
        self,
        seat: &PerfCounterSeat<'_, B, R>,
        _: usize,
        address: PhysicalAddress,
    ) -> Result<u64, AccessError> {
        seat.service.bus.read(seat.strand, address)
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
    fn pcr<B: Bus, R: StrandRegisters>(self, seat: &PerfCounterSeat<'_, B, R>) {
        seat.service
            .registers
            .set_pcr(seat.strand, self.0 & write_mask(PerfReg::SPARC_PCR));
    }

    fn l2<B: Bus, R: StrandRegisters>(
        self,
        seat: &PerfCounterSeat<'_, B, R>,
        held: &HeldL2<'_>,
    ) -> Result<(), AccessError> {
        held.set(&seat.service.bus, seat.strand, self.0)
    }

    #[inline(always)]
    fn device<B: Bus, R: StrandRegisters>(
        self,
        seat: &PerfCounterSeat<'_, B, R>,
        index: usize,
        address: PhysicalAddress,
    ) -> Result<(), AccessError> {
        let mask = WRITE_MASKS.get(index).ok_or(AccessError::Fault)?;
        seat.service.bus.write(seat.strand, address, self.0 & mask)
    }
}

impl<B: Bus, R: StrandRegisters> PerfCounterSeat<'_, B, R> {
    /// Reads a register: `VFALLS_GET_PERFREG`. An error changes nothing.
    #[doc(alias = "VFALLS_GET_PERFREG")]
    pub fn get(&self, id: u64) -> Result<u64, HvError> {
        self.counted(id, Get)
    }

    /// Writes a register: `VFALLS_SET_PERFREG`. An error changes nothing.
    #[doc(alias = "VFALLS_SET_PERFREG")]
    pub fn set(&self, id: u64, value: u64) -> Result<(), HvError> {
        self.counted(id, Set(value))
    }

    /// [`get`](Self::get) of a register that the guest may use and whose hub is free. `None`: nothing was done, and `get`
    /// has to.
    #[inline(always)]
    pub fn get_common(&self, id: u64) -> Option<Result<u64, HvError>> {
        self.common(id, Get)
    }

    /// [`set`](Self::set) of a register that the guest may use and whose hub is free. `None`: nothing was done, and `set`
    /// has to.
    #[inline(always)]
    pub fn set_common(&self, id: u64, value: u64) -> Option<Result<(), HvError>> {
        self.common(id, Set(value))
    }

    #[inline(always)]
    fn common<A: Access>(&self, id: u64, access: A) -> Option<Result<A::Value, HvError>> {
        let allowed = self.guest.access();
        if id.wrapping_sub(DRAM) < DRAM_REGISTERS {
            if !allowed.register(id) {
                return None;
            }
            return Some(match self.device(id as usize, access) {
                Ok(value) => {
                    self.counts.add(A::OPERATION, Class::Dram, Outcome::Ok);
                    Ok(value)
                }
                Err(error) => Err(self.failed_common(A::OPERATION, id, error).error()),
            });
        }
        if id == 0 {
            if !allowed.register(0) || access.sets_ht() && !allowed.ht() {
                return None;
            }
            let value = access.pcr(self);
            self.counts.add(A::OPERATION, Class::Strand, Outcome::Ok);
            return Some(Ok(value));
        }
        let (hub, gate) = self.hub(id)?;
        if !allowed.hub(hub) || !gate.take_free(self.strand) {
            return None;
        }
        Some(match self.device(id as usize, access) {
            Ok(value) => {
                gate.release(self.strand);
                self.counts.add(A::OPERATION, Class::Hub, Outcome::Ok);
                Ok(value)
            }
            Err(error) => Err(self.failed_common(A::OPERATION, id, error).error()),
        })
    }

    #[cold]
    #[inline(never)]
    fn failed_common(&self, operation: Operation, id: u64, error: AccessError) -> Refusal {
        let refusal = match PerfReg::new(id) {
            Some(register) => self.failed(register, error),
            None => Refusal::Invalid,
        };
        self.counts
            .add(operation, Class::of(id), Outcome::Refused(refusal));
        refusal
    }

    fn counted<A: Access>(&self, id: u64, access: A) -> Result<A::Value, HvError> {
        let result = self.exact(id, access);
        let outcome = match &result {
            Ok(_) => Outcome::Ok,
            Err(refusal) => Outcome::Refused(*refusal),
        };
        self.counts.add(A::OPERATION, Class::of(id), outcome);
        result.map_err(Refusal::error)
    }

    /// The whole contract, check by check.
    fn exact<A: Access>(&self, id: u64, access: A) -> Result<A::Value, Refusal> {
        let Self { service, guest, .. } = *self;
        let version = guest.access().place();
        if version == Place::NONE {
            return Err(Refusal::BadTrap);
        }
        let register = PerfReg::new(id).ok_or(Refusal::Invalid)?;
        if !guest.version_has(version, register)
            || !service.machine.has_register(register)
            || service.out_of_service.has_register(register, self.node)
        {
            return Err(Refusal::NotSupported);
        }
        if !guest.covers(register) {
            return Err(Refusal::NoAccess);
        }
        let result = match register.kind() {
            Kind::Strand if access.sets_ht() && !guest.may_set_ht() => {
                return Err(Refusal::NoAccess);
            }
            Kind::Strand => Ok(access.pcr(self)),
            Kind::L2 => {
                let held = service.l2[self.node.index()]
                    .take()
                    .ok_or(Refusal::WouldBlock)?;
                // The strand that had it before may have found it faulty.
                if service.out_of_service.has(Unit::L2(self.node)) {
                    return Err(Refusal::NotSupported);
                }
                access.l2(self, &held)
            }
            Kind::Dram { .. } => self.device(register.index(), access),
            Kind::Hub { hub, .. } => {
                let gate = self.gate(hub);
                gate.ask(self.strand).map_err(|_| Refusal::WouldBlock)?;
                // The strand that had the hub before may have found it faulty.
                if service.out_of_service.has(Unit::Hub(hub)) {
                    gate.release(self.strand);
                    return Err(Refusal::NotSupported);
                }
                self.device(register.index(), access)
                    .inspect(|_| gate.release(self.strand))
            }
        };
        result.map_err(|error| self.failed(register, error))
    }

    /// An access was made and failed. If it was to a hub, the caller still has the hub.
    fn failed(&self, register: PerfReg, error: AccessError) -> Refusal {
        match error {
            AccessError::Fault => {
                let unit = Unit::of(register, self.node);
                let news = unit.filter(|unit| self.service.take_out_of_service(*unit));
                if let Kind::Hub { hub, .. } = register.kind() {
                    self.gate(hub).release(self.strand);
                }
                // Last, so that nobody is refused while a slow logger writes.
                if let Some(unit) = news {
                    log::error!("{unit} faulted and is out of service");
                }
                Refusal::NotSupported
            }
            AccessError::Busy => {
                if let Kind::Hub { hub, .. } = register.kind() {
                    self.gate(hub).give_back(self.strand);
                }
                Refusal::WouldBlock
            }
        }
    }

    #[inline(always)]
    fn device<A: Access>(&self, index: usize, access: A) -> Result<A::Value, AccessError> {
        let address = *self.addresses.get(index).ok_or(AccessError::Fault)?;
        access.device(self, index, address)
    }

    /// The hub of a register from 18 on.
    #[inline(always)]
    fn hub(&self, id: u64) -> Option<(Hub, &HubGate)> {
        let index = id.wrapping_sub(SINGLE_REGISTERS);
        if index >= HUB_REGISTERS * Hub::ALL.len() as u64 {
            return None;
        }
        // In 32 bits: a 64-bit division by a constant takes a 128-bit product, which SPARC has no instruction for.
        let hub = Hub::new((index as u32 / HUB_REGISTERS as u32) as usize)?;
        Some((hub, self.gate(hub)))
    }

    #[inline(always)]
    fn gate(&self, hub: Hub) -> &HubGate {
        &self.service.hubs[hub.index()]
    }
}
