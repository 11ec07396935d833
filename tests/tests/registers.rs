//! The 90 registers against the table of the specification (FWARC/2007/529 section 3.1), which is line by line in
//! `tests::oracle::registers`: names, addresses, masks, and the addresses of the accesses on the bus.

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
        assert_eq!(register.info().write_mask, line.write_mask, "{register}");
    }
}

/// Section 2.3: bank 0 is at 0xa9.0000.0000, and each next bank 0x40 above.
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

/// Returns the node of a DRAM register: the table has four registers for each node.
fn home(id: u64) -> Option<usize> {
    match id {
        2..=5 => Some(0),
        6..=9 => Some(1),
        10..=13 => Some(2),
        14..=17 => Some(3),
        _ => None,
    }
}

/// From every node, DRAM registers of that node are accessed by local address, all others by global address.
#[test]
fn addresses_on_the_bus_from_each_node() {
    let board = Board::new(Machine::Batoka, 4, &[]);
    let guest = Guest::new([0, 64, 128, 192], Grant::GLOBAL);
    let machine = MachineUnderTest::ready(&board, &[guest]);
    for (node, strand) in [0, 64, 128, 192].into_iter().enumerate() {
        for line in &REGISTERS[2..] {
            let own = home(line.id) == Some(node);
            let expected = if own { line.local } else { line.global };
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
fn kinds_of_registers() {
    for register in PerfReg::all() {
        let id = register.id();
        let fits = match register.kind() {
            Kind::Strand => id == 0,
            Kind::L2 => id == 1,
            Kind::Dram { node, .. } => home(id) == Some(node.index()),
            Kind::Hub { hub, .. } => match hub.index() {
                0 => (18..=35).contains(&id),
                1 => (36..=53).contains(&id),
                2 => (54..=71).contains(&id),
                _ => (72..=89).contains(&id),
            },
        };
        assert!(fits, "{register:?}");
    }
}
