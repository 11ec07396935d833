//! Tests the checks of version, presence and grant, and their order.

use super::*;

#[test]
fn the_first_check_that_fails_gives_the_status() {
    // The Maramba guest has no rights. In each line below, the call fails the check with the expected status, and would fail all later
    // checks.
    let guests = vec![Guest::new([0], Grant::NONE)];
    let mut world = World::new(Machine::Maramba, 2, &[(1, 1)], guests).unwrap();
    for id in [0, 1, 2, 8, 10, 18, 90, u64::MAX] {
        assert_eq!(get(&mut world, 0, id), (7, 0x1111));
        assert_eq!(set(&mut world, 0, id, 8), 7);
    }
    for minor in [0, 1] {
        negotiate(&mut world, 0, minor);
        for (ids, status) in [
            (&[90, 255, 1 << 32, 1 << 63, u64::MAX][..], 6),
            (&[18, 89, 8, 9, 10, 17], 13),
            (&[0, 1, 2, 7], 10),
        ] {
            for &id in ids {
                assert_eq!(get(&mut world, 0, id), (status, 0x1111), "get {id:#x}");
                assert_eq!(set(&mut world, 0, id, 8), status, "set {id:#x}");
            }
        }
    }
    let core = world.call(0, Trap::Core, [0x205, 0, 0, 0, 0, 0]);
    assert_eq!(core.regs[0], 0);
    assert_eq!(get(&mut world, 0, 90), (7, 0x1111));
    assert!(world.devices.is_empty() && world.pcr.is_empty());
}

#[test]
fn version_1_0_ends_with_register_17() {
    for (compat, zambezi) in [(false, 13), (true, 0)] {
        let guest = Guest { compat, ..Guest::new([192], Grant::GLOBAL_STRAND) };
        let mut world = World::new(Machine::Batoka, 4, &[], vec![guest]).unwrap();
        negotiate(&mut world, 192, 0);
        let zambezi = [(18, zambezi), (89, zambezi)];
        let others = [(0, 0), (1, 0), (14, 0), (17, 0), (90, 6)];
        for (id, status) in others.into_iter().chain(zambezi) {
            assert_eq!(get(&mut world, 192, id).0, status, "PerfReg {id}");
        }
    }
}

#[test]
fn a_busy_hub_is_the_last_check() {
    let mut world = batoka([0], Grant::STRAND);
    world.hubs = [HubCondition::Busy; 4];
    assert_eq!(get(&mut world, 0, 18), (10, 0x1111));
    assert_eq!(get(&mut world, 0, 90), (6, 0x1111));
    negotiate(&mut world, 0, 0);
    assert_eq!(get(&mut world, 0, 18), (13, 0x1111));
    world.reset_guest(0);
    assert_eq!(get(&mut world, 0, 18), (7, 0x1111));
}

#[test]
fn each_grant_covers_its_registers() {
    // The strands are on nodes 0 and 2. The statuses are for PCR, PCR with HT, PERF_CONFIG, DRAM of nodes 0 to 3, and hub 3.
    for (grant, expected) in [
        (Grant::NONE, [10, 10, 10, 10, 10, 10, 10, 10]),
        (Grant::STRAND, [0, 10, 10, 10, 10, 10, 10, 10]),
        (Grant::HTSTRAND, [0, 0, 10, 10, 10, 10, 10, 10]),
        (Grant::GLOBAL, [10, 10, 0, 0, 10, 0, 10, 0]),
        (Grant::GLOBAL_STRAND, [0, 10, 0, 0, 10, 0, 10, 0]),
        (Grant::GLOBAL_HTSTRAND, [0, 0, 0, 0, 10, 0, 10, 0]),
    ] {
        for strand in [1, 128] {
            let mut world = batoka([1, 128], grant);
            let without_ht = |id| set(&mut world, strand, id, 1);
            let mut statuses = [0, 0, 1, 3, 7, 11, 15, 89].map(without_ht);
            statuses[1] = set(&mut world, strand, 0, 9);
            assert_eq!(statuses, expected, "{grant:?} on strand {strand}");
        }
    }
    assert_eq!(Grant::default(), Grant::NONE);
}

#[test]
fn a_refused_ht_leaves_the_pcr_as_it_was() {
    let mut world = batoka([0], Grant::STRAND);
    assert_eq!(set(&mut world, 0, 0, 0x13), 0);
    assert_eq!(set(&mut world, 0, 0, 0x1f), 10);
    assert_eq!(get(&mut world, 0, 0), (0, 0x13));
    // Reading HT needs no right.
    world.pcr.insert(0, 0x8);
    assert_eq!(get(&mut world, 0, 0), (0, 0x8));
}

#[test]
fn guests_negotiate_for_themselves() {
    let guests = vec![Guest::new([0], Grant::GLOBAL), Guest::new([1], Grant::STRAND)];
    let mut world = World::new(Machine::Batoka, 1, &[], guests).unwrap();
    negotiate(&mut world, 0, 1);
    assert_eq!(get(&mut world, 0, 18), (0, 0));
    assert_eq!(get(&mut world, 1, 0), (7, 0x1111));
    negotiate(&mut world, 1, 0);
    assert_eq!(get(&mut world, 1, 0), (0, 0));
    assert_eq!(get(&mut world, 1, 18), (13, 0x1111));
    assert_eq!(get(&mut world, 0, 18), (0, 0));
}

/// Returns a world with two guests. The first guest has every right, and has written to all registers that it may use.
fn used() -> World {
    let guests = vec![Guest::new([0, 65], Grant::GLOBAL_HTSTRAND), Guest::new([1], Grant::STRAND)];
    let mut world = World::new(Machine::Batoka, 2, &[(1, 1)], guests).unwrap();
    negotiate(&mut world, 0, 1);
    negotiate(&mut world, 1, 1);
    world.devices.insert(Cell::L2 { node: 0, bank: 4 }, 0x7ff8);
    for strand in [0, 65] {
        for id in (0..8).chain(18..90) {
            assert_eq!(set(&mut world, strand, id, 0xffff_ffff_ffff_ffff), 0);
        }
        world.pic.insert(strand, 0x1234);
    }
    assert_eq!(set(&mut world, 1, 0, 0x13), 0);
    world.pic.insert(1, 0x77);
    world
}

#[test]
fn a_guest_that_loses_every_right_leaves_no_value_behind() {
    let mut world = used();
    assert_eq!(world.regrant(&[Grant::NONE, Grant::GLOBAL_STRAND]), Ok(()));
    for (cell, value) in &world.devices {
        let is_l2 = *cell == Cell::L2 { node: 0, bank: 4 };
        assert_eq!(*value, if is_l2 { 0x7ff8 } else { 0 }, "{cell:?}");
    }
    assert_eq!(world.pcr, BTreeMap::from([(0, 0), (65, 0), (1, 0x13)]));
    assert_eq!(world.pic, BTreeMap::from([(0, 0), (65, 0), (1, 0x77)]));
    assert!(!world.devices.contains_key(&Cell::Register(8)), "an absent register was cleared");
    assert_eq!(get(&mut world, 0, 0), (10, 0x1111));
    assert_eq!(get(&mut world, 1, 2), (0, 0));
    assert_eq!(get(&mut world, 1, 6), (10, 0x1111));
}

#[test]
fn a_guest_that_loses_ht_keeps_counting_without_it() {
    let mut world = used();
    let devices = world.devices.clone();
    assert_eq!(world.regrant(&[Grant::GLOBAL_STRAND, Grant::NONE]), Ok(()));
    assert_eq!(world.devices, devices);
    assert_eq!(get(&mut world, 0, 0), (0, 0x7ffb_fff7));
    assert_eq!(world.pcr[&1], 0);
    let pics = BTreeMap::from([(0, 0x1234), (65, 0x1234), (1, 0)]);
    assert_eq!(world.pic, pics);
}

#[test]
fn a_unit_that_is_out_of_service_is_not_accessed() {
    let mut world = used();
    world.out_of_service.insert(Unit::Hub(1));
    assert_eq!(world.regrant(&[Grant::NONE, Grant::NONE]), Ok(()));
    assert_eq!(world.holds(Cell::Register(36)), 0xffff);
    assert_eq!(world.holds(Cell::Register(35)), 0);
}

#[test]
fn a_rejected_configuration_changes_nothing() {
    let mut world = used();
    let before = world.clone();
    let two = [Grant::GLOBAL, Grant::GLOBAL];
    assert_eq!(world.regrant(&two), Err(Invalid::TwoGlobal));
    assert_eq!(world.regrant(&[Grant::NONE]), Err(Invalid::GrantCount));
    assert_eq!(world, before);
}
