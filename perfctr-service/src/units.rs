//! Units that can be out of service: a memory channel, a hub, the L2 control of a node.

use guest_abi::{Hub, Kind, Mcu, Node, PerfReg};

use hv_core::sync::{AtomicU32, Ordering};

use crate::access::Access;

/// What a faulty device takes out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A memory channel: its two registers.
    Mcu(Node, Mcu),
    /// A hub: its eighteen registers.
    Hub(Hub),
    /// The L2 control registers of a node: register 1 for the strands of that node.
    L2(Node),
}

impl Unit {
    /// The unit that a register is on, for a caller on this node; `None` for the strand's own PCR.
    pub fn of(register: PerfReg, caller: Node) -> Option<Self> {
        match register.kind() {
            Kind::Strand => None,
            Kind::L2 => Some(Self::L2(caller)),
            Kind::Dram { node, mcu, .. } => Some(Self::Mcu(node, mcu)),
            Kind::Hub { hub, .. } => Some(Self::Hub(hub)),
        }
    }

    /// Every unit that the largest machine has.
    pub fn all() -> impl Iterator<Item = Self> {
        let channels = Node::ALL
            .iter()
            .flat_map(|node| Mcu::ALL.iter().map(|mcu| Self::Mcu(*node, *mcu)));
        let hubs = Hub::ALL.iter().map(|hub| Self::Hub(*hub));
        channels
            .chain(hubs)
            .chain(Node::ALL.iter().map(|node| Self::L2(*node)))
    }

    const fn bit(self) -> u32 {
        match self {
            Self::Mcu(node, mcu) => 1 << (2 * node.index() + mcu.index()),
            Self::Hub(hub) => 1 << (8 + hub.index()),
            Self::L2(node) => 1 << (12 + node.index()),
        }
    }
}

impl core::fmt::Display for Unit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Mcu(node, mcu) => write!(f, "{}_{}", node.text(), mcu.text()),
            Self::Hub(hub) => f.write_str(hub.text()),
            Self::L2(node) => write!(f, "{}_L2", node.text()),
        }
    }
}

/// The units that are out of service, on the whole machine.
#[derive(Debug)]
pub(crate) struct OutOfService(AtomicU32);

impl OutOfService {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Adds a unit; whether it was in service until now.
    pub(crate) fn add(&self, unit: Unit) -> bool {
        self.0.fetch_or(unit.bit(), Ordering::SeqCst) & unit.bit() == 0
    }

    pub(crate) fn remove(&self, unit: Unit) {
        self.0.fetch_and(!unit.bit(), Ordering::SeqCst);
    }

    pub(crate) fn has(&self, unit: Unit) -> bool {
        self.0.load(Ordering::SeqCst) & unit.bit() != 0
    }

    /// Whether the unit of a register is out of service.
    pub(crate) fn has_register(&self, register: PerfReg, caller: Node) -> bool {
        Unit::of(register, caller).is_some_and(|unit| self.has(unit))
    }

    /// The rights to all of them.
    pub(crate) fn access(&self) -> Access {
        Unit::all()
            .filter(|unit| self.has(*unit))
            .fold(Access::NOTHING, |access, unit| {
                access.or(Access::of_unit(unit))
            })
    }

    pub(crate) fn has_a_hub(&self) -> bool {
        Hub::ALL.iter().any(|hub| self.has(Unit::Hub(*hub)))
    }
}
