//! Tests platforms and machines in machine descriptions.

use guest_abi::{Mcu, Node};

use super::{Build, error};
use crate::md::{Md, Platform, Problem};
use crate::{Interleave, Machine, Model};

/// A processor: its `id` and its channels. A channel has an `id` and possibly the property `disabled`.
type Processor<'a> = (u64, &'a [(u64, Option<u64>)]);

const BOTH: &[(u64, Option<u64>)] = &[(0, None), (1, None)];

fn description(platform: Option<&str>, processors: &[Processor<'_>]) -> Md<'static> {
    interleaved(platform, processors, None)
}

/// Returns a description whose node `vf-nodes` states this interleave.
fn interleaved(
    platform: Option<&str>,
    processors: &[Processor<'_>],
    interleave: Option<u64>,
) -> Md<'static> {
    let mut build = Build::default();
    build.node("root", |root| {
        root.arc("fwd", 4);
        root.arc("fwd", 7);
    });
    match platform {
        Some(name) => build.node("platform", |node| node.string("name", name)),
        None => build.node("other", |node| node.number("id", 0)),
    };
    let first = 7 + 2 + processors.len() as u64 + u64::from(interleave.is_some());
    let size = |(_, channels): &Processor<'_>| 3 + channels.len() as u64;
    build.node("vf-nodes", |list| {
        if let Some(bytes) = interleave {
            list.number("memory-interleave", bytes);
        }
        let mut at = first;
        for processor in processors {
            list.arc("fwd", at);
            at += size(processor);
        }
    });
    let mut mcu_at = first + processors.iter().map(size).sum::<u64>();
    for (id, channels) in processors {
        build.node("vf-node", |node| {
            node.number("id", *id);
            for (_, disabled) in *channels {
                node.arc("fwd", mcu_at);
                mcu_at += 3 + u64::from(disabled.is_some());
            }
        });
    }
    for (id, disabled) in processors.iter().flat_map(|(_, channels)| *channels) {
        build.node("mcu", |mcu| {
            mcu.number("id", *id);
            if let Some(disabled) = disabled {
                mcu.number("disabled", *disabled);
            }
        });
    }
    build.md()
}

#[track_caller]
fn machine(platform: &str, processors: &[Processor<'_>]) -> Machine {
    description(Some(platform), processors).machine().unwrap().unwrap()
}

#[test]
fn machines() {
    assert_eq!(machine("SUNW,T5140", &[(0, BOTH)]), Machine::new(Model::Maramba, 1).unwrap());
    // Processors and channels may come in any order.
    let of_node_1 = [(1, None), (0, Some(0))];
    let four = [(2, BOTH), (0, BOTH), (3, BOTH), (1, &of_node_1)];
    assert_eq!(machine("SUNW,T5440", &four), Machine::new(Model::Batoka, 4).unwrap());
}

#[test]
fn channels_that_are_disabled_or_missing() {
    let two = Machine::new(Model::Batoka, 2).unwrap();
    for disabled in [1, 1 << 63] {
        let of_node_1 = [(0, Some(disabled)), (1, None)];
        assert_eq!(
            machine("SUNW,T5440", &[(0, BOTH), (1, &of_node_1)]),
            two.without_channel(Node::Node1, Mcu::Mcu0)
        );
    }
    assert_eq!(
        machine("SUNW,T5440", &[(0, &[(0, None)]), (1, BOTH)]),
        two.without_channel(Node::Node0, Mcu::Mcu1)
    );
    assert_eq!(
        machine("SUNW,T5440", &[(0, BOTH), (1, &[])]),
        two.without_channel(Node::Node1, Mcu::Mcu0).without_channel(Node::Node1, Mcu::Mcu1)
    );
}

#[test]
fn interleaves() {
    let two = Machine::new(Model::Batoka, 2).unwrap();
    let of = |bytes| interleaved(Some("SUNW,T5440"), &[(0, BOTH), (1, BOTH)], bytes).machine();
    assert_eq!(of(None), Ok(Some(two)));
    assert_eq!(of(Some(512)), Ok(Some(two)));
    assert_eq!(of(Some(1 << 30)), Ok(Some(two.with_interleave(Interleave::Gigabyte))));
    assert_eq!(of(Some(4096)), Err(error("vf-nodes", 0x80, Problem::Interleave(4096))));
}

#[test]
fn contradictions() {
    use Problem::{DuplicateId, Id, MissingId, NoPlatform, UnknownPlatform};
    // Node vf-nodes is at element 7, offset 0x80. Its arcs, one per processor, precede the first
    // vf-node.
    let (t2000, t5240) = (Some("SUNW,T2000"), Some("SUNW,T5240"));
    let unknown = UnknownPlatform("SUNW,T2000");
    let too_many = Problem::Machine(Machine::new(Model::Maramba, 3).unwrap_err());
    let three = [(0, BOTH), (1, BOTH), (2, BOTH)];
    let t5440 = Some("SUNW,T5440");
    let none = Problem::Machine(Machine::new(Model::Batoka, 0).unwrap_err());
    let one_channel_twice = [(1, None), (1, Some(1))];
    for (platform, processors, node, offset, problem) in [
        (None, &[(0, BOTH)][..], "vf-nodes", 0x80, NoPlatform),
        (t2000, &[(0, BOTH)], "vf-nodes", 0x80, unknown),
        (t5240, &three, "vf-nodes", 0x80, too_many),
        (t5440, &[(4, BOTH)], "vf-node", 0xb0, Id(4, 4)),
        (t5440, &[(u64::MAX, BOTH)], "vf-node", 0xb0, Id(u64::MAX, 4)),
        (t5440, &[(0, BOTH), (0, BOTH)], "vf-node", 0x110, DuplicateId(0)),
        (t5440, &[(0, BOTH), (2, BOTH)], "vf-nodes", 0x80, MissingId(1)),
        (t5440, &[(1, BOTH)], "vf-nodes", 0x80, MissingId(0)),
        (t5440, &[], "vf-nodes", 0x80, none),
        (t5440, &[(0, &[(2, None)])], "mcu", 0xf0, Id(2, 2)),
        (t5440, &[(0, &one_channel_twice)], "mcu", 0x130, DuplicateId(1)),
    ] {
        let found = description(platform, processors).machine();
        assert_eq!(found, Err(error(node, offset, problem)));
    }
}

#[test]
fn other_machines() {
    let mut build = Build::default();
    build.node("root", |root| root.arc("fwd", 3));
    build.node("platform", |node| {
        node.string("name", "SUNW,Sun-Fire-T200");
        node.number("stick-frequency", 1_000_000_000);
    });
    // The root has no arc to this node.
    build.node("vf-nodes", |_| {});
    let md = build.md();
    assert_eq!(md.machine(), Ok(None));
    let stick_frequency = Some(1_000_000_000);
    let platform = Platform { name: "SUNW,Sun-Fire-T200", stick_frequency };
    assert_eq!(md.platform(), Ok(Some(platform)));
}

#[test]
fn invalid_platforms() {
    use Problem::{Missing, NotANumber, NotAString, ZeroFrequency};
    const STICK: &str = "stick-frequency";
    type Properties = fn(&mut Build);
    for (properties, offset, problem) in [
        ((|_| {}) as Properties, 0x40, Missing("name")),
        (|node| node.number("name", 0), 0x50, NotAString("name")),
        (|node| node.string(STICK, "fast"), 0x50, NotANumber(STICK)),
        (
            |node| {
                node.string("name", "SUNW,T5440");
                node.number(STICK, 0);
            },
            0x40,
            ZeroFrequency(STICK),
        ),
    ] {
        let mut build = Build::default();
        build.node("root", |root| root.arc("fwd", 3));
        build.node("platform", properties);
        assert_eq!(build.md().platform(), Err(error("platform", offset, problem)));
    }
}
