//! Units: memory channels, hubs, and each node's L2 control. A unit can be out of service, and it can be waiting for a scrub.

use guest_abi::{Hub, Mcu, Node, PerfReg, RegisterKind};
use hv_core::sync::{AtomicU8, AtomicU32, Ordering, array_of, const_unless_loom};
use platform::Machine;

use crate::rights::policy::NodeSet;

/// A part of the machine that goes out of service as a whole, and is scrubbed as a whole for its next user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A memory channel, with two registers.
    Mcu(Node, Mcu),
    /// A hub, with eighteen registers.
    Hub(Hub),
    /// A node's L2 control: register 1 for the strands of this node.
    L2(Node),
}

impl Unit {
    /// The number of units of the largest machine.
    pub const COUNT: usize = Self::ALL.len();

    /// The units of the largest machine, in ascending order of their numbers.
    pub const ALL: &'static [Self] = &{
        let mut all = [Self::Hub(Hub::Zam0); 16];
        let mut index = 0;
        while index < Node::ALL.len() {
            let (node, hub) = (Node::ALL[index], Hub::ALL[index]);
            let mcus = [Self::Mcu(node, Mcu::ALL[0]), Self::Mcu(node, Mcu::ALL[1])];
            let units = [mcus[0], mcus[1], Self::Hub(hub), Self::L2(node)];
            let mut unit = 0;
            while unit < units.len() {
                all[units[unit].number()] = units[unit];
                unit += 1;
            }
            index += 1;
        }
        all
    };

    /// Returns the unit that a register belongs to, for a caller on node `caller`; `None` for the strand's own PCR.
    pub fn for_register(register: PerfReg, caller: Node) -> Option<Self> {
        match register.kind() {
            RegisterKind::Strand => None,
            RegisterKind::L2 => Some(Self::L2(caller)),
            RegisterKind::Dram { node, mcu, .. } => Some(Self::Mcu(node, mcu)),
            RegisterKind::Hub { hub, .. } => Some(Self::Hub(hub)),
        }
    }

    /// Returns the units that `global` covers for a guest with strands on `nodes`, on the largest machine.
    pub(crate) fn under_global(nodes: NodeSet) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |unit| match unit {
            Self::Mcu(node, _) | Self::L2(node) => nodes.contains(*node),
            Self::Hub(_) => true,
        })
    }

    /// Returns the registers of a channel or a hub. The result is empty for an L2 control, which is scrubbed bank by bank.
    pub(crate) fn registers(self) -> impl Iterator<Item = PerfReg> {
        PerfReg::ALL.into_iter().filter(move |register| {
            !matches!(register.kind(), RegisterKind::L2)
                && Self::for_register(*register, Node::Node0) == Some(self)
        })
    }

    /// Returns `true` if the unit exists on `machine`. A memory channel must also be enabled.
    pub fn is_in(self, machine: Machine) -> bool {
        match self {
            Self::Mcu(node, mcu) => machine.has_channel(node, mcu),
            Self::Hub(hub) => machine.model().has_hub(hub),
            Self::L2(node) => machine.has_node(node),
        }
    }

    /// Returns the unit's number, 0 to 15: its index in [`ALL`](Self::ALL).
    pub const fn number(self) -> usize {
        match self {
            Self::Mcu(node, mcu) => 2 * node.index() + mcu.index(),
            Self::Hub(hub) => 8 + hub.index(),
            Self::L2(node) => 12 + node.index(),
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

/// What the operator can find out about a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitState {
    /// `true` if guests can use the unit. Otherwise, calls for the unit end with ENOACCESS until the operator returns it to service.
    pub in_service: bool,
    /// `true` if the unit holds no values of a guest that has lost it. A unit that cannot be scrubbed is out of service until a
    /// scrub succeeds.
    pub clean: bool,
    /// How many accesses to the unit have faulted.
    pub faults: u32,
    /// How often the unit went out of service because it stayed [busy](crate::BUSY_LIMIT_TICKS).
    pub stuck: u32,
}

/// A set of units, with one bit for each. Only [`Units`] changes the set.
#[derive(Debug)]
pub(crate) struct UnitSet(AtomicU32);

impl UnitSet {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(0))
        }
    }

    /// Adds a unit. Returns `true` if the set did not have it.
    fn add(&self, unit: Unit) -> bool {
        let bit = 1 << unit.number();
        self.0.fetch_or(bit, Ordering::SeqCst) & bit == 0
    }

    fn remove(&self, unit: Unit) {
        self.0.fetch_and(!(1 << unit.number()), Ordering::SeqCst);
    }

    pub(crate) fn contains(&self, unit: Unit) -> bool {
        self.bits() >> unit.number() & 1 != 0
    }

    /// Returns the units in the set with these [bits](Self::bits).
    pub(crate) fn units(bits: u32) -> impl Iterator<Item = Unit> + use<> {
        Unit::ALL.iter().copied().filter(move |unit| bits >> unit.number() & 1 != 0)
    }

    pub(crate) fn is_empty(&self, order: Ordering) -> bool {
        self.0.load(order) == 0
    }

    /// Returns the set with one bit for each unit: bit 0 for unit 0, and so on.
    pub(crate) fn bits(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
pub(crate) struct Units {
    /// The units that are out of service, for the whole machine.
    out: UnitSet,
    /// The units that may hold values of a guest that has lost the unit.
    unclean: UnitSet,
    /// How many registers of each unit are scrubbed, in the order of [`Unit::registers`]. If the unit was busy, its scrub continues with
    /// the next register. Relaxed accesses are enough: only the owner of the change lock uses this field, so the lock orders them.
    scrubbed: [AtomicU8; Unit::COUNT],
    /// How many faults each unit has had. Only the operator reads this field and `stuck`. Relaxed accesses are enough, because a count says
    /// nothing about other memory.
    faults: [AtomicU32; Unit::COUNT],
    stuck: [AtomicU32; Unit::COUNT],
}

impl Units {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self {
                out: UnitSet::new(),
                unclean: UnitSet::new(),
                scrubbed: array_of!(AtomicU8::new(0); Unit::COUNT),
                faults: array_of!(AtomicU32::new(0); Unit::COUNT),
                stuck: array_of!(AtomicU32::new(0); Unit::COUNT),
            }
        }
    }

    pub(crate) fn out(&self) -> &UnitSet {
        &self.out
    }

    /// Takes a unit out of service. Returns `true` if it was in service.
    pub(crate) fn take_out(&self, unit: Unit) -> bool {
        self.out.add(unit)
    }

    pub(crate) fn return_to_service(&self, unit: Unit) {
        self.out.remove(unit);
    }

    pub(crate) fn is_unclean(&self, unit: Unit) -> bool {
        self.unclean.contains(unit)
    }

    /// Marks a unit for scrubbing, from its first register on.
    pub(crate) fn set_unclean(&self, unit: Unit) {
        self.scrub_from_start(unit);
        self.unclean.add(unit);
    }

    /// Returns the registers of a unit that are not scrubbed yet. A PCR comes before its PICs.
    pub(crate) fn unscrubbed(&self, unit: Unit) -> impl Iterator<Item = PerfReg> {
        unit.registers().skip(self.scrubbed(unit).load(Ordering::Relaxed).into())
    }

    /// Counts the first of the [unscrubbed](Self::unscrubbed) registers as scrubbed.
    pub(crate) fn count_scrubbed(&self, unit: Unit) {
        self.scrubbed(unit).fetch_add(1, Ordering::Relaxed);
    }

    /// Marks all registers of a unit as not scrubbed, because they may hold any values again.
    pub(crate) fn scrub_from_start(&self, unit: Unit) {
        self.scrubbed(unit).store(0, Ordering::Relaxed);
    }

    pub(crate) fn set_clean(&self, unit: Unit) {
        self.scrub_from_start(unit);
        self.unclean.remove(unit);
    }

    fn scrubbed(&self, unit: Unit) -> &AtomicU8 {
        // The remainder equals the number, and shows the compiler that the index is in bounds.
        &self.scrubbed[unit.number() % Unit::COUNT]
    }

    pub(crate) fn is_out(&self, register: PerfReg, caller: Node) -> bool {
        Unit::for_register(register, caller).is_some_and(|unit| self.out.contains(unit))
    }

    pub(crate) fn count_fault(&self, unit: Unit) {
        count(&self.faults, unit);
    }

    pub(crate) fn count_stuck(&self, unit: Unit) {
        count(&self.stuck, unit);
    }

    pub(crate) fn state(&self, unit: Unit) -> UnitState {
        let read = |counts: &[AtomicU32; Unit::COUNT]| {
            let count = counts.get(unit.number());
            count.map_or(0, |count| count.load(Ordering::Relaxed))
        };
        UnitState {
            in_service: !self.out.contains(unit),
            clean: !self.unclean.contains(unit),
            faults: read(&self.faults),
            stuck: read(&self.stuck),
        }
    }
}

fn count(counts: &[AtomicU32; Unit::COUNT], unit: Unit) {
    if let Some(count) = counts.get(unit.number()) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}
