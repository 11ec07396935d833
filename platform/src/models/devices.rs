//! The devices of a machine. They implement the same Rust traits as real hardware.

use core::ops::DerefMut;
use core::sync::atomic::{AtomicU64, Ordering};

use guest_abi::{Hub, Mcu, Node, StrandId};
use spin::Mutex;
use static_assertions::assert_impl_all;

use super::decode::{DeviceRegister, decode};
use super::{HubChip, L2, MemoryController, StrandUnit, answer};
use crate::address::L2_BANKS;
use crate::{AccessError, Bus, Machine, PhysicalAddress, StrandRegisters};

/// A device that [`Devices::set_faulty`] makes faulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultyUnit {
    /// A channel's memory controller. Both registers fault.
    Mcu(Node, Mcu),
    /// A hub with all its units.
    Hub(Hub),
    /// All L2 control registers of a node.
    L2(Node),
    /// The L2 control registers of this bank (0 to 7) and of all later banks. A write to all eight banks then fails partway.
    L2FromBank(Node, usize),
}

/// The devices of a machine: its [`Bus`] and its [`StrandRegisters`], for any number of concurrent threads.
///
/// An access [faults](AccessError::Fault) if no device is at its address, or if the node, channel or hub is absent.
/// Every device has its own lock, and no method holds two locks. To avoid deadlock, a thread that holds the guard of a [strand
/// unit](Self::strand_unit) may lock only one other device at a time. A thread that holds any other guard may lock no device.
#[derive(Debug)]
pub struct Devices {
    machine: Machine,
    now: AtomicU64,
    cross_calls: [AtomicU64; StrandId::COUNT / 64],
    strands: [Mutex<StrandUnit>; StrandId::COUNT],
    l2: [Mutex<L2>; Node::ALL.len()],
    controllers: [[Mutex<MemoryController>; Mcu::ALL.len()]; Node::ALL.len()],
    hubs: [Mutex<HubChip>; Hub::ALL.len()],
}

assert_impl_all!(Devices: Bus, StrandRegisters, Send, Sync);

impl Devices {
    /// Returns the devices of a machine after reset, at time 0.
    pub const fn new(machine: Machine) -> Self {
        Self {
            machine,
            now: AtomicU64::new(0),
            cross_calls: [const { AtomicU64::new(0) }; StrandId::COUNT / 64],
            strands: [const { Mutex::new(StrandUnit::new()) }; StrandId::COUNT],
            l2: [const { Mutex::new(L2::new()) }; Node::ALL.len()],
            controllers: [const { [const { Mutex::new(MemoryController::new()) }; Mcu::ALL.len()] };
                Node::ALL.len()],
            hubs: [const { Mutex::new(HubChip::new()) }; Hub::ALL.len()],
        }
    }

    /// Returns the machine that [`new`](Self::new) was given.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Returns the time in cycles, which only [`advance`](Self::advance) changes.
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Acquire)
    }

    /// Advances the time by `cycles`, which may end a hub access. Only [`HubChip::pass`] counts the cycles.
    pub fn advance(&self, cycles: u64) {
        self.now.fetch_add(cycles, Ordering::AcqRel);
    }

    /// Sets the duration, in cycles, of an access to any hub. The default is 0: no hub is ever busy.
    pub fn set_hub_access_cycles(&self, cycles: u64) {
        for hub in &self.hubs {
            hub.lock().set_access_cycles(cycles);
        }
    }

    /// Makes accesses to a device fault (`true`) or succeed again (`false`).
    pub fn set_faulty(&self, unit: FaultyUnit, faulty: bool) {
        let from = |bank| if faulty { bank } else { L2_BANKS };
        match unit {
            FaultyUnit::Mcu(node, mcu) => self.memory_controller(node, mcu).set_faulty(faulty),
            FaultyUnit::Hub(hub) => self.hub(hub).set_faulty(faulty),
            FaultyUnit::L2(node) => self.l2(node).set_faulty_from(from(0)),
            FaultyUnit::L2FromBank(node, bank) => self.l2(node).set_faulty_from(from(bank)),
        }
    }

    /// Reads a strand's %pic, as code on the strand does.
    pub fn pic(&self, strand: StrandId) -> u64 {
        self.strand_unit(strand).pic()
    }

    /// Writes a strand's %pic, as code on the strand does.
    pub fn set_pic(&self, strand: StrandId, value: u64) {
        self.strand_unit(strand).set_pic(value);
    }

    /// Takes the cross-call that is pending for a strand. Returns `true` if there was one.
    pub fn take_cross_call(&self, strand: StrandId) -> bool {
        let bit = 1 << (strand.index() % 64);
        self.cross_calls[strand.index() / 64].fetch_and(!bit, Ordering::SeqCst) & bit != 0
    }

    /// Locks and returns a strand's counters.
    pub fn strand_unit(&self, strand: StrandId) -> impl DerefMut<Target = StrandUnit> {
        self.strands[strand.index()].lock()
    }

    /// Locks and returns a node's L2 control registers.
    pub fn l2(&self, node: Node) -> impl DerefMut<Target = L2> {
        self.l2[node.index()].lock()
    }

    /// Switches the L2 caches on, as a hypervisor does at boot: writes 0 to every control register.
    pub fn start_caches(&self) {
        for node in Node::ALL {
            self.l2(*node).clear();
        }
    }

    /// Locks and returns a DRAM channel's counters.
    pub fn memory_controller(
        &self,
        node: Node,
        mcu: Mcu,
    ) -> impl DerefMut<Target = MemoryController> {
        self.controllers[node.index()][mcu.index()].lock()
    }

    /// Locks and returns a hub, so that the caller can report events.
    pub fn hub(&self, hub: Hub) -> impl DerefMut<Target = HubChip> {
        self.hubs[hub.index()].lock()
    }

    fn register(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
    ) -> Result<DeviceRegister, AccessError> {
        let register = decode(strand.node(), address).ok_or(AccessError::Fault)?;
        answer(match register {
            DeviceRegister::L2(node, _) => self.machine.has_node(node),
            DeviceRegister::Dram(node, mcu, _) => self.machine.has_channel(node, mcu),
            DeviceRegister::Hub(hub, ..) => self.machine.model().has_hub(hub),
        })?;
        Ok(register)
    }
}

impl Clone for Devices {
    fn clone(&self) -> Self {
        let cross_calls = self.cross_calls.each_ref();
        Self {
            machine: self.machine,
            now: AtomicU64::new(self.now.load(Ordering::Relaxed)),
            cross_calls: cross_calls.map(|calls| AtomicU64::new(calls.load(Ordering::Relaxed))),
            strands: self.strands.each_ref().map(copied),
            l2: self.l2.each_ref().map(copied),
            controllers: self.controllers.each_ref().map(|of_node| of_node.each_ref().map(copied)),
            hubs: self.hubs.each_ref().map(copied),
        }
    }
}

fn copied<T: Clone>(locked: &Mutex<T>) -> Mutex<T> {
    Mutex::new(locked.lock().clone())
}

impl Bus for Devices {
    fn read(&self, strand: StrandId, at: PhysicalAddress) -> Result<u64, AccessError> {
        match self.register(strand, at)? {
            DeviceRegister::L2(node, bank) => self.l2(node).read(bank),
            DeviceRegister::Dram(node, mcu, role) => self.memory_controller(node, mcu).read(role),
            DeviceRegister::Hub(hub, unit, role) => self.hub(hub).read(unit, role, self.now()),
        }
    }

    fn write(&self, strand: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        match self.register(strand, at)? {
            DeviceRegister::L2(node, bank) => self.l2(node).write(bank, value),
            DeviceRegister::Dram(node, mcu, role) => {
                self.memory_controller(node, mcu).write(role, value)
            }
            DeviceRegister::Hub(hub, unit, role) => {
                self.hub(hub).write(unit, role, value, self.now())
            }
        }
    }
}

impl StrandRegisters for Devices {
    fn pcr(&self, strand: StrandId) -> u64 {
        self.strand_unit(strand).pcr()
    }

    fn set_pcr(&self, strand: StrandId, value: u64) {
        self.strand_unit(strand).set_pcr(value);
    }

    fn set_pic(&self, strand: StrandId, value: u64) {
        self.strand_unit(strand).set_pic(value);
    }

    fn ticks(&self, _: StrandId) -> u64 {
        self.now()
    }

    fn cross_call(&self, strand: StrandId) {
        let bit = 1 << (strand.index() % 64);
        self.cross_calls[strand.index() / 64].fetch_or(bit, Ordering::SeqCst);
    }
}
