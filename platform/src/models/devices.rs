//! All devices of a machine.

use core::sync::atomic::{AtomicU64, Ordering};

use guest_abi::{Hub, Mcu, Node, StrandId};
use spin::{Mutex, MutexGuard};

use super::decode::{Target, decode};
use super::{HubChip, L2, MemoryController, StrandUnit};
use crate::address::L2_BANKS;
use crate::{AccessError, Bus, Machine, PhysicalAddress, StrandRegisters};

/// A device that can be made to fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultyUnit {
    /// A memory controller.
    Mcu(Node, Mcu),
    /// A hub, with all its parts.
    Hub(Hub),
    /// The control registers of a node's L2 cache.
    L2(Node),
    /// Those of this bank (0 to 7) and the banks after it. A set of all eight faults half-way.
    L2FromBank(Node, usize),
}

/// The devices of a machine: its [`Bus`] and its [`StrandRegisters`], which any number of threads use at once.
///
/// An address without a device, an absent node, a disabled channel and a hub of a machine without hubs
/// [fault](AccessError::Fault).
///
/// Every device has a lock of its own, and no method here holds two. Whoever holds the guard of a strand's unit
/// may lock one other device at a time; whoever holds another guard locks nothing more.
///
/// About 18 KB, and `new` is const: it fits a static.
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

impl Devices {
    /// The devices of a machine after reset, at time 0.
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

    /// The machine whose devices these are.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// The time, in cycles.
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Acquire)
    }

    /// Sets the time. It decides how long a hub is busy; the hubs' counters are told of it by
    /// [`HubChip::pass`].
    pub fn set_time(&self, now: u64) {
        self.now.store(now, Ordering::Release);
    }

    /// How many cycles an access to any hub takes from now on. At first 0: a hub is never busy.
    pub fn set_hub_access_cycles(&self, cycles: u64) {
        for hub in &self.hubs {
            hub.lock().set_access_cycles(cycles);
        }
    }

    /// Makes a device fault, or work again.
    pub fn set_faulty(&self, unit: FaultyUnit, faulty: bool) {
        let from = |bank| if faulty { bank } else { L2_BANKS };
        match unit {
            FaultyUnit::Mcu(node, mcu) => self.memory_controller(node, mcu).set_faulty(faulty),
            FaultyUnit::Hub(hub) => self.hub(hub).set_faulty(faulty),
            FaultyUnit::L2(node) => self.l2(node).set_faulty_from(from(0)),
            FaultyUnit::L2FromBank(node, bank) => self.l2(node).set_faulty_from(from(bank)),
        }
    }

    /// %pic of a strand, as code on it reads it.
    pub fn pic(&self, strand: StrandId) -> u64 {
        self.strand_unit(strand).pic()
    }

    /// Writes %pic of a strand, as code on it does.
    pub fn set_pic(&self, strand: StrandId, value: u64) {
        self.strand_unit(strand).set_pic(value);
    }

    /// Takes the cross-call that waits for a strand, if there is one. Whoever plays the strand asks between its calls.
    pub fn take_cross_call(&self, strand: StrandId) -> bool {
        let bit = 1 << (strand.index() % 64);
        self.cross_calls[strand.index() / 64].fetch_and(!bit, Ordering::SeqCst) & bit != 0
    }

    /// The counters of a strand, locked.
    pub fn strand_unit(&self, strand: StrandId) -> MutexGuard<'_, StrandUnit> {
        self.strands[strand.index()].lock()
    }

    /// The L2 control registers of a node, locked.
    pub fn l2(&self, node: Node) -> MutexGuard<'_, L2> {
        self.l2[node.index()].lock()
    }

    /// The counters of a DRAM channel, locked.
    pub fn memory_controller(&self, node: Node, mcu: Mcu) -> MutexGuard<'_, MemoryController> {
        self.controllers[node.index()][mcu.index()].lock()
    }

    /// A hub, locked.
    pub fn hub(&self, hub: Hub) -> MutexGuard<'_, HubChip> {
        self.hubs[hub.index()].lock()
    }

    /// The register at an address, if this machine has it.
    fn target(&self, strand: StrandId, address: PhysicalAddress) -> Result<Target, AccessError> {
        let target = decode(strand.node(), address).ok_or(AccessError::Fault)?;
        let present = match target {
            Target::L2(node, _) => self.machine.has_node(node),
            Target::Dram(node, mcu, _) => self.machine.has_channel(node, mcu),
            Target::Hub(..) => self.machine.model().has_hubs(),
        };
        if present {
            Ok(target)
        } else {
            Err(AccessError::Fault)
        }
    }
}

impl Bus for Devices {
    fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        match self.target(strand, address)? {
            Target::L2(node, bank) => self.l2(node).read(bank),
            Target::Dram(node, mcu, role) => self.memory_controller(node, mcu).read(role),
            Target::Hub(hub, unit, role) => {
                let mut hub = self.hub(hub);
                hub.read(unit, role, self.now())
            }
        }
    }

    fn write(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError> {
        match self.target(strand, address)? {
            Target::L2(node, bank) => self.l2(node).write(bank, value),
            Target::Dram(node, mcu, role) => self.memory_controller(node, mcu).write(role, value),
            Target::Hub(hub, unit, role) => {
                let mut hub = self.hub(hub);
                hub.write(unit, role, value, self.now())
            }
        }
    }
}

impl StrandRegisters for Devices {
    fn node(&self, strand: StrandId) -> Node {
        strand.node()
    }

    fn pcr(&self, strand: StrandId) -> u64 {
        self.strand_unit(strand).pcr()
    }

    fn set_pcr(&self, strand: StrandId, value: u64) {
        self.strand_unit(strand).set_pcr(value);
    }

    fn set_pic(&self, strand: StrandId, value: u64) {
        self.strand_unit(strand).set_pic(value);
    }

    /// The time, the same for all strands.
    fn ticks(&self, _: StrandId) -> u64 {
        self.now()
    }

    fn cross_call(&self, strand: StrandId) {
        let bit = 1 << (strand.index() % 64);
        self.cross_calls[strand.index() / 64].fetch_or(bit, Ordering::SeqCst);
    }
}
