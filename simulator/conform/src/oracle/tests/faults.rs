//! Tests busy hubs and faulting devices.

use super::*;

/// Asserts that reads and writes of register `id` return `status`, preserve %o1, perform no access and change nothing.
fn refused_untouched(world: &mut World, strand: u16, id: u64, status: u64) {
    let before = world.clone();
    for (function, value) in [(0x106, 0x1111), (0x107, 0x1)] {
        let out = call(world, strand, Trap::Fast, function, [id, value]);
        let expected = [status, value, 0x2222, 0x3333, 0x4444, function];
        assert_eq!(out.regs, expected, "{function:#x} of {id}");
        assert!(out.accesses.is_empty(), "{function:#x} of {id}");
    }
    assert_eq!(*world, before);
}

#[test]
fn each_register_is_part_of_the_unit_in_its_name() {
    for register in &registers::REGISTERS[2..] {
        let expected = match Cell::Register(register.id).unit() {
            Unit::L2 { .. } => panic!("{} is no L2 register", register.name),
            Unit::Mcu { node, mcu } => format!("NODE{node}_MCU{mcu}_"),
            Unit::Hub(hub) => format!("ZAM{hub}_"),
        };
        let name = register.name;
        assert!(name.starts_with(&expected), "{name}: {expected}");
    }
    assert_eq!(Unit::L2 { node: 3 }.cells().len(), 8);
    let last_channel = Unit::Mcu { node: 3, mcu: 1 };
    assert_eq!(last_channel.cells(), [16, 17].map(Cell::Register));
    assert_eq!(Unit::Hub(3).cells().len(), 18);
}

#[test]
fn a_busy_hub_would_block_and_nothing_happens() {
    let mut world = batoka([0], Grant::GLOBAL);
    assert_eq!(set(&mut world, 0, 37, 77), 0);
    world.hubs[1] = HubCondition::Busy;
    let before = world.clone();
    let out = call(&mut world, 0, Trap::Fast, 0x107, [37, 5]);
    assert_eq!(out.regs, [9, 5, 0x2222, 0x3333, 0x4444, 0x107]);
    let mut accesses = out.accesses.iter();
    assert!(accesses.all(|access| access.answer == Answer::Busy));
    assert_eq!(get(&mut world, 0, 37), (9, 0x1111));
    assert_eq!(world, before);
    assert_eq!(set(&mut world, 0, 35, 5), 0);
    world.hubs[1] = HubCondition::Free;
    assert_eq!(get(&mut world, 0, 37), (0, 77));
}

#[test]
fn a_faulted_hub_is_out_of_service_and_the_others_work_on() {
    let mut world = batoka([0], Grant::GLOBAL);
    world.guests.push(Guest::new([1], Grant::NONE));
    negotiate(&mut world, 1, 1);
    world.hubs[2] = HubCondition::Faulted;
    assert_eq!(set(&mut world, 0, 54, 1), 10);
    assert!(world.out_of_service.contains(&Unit::Hub(2)));
    world.hubs[2] = HubCondition::Free;
    for id in 54..72 {
        refused_untouched(&mut world, 0, id, 10);
        refused_untouched(&mut world, 1, id, 10);
    }
    for id in [18, 53, 72, 89, 2] {
        assert_eq!(set(&mut world, 0, id, 1), 0);
        assert_eq!(get(&mut world, 1, id).0, 10);
    }
}

#[test]
fn a_guest_reset_while_a_hub_is_out_of_service_has_the_others() {
    let mut world = batoka([0], Grant::GLOBAL);
    world.hubs[3] = HubCondition::Faulted;
    assert_eq!(get(&mut world, 0, 89), (10, 0x1111));
    assert_eq!(get(&mut world, 0, 18), (0, 0));
    world.reset_guest(0);
    world.all_acknowledge();
    refused_untouched(&mut world, 0, 2, 7);
    negotiate(&mut world, 0, 1);
    for id in 18..72 {
        assert_eq!(get(&mut world, 0, id), (0, 0));
    }
    for id in 72..90 {
        refused_untouched(&mut world, 0, id, 10);
    }
    world.hubs[3] = HubCondition::Free;
    world.out_of_service.clear();
    assert_eq!(get(&mut world, 0, 89), (0, 0));
}

/// A call for a register that the version or the machine lacks returns ENOTSUPPORTED, even if the unit is out of service.
#[test]
fn a_unit_out_of_service_comes_after_version_and_machine() {
    let mut world = batoka([0], Grant::GLOBAL);
    world.out_of_service.insert(Unit::Hub(0));
    refused_untouched(&mut world, 0, 18, 10);
    negotiate(&mut world, 0, 0);
    refused_untouched(&mut world, 0, 18, 13);
    negotiate(&mut world, 0, 1);
    world.disabled_channels.insert((1, 1));
    world.out_of_service.insert(Unit::Mcu { node: 1, mcu: 1 });
    refused_untouched(&mut world, 0, 8, 13);
}

#[test]
fn a_reset_clears_versions_and_registers() {
    let mut world = batoka([0], Grant::GLOBAL_HTSTRAND);
    world.devices.insert(l2(3), 0x77);
    for id in [0, 1, 2, 18] {
        assert_eq!(set(&mut world, 0, id, 1), 0);
    }
    world.pic.insert(0, 9);
    world.reset_guest(0);
    for id in [0, 1, 2, 18, 90, u64::MAX] {
        refused_untouched(&mut world, 0, id, 7);
    }
    // After the reset, the guest has no rights until its strand has taken the cross-call.
    negotiate(&mut world, 0, 1);
    for id in [0, 1, 2, 18] {
        refused_untouched(&mut world, 0, id, 10);
    }
    refused_untouched(&mut world, 0, 90, 6);
    assert!(world.is_pending());
    world.cross_called(0);
    assert!(!world.is_pending());
    for id in [0, 1, 2, 18] {
        assert_eq!(get(&mut world, 0, id), (0, 0));
    }
    assert_eq!(world.pic[&0], 0);
    assert_eq!(world.holds(l2(3)), 0x77);
}

#[test]
fn a_faulted_memory_controller_takes_its_two_registers() {
    let mut world = batoka([0, 64], Grant::GLOBAL);
    world.break_unit(Unit::Mcu { node: 1, mcu: 0 });
    assert_eq!(get(&mut world, 0, 7), (10, 0x1111));
    world.faults.clear();
    for strand in [0, 64] {
        refused_untouched(&mut world, strand, 6, 10);
        refused_untouched(&mut world, strand, 7, 10);
        for id in [2, 4, 8, 9] {
            assert_eq!(get(&mut world, strand, id), (0, 0));
        }
    }
}

/// Returns the L2 control register of one of node 0's banks.
fn l2(bank: usize) -> Cell {
    Cell::L2 { node: 0, bank }
}

/// Returns a Batoka machine. In each L2 control register of node 0, PERF_CONFIG is 2, and the other bits are 0x10 plus the bank's number.
fn with_l2() -> World {
    let mut world = batoka([0, 64], Grant::GLOBAL);
    for bank in 0..8 {
        world.devices.insert(l2(bank), 0x20_0000_0010 + bank as u64);
    }
    world
}

#[test]
fn an_l2_set_that_faults_puts_every_bank_back() {
    for fault in [Fault::Always, Fault::WritesAfter(0)] {
        for bank in 0..8 {
            let mut world = with_l2();
            let before = world.devices.clone();
            world.faults.insert(l2(bank), fault);
            let written = call(&mut world, 0, Trap::Fast, 0x107, [1, 1]);
            assert_eq!(written.regs[..2], [10, 1]);
            assert_eq!(world.devices, before);
            // Bank 0 is written last.
            let reached = if bank == 0 { 0..8 } else { 1..bank as u64 + 1 };
            let reached: Vec<_> =
                reached.map(|bank| Target::Address(0xa9_0000_0000 + bank * 0x40)).collect();
            assert!(written.by_target().keys().all(|target| reached.contains(target)));
            world.faults.clear();
            refused_untouched(&mut world, 0, 1, 10);
            assert_eq!(set(&mut world, 64, 1, 1), 0);
            assert_eq!(set(&mut world, 0, 2, 1), 0);
        }
    }
}

#[test]
fn a_bank_that_cannot_be_put_back_does_not_stop_the_others() {
    let mut world = with_l2();
    let mut expected = world.devices.clone();
    world.faults.insert(l2(2), Fault::WritesAfter(1));
    world.faults.insert(l2(5), Fault::WritesAfter(0));
    assert_eq!(set(&mut world, 0, 1, 1), 10);
    expected.insert(l2(2), 0x10_0000_0012);
    assert_eq!(world.devices, expected);
}

#[test]
fn an_l2_get_needs_bank_0_only() {
    let mut world = with_l2();
    world.faults.insert(l2(7), Fault::Always);
    assert_eq!(get(&mut world, 0, 1), (0, 2));
    world.faults.insert(l2(0), Fault::Always);
    assert_eq!(get(&mut world, 0, 1), (10, 0x1111));
    world.faults.clear();
    refused_untouched(&mut world, 0, 1, 10);
}
