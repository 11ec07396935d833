//! Get and set over the whole contract, call by call against the reference model: every id, machine, node count,
//! grant, version and place of the caller, with hubs free and busy.

use tests::comparison::{Comparison, board};
use tests::oracle::{Grant, Guest, HubCondition, Machine, Trap, World};

/// Machine, nodes, and the memory channels (node, MCU) that are disabled.
type Configuration = (Machine, usize, &'static [(usize, usize)]);

const MACHINES: [Configuration; 8] = [
    (Machine::Maramba, 1, &[]),
    (Machine::Maramba, 2, &[]),
    (Machine::Maramba, 2, &[(0, 1)]),
    (Machine::Batoka, 1, &[]),
    (Machine::Batoka, 2, &[]),
    (Machine::Batoka, 3, &[]),
    (Machine::Batoka, 4, &[]),
    (Machine::Batoka, 4, &[(1, 0), (2, 1)]),
];

/// Ids that look like a register if not all 64 bits are compared, and the ends of the range.
const EDGES: [u64; 24] = [
    0x100 + 2,
    0x100 + 89,
    0x400,
    0x1_0000,
    0x1_0002,
    0x8000_0000,
    0x8000_0002,
    0xffff_ffff,
    1 << 32,
    1 << 32 | 1,
    1 << 32 | 2,
    1 << 32 | 17,
    1 << 32 | 18,
    1 << 32 | 89,
    1 << 40 | 2,
    1 << 56 | 2,
    1 << 62 | 18,
    1 << 63,
    1 << 63 | 1,
    1 << 63 | 2,
    1 << 63 | 89,
    u64::MAX - 89,
    u64::MAX - 1,
    u64::MAX,
];

/// The fields of a register, by the layouts: each is written alone and left out alone.
fn fields(id: u64) -> &'static [u64] {
    match id {
        0 => &[
            1 << 63,
            1 << 62,
            0x3fff_ffff << 32,
            1 << 31,
            0xf << 27,
            0xff << 19,
            1 << 18,
            0xf << 14,
            0xff << 6,
            1 << 5,
            1 << 4,
            1 << 3,
            1 << 2,
            1 << 1,
            1,
        ],
        1 => &[0b01, 0b10, 0b100, 0xff << 25, 0b11 << 36],
        2..=17 if id.is_multiple_of(2) => &[0x0f, 0xf0, 0x100, 1 << 32],
        2..=17 => &[0x7fff_ffff, 1 << 31, 0x7fff_ffff << 32, 1 << 63],
        // Every third register of a hub is a PCR: ports A to D, then GPD and ASU.
        18..=89 if id.is_multiple_of(3) => match (id - 18) % 18 / 3 {
            0..=3 => &[0xff, 0xff << 8, 0xffff << 16, 0xffff_ffff << 32],
            _ => &[0xf, 0xf << 4, 0xf << 8, 0xf << 12, 0xffff_ffff << 16],
        },
        _ => &[0xffff_ffff, 0xffff_ffff << 32],
    }
}

fn values(id: u64) -> Vec<u64> {
    let fields = fields(id).iter();
    let alone_and_left_out = fields.flat_map(|field| [*field, !field]);
    [0, u64::MAX, 1 << 3, 0x5555_5555_5555_5555]
        .into_iter()
        .chain(alone_and_left_out)
        .collect()
}

/// Where the guest's strands can be: on each node, on the first, on the last.
fn places(nodes: usize) -> Vec<Vec<u16>> {
    let first_of = |node: usize| 64 * node as u16 + 3;
    let mut places = vec![
        (0..nodes).map(first_of).collect(),
        vec![3],
        vec![first_of(nodes - 1)],
    ];
    places.dedup();
    places
}

/// What the guest negotiates: minor version, if any.
const VERSIONS: [Option<u64>; 3] = [Some(1), Some(0), None];

/// Calls `each` for every machine, place, grant and compatibility switch.
fn every_world(mut each: impl FnMut(World)) {
    for (machine, nodes, disabled) in MACHINES {
        for place in places(nodes) {
            for grant in Grant::ALL {
                for compat in [false, true] {
                    let guest = Guest {
                        compat,
                        ..Guest::new(place.clone(), grant)
                    };
                    // A neighbour on the strand next to the first, with nothing.
                    let neighbour = Guest::new([place[0] + 1], Grant::NONE);
                    let guests = vec![neighbour, guest];
                    each(World::new(machine, nodes, disabled, guests).unwrap());
                }
            }
        }
    }
}

/// The guest under test starts again, with this version.
fn start(comparison: &mut Comparison, version: Option<u64>) {
    comparison.reset_guest(1);
    if let Some(minor) = version {
        comparison.negotiate(comparison.world.guests[1].strands[0], 1, minor);
    }
}

#[test]
fn every_register_in_every_world() {
    let mut cases = 0;
    every_world(|world| {
        let board = board(&world);
        let mut comparison = Comparison::new(world, &board);
        for version in VERSIONS {
            start(&mut comparison, version);
            for strand in comparison.world.guests[1].strands.clone() {
                for id in 0..90 {
                    for value in values(id) {
                        comparison.set(strand, id, value);
                    }
                    comparison.get(strand, id);
                }
                for id in (90..256).chain(EDGES) {
                    comparison.get(strand, id);
                    comparison.set(strand, id, 1);
                }
                comparison.check_state();
            }
        }
        cases += comparison.cases;
    });
    tests::tell(format_args!("every_register_in_every_world: {cases} cases"));
    assert!(cases >= 500_000);
}

/// What is written reads back, register by register, from every strand that may: here each set is followed by a get.
#[test]
fn what_is_written_reads_back_masked() {
    let mut cases = 0;
    for (machine, nodes, disabled) in MACHINES {
        let strands: Vec<u16> = places(nodes).swap_remove(0);
        let guest = Guest::new(strands.clone(), Grant::GLOBAL_HTSTRAND);
        let world = World::new(machine, nodes, disabled, vec![guest]).unwrap();
        let board = board(&world);
        let mut comparison = Comparison::new(world, &board);
        for node in 0..nodes {
            for bank in 0..8 {
                let other_bits = !(0b11 << 36) & 0x0123_4567_89ab_cdef_u64.rotate_left(bank as u32);
                comparison.put(tests::oracle::Cell::L2 { node, bank }, other_bits);
            }
        }
        comparison.negotiate(strands[0], 1, 1);
        for id in 0..90 {
            for value in values(id) {
                for &writer in &strands {
                    comparison.set(writer, id, value);
                    for &reader in &strands {
                        comparison.get(reader, id);
                    }
                }
            }
        }
        comparison.check_state();
        cases += comparison.cases;
    }
    tests::tell(format_args!(
        "what_is_written_reads_back_masked: {cases} cases"
    ));
    assert!(cases >= 40_000);
}

#[test]
fn busy_hubs_in_every_world() {
    let mut cases = 0;
    every_world(|world| {
        let board = board(&world);
        let mut comparison = Comparison::new(world, &board);
        for version in VERSIONS {
            start(&mut comparison, version);
            for strand in comparison.world.guests[1].strands.clone() {
                for hub in 0..4 {
                    comparison.set_hub(hub, HubCondition::Busy);
                }
                for id in (0..92).chain([255, 1 << 32 | 18, u64::MAX]) {
                    comparison.get(strand, id);
                    comparison.set(strand, id, 0xabc);
                }
                for hub in 0..4 {
                    comparison.set_hub(hub, HubCondition::Free);
                    // The refused strand is served, so that nobody else is refused on its behalf.
                    comparison.get(strand, 18 + 18 * hub as u64);
                }
                comparison.check_state();
            }
        }
        cases += comparison.cases;
    });
    tests::tell(format_args!("busy_hubs_in_every_world: {cases} cases"));
    assert!(cases >= 100_000);
}

/// Function numbers: 0x106 and 0x107 in all 64 bits of the FAST trap, nothing else, whatever is negotiated.
#[test]
fn every_function_number() {
    let world = World::new(
        Machine::Batoka,
        4,
        &[],
        vec![Guest::new([0], Grant::GLOBAL_HTSTRAND).with_compat()],
    )
    .unwrap();
    let board = board(&world);
    let mut comparison = Comparison::new(world, &board);
    let around: Vec<u64> = [8u32, 9, 16, 31, 32, 48, 62, 63]
        .iter()
        .flat_map(|bit| (0..0x210).map(move |low| 1 << bit | low))
        .collect();
    let functions: Vec<u64> = (0..0x210)
        .chain(around)
        .chain(u64::MAX - 0x200..=u64::MAX)
        .collect();
    for version in VERSIONS {
        for &function in &functions {
            comparison.reset_guest(0);
            if let Some(minor) = version {
                comparison.negotiate(0, 1, minor);
            }
            for first in [0, 2, 18, 0x41] {
                for trap in [Trap::Fast, Trap::Core] {
                    comparison.call(0, trap, [first, 0x11, 0x22, 0x33, 0x44, function]);
                }
            }
        }
    }
    comparison.check_state();
    tests::tell(format_args!(
        "every_function_number: {} cases",
        comparison.cases
    ));
    assert!(comparison.cases >= 100_000);
}
