//! Get and set (FWARC/2007/529 sections 3.2.1 and 3.2.2).
//!
//! The common case comes first and is short: one look at what the guest may do, the access, one count. Whatever does
//! not fit it goes to [`exact`], which makes every check in the order of the contract and works out the reason of a
//! refusal.
//!
//! [`exact`]: PerfCounterService::exact

use guest_abi::layout::SparcPcr;
use guest_abi::{Hub, HvError, Kind, PerfReg};
use hv_core::Caller;
use platform::{AccessError, Bus, StrandRegisters};

use crate::access::SINGLE_REGISTERS;
use crate::service::{PerfCounterService, Strand};
use crate::statistics::{Class, Operation, Outcome, Refusal};
use crate::table::{WRITE_MASKS, write_mask};
use crate::units::Unit;

/// The first register of a DRAM channel, and how many there are.
const DRAM: u64 = 2;
const DRAM_REGISTERS: u64 = 16;

/// How many registers a hub has.
const HUB_REGISTERS: u64 = 18;

/// Why the short path did not do it.
enum Miss {
    /// It is not the common case. Nothing was done.
    Uncommon,
    /// The access was made, and ended so.
    Failed(AccessError),
}

/// What a call does to a register. Get and set share every check and differ in these accesses.
trait Access: Copy {
    const OPERATION: Operation;
    type Value;

    /// Whether the call sets HT in the strand's PCR.
    fn sets_ht(self) -> bool;

    fn strand<B: Bus, R: StrandRegisters>(
        self,
        service: &PerfCounterService<B, R>,
        caller: Caller,
    ) -> Self::Value;

    fn l2<B: Bus, R: StrandRegisters>(
        self,
        service: &PerfCounterService<B, R>,
        strand: &Strand,
        caller: Caller,
    ) -> Result<Self::Value, AccessError>;

    /// A register that has an address.
    fn device<B: Bus, R: StrandRegisters>(
        self,
        service: &PerfCounterService<B, R>,
        strand: &Strand,
        caller: Caller,
        index: usize,
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
    fn strand<B: Bus, R: StrandRegisters>(
        self,
        service: &PerfCounterService<B, R>,
        caller: Caller,
    ) -> u64 {
        service.registers.pcr(caller.strand)
    }

    fn l2<B: Bus, R: StrandRegisters>(
        self,
        service: &PerfCounterService<B, R>,
        strand: &Strand,
        caller: Caller,
    ) -> Result<u64, AccessError> {
        service.l2[strand.node.index()].get(&service.bus, caller.strand)
    }

    #[inline(always)]
    fn device<B: Bus, R: StrandRegisters>(
        self,
        service: &PerfCounterService<B, R>,
        strand: &Strand,
        caller: Caller,
        index: usize,
    ) -> Result<u64, AccessError> {
        let address = strand.addresses.get(index).ok_or(AccessError::Fault)?;
        service.bus.read(caller.strand, *address)
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
    fn strand<B: Bus, R: StrandRegisters>(
        self,
        service: &PerfCounterService<B, R>,
        caller: Caller,
    ) {
        service
            .registers
            .set_pcr(caller.strand, self.0 & write_mask(PerfReg::SPARC_PCR));
    }

    fn l2<B: Bus, R: StrandRegisters>(
        self,
        service: &PerfCounterService<B, R>,
        strand: &Strand,
        caller: Caller,
    ) -> Result<(), AccessError> {
        service.l2[strand.node.index()].set(&service.bus, caller.strand, self.0)
    }

    #[inline(always)]
    fn device<B: Bus, R: StrandRegisters>(
        self,
        service: &PerfCounterService<B, R>,
        strand: &Strand,
        caller: Caller,
        index: usize,
    ) -> Result<(), AccessError> {
        let address = strand.addresses.get(index).ok_or(AccessError::Fault)?;
        let mask = WRITE_MASKS.get(index).ok_or(AccessError::Fault)?;
        service.bus.write(caller.strand, *address, self.0 & mask)
    }
}

impl<B: Bus, R: StrandRegisters> PerfCounterService<B, R> {
    /// Reads a register: `VFALLS_GET_PERFREG`. An error changes nothing.
    #[doc(alias = "VFALLS_GET_PERFREG")]
    #[inline]
    pub fn get(&self, caller: Caller, id: u64) -> Result<u64, HvError> {
        self.call(caller, id, Get)
    }

    /// Writes a register: `VFALLS_SET_PERFREG`. An error changes nothing.
    #[doc(alias = "VFALLS_SET_PERFREG")]
    #[inline]
    pub fn set(&self, caller: Caller, id: u64, value: u64) -> Result<(), HvError> {
        self.call(caller, id, Set(value))
    }

    #[inline(always)]
    fn call<A: Access>(&self, caller: Caller, id: u64, access: A) -> Result<A::Value, HvError> {
        match self.common(caller, id, access) {
            Ok(value) => Ok(value),
            Err(miss) => self.uncommon(caller, id, access, miss),
        }
    }

    /// A register that the guest may use, whose device is free and works.
    #[inline(always)]
    fn common<A: Access>(&self, caller: Caller, id: u64, access: A) -> Result<A::Value, Miss> {
        let strand = &self.strands[caller.strand.index()];
        let allowed = self.guests[caller.guest.index()].access();
        let (class, value) = if id.wrapping_sub(DRAM) < DRAM_REGISTERS {
            if !allowed.register(id) {
                return Err(Miss::Uncommon);
            }
            let value = access
                .device(self, strand, caller, id as usize)
                .map_err(Miss::Failed)?;
            (Class::Dram, value)
        } else if id.wrapping_sub(SINGLE_REGISTERS) < PerfReg::COUNT as u64 - SINGLE_REGISTERS {
            let hub = Hub::new(((id - SINGLE_REGISTERS) / HUB_REGISTERS) as usize)
                .ok_or(Miss::Uncommon)?;
            let gate = &self.hubs[hub.index()];
            if !allowed.hub(hub) || !gate.take_free(caller.strand) {
                return Err(Miss::Uncommon);
            }
            match access.device(self, strand, caller, id as usize) {
                Ok(value) => {
                    gate.release(caller.strand);
                    (Class::Hub, value)
                }
                Err(error) => return Err(Miss::Failed(error)),
            }
        } else if id == 0 && allowed.register(0) && (!access.sets_ht() || allowed.ht()) {
            (Class::Strand, access.strand(self, caller))
        } else {
            return Err(Miss::Uncommon);
        };
        strand.counts.add(A::OPERATION, class, Outcome::Ok);
        Ok(value)
    }

    #[cold]
    #[inline(never)]
    fn uncommon<A: Access>(
        &self,
        caller: Caller,
        id: u64,
        access: A,
        miss: Miss,
    ) -> Result<A::Value, HvError> {
        let result = match (miss, PerfReg::new(id)) {
            (Miss::Failed(error), Some(register)) => Err(self.failed(caller, register, error)),
            _ => self.exact(caller, id, access),
        };
        let outcome = match &result {
            Ok(_) => Outcome::Ok,
            Err(refusal) => Outcome::Refused(*refusal),
        };
        self.strands[caller.strand.index()]
            .counts
            .add(A::OPERATION, Class::of(id), outcome);
        result.map_err(Refusal::error)
    }

    /// The whole contract, check by check.
    fn exact<A: Access>(&self, caller: Caller, id: u64, access: A) -> Result<A::Value, Refusal> {
        let strand = &self.strands[caller.strand.index()];
        let guest = &self.guests[caller.guest.index()];
        let version = guest.negotiated.place();
        if version == 0 {
            return Err(Refusal::BadTrap);
        }
        let register = PerfReg::new(id).ok_or(Refusal::Invalid)?;
        if !guest.version_has(version, register)
            || !self.machine.has_register(register)
            || self.out_of_service.has_register(register, strand.node)
        {
            return Err(Refusal::NotSupported);
        }
        if !guest.covers(register) {
            return Err(Refusal::NoAccess);
        }
        let result = match register.kind() {
            Kind::Strand if access.sets_ht() && !guest.access().ht() => {
                return Err(Refusal::NoAccess);
            }
            Kind::Strand => Ok(access.strand(self, caller)),
            Kind::L2 => access.l2(self, strand, caller),
            Kind::Dram { .. } => access.device(self, strand, caller, register.index()),
            Kind::Hub { hub, .. } => {
                let gate = &self.hubs[hub.index()];
                gate.ask(caller.strand).map_err(|_| Refusal::WouldBlock)?;
                access
                    .device(self, strand, caller, register.index())
                    .inspect(|_| gate.release(caller.strand))
            }
        };
        result.map_err(|error| self.failed(caller, register, error))
    }

    /// An access was made and failed. If it was to a hub, the caller still has it.
    fn failed(&self, caller: Caller, register: PerfReg, error: AccessError) -> Refusal {
        let strand = &self.strands[caller.strand.index()];
        if let (AccessError::Fault, Some(unit)) = (error, Unit::of(register, strand.node)) {
            self.take_out_of_service(unit);
        }
        if let Kind::Hub { hub, .. } = register.kind() {
            let gate = &self.hubs[hub.index()];
            match error {
                AccessError::Fault => gate.release(caller.strand),
                AccessError::Busy => gate.give_back(caller.strand),
            }
        }
        match error {
            AccessError::Fault => Refusal::NotSupported,
            AccessError::Busy => Refusal::WouldBlock,
        }
    }
}
