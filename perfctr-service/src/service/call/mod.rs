//! The calls `VFALLS_GET_PERFREG` (get) and `VFALLS_SET_PERFREG` (set) (FWARC/2007/529 sections 3.2.1 and 3.2.2).
//!
//! For each guest, the service keeps words in memory that say which calls are allowed and which are refused. The [fast
//! path](PerfCounterContext::fast) serves calls that these words allow, and refuses calls that they refuse. Every call that it does not
//! answer takes the [slow path](StrandContext::call), which checks in the order of the contract.

mod fast;
mod slow;

use guest_abi::layout::SparcPcr;
use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{Hub, HvError, PerfReg, Registers};
use hv_core::{CallError, Context, Frame, Reply};
use platform::{AccessError, Bus, StrandRegisters};

use crate::hubs::HubArbiter;
use crate::rights::access::{HUB_REGISTERS, NON_HUB_REGISTERS};
use crate::rights::versions::{Vfalls, VfallsVersion};
use crate::service::StrandContext;
use crate::statistics::{Class, Operation, Refusal};
use crate::table::Row;
use crate::{Environment, PerfCounterContext};

/// Returns `index / HUB_REGISTERS`. The index must be below 72, the number of all hub registers. A general division would need a
/// 128-bit product.
#[inline(always)]
const fn hub_of(index: u64) -> u64 {
    (index * 57) >> 10
}

// Checking each hub's first and last register suffices, because `hub_of` never decreases.
const _: () = assert!(
    matches!([hub_of(0), hub_of(17), hub_of(18), hub_of(35)], [0, 0, 1, 1])
        && matches!([hub_of(36), hub_of(53), hub_of(54), hub_of(71)], [2, 2, 3, 3])
        && HUB_REGISTERS == 18
);
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
    pub(super) fn answer(self, result: Result<u64, Refusal>) -> Result<Reply, CallError> {
        match (self, result) {
            (Self::Get, Ok(value)) => Ok(Reply::Value(value)),
            (Self::Set(_), Ok(_)) => Ok(Reply::Done),
            (_, Err(refusal)) => Err(refusal.error().into()),
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

/// The register that a guest has named by its number, or the number itself if no register has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestedRegister {
    Known(PerfReg),
    /// No register has this number.
    Unknown(u64),
}

impl RequestedRegister {
    const fn class(self) -> Class {
        match self {
            Self::Known(register) => Class::of(register),
            Self::Unknown(_) => Class::Invalid,
        }
    }

    /// Returns the register number that an event records.
    const fn number(self) -> u64 {
        match self {
            Self::Known(register) => register.id(),
            Self::Unknown(number) => number,
        }
    }
}

impl<E: Environment> Context for PerfCounterContext<'_, E> {
    type Group = Vfalls;

    #[inline(always)]
    fn fast_path(&self, function: u64, frame: &mut Frame<'_>) -> bool {
        match function {
            VFALLS_GET_PERFREG => self.fast::<false>(frame),
            VFALLS_SET_PERFREG => self.fast::<true>(frame),
            _ => false,
        }
    }

    fn call(
        &self,
        function: u64,
        version: VfallsVersion,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        let access = Access::from_call(function, registers).ok_or(HvError::BadTrap)?;
        let named = requested_register(registers.o0);
        let result = self.strand.serve_counted(named, access, || {
            let allowed = self.strand.guest.access();
            if allowed.version() != version {
                // The fast path is not open for this version. The strand that negotiated the version has not opened it yet, or could
                // not: other strands changed the word, calls were traced, or a unit was out of service.
                self.strand.guest.version_changed(self.version, self.strand.service.units.out());
            }
            let has = |register| self.strand.guest.version_has(version, register);
            self.strand.call(allowed.grant(), named, access, has)
        });
        access.answer(result)
    }

    #[inline(always)]
    fn is_current(&self, version: VfallsVersion) -> bool {
        // If `version` is none, the result is `false` even if the word holds no version. Another strand's call may still be opening the
        // fast path for a version that is being released, so a repeated release must call `version_changed`, too.
        !version.is_none() && self.strand.guest.access().version() == version
    }

    #[inline(always)]
    fn change_version(&self, _: VfallsVersion, store: impl FnOnce()) -> bool {
        store();
        self.strand.guest.change_version(self.version, self.strand.service.units.out());
        true
    }

    fn not_negotiated(&self, function: u64, registers: &Registers) {
        if let Some(access) = Access::from_call(function, registers) {
            let _ = self
                .strand
                .serve_counted(requested_register(registers.o0), access, || Err(Refusal::BadTrap));
        }
    }
}

/// Returns the register with this number in group 0x205, or [`RequestedRegister::Unknown`].
fn requested_register(number: u64) -> RequestedRegister {
    PerfReg::new(number).map_or(RequestedRegister::Unknown(number), RequestedRegister::Known)
}

impl<E: Environment> StrandContext<'_, E> {
    /// Reads or writes register 0. Returns the value read; 0 for a write.
    #[inline(always)]
    fn pcr(&self, access: Access) -> u64 {
        let registers = self.service.registers();
        match access {
            Access::Get => registers.pcr(self.caller.strand),
            Access::Set(value) => {
                registers.set_pcr(self.caller.strand, value & PerfReg::SPARC_PCR.info().write_mask);
                0
            }
        }
    }
    /// Reads or writes a register that has an address. Returns the value read; 0 for a write.
    #[inline(always)]
    fn device(&self, index: usize, access: Access) -> Result<u64, AccessError> {
        let Row { address, mask, .. } = *self.rows.get(index).ok_or(AccessError::Fault)?;
        let bus = self.service.bus();
        match access {
            Access::Get => bus.read(self.caller.strand, address),
            Access::Set(value) => bus.write(self.caller.strand, address, value & mask).map(|()| 0),
        }
    }

    fn now(&self) -> u64 {
        self.service.registers().ticks(self.caller.strand)
    }

    /// Returns the hub that a register belongs to; `None` if `id` is not the number of a hub register.
    #[inline(always)]
    pub(super) fn hub(&self, id: u64) -> Option<(Hub, &HubArbiter)> {
        let index = id.wrapping_sub(NON_HUB_REGISTERS);
        if index >= HUB_REGISTERS * Hub::ALL.len() as u64 {
            return None;
        }
        let hub = Hub::new(hub_of(index) as usize)?;
        Some((hub, self.arbiter(hub)))
    }

    #[inline(always)]
    fn arbiter(&self, hub: Hub) -> &HubArbiter {
        // The remainder equals the index, and shows the compiler that it is in bounds.
        self.hubs[hub.index() % Hub::ALL.len()]
    }
}
