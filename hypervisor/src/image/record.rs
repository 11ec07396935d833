//! Reports the hypervisor's failures to the operator: see [`platform::memory_map::mailbox::record`].

use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::trace::OutageReason;
use perfctr_service::{Environment, Outage, Unit};
use platform::memory_map::mailbox::RECORDS;
use platform::memory_map::mailbox::record::{
    ADDRESS, CURRENT, GUEST, NONE, REASON, REGISTERS, Reason, STRAND, UNIT, VERSION, WORDS, slot,
};
use platform::sparc64::FatalTrap;

use super::layout::Layout;
use super::mailbox::{count, set};

/// A failure to report to the operator.
pub(super) struct Record<'a> {
    pub(super) reason: Reason,
    pub(super) unit: Option<Unit>,
    /// The strand that found the failure.
    pub(super) strand: Option<StrandId>,
    pub(super) address: Option<u64>,
    pub(super) trap: Option<&'a FatalTrap>,
}

impl Record<'_> {
    /// Returns a record of a failure that concerns no unit.
    pub(super) const fn new(reason: Reason, strand: Option<StrandId>) -> Self {
        Self { reason, unit: None, strand, address: None, trap: None }
    }

    /// Writes the record. Any number of strands may write records at the same time.
    pub(super) fn write(&self, layout: Option<&Layout>) {
        let first = slot(count(RECORDS) as usize);
        set(first + VERSION, NONE);
        let guest = self.strand.and_then(|strand| layout?.guest_of(strand));
        let words = [
            (REASON, Some(self.reason as u64)),
            (UNIT, self.unit.map(|unit| unit.number() as u64)),
            (STRAND, self.strand.map(|strand| strand.index() as u64)),
            (GUEST, guest.map(|(guest, _)| guest.index() as u64)),
            (ADDRESS, self.address),
        ];
        for (word, value) in words {
            set(first + word, value.unwrap_or(NONE));
        }
        let registers = self.trap.map(FatalTrap::registers);
        for (word, place) in (REGISTERS..WORDS).enumerate() {
            set(
                first + place,
                registers.as_ref().and_then(|all| all.get(word)).map_or(NONE, |word| *word),
            );
        }
        set(first + VERSION, CURRENT);
    }
}

/// The environment of the counter service. It gives the service its hardware, records each unit that goes out of service, and knows the
/// guests' names.
pub struct ReportingEnvironment<E> {
    environment: E,
    layout: &'static Layout,
}

impl<E> ReportingEnvironment<E> {
    pub(super) const fn new(environment: E, layout: &'static Layout) -> Self {
        Self { environment, layout }
    }
}

impl<E: Environment> Environment for ReportingEnvironment<E> {
    type Bus = E::Bus;
    type Registers = E::Registers;
    type Trace = E::Trace;

    #[inline(always)]
    fn bus(&self) -> &E::Bus {
        self.environment.bus()
    }

    #[inline(always)]
    fn registers(&self) -> &E::Registers {
        self.environment.registers()
    }

    #[inline(always)]
    fn trace(&self) -> &E::Trace {
        self.environment.trace()
    }

    fn out_of_service(&self, outage: Outage) {
        let Outage { unit, strand, cause } = outage;
        let reason = match cause.reason() {
            OutageReason::Fault => Reason::Fault,
            OutageReason::Stuck => Reason::Stuck,
            OutageReason::Died => Reason::Died,
            OutageReason::NotScrubbed => Reason::NotScrubbed,
        };
        let record = Record {
            unit: Some(unit),
            address: cause.address().map(|address| address.0),
            ..Record::new(reason, Some(strand))
        };
        record.write(Some(self.layout));
    }

    fn guest_name(&self, guest: GuestId) -> Option<&str> {
        self.layout.guest(guest)?.name
    }
}
