//! Generates references, machines and counter settings.

use guest_abi::{HubRole, McuRole, PerfReg};
use platform::address::{global, l2_control};
use platform::{Bus, Interleave, StrandRegisters};
use proptest::prelude::*;

use super::*;

/// Generates references that conflict: each of a few L2 sets is used by more lines than it has
/// ways.
pub(super) fn reference() -> impl Strategy<Value = Reference> {
    let address = (0..24_u64, 0..6_u64, 0..256_u64);
    (address, 1..=16_u16, 0..7_usize, 0..7_usize, 0..CLASSES.len()).prop_map(
        |((tag, set, byte), size, kind, flow, class)| {
            let address = tag * 0x4_0000 + set * 0x340 + byte;
            let reference = Reference::new(address, size, KINDS[kind]);
            match reference.kind.is_fetch() {
                true => Reference { flow: FLOWS[flow], class: CLASSES[class], ..reference },
                false => reference,
            }
        },
    )
}

pub(super) const FLOWS: [Flow; 7] =
    [Flow::Next, Flow::NotTaken, Flow::Taken, Flow::Jump, Flow::Call, Flow::Return, Flow::Trap];

/// The classes of instructions that a strand's counters distinguish.
pub(super) const CLASSES: [Class; 4] =
    [Class::Other, Class::Atomic, Class::FloatingPoint, Class::Vector];

pub(super) const KINDS: [Kind; 7] = [
    Kind::FetchOther,
    Kind::FetchLoad,
    Kind::FetchStore,
    Kind::FetchModify,
    Kind::Load,
    Kind::Store,
    Kind::Modify,
];

/// The references of one strand's turn.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) strand: usize,
    pub(super) references: Vec<Reference>,
}

pub(super) fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = (0..4_usize, 0..64_usize, prop::collection::vec(reference(), 1..40)).prop_map(
        |(node, strand, references)| Turn { strand: node * 64 + strand % 20, references },
    );
    prop::collection::vec(turn, 1..24)
}

pub(super) fn machine() -> impl Strategy<Value = Machine> {
    let model = prop_oneof![
        (1..=2_usize).prop_map(|nodes| (Model::Maramba, nodes)),
        (1..=4_usize).prop_map(|nodes| (Model::Batoka, nodes)),
        Just((Model::Batoka, 4)),
    ];
    let disabled = prop::option::of((0..4_usize, 0..2_usize));
    let interleave = (0..2_usize).prop_map(|number| Interleave::ALL[number]);
    (model, disabled, interleave).prop_map(|((model, nodes), disabled, interleave)| {
        let machine = Machine::new(model, nodes).unwrap().with_interleave(interleave);
        match disabled {
            Some((node, mcu)) => {
                machine.without_channel(Node::new(node).unwrap(), Mcu::new(mcu).unwrap())
            }
            None => machine,
        }
    })
}

/// The values that are written to the registers before some turns.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) strand: u64,
    pub(super) dram: u64,
    pub(super) hub: u64,
    pub(super) perf_config: u64,
    /// The start value of all counters.
    pub(super) start: u64,
}

pub(super) fn setting() -> impl Strategy<Value = Setting> {
    let class = prop_oneof![Just(0_u64), Just(2), Just(3), Just(5), 0..16_u64];
    let lpu = prop_oneof![0..0x2a_u64, 0..0x100_u64];
    let start = prop_oneof![Just(0), Just(u64::MAX), Just(u64::MAX - 0x11_0000_0011), any::<u64>()];
    (
        (class.clone(), 0..256_u64, class, 0..256_u64),
        0..256_u64,
        (lpu.clone(), lpu),
        0..4_u64,
        start,
    )
        .prop_map(|((sl0, mask0, sl1, mask1), dram, (lpu0, lpu1), perf_config, start)| {
            Setting {
                strand: 1 << 2 | mask0 << 6 | sl0 << 14 | mask1 << 19 | sl1 << 27,
                dram,
                hub: lpu0 | lpu1 << 8,
                perf_config,
                start,
            }
        })
}

impl<V: Variant> Bench<V> {
    pub(super) fn run(&mut self, turns: &[Turn]) {
        let strands = self.devices.machine().strands();
        for turn in turns {
            self.replay(turn.strand % strands, 0, &turn.references);
        }
    }

    pub(super) fn apply(&self, setting: &Setting) {
        let machine = self.devices.machine();
        for node in 0..machine.nodes() {
            for bank in 0..8 {
                let address = l2_control(bank).unwrap();
                let value = setting.perf_config << 36 | 0x1f;
                self.devices.write(id(node * 64), address, value).unwrap();
            }
        }
        for strand in 0..machine.strands() {
            self.devices.set_pcr(id(strand), setting.strand);
            self.devices.set_pic(id(strand), setting.start);
        }
        for register in PerfReg::ALL.into_iter().filter(|register| machine.has_register(*register))
        {
            let Some(address) = global(register) else {
                continue;
            };
            let value = match register.kind() {
                guest_abi::Kind::Dram { role: McuRole::Pcr, .. } => setting.dram,
                guest_abi::Kind::Hub { role: HubRole::Pcr, .. } => setting.hub,
                _ => setting.start,
            };
            self.devices.write(id(0), address, value).unwrap();
        }
    }
}
