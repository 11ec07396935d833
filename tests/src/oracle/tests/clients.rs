//! What the guests of those days do, and what they must find.

use super::*;

/// The 32 control registers that illumos reads at boot, in its order.
const PROBE: [u64; 32] = [
    2, 4, 6, 8, 10, 12, 14, 16, 18, 21, 24, 27, 36, 39, 42, 45, 54, 57, 60, 63, 72, 75, 78, 81, 30,
    48, 66, 84, 33, 51, 69, 87,
];

fn probe(world: &mut World, strand: u16) -> Vec<u64> {
    negotiate(world, strand, 0);
    PROBE.iter().map(|&id| get(world, strand, id).0).collect()
}

/// A list of 32 statuses: the first 8 (DRAM) given, the others (Zambezi) all the same.
fn statuses(dram: [u64; 8], zambezi: u64) -> Vec<u64> {
    dram.into_iter().chain([zambezi; 24]).collect()
}

#[test]
fn illumos_on_a_maramba_of_one_node_finds_two_memory_controllers() {
    let guest = Guest::new(0..64, Grant::GLOBAL_HTSTRAND);
    let mut world = World::new(Machine::Maramba, 1, &[], vec![guest.clone()]).unwrap();
    let expected = statuses([0, 0, 13, 13, 13, 13, 13, 13], 13);
    assert_eq!(probe(&mut world, 0), expected);
    let mut world = World::new(Machine::Maramba, 1, &[], vec![guest.with_compat()]).unwrap();
    assert_eq!(probe(&mut world, 0), expected);
}

#[test]
fn illumos_on_a_batoka_finds_zambezi_only_with_the_switch() {
    let guest = Guest::new(0..256, Grant::GLOBAL_HTSTRAND);
    let mut world = World::new(Machine::Batoka, 4, &[], vec![guest.clone()]).unwrap();
    assert_eq!(probe(&mut world, 0), statuses([0; 8], 13));
    let mut world = World::new(Machine::Batoka, 4, &[], vec![guest.with_compat()]).unwrap();
    assert_eq!(probe(&mut world, 0), statuses([0; 8], 0));
}

#[test]
fn illumos_without_global_finds_units_that_it_may_not_touch() {
    let guest = Guest::new(0..64, Grant::HTSTRAND).with_compat();
    let mut world = World::new(Machine::Batoka, 1, &[(0, 1)], vec![guest]).unwrap();
    assert_eq!(
        probe(&mut world, 0),
        statuses([10, 13, 13, 13, 13, 13, 13, 13], 10)
    );
}

#[test]
fn a_hub_does_not_need_the_node_of_its_number() {
    let mut world = World::new(
        Machine::Batoka,
        1,
        &[],
        vec![Guest::new([0], Grant::GLOBAL)],
    )
    .unwrap();
    negotiate(&mut world, 0, 1);
    for id in 18..90 {
        assert_eq!(set(&mut world, 0, id, 1), 0);
        assert_eq!(get(&mut world, 0, id), (0, 1));
    }
}

#[test]
fn a_guest_that_tries_newer_groups_first_ends_with_ours() {
    let mut world = World::new(
        Machine::Batoka,
        1,
        &[],
        vec![Guest::new([0], Grant::GLOBAL)],
    )
    .unwrap();
    for (group, status) in [(0x209, 6), (0x20c, 6), (0x202, 6), (0x205, 0)] {
        assert_eq!(
            world.call(0, Trap::Core, [group, 1, 0, 0, 0, 0]).regs[0],
            status
        );
    }
    assert_eq!(get(&mut world, 0, 2), (0, 0));
}

#[test]
fn busstat_writes_a_pcr_and_reads_it_back() {
    let mut world = batoka([0], Grant::GLOBAL);
    // mem_writes on PIC1, then mem_read_write on PIC0: the other select is kept.
    let pcr = get(&mut world, 0, 2).1;
    assert_eq!(set(&mut world, 0, 2, pcr & !0xf | 1), 0);
    let pcr = get(&mut world, 0, 2).1;
    assert_eq!(set(&mut world, 0, 2, pcr & !0xf0 | 0x20), 0);
    assert_eq!(get(&mut world, 0, 2), (0, 0x21));
    assert_eq!(get(&mut world, 0, 3), (0, 0));
    // An LPU's event of PIC1, written with bits that do not exist.
    assert_eq!(set(&mut world, 0, 21, !0xff00 | 0x1300), 0);
    assert_eq!(get(&mut world, 0, 21), (0, 0x13ff));
}

#[test]
fn cpc_configures_and_enables() {
    let mut world = batoka([0], Grant::GLOBAL_HTSTRAND);
    assert_eq!(set(&mut world, 0, 1, 3), 0);
    assert_eq!(set(&mut world, 0, 0, 0xc000_0000_0000_0009), 0);
    assert_eq!(set(&mut world, 0, 0, 0xc000_0000_0000_0001), 0);
    assert_eq!(set(&mut world, 0, 0, 0x0000_0000_1804_480b), 0);
    assert_eq!(get(&mut world, 0, 0), (0, 0x0000_0000_1804_480b));
    assert_eq!(get(&mut world, 0, 1), (0, 3));

    let mut world = batoka([0], Grant::STRAND);
    assert_eq!(set(&mut world, 0, 1, 3), 10);
    assert_eq!(set(&mut world, 0, 0, 0xc000_0000_0000_0009), 10);
    assert_eq!(set(&mut world, 0, 0, 0xc000_0000_0000_0001), 0);
    assert_eq!(get(&mut world, 0, 0), (0, 0xc000_0000_0000_0001));
}
