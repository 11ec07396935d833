//! The 90 registers against the specification's table (FWARC/2007/529 section 3.1), which stands line by line in
//! `tests::oracle::registers`: names, addresses, masks, and the addresses that really go over the bus.

use guest_abi::{Kind, PerfReg};
use platform::address;
use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::registers::REGISTERS;
use tests::oracle::{Access, Action, Grant, Guest, Machine, Target};

#[test]
fn names_addresses_and_masks() {
    assert_eq!(PerfReg::COUNT, REGISTERS.len());
    for (register, line) in PerfReg::all().zip(&REGISTERS) {
        assert_eq!(register.id(), line.id);
        assert_eq!(register.name(), line.name);
        assert_eq!(PerfReg::from_name(line.name), Some(register));
        let local = address::local(register).map(|address| address.0);
        assert_eq!(local, line.local, "{register}");
        let global = address::global(register).map(|address| address.0);
        assert_eq!(global, line.global, "{register}");
        assert_eq!(
            perfctr_service::write_mask(register),
            line.write_mask,
            "{register}"
        );
    }
}

/// Section 2.3: bank 0 at 0xa9.0000.0000, the others 0x40 apart.
#[test]
fn l2_control_registers() {
    let addresses: Vec<u64> = (0..9)
        .filter_map(address::l2_control)
        .map(|address| address.0)
        .collect();
    let expected = [
        0xa9_0000_0000,
        0xa9_0000_0040,
        0xa9_0000_0080,
        0xa9_0000_00c0,
        0xa9_0000_0100,
        0xa9_0000_0140,
        0xa9_0000_0180,
        0xa9_0000_01c0,
    ];
    assert_eq!(addresses, expected);
}

/// The node that a DRAM register is on, by the table's order: four registers a node.
fn home(id: u64) -> Option<usize> {
    match id {
        2..=5 => Some(0),
        6..=9 => Some(1),
        10..=13 => Some(2),
        14..=17 => Some(3),
        _ => None,
    }
}

/// Own DRAM registers by local address, all else by global address, from every node.
#[test]
fn addresses_on_the_bus_from_each_node() {
    let board = Board::new(Machine::Batoka, 4, &[]);
    let guest = Guest::new([0, 64, 128, 192], Grant::GLOBAL);
    let machine = MachineUnderTest::new(&board, &[guest]);
    assert_eq!(machine.negotiate(0, 1, 1), 0);
    for (node, strand) in [0, 64, 128, 192].into_iter().enumerate() {
        for line in &REGISTERS[2..] {
            let expected = if home(line.id) == Some(node) {
                line.local
            } else {
                line.global
            };
            let access = |action| Access::done(Target::Address(expected.unwrap()), action);
            let pattern = 0xfedc_ba98_7654_3210;
            assert_eq!(machine.set(strand, line.id, pattern), 0, "{}", line.name);
            let kept = pattern & line.write_mask;
            assert_eq!(machine.get(strand, line.id), (0, kept), "{}", line.name);
            let log: Vec<Access> = board.take_log().into_iter().map(|(_, a)| a).collect();
            assert_eq!(log, [access(Action::Write(kept)), access(Action::Read)]);
        }
    }
}

/// Sections 2.2 and 2.4 to 2.6: 16 DRAM registers, then four hubs of six units of three registers.
#[test]
fn what_the_registers_are() {
    for register in PerfReg::all() {
        let fits = match register.id() {
            0 => register.kind() == Kind::Strand,
            1 => register.kind() == Kind::L2,
            2..=17 => {
                matches!(register.kind(), Kind::Dram { node, .. } if Some(node.index()) == home(register.id()))
            }
            18..=35 => matches!(register.kind(), Kind::Hub { hub, .. } if hub.index() == 0),
            36..=53 => matches!(register.kind(), Kind::Hub { hub, .. } if hub.index() == 1),
            54..=71 => matches!(register.kind(), Kind::Hub { hub, .. } if hub.index() == 2),
            _ => matches!(register.kind(), Kind::Hub { hub, .. } if hub.index() == 3),
        };
        assert!(fits, "{register:?}");
    }
}
