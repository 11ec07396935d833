//! Generates references, machines and counter settings.

use platform::Interleave;
use proptest::prelude::*;

use super::*;

/// Generates references that conflict: each of a few L2 sets is used by more lines than it has ways.
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

/// The instruction classes that a strand's counters distinguish.
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

/// The references that one strand executes in a turn.
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

impl<V: Variant> Bench<V> {
    pub(super) fn run(&mut self, turns: &[Turn]) {
        let strands = self.devices.machine().strands();
        for turn in turns {
            self.replay(turn.strand % strands, 0, &turn.references);
        }
    }
}
