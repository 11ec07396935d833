//! Tests the machines in `simulator/machines`. A machine's source and its binary form must describe the same machine.

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
        config: GuestConfig::new(
            strands.iter().copied().filter_map(StrandId::new).collect(),
            grant,
        ),
    }
}

/// A row: the machine's name, the number of nodes in its description, its platform with the %stick frequency in Hz, the
/// [`Machine`], and its guests.
type Row<'a> =
    (&'a str, usize, Option<(&'a str, Option<u64>)>, Option<Machine>, Vec<GuestDescription>);

#[test]
fn each_machine() {
    let some = |model, nodes| Some(Machine::new(model, nodes).unwrap());
    let t5440 = Some(("SUNW,T5440", None));
    let t5440_with_stick = Some(("SUNW,T5440", Some(1_414_000_000)));
    let mut compatible = guest("ldg1", 1, &[72, 80], Grant::GLOBAL);
    compatible.config.compatible = true;
    let of_two = vec![
        guest("primary", 0, &[0, 8, 64], Grant::STRAND),
        compatible,
        guest("ldg2", 2, &[88], Grant::NONE),
    ];
    let of_three = vec![
        guest("primary", 0, &[0, 8, 64, 128], Grant::GLOBAL_STRAND),
        guest("ldg1", 1, &[72, 136], Grant::HTSTRAND),
    ];
    let of_four = vec![
        guest("primary", 0, &[0, 8, 64, 72, 128, 136, 192, 200], Grant::ALL),
        guest("ldg1", 1, &[16, 80], Grant::HTSTRAND),
        guest("ldg2", 2, &[144, 208], Grant::NONE),
    ];
    let of_maramba_1 =
        vec![guest("primary", 0, &[0, 8, 16], Grant::ALL), guest("ldg1", 1, &[24], Grant::NONE)];
    let of_maramba_2 = vec![
        guest("primary", 0, &[0, 8, 64, 72], Grant::GLOBAL_STRAND),
        guest("ldg1", 1, &[16, 80], Grant::HTSTRAND),
    ];
    let of_batoka_1 = vec![guest("primary", 0, &[0, 8, 16, 24], Grant::ALL)];
    let of_t1 = vec![guest("guest0", 0, &[0, 1, 2, 3], Grant::GLOBAL_STRAND)];
    let four = some(Model::Batoka, 4);
    let disabled = four.map(|four| four.without_channel(Node::Node1, Mcu::Mcu0));
    let t6340 = Some(("SUNW,Sun-Blade-T6340", None));
    let rows: [Row<'_>; 9] = [
        ("maramba-1", 14, t6340, some(Model::Maramba, 1), of_maramba_1),
        ("maramba-2", 19, Some(("SUNW,T5240", None)), some(Model::Maramba, 2), of_maramba_2),
        ("batoka-1", 13, t5440_with_stick, some(Model::Batoka, 1), of_batoka_1),
        ("batoka-2", 20, t5440, some(Model::Batoka, 2), of_two),
        ("batoka-3", 22, t5440, some(Model::Batoka, 3), of_three),
        ("batoka-4", 32, t5440, four, of_four.clone()),
        ("batoka-4-disabled", 32, t5440, disabled, of_four),
        ("t1", 11, None, None, of_t1),
        ("guest", 5, t5440_with_stick, None, vec![]),
    ];
    for (name, nodes, platform, machine, guests) in rows {
        let platform = platform
            .map(|(name, stick_frequency)| Platform { name: name.to_owned(), stick_frequency });
        let expected = Described { nodes, platform, machine, guests };
        assert_eq!(Described::new(&built(&self::machine(name))).unwrap(), expected, "{name}");
    }
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
