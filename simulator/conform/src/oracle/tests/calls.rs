//! Tests the dispatch of calls, the registers that calls use, and successful reads and writes.

use super::*;

#[test]
fn unknown_functions_are_bad_traps_and_change_nothing() {
    let mut world = batoka([0], Grant::GLOBAL_HTSTRAND);
    let before = world.clone();
    let low = [0, 0x61, 0x104, 0x105, 0x108, 0x122, 0x200, 0x202];
    let high = [1 << 63 | 0x106, 0x1_0000_0106, u64::MAX];
    for function in low.into_iter().chain(high) {
        let out = call(&mut world, 0, Trap::Fast, function, [2, 0x1111]);
        assert_eq!(out.regs, [7, 0x1111, 0x2222, 0x3333, 0x4444, function]);
        assert!(out.accesses.is_empty());
    }
    for function in [4, 5, 0x106, 0x107, 1 << 32, 0x1_0000_0002, u64::MAX] {
        let out = call(&mut world, 0, Trap::Core, function, [2, 0x1111]);
        assert_eq!(out.regs, [7, 0x1111, 0x2222, 0x3333, 0x4444, function]);
        assert!(!out.exited);
    }
    for trap in 0x81..=0xfe {
        let out = call(&mut world, 0, Trap::Other(trap), 0x106, [2, 0x1111]);
        assert_eq!(out.regs, [7, 0x1111, 0x2222, 0x3333, 0x4444, 0x106]);
        assert!(out.accesses.is_empty());
    }
    assert_eq!(world, before);
}

#[test]
fn core_calls_return_in_their_documented_registers_only() {
    let guests = vec![Guest::new([0, 1], Grant::NONE)];
    let mut world = World::new(Machine::Maramba, 1, &[], guests).unwrap();
    let mut core = |strand, regs| world.call(strand, Trap::Core, regs).regs;
    assert_eq!(core(0, [0x205, 5, 6, 7, 8, 3]), [0, 0, 0, 7, 8, 3]);
    assert_eq!(core(0, [0x205, 1, 9, 7, 8, 0]), [0, 1, 9, 7, 8, 0]);
    // All strands of a guest share the negotiated version.
    assert_eq!(core(1, [0x205, 5, 6, 7, 8, 3]), [0, 1, 1, 7, 8, 3]);
    assert_eq!(core(0, [0x205, 2, 9, 7, 8, 0]), [13, 2, 9, 7, 8, 0]);
    assert_eq!(core(0, [0x209, 1, 9, 7, 8, 0]), [6, 1, 9, 7, 8, 0]);
    assert_eq!(core(0, [0x209, 1, 9, 7, 8, 3]), [6, 1, 9, 7, 8, 3]);
    assert_eq!(core(0, [0, 0, 9, 7, 8, 0]), [13, 0, 9, 7, 8, 0]);
    assert_eq!(core(0, [0, 1, 9, 7, 8, 0]), [0, 0, 9, 7, 8, 0]);
}

#[test]
fn the_console_takes_bytes_and_breaks_and_exit_does_not_return() {
    let mut world = batoka([0], Grant::NONE);
    for (char, status, console) in [
        (0, 0, Some(Console::Byte(0))),
        (0x41, 0, Some(Console::Byte(0x41))),
        (255, 0, Some(Console::Byte(255))),
        (256, 6, None),
        (0xffff_ffff, 6, None),
        (u64::MAX - 1, 6, None),
        (u64::MAX, 0, Some(Console::Break)),
    ] {
        let out = world.call(0, Trap::Core, [char, 1, 2, 3, 4, 1]);
        assert_eq!(out.regs, [status, 1, 2, 3, 4, 1]);
        assert_eq!((out.console, out.exited), (console, false));
    }
    let out = world.call(0, Trap::Core, [9, 1, 2, 3, 4, 2]);
    assert_eq!(out.regs, [9, 1, 2, 3, 4, 2]);
    assert_eq!((out.console, out.exited), (None, true));
}

#[test]
fn every_register_keeps_what_its_mask_lets_through() {
    for (id, kept) in [
        (1, 0x3),
        (2, 0xff),
        (3, u64::MAX),
        (16, 0xff),
        (17, u64::MAX),
        (18, 0xffff),
        (19, u64::MAX),
        (27, 0xffff),
        (29, u64::MAX),
        (30, 0xf0f),
        (31, u64::MAX),
        (33, 0xf0f),
        (87, 0xf0f),
        (89, u64::MAX),
    ] {
        let mut world = batoka([0, 192], Grant::GLOBAL_HTSTRAND);
        assert_eq!(get(&mut world, 0, id), (0, 0), "PerfReg {id} starts at 0");
        assert_eq!(set(&mut world, 0, id, u64::MAX), 0);
        assert_eq!(get(&mut world, 0, id), (0, kept), "PerfReg {id}");
        assert_eq!(set(&mut world, 0, id, !kept), 0);
        assert_eq!(get(&mut world, 0, id), (0, 0), "PerfReg {id}");
    }
}

#[test]
fn own_memory_controllers_are_reached_locally_and_all_else_globally() {
    let mut world = batoka([64, 130], Grant::GLOBAL);
    for (strand, id, address) in [
        (64, 6, 0x84_0000_0400),
        (64, 9, 0x84_0000_1408),
        (64, 10, 0xd8_0000_0400),
        (130, 6, 0xd4_0000_0400),
        (130, 10, 0x84_0000_0400),
        (130, 12, 0x84_0000_1400),
        (64, 18, 0xe1_3000_4000),
        (64, 36, 0xe5_3000_5000),
        (130, 71, 0xe9_3002_e010),
        (130, 89, 0xed_3002_f010),
    ] {
        let out = call(&mut world, strand, Trap::Fast, 0x107, [id, 5]);
        assert_eq!(out.accesses, [done(address, Action::Write(5))]);
        let out = call(&mut world, strand, Trap::Fast, 0x106, [id, 0]);
        assert_eq!(out.accesses, [done(address, Action::Read)]);
        assert_eq!(out.regs[..2], [0, 5]);
        let cell = Cell::at(World::node_of(strand), address);
        assert_eq!(cell, Some(Cell::Register(id)));
    }
    // The local address and the global address belong to the same cell.
    assert_eq!(set(&mut world, 64, 10, 0x21), 0);
    assert_eq!(get(&mut world, 130, 10), (0, 0x21));
    // A hub's local address does not belong to any register.
    assert_eq!(Cell::at(0, 0x81_3000_1000), None);
}

#[test]
fn a_hub_does_not_need_the_node_of_its_number() {
    let guest = Guest::new([0], Grant::GLOBAL);
    let mut world = World::new(Machine::Batoka, 1, &[], vec![guest]).unwrap();
    negotiate(&mut world, 0, 1);
    for id in 18..90 {
        assert_eq!(set(&mut world, 0, id, 1), 0);
        assert_eq!(get(&mut world, 0, id), (0, 1));
    }
}

#[test]
fn the_pcr_is_the_calling_strands() {
    let mut world = batoka([3, 4], Grant::HTSTRAND);
    assert_eq!(set(&mut world, 3, 0, 0xc000_0000_0000_0009), 0);
    assert_eq!(get(&mut world, 3, 0), (0, 0x9));
    assert_eq!(get(&mut world, 4, 0), (0, 0));
    assert!(world.devices.is_empty());
}

/// HOLDOV (bits 63:62) affects only the write that sets it, and reads as 0. With HOLDOV, OV0 (bit 18) and OV1 (bit 31) do not change.
#[test]
fn the_pcr_keeps_bits_31_to_0_and_the_ov_bits_that_holdov_protects() {
    let mut world = batoka([3], Grant::HTSTRAND);
    for (written, kept) in [
        (0x3fff_ffff_ffff_ffff, 0xffff_ffff),
        (0xc000_0000_0000_0001, 0x8004_0001),
        (0x4000_0000_0000_0001, 0x0004_0001),
        (0x8000_0000_8000_0001, 0x0000_0001),
        (0x4000_0000_8000_0001, 0x8000_0001),
        (0x8000_0000_0004_0001, 0x8004_0001),
        (0xc000_0000_0000_0000, 0x8004_0000),
        (0, 0),
    ] {
        assert_eq!(set(&mut world, 3, 0, written), 0);
        assert_eq!(get(&mut world, 3, 0), (0, kept), "{written:#x}");
    }
}

#[test]
fn perf_config_is_two_bits_in_eight_banks_of_the_callers_node() {
    let mut world = batoka([64, 128], Grant::GLOBAL);
    for node in 0..4 {
        for bank in 0..8 {
            let value = (0x8000_0001_fe00_7ff8 + bank as u64) | 1 << 36;
            world.devices.insert(Cell::L2 { node, bank }, value);
        }
    }
    let before = world.devices.clone();
    let out = call(&mut world, 64, Trap::Fast, 0x107, [1, 0xfffe]);
    assert_eq!(out.regs[0], 0);
    assert_eq!(out.accesses.len(), 16);
    assert_eq!(out.by_target().len(), 8);
    for (cell, value) in &world.devices {
        match *cell {
            Cell::L2 { node: 1, bank } => {
                assert_eq!(*value, 0x8000_0021_fe00_7ff8 + bank as u64);
                let address = 0xa9_0000_0000 + bank as u64 * 0x40;
                let actions = [Action::Read, Action::Write(*value)];
                let expected = actions.map(|action| done(address, action));
                assert_eq!(out.by_target()[&Target::Address(address)], expected);
            }
            _ => assert_eq!(before.get(cell), Some(value)),
        }
    }
    assert_eq!(get(&mut world, 64, 1), (0, 2));
    assert_eq!(get(&mut world, 128, 1), (0, 1));
    let out = call(&mut world, 64, Trap::Fast, 0x106, [1, 0]);
    assert_eq!(out.accesses, [done(0xa9_0000_0000, Action::Read)]);
}

#[test]
fn configurations_that_cannot_be_are_rejected() {
    use Invalid::{Channel, Nodes, SharedStrand, Strand, TwoGlobal};
    use Machine::{Batoka, Maramba};
    let guest = |strands: &[u16]| Guest::new(strands.iter().copied(), Grant::GLOBAL);
    for (machine, nodes, disabled, guests, expected) in [
        (Maramba, 0, None, vec![], Some(Nodes)),
        (Maramba, 3, None, vec![], Some(Nodes)),
        (Batoka, 5, None, vec![], Some(Nodes)),
        (Batoka, 1, Some((0, 2)), vec![], Some(Channel)),
        (Maramba, 1, Some((2, 0)), vec![], Some(Channel)),
        (Batoka, 2, None, vec![guest(&[128])], Some(Strand)),
        (Batoka, 2, None, vec![guest(&[1, 1])], Some(SharedStrand)),
        (Batoka, 2, None, vec![guest(&[0]), guest(&[1])], Some(TwoGlobal)),
        (Batoka, 2, Some((1, 1)), vec![guest(&[127])], None),
    ] {
        let disabled = Vec::from_iter(disabled);
        let world = World::new(machine, nodes, &disabled, guests);
        assert_eq!(world.err(), expected);
    }
}
