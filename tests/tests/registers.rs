//! Compares the names, addresses and masks of the 90 registers, and the bus addresses of accesses, with the specification's table
//! (FWARC/2007/529 section 3.1), which `tests::oracle::registers` copies line by line.

use guest_abi::{Hub, HubRole, HubUnit, PerfReg};
use platform::address;
use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::registers::REGISTERS;
use tests::oracle::{Access, Action, Grant, Guest, Machine, Target};

#[test]
fn names_addresses_and_masks() {
    assert_eq!(PerfReg::COUNT, REGISTERS.len());
    for (register, line) in PerfReg::ALL.into_iter().zip(&REGISTERS) {
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

/// According to section 2.3, bank 0 is at 0xa9.0000.0000, and the next banks follow at intervals of 0x40.
#[test]
fn l2_control_registers() {
    let addresses: Vec<u64> =
        (0..9).filter_map(address::l2_control).map(|address| address.0).collect();
    let expected =
        [0, 0x40, 0x80, 0xc0, 0x100, 0x140, 0x180, 0x1c0].map(|low| 0xa9_0000_0000 + low);
    assert_eq!(addresses, expected);
}

/// An access address (sections 2.4 to 2.6) has 0x81 in bits 39:32. Bits 31:0 are those of the global address in section 3.1.
#[test]
fn access_addresses_of_hub_registers() {
    let mut lines = REGISTERS[18..].iter();
    for hub in Hub::ALL {
        for unit in HubUnit::ALL {
            for role in HubRole::ALL {
                let line = lines.next().expect("72 registers");
                assert_eq!(PerfReg::hub(*hub, *unit, *role).name(), line.name);
                let access = address::hub_access(*hub, *unit, *role).0;
                let low = line.global.unwrap() & 0xffff_ffff;
                assert_eq!(access, 0x81_0000_0000 | low, "{}", line.name);
            }
        }
    }
    assert_eq!(lines.next(), None);
}

/// A strand accesses its own node's DRAM registers by local address, and all others by global address.
#[test]
fn addresses_on_the_bus_from_each_node() {
    let board = Board::new(Machine::Batoka, 4, &[]);
    let guest = Guest::new([0, 64, 128, 192], Grant::GLOBAL);
    let machine = MachineUnderTest::ready(&board, &[guest]);
    for (node, strand) in [0, 64, 128, 192].into_iter().enumerate() {
        for line in &REGISTERS[2..] {
            let own = line.name.starts_with(&format!("NODE{node}_"));
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
