//! The CORE calls against the reference model: negotiation from every prior state, console, and who may exit.

use tests::comparison::{Comparison, board};
use tests::oracle::{Grant, Guest, Machine, Trap, World};

const GROUPS: [u64; 17] = [
    0,
    1,
    2,
    0x200,
    0x202,
    0x204,
    0x205,
    0x206,
    0x209,
    0x20c,
    0x300,
    1 << 16 | 0x205,
    1 << 32,
    1 << 32 | 1,
    1 << 32 | 0x205,
    1 << 63 | 0x205,
    u64::MAX,
];

const MAJORS: [u64; 9] = [
    0,
    1,
    2,
    3,
    255,
    1 << 8 | 1,
    1 << 32 | 1,
    1 << 63 | 1,
    u64::MAX,
];

const MINORS: [u64; 9] = [0, 1, 2, 3, 256, 1 << 32, 1 << 32 | 1, 1 << 63, u64::MAX];

/// Prior states: negotiations of group, major, minor, one after the other.
const PRIOR: [&[(u64, u64, u64)]; 8] = [
    &[],
    &[(0x205, 1, 0)],
    &[(0x205, 1, 1)],
    &[(0x205, 1, 1), (0x205, 1, 0)],
    &[(0x205, 1, 1), (0x205, 0, 0)],
    &[(0, 1, 0), (1, 1, 0)],
    &[(0, 1, 0), (1, 1, 0), (1, 0, 0), (0x205, 1, 9)],
    &[(0x205, 1, 0), (0x205, 2, 0), (0x202, 1, 0)],
];

fn set_version(comparison: &mut Comparison, strand: u16, (group, major, minor): (u64, u64, u64)) {
    comparison.call(strand, Trap::Core, [group, major, minor, 0x33aa, 0x44aa, 0]);
}

/// Everything that a guest can see of its versions: what is negotiated, and which registers that gives it.
fn look(comparison: &mut Comparison, strand: u16) {
    for group in [0, 1, 0x205] {
        comparison.call(
            strand,
            Trap::Core,
            [group, 0x11aa, 0x22aa, 0x33aa, 0x44aa, 3],
        );
    }
    for id in [0, 17, 18, 90] {
        comparison.get(strand, id);
    }
}

fn two_guests() -> World {
    let guests = vec![
        Guest::new([0, 1], Grant::GLOBAL_HTSTRAND),
        Guest::new([64], Grant::STRAND).with_compat(),
    ];
    World::new(Machine::Batoka, 2, &[], guests).unwrap()
}

#[test]
fn negotiation_from_every_prior_state() {
    let world = two_guests();
    let board = board(&world);
    let mut comparison = Comparison::new(world, &board);
    set_version(&mut comparison, 64, (0x205, 1, 0));
    for prior in PRIOR {
        for group in GROUPS {
            for major in MAJORS {
                for minor in MINORS {
                    comparison.reset_guest(0);
                    for before in prior {
                        set_version(&mut comparison, 0, *before);
                    }
                    set_version(&mut comparison, 0, (group, major, minor));
                    // The strands of a guest share its versions; the other guest keeps its own.
                    look(&mut comparison, 1);
                }
                look(&mut comparison, 64);
            }
        }
    }
    tests::tell(format_args!(
        "negotiation_from_every_prior_state: {} cases",
        comparison.cases
    ));
    assert!(comparison.cases >= 80_000);
}

#[test]
fn get_version_of_every_group_in_every_prior_state() {
    let world = two_guests();
    let board = board(&world);
    let mut comparison = Comparison::new(world, &board);
    for prior in PRIOR {
        comparison.reset_guest(0);
        for before in prior {
            set_version(&mut comparison, 0, *before);
        }
        for group in GROUPS.into_iter().chain(0..0x400) {
            comparison.call(0, Trap::Core, [group, u64::MAX, 2, 3, 4, 3]);
        }
    }
    tests::tell(format_args!(
        "get_version_of_every_group_in_every_prior_state: {} cases",
        comparison.cases
    ));
    assert!(comparison.cases >= 8_000);
}

#[test]
fn console_and_exit() {
    let world = two_guests();
    let board = board(&world);
    let mut comparison = Comparison::new(world, &board);
    for strand in [0, 1, 64] {
        for value in (0..0x300).chain([1 << 16, 1 << 32, 1 << 32 | 0x41, 1 << 63, u64::MAX]) {
            // Console, then exit: neither needs a negotiated version.
            for function in [1, 2] {
                comparison.call(
                    strand,
                    Trap::Core,
                    [value, 0x11, 0x22, 0x33, 0x44, function],
                );
            }
        }
    }
    comparison.check_state();
    assert_eq!(comparison.cases, 2 * 3 * (0x300 + 5));
}
