//! The 90 registers against the table of the specification (FWARC/2007/529 section 3.1), which is line by line in
//! `tests::oracle::registers`: names, addresses, masks, and the addresses of the accesses on the bus.

use guest_abi::{Hub, HubRole, HubUnit, Kind, PerfReg};
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
    let addresses: Vec<u64> =
        (0..9).filter_map(address::l2_control).map(|address| address.0).collect();
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

/// Sections 2.4 to 2.6: the Zambezi address [15:0], and the Victoria Falls access address [39:28][17:14][13:12][11:0],
/// where `n` in [13:12] is 0 through 3 to identify one of four different Zambezi instances.
#[test]
fn access_addresses_of_hub_registers() {
    #[rustfmt::skip]
    let lines = [
        (HubUnit::LpuA, HubRole::Pcr, 0x1000, 0x813, 0x1, 0x000),
        (HubUnit::LpuA, HubRole::Pic0, 0x1008, 0x813, 0x1, 0x008),
        (HubUnit::LpuA, HubRole::Pic1, 0x1010, 0x813, 0x1, 0x010),
        (HubUnit::LpuB, HubRole::Pcr, 0x3000, 0x813, 0x3, 0x000),
        (HubUnit::LpuB, HubRole::Pic0, 0x3008, 0x813, 0x3, 0x008),
        (HubUnit::LpuB, HubRole::Pic1, 0x3010, 0x813, 0x3, 0x010),
        (HubUnit::LpuC, HubRole::Pcr, 0x5000, 0x813, 0x5, 0x000),
        (HubUnit::LpuC, HubRole::Pic0, 0x5008, 0x813, 0x5, 0x008),
        (HubUnit::LpuC, HubRole::Pic1, 0x5010, 0x813, 0x5, 0x010),
        (HubUnit::LpuD, HubRole::Pcr, 0x7000, 0x813, 0x7, 0x000),
        (HubUnit::LpuD, HubRole::Pic0, 0x7008, 0x813, 0x7, 0x008),
        (HubUnit::LpuD, HubRole::Pic1, 0x7010, 0x813, 0x7, 0x010),
        (HubUnit::Gpd, HubRole::Pcr, 0x9000, 0x813, 0x9, 0x000),
        (HubUnit::Gpd, HubRole::Pic0, 0x9008, 0x813, 0x9, 0x008),
        (HubUnit::Gpd, HubRole::Pic1, 0x9010, 0x813, 0x9, 0x010),
        (HubUnit::Asu, HubRole::Pcr, 0xb000, 0x813, 0xb, 0x000),
        (HubUnit::Asu, HubRole::Pic0, 0xb008, 0x813, 0xb, 0x008),
        (HubUnit::Asu, HubRole::Pic1, 0xb010, 0x813, 0xb, 0x010),
    ];
    let mut id = 18;
    // The first byte of the global addresses in section 3.1.
    for (n, first) in [(0, 0xe1), (1, 0xe5), (2, 0xe9), (3, 0xed)] {
        for (unit, role, zambezi, top, middle, low) in lines {
            let line = &REGISTERS[id];
            let hub = Hub::new(n).unwrap();
            let access = address::hub_access(hub, unit, role).0;
            assert_eq!(PerfReg::hub(hub, unit, role).name(), line.name);
            assert_eq!(access >> 28, top, "{}: [39:28]", line.name);
            assert_eq!(access >> 18 & 0x3ff, 0, "{}: [27:18]", line.name);
            assert_eq!(access >> 14 & 0xf, middle, "{}: [17:14]", line.name);
            assert_eq!(access >> 12 & 0x3, n as u64, "{}: [13:12]", line.name);
            assert_eq!(access & 0xfff, low, "{}: [11:0]", line.name);
            // Section 3.1 has the Zambezi address behind 0x81.3000, and the access address behind another first byte.
            assert_eq!(line.local, Some(0x81_3000_0000 + zambezi), "{}", line.name);
            let global = line.global.unwrap();
            assert_eq!(global >> 32, first, "{}: the first byte", line.name);
            let rest = access & 0xffff_ffff;
            assert_eq!(global & 0xffff_ffff, rest, "{}: the rest", line.name);
            assert_eq!(first >> 2 & 3, n as u64, "{}: [35:34] repeat n", line.name);
            id += 1;
        }
    }
    assert_eq!(id, 90, "72 registers");
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
