//! The machines in `simulator/machines`: what they describe, and that source and binary form hold the same.

use guest_abi::{Mcu, Node, StrandId};
use perfctr_service::{Grant, GuestConfig, policy};
use platform::md::Md;
use platform::{Machine, Model};
use simulator::machine::description::{
    Described, Description, GuestDescription, Platform, parse, print,
};

use crate::{MACHINES, built, machine};

/// Returns a guest whose gid is its resource id.
fn guest(name: &str, id: u64, strands: &[usize], grant: Grant) -> GuestDescription {
    GuestDescription {
        name: name.to_owned(),
        resource_id: id,
        gid: Some(id),
        config: GuestConfig {
            strands: strands.iter().copied().filter_map(StrandId::new).collect(),
            grant,
            compatible: false,
        },
    }
}

#[track_caller]
fn describes(
    name: &str,
    nodes: usize,
    platform: Option<(&str, Option<u64>)>,
    machine: Option<Machine>,
    guests: Vec<GuestDescription>,
) {
    let platform =
        platform.map(|(name, stick_frequency)| Platform { name: name.to_owned(), stick_frequency });
    let expected = Described { nodes, platform, machine, guests };
    assert_eq!(Described::new(&built(&self::machine(name))).unwrap(), expected);
}

fn some(model: Model, nodes: usize) -> Option<Machine> {
    Some(Machine::new(model, nodes).unwrap())
}

#[test]
fn marambas() {
    describes(
        "maramba-1",
        14,
        Some(("SUNW,Sun-Blade-T6340", None)),
        some(Model::Maramba, 1),
        vec![guest("primary", 0, &[0, 8, 16], Grant::ALL), guest("ldg1", 1, &[24], Grant::NONE)],
    );
    describes(
        "maramba-2",
        19,
        Some(("SUNW,T5240", None)),
        some(Model::Maramba, 2),
        vec![
            guest("primary", 0, &[0, 8, 64, 72], Grant::GLOBAL_STRAND),
            guest("ldg1", 1, &[16, 80], Grant::HTSTRAND),
        ],
    );
}

#[test]
fn batokas() {
    let t5440 = Some(("SUNW,T5440", None));
    describes(
        "batoka-1",
        13,
        Some(("SUNW,T5440", Some(1_414_000_000))),
        some(Model::Batoka, 1),
        vec![guest("primary", 0, &[0, 8, 16, 24], Grant::ALL)],
    );
    let mut compatible = guest("ldg1", 1, &[72, 80], Grant::GLOBAL);
    compatible.config.compatible = true;
    describes(
        "batoka-2",
        20,
        t5440,
        some(Model::Batoka, 2),
        vec![
            guest("primary", 0, &[0, 8, 64], Grant::STRAND),
            compatible,
            guest("ldg2", 2, &[88], Grant::NONE),
        ],
    );
    describes(
        "batoka-3",
        22,
        t5440,
        some(Model::Batoka, 3),
        vec![
            guest("primary", 0, &[0, 8, 64, 128], Grant::GLOBAL_STRAND),
            guest("ldg1", 1, &[72, 136], Grant::HTSTRAND),
        ],
    );
    let four = Machine::new(Model::Batoka, 4).unwrap();
    let without = four.without_channel(Node::Node1, Mcu::Mcu0);
    for (name, machine) in [("batoka-4", four), ("batoka-4-disabled", without)] {
        let guests = vec![
            guest("primary", 0, &[0, 8, 64, 72, 128, 136, 192, 200], Grant::ALL),
            guest("ldg1", 1, &[16, 80], Grant::HTSTRAND),
            guest("ldg2", 2, &[144, 208], Grant::NONE),
        ];
        describes(name, 32, t5440, Some(machine), guests);
    }
}

#[test]
fn others() {
    let mut only = guest("guest0", 0, &[0, 1, 2, 3], Grant::GLOBAL_STRAND);
    only.gid = Some(0);
    describes("t1", 11, None, None, vec![only]);
    describes("guest", 5, Some(("SUNW,T5440", Some(1_414_000_000))), None, vec![]);
}

#[test]
fn the_service_takes_what_is_described() {
    for name in MACHINES {
        let described = Described::new(&built(&machine(name))).unwrap();
        let guests: Vec<_> = described.guests.iter().map(|guest| guest.config).collect();
        if let Some(machine) = described.machine {
            assert_eq!(policy::check(machine, &guests), Ok(()), "{name}");
        }
    }
}

#[test]
fn a_dump_is_the_source() {
    for name in MACHINES {
        let source = machine(name);
        let bytes = built(&source);
        let read = Description::read(Md::new(&bytes).unwrap());
        assert_eq!(read, parse(&source).unwrap(), "{name}");
        assert_eq!(print(&read), source, "{name}");
        assert_eq!(read.build().unwrap(), bytes, "{name}");
    }
}

#[test]
fn truncated_anywhere() {
    for name in MACHINES {
        let bytes = built(&machine(name));
        for length in 0..bytes.len() {
            assert!(Md::new(&bytes[..length]).is_err(), "{name}, {length} bytes");
        }
    }
}
