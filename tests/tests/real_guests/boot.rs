//! Tests guests that boot, negotiate, and probe for units.

use tests::comparison::{Comparison, board};
use tests::oracle::Trap::{Core, Fast, Other};
use tests::oracle::{Grant, Guest, HubCondition, Machine, World};

use super::{GETPERF, P, X, get, get_version, play, set, set_version, start};

/// The 32 control registers that illumos probes when its first CPU comes up: eight memory controllers, sixteen LPUs, four GPDs and four
/// ASUs. To illumos, a unit is present unless the status is EINVAL or ENOTSUPPORTED.
#[rustfmt::skip]
const PROBE: [u64; 32] = [
    2, 4, 6, 8, 10, 12, 14, 16,
    18, 21, 24, 27, 36, 39, 42, 45, 54, 57, 60, 63, 72, 75, 78, 81,
    30, 48, 66, 84,
    33, 51, 69, 87,
];

/// Negotiates as illumos does at boot. Returns the answers to the 32 probes.
fn probe(both: &mut Comparison) -> String {
    play(both, 0, &[set_version(0x205, 1, 0, Ok(0)), get_version(0x205, Ok([1, 0]))]);
    let mut statuses = Vec::new();
    for id in PROBE {
        let registers = both.call(0, Fast, [id, X, X, X, P, GETPERF]).regs;
        let value = if registers[0] == 0 { 0 } else { X };
        assert_eq!(registers[1..], [value, X, X, P, GETPERF], "PerfReg {id}");
        statuses.push(registers[0].to_string());
    }
    statuses.join(" ")
}

/// Each row has a machine, its number of nodes, an absent memory channel, the guest, and the statuses of the 32 probes.
#[test]
#[rustfmt::skip]
fn illumos_boots_on_every_machine() {
    use Machine::{Batoka, Maramba};
    let all = |strands| Guest::new(0..strands, Grant::GLOBAL_HTSTRAND);
    let last_node = Guest::new((0..1).chain(200..256), Grant::GLOBAL).with_compat();
    let without = |strands| Guest::new(0..strands, Grant::HTSTRAND).with_compat();
    let one_node = "0 0 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13";
    let two_nodes = "0 0 0 0 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13";
    for (machine, nodes, absent, guest, expected) in [
        (Batoka, 4, None, all(256), "0 0 0 0 0 0 0 0 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13 13"),
        (Batoka, 4, None, all(256).with_compat(), "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
        // Two nodes are absent. All hubs are present.
        (Batoka, 2, None, all(128).with_compat(), "0 0 0 0 13 13 13 13 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
        // The guest is on nodes 0 and 3. Nodes 1 and 2 are present, but the guest may not access them.
        (Batoka, 4, None, last_node, "0 0 10 10 10 10 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
        // The guest lacks the right, but illumos still treats every unit as present, so that it can use the units if it is granted the
        // right later.
        (Batoka, 4, None, without(256), "10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10"),
        (Batoka, 1, Some((0, 1)), without(64), "10 13 13 13 13 13 13 13 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10"),
        (Maramba, 1, None, all(64), one_node),
        (Maramba, 1, None, all(64).with_compat(), one_node),
        (Maramba, 2, None, all(128), two_nodes),
        (Maramba, 2, None, all(128).with_compat(), two_nodes),
    ] {
        let world = World::new(machine, nodes, &Vec::from_iter(absent), vec![guest]).unwrap();
        let board = board(&world);
        assert_eq!(probe(&mut Comparison::new(world, &board)), expected);
    }
}

/// Hub 0 has faulted before illumos boots. illumos still treats all of the hub's LPUs, GPDs and ASUs as present, so it creates their
/// tables, to which it writes later. Every read of hub 0 fails.
#[test]
#[rustfmt::skip]
fn illumos_boots_while_a_hub_is_out_of_service() {
    let guest = Guest::new(0..256, Grant::GLOBAL).with_compat();
    let mut both = start(Machine::Batoka, 4, guest);
    let version = set_version(0x205, 1, 0, Ok(0));
    both.set_hub(0, HubCondition::Faulted);
    play(&mut both, 9, &[version, get(18, Err(10))]);
    both.reset_guest(0);
    both.all_acknowledge();
    assert_eq!(
        probe(&mut both),
        "0 0 0 0 0 0 0 0 10 10 10 10 0 0 0 0 0 0 0 0 0 0 0 0 10 0 0 0 10 0 0 0"
    );
    // `busstat` configures and reads first ZAM0_LPU_A and then ZAM1_LPU_A.
    play(&mut both, 130, &[
        set(18, 0x0101, 10),
        get(19, Err(10)),
        set(36, 0x0101, 0),
        get(37, Ok(0)),
    ]);
}

/// A later CPC back end first tries the groups of newer processors: VT, then KT, then 0x205.
#[test]
#[rustfmt::skip]
fn newer_groups_first() {
    let mut both = start(Machine::Batoka, 1, Guest::new(0..64, Grant::GLOBAL));
    play(&mut both, 0, &[
        set_version(0x20c, 1, 0, Err(6)),
        set_version(0x209, 1, 0, Err(6)),
        set_version(0x202, 1, 0, Err(6)),
        set_version(0x205, 1, 1, Ok(1)),
        get_version(0x20c, Err(6)),
        get_version(0x205, Ok([1, 1])),
        // Functions of the refused groups return EBADTRAP, and functions of group 0x205 are served.
        (Fast, 0x184, [0, X, X, X, P], [7, X, X, X, P]),
        (Fast, 0x122, [0, X, X, X, P], [7, X, X, X, P]),
        get(18, Ok(0)),
        // At shutdown, the guest releases the group.
        set_version(0x205, 0, 0, Ok(0)),
        get(18, Err(7)),
    ]);
}

/// Linux mistakes the processor for a Niagara 2 and asks for that processor's group, 0x202, which is refused. Linux therefore has no
/// counters, and its calls to the group's functions get EBADTRAP.
#[test]
#[rustfmt::skip]
fn linux() {
    let guest = Guest::new(0..128, Grant::GLOBAL_HTSTRAND);
    let mut both = start(Machine::Maramba, 2, guest);
    play(&mut both, 0, &[
        set_version(0, 1, 0, Ok(0)),
        set_version(1, 1, 0, Ok(0)),
        set_version(0x202, 1, 0, Err(6)),
        (Fast, 0x105, [0, 0x8, X, X, P], [7, 0x8, X, X, P]),
        (Fast, 0x104, [0, X, X, X, P], [7, X, X, X, P]),
        set(0, 0x8, 7),
        get(0, Err(7)),
        // Linux's console sends a break (-1) with cons_putchar. For mmu_map_addr, mmu_unmap_addr and ttrace_addentry, Linux uses software
        // traps that this hypervisor does not serve.
        (Core, 1, [u64::MAX, X, X, X, P], [0, X, X, X, P]),
        (Other(0x83), 0, [1, 2, 3, 4, P], [7, 2, 3, 4, P]),
        (Other(0x84), 0, [1, 2, 3, X, P], [7, 2, 3, X, P]),
        (Other(0x85), 0, [1, 2, 3, 4, P], [7, 2, 3, 4, P]),
    ]);
    let board = both.machine.board();
    assert!(board.cells().is_empty() && board.pcrs().is_empty());
}
