//! The simulated machine with its hypervisor, for guests whose code is part of the simulator.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use guest_abi::guest::StrandCounters;
use guest_abi::layout::{SparcPcr, SparcPic};
use guest_abi::{Hypercall, Registers, StrandId, Trap};
use hv_core::{Caller, GuestId, Hypervisor, NoConsole, Strand};
use perfctr_service::{ConfigError, GuestConfig, PerfCounterService};
use platform::Machine;
use platform::models::Devices;

use super::clock::MachineClock;
use crate::events::collect::{Collector, Retention};
use crate::memory::broken::{Map, mapped};

pub(crate) type Collected<'a> = Collector<'a, &'a MachineClock<'a>>;

pub(crate) type Service<'a> =
    PerfCounterService<(&'a MachineClock<'a>, &'a Devices, &'a Collected<'a>)>;

/// Returns the devices of a machine that has booted. An access to a hub takes `hub_cycles` cycles.
pub(crate) fn devices(machine: Machine, hub_cycles: u64) -> Box<Devices> {
    let devices = Box::new(Devices::new(machine));
    devices.start_caches();
    devices.set_hub_access_cycles(hub_cycles);
    devices
}

/// A simulated machine that executes the hypervisor.
pub(crate) struct Board<'a> {
    devices: &'a Devices,
    hypervisor: Box<Hypervisor<(Service<'a>,), NoConsole, &'a Collected<'a>>>,
    clock: &'a MachineClock<'a>,
    events: &'a Collected<'a>,
    keep: Cell<Retention>,
    /// The number of hypercalls that each strand has made since its ring was last emptied.
    unread: RefCell<Vec<u8>>,
    tallies: RefCell<Vec<StatusCounts>>,
}

/// The number of hypercalls after which a strand's ring is emptied. The ring has room for the events of many more.
const MAX_UNREAD_CALLS: u8 = 16;

/// The number of a guest's hypercalls with each status.
pub(crate) type StatusCounts = BTreeMap<u64, u64>;

impl<'a> Board<'a> {
    /// Returns a board with `guests`. The board's hypervisor records events in `events`. With [`Retention::All`], the board empties a
    /// strand's ring after a few of the strand's calls.
    pub(crate) fn new(
        devices: &'a Devices,
        clock: &'a MachineClock<'a>,
        events: &'a Collected<'a>,
        keep: Retention,
        guests: &[GuestConfig],
    ) -> Result<Self, ConfigError> {
        let services = (PerfCounterService::new((clock, devices, events)),);
        let hypervisor = Box::new(Hypervisor::with_trace(services, NoConsole, events));
        hypervisor.services().0.configure(devices.machine(), guests)?;
        Ok(Self {
            devices,
            hypervisor,
            clock,
            events,
            keep: Cell::new(keep),
            unread: RefCell::new(vec![0; StrandId::COUNT]),
            tallies: RefCell::new(vec![StatusCounts::new(); guests.len()]),
        })
    }

    pub(crate) fn devices(&self) -> &'a Devices {
        self.devices
    }

    pub(crate) fn service(&self) -> &Service<'a> {
        &self.hypervisor.services().0
    }

    /// Returns a strand that executes a guest's code.
    pub(crate) fn strand(&'a self, guest: GuestId, strand: StrandId) -> SimulatedStrand<'a> {
        let strand = self.hypervisor.strand(Caller { guest, strand });
        SimulatedStrand { board: self, strand: strand.expect("a strand of the guest") }
    }

    /// Executes `work` in the hypervisor on a strand. The work takes the time of a hypercall.
    pub(crate) fn work<R>(&self, strand: StrandId, work: impl FnOnce(&Service<'a>) -> R) -> R {
        self.call(strand, || work(self.service()))
    }

    fn call<R>(&self, strand: StrandId, work: impl FnOnce() -> R) -> R {
        let result = self.clock.call(work);
        self.collect(strand);
        result
    }

    /// Empties a strand's ring, if all events are kept.
    fn collect(&self, strand: StrandId) {
        self.unread.borrow_mut()[strand.index()] = 0;
        if self.keep.get() == Retention::All {
            self.events.collect(strand);
        }
    }

    /// Counts a strand's hypercall. Empties the strand's ring if the strand has made [`MAX_UNREAD_CALLS`] hypercalls since the ring was
    /// last emptied.
    fn count_call(&self, strand: StrandId) {
        let calls = {
            let mut unread = self.unread.borrow_mut();
            unread[strand.index()] += 1;
            unread[strand.index()]
        };
        if calls >= MAX_UNREAD_CALLS {
            self.collect(strand);
        }
    }

    /// Resets a guest. Strand `on` executes the reset in the hypervisor.
    pub(crate) fn reset_guest(&self, guest: GuestId, on: StrandId) {
        self.call(on, || self.hypervisor.reset_guest(guest, on));
    }

    /// Lets a strand take its pending cross-call. Returns `false` if no cross-call is pending.
    pub(crate) fn take_cross_call(&self, strand: StrandId) -> bool {
        let waits = self.devices.take_cross_call(strand);
        if waits {
            self.work(strand, |service| service.cross_called(strand));
        }
        waits
    }

    /// Stops reading the rings. Each ring keeps the events for which it still has room, and drops later events.
    pub(crate) fn stop_collecting(&self) {
        (0..StrandId::COUNT).filter_map(StrandId::new).for_each(|strand| self.collect(strand));
        self.keep.set(Retention::First);
    }

    /// Returns the number of hypercalls so far, by guest.
    pub(crate) fn tallies(&self) -> Vec<StatusCounts> {
        self.tallies.borrow().clone()
    }
}

/// A strand of a simulated guest. It makes the guest's hypercalls and reads its own counters.
pub(crate) struct SimulatedStrand<'a> {
    board: &'a Board<'a>,
    strand: Strand<'a, (Service<'a>,), NoConsole, &'a Collected<'a>>,
}

impl SimulatedStrand<'_> {
    pub(crate) fn id(&self) -> StrandId {
        self.strand.caller().strand
    }
}

impl Hypercall for SimulatedStrand<'_> {
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        registers.o1 = mapped(Map::Written, registers.o1 as usize) as u64;
        self.board.clock.call(|| self.strand.trap(trap, registers));
        self.board.count_call(self.id());
        let mut tallies = self.board.tallies.borrow_mut();
        let tally = &mut tallies[self.strand.caller().guest.index()];
        *tally.entry(registers.o0).or_default() += 1;
    }
}

impl StrandCounters for SimulatedStrand<'_> {
    fn pcr(&self) -> SparcPcr {
        self.board.devices.strand_unit(self.id()).pcr().into()
    }

    fn set_pcr(&self, pcr: SparcPcr) {
        let mut unit = self.board.devices.strand_unit(self.id());
        let ht = SparcPcr::from(unit.pcr()).hypervisor();
        unit.set_pcr(pcr.with_hypervisor(ht).into());
    }

    fn pic(&self) -> SparcPic {
        self.board.devices.pic(self.id()).into()
    }

    fn set_pic(&self, pic: SparcPic) {
        self.board.devices.set_pic(self.id(), pic.into());
    }
}

#[cfg(test)]
mod tests {
    use guest_abi::ApiGroup;
    use guest_abi::trap::PerfFunction;
    use platform::Model;

    use super::*;
    use crate::machine::guests;

    /// The hypervisor serves each group and function that `guest-abi` names.
    #[test]
    fn every_named_function_is_served() {
        let machine = Machine::new(Model::Batoka, 1).unwrap();
        let devices = devices(machine, 0);
        let clock = MachineClock::new(&devices);
        let config = guests::default(machine)[0].config;
        let board =
            Board::new(&devices, &clock, &Collector::Off, Retention::First, &[config]).unwrap();
        let strand = board.strand(GuestId::new(0).unwrap(), StrandId::new(0).unwrap());
        for (name, group, _) in ApiGroup::NAMED {
            strand.call(Trap::Core, 0, [group.0, 1, 0, 0, 0]).expect(name);
        }
        for function in PerfFunction::ALL {
            let answer = strand.call(Trap::Fast, function.number(), [0; 5]);
            assert!(answer.is_ok(), "{}: {answer:?}", function.name());
        }
    }
}
