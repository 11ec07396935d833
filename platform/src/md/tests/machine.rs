//! The platforms and machines that descriptions describe.

extern crate std;

use std::vec::Vec;

use guest_abi::{Mcu, Node};

use super::Build;
use crate::md::{Md, NodeError, Platform, Problem};
use crate::{Machine, Model};

/// A processor: its `id`, and the `id` and optional property `disabled` of each of its channels.
type Processor<'a> = (u64, &'a [(u64, Option<u64>)]);

const BOTH: &[(u64, Option<u64>)] = &[(0, None), (1, None)];

/// Builds a description of a platform with these processors.
fn description(platform: Option<&str>, processors: &[Processor<'_>]) -> Vec<u8> {
    let mut build = Build::default();
    build.node("root", |root| {
        root.arc("fwd", 4);
        root.arc("fwd", 7);
    });
    match platform {
        Some(name) => build.node("platform", |node| node.string("name", name)),
        None => build.node("other", |node| node.number("id", 0)),
    };
    let first = 7 + 2 + processors.len() as u64;
    let size = |(_, channels): &Processor<'_>| 3 + channels.len() as u64;
    build.node("vf-nodes", |list| {
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
    build.bytes()
}

#[track_caller]
fn machine(platform: &str, processors: &[Processor<'_>]) -> Machine {
    let bytes = description(Some(platform), processors);
    Md::new(&bytes).unwrap().machine().unwrap().unwrap()
}

#[track_caller]
fn rejected(
    platform: Option<&str>,
    processors: &[Processor<'_>],
    node: &str,
    offset: usize,
    problem: Problem<'_>,
) {
    let bytes = description(platform, processors);
    let expected = NodeError {
        node,
        offset,
        problem,
    };
    assert_eq!(Md::new(&bytes).unwrap().machine(), Err(expected));
}

#[test]
fn machines() {
    assert_eq!(
        machine("SUNW,T5140", &[(0, BOTH)]),
        Machine::new(Model::Maramba, 1).unwrap()
    );
    // Processors and channels may come in any order.
    assert_eq!(
        machine(
            "SUNW,T5440",
            &[
                (2, BOTH),
                (0, BOTH),
                (3, BOTH),
                (1, &[(1, None), (0, Some(0))])
            ]
        ),
        Machine::new(Model::Batoka, 4).unwrap()
    );
}

#[test]
fn channels_that_are_disabled_or_missing() {
    let two = Machine::new(Model::Batoka, 2).unwrap();
    for disabled in [1, 1 << 63] {
        assert_eq!(
            machine(
                "SUNW,T5440",
                &[(0, BOTH), (1, &[(0, Some(disabled)), (1, None)])]
            ),
            two.without_channel(Node::Node1, Mcu::Mcu0)
        );
    }
    assert_eq!(
        machine("SUNW,T5440", &[(0, &[(0, None)]), (1, BOTH)]),
        two.without_channel(Node::Node0, Mcu::Mcu1)
    );
    assert_eq!(
        machine("SUNW,T5440", &[(0, BOTH), (1, &[])]),
        two.without_channel(Node::Node1, Mcu::Mcu0)
            .without_channel(Node::Node1, Mcu::Mcu1)
    );
}

#[test]
fn contradictions() {
    let t5440 = Some("SUNW,T5440");
    // vf-nodes is at element 7, offset 0x80. The first vf-node follows it, after an arc per processor.
    rejected(None, &[(0, BOTH)], "vf-nodes", 0x80, Problem::NoPlatform);
    rejected(
        Some("SUNW,T2000"),
        &[(0, BOTH)],
        "vf-nodes",
        0x80,
        Problem::UnknownPlatform("SUNW,T2000"),
    );
    rejected(t5440, &[(4, BOTH)], "vf-node", 0xb0, Problem::Id(4, 4));
    rejected(
        t5440,
        &[(u64::MAX, BOTH)],
        "vf-node",
        0xb0,
        Problem::Id(u64::MAX, 4),
    );
    rejected(
        t5440,
        &[(0, BOTH), (0, BOTH)],
        "vf-node",
        0x110,
        Problem::DuplicateId(0),
    );
    rejected(
        t5440,
        &[(0, BOTH), (2, BOTH)],
        "vf-nodes",
        0x80,
        Problem::MissingId(1),
    );
    rejected(t5440, &[(1, BOTH)], "vf-nodes", 0x80, Problem::MissingId(0));
    let too_many = Machine::new(Model::Maramba, 3).unwrap_err();
    rejected(
        Some("SUNW,T5240"),
        &[(0, BOTH), (1, BOTH), (2, BOTH)],
        "vf-nodes",
        0x80,
        Problem::Machine(too_many),
    );
    let none = Machine::new(Model::Batoka, 0).unwrap_err();
    rejected(t5440, &[], "vf-nodes", 0x80, Problem::Machine(none));
    rejected(t5440, &[(0, &[(2, None)])], "mcu", 0xf0, Problem::Id(2, 2));
    rejected(
        t5440,
        &[(0, &[(1, None), (1, Some(1))])],
        "mcu",
        0x130,
        Problem::DuplicateId(1),
    );
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
    let bytes = build.bytes();
    let md = Md::new(&bytes).unwrap();
    assert_eq!(md.machine(), Ok(None));
    assert_eq!(
        md.platform(),
        Ok(Some(Platform {
            name: "SUNW,Sun-Fire-T200",
            stick_frequency: Some(1_000_000_000),
        }))
    );
}

#[test]
fn invalid_platforms() {
    let platform = |properties: fn(&mut Build)| {
        let mut build = Build::default();
        build.node("root", |root| root.arc("fwd", 3));
        build.node("platform", properties);
        build.bytes()
    };
    for (bytes, offset, problem) in [
        (platform(|_| {}), 0x40, Problem::Missing("name")),
        (
            platform(|node| node.number("name", 0)),
            0x50,
            Problem::NotAString("name"),
        ),
        (
            platform(|node| {
                node.string("name", "SUNW,T5440");
                node.number("stick-frequency", 0);
            }),
            0x40,
            Problem::ZeroFrequency("stick-frequency"),
        ),
        (
            platform(|node| node.string("stick-frequency", "fast")),
            0x50,
            Problem::NotANumber("stick-frequency"),
        ),
    ] {
        assert_eq!(
            Md::new(&bytes).unwrap().platform(),
            Err(NodeError {
                node: "platform",
                offset,
                problem
            })
        );
    }
}
