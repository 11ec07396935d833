//! Reads and writes registers with every id.

use perfctr_service::Grant;

use super::{PERF_COUNTERS, VERSIONS, combinations};
use crate::configuration::guest;
use crate::{Cell, Change, Configuration, Part, System};

/// Writes all test values to every register in every world (`combinations.rs`), and then reads each register once.
pub const EVERY_REGISTER: Part = Part {
    name: "every register in every world",
    limit: combinations::LIMIT,
    configuration: combinations::world,
    run: every_register,
};

/// Writes every register from every strand. After each write, reads the register from every strand.
pub const READ_BACK: Part = Part {
    name: "what is written reads back",
    limit: combinations::MACHINES.len(),
    configuration: |number| {
        let machine = combinations::machine(number)?;
        let strands = (0..machine.nodes()).map(|node| 64 * node + 3);
        Some(Configuration::new(machine, [guest(strands, Grant::ALL)]))
    },
    run: read_back,
};

/// Invalid ids: numbers that agree with a register's id in some bits but not in all, and the greatest 64-bit numbers.
#[rustfmt::skip]
const EDGES: [u64; 24] = [
    0x100 + 2, 0x100 + 89, 0x400, 0x1_0000, 0x1_0002, 0x8000_0000, 0x8000_0002, 0xffff_ffff,
    1 << 32, 1 << 32 | 1, 1 << 32 | 2, 1 << 32 | 17, 1 << 32 | 18, 1 << 32 | 89, 1 << 40 | 2, 1 << 56 | 2,
    1 << 62 | 18, 1 << 63, 1 << 63 | 1, 1 << 63 | 2, 1 << 63 | 89, u64::MAX - 89, u64::MAX - 1, u64::MAX,
];

/// The fields of the SPARC PCR, highest first. The list also has bits that the register lacks.
#[rustfmt::skip]
const PCR_FIELDS: [u64; 15] = [
    1 << 63, 1 << 62, 0x3fff_ffff << 32, 1 << 31, 0xf << 27, 0xff << 19, 1 << 18, 0xf << 14,
    0xff << 6, 1 << 5, 1 << 4, 1 << 3, 1 << 2, 1 << 1, 1,
];

/// Returns a register's fields. The sweep writes values with only one field set, and values with all fields set except one.
fn fields(id: u64) -> &'static [u64] {
    match id {
        0 => &PCR_FIELDS,
        1 => &[0b01, 0b10, 0b100, 0xff << 25, 0b11 << 36],
        2..=17 if id.is_multiple_of(2) => &[0x0f, 0xf0, 0x100, 1 << 32],
        2..=17 => &[0x7fff_ffff, 1 << 31, 0x7fff_ffff << 32, 1 << 63],
        // Every third register of a hub is a PCR. Ports A to D come first, then GPD and ASU.
        18..=89 if id.is_multiple_of(3) => match (id - 18) % 18 / 3 {
            0..=3 => &[0xff, 0xff << 8, 0xffff << 16, 0xffff_ffff << 32],
            _ => &[0xf, 0xf << 4, 0xf << 8, 0xf << 12, 0xffff_ffff << 16],
        },
        _ => &[0xffff_ffff, 0xffff_ffff << 32],
    }
}

fn values(id: u64) -> impl Iterator<Item = u64> {
    let fields = fields(id).iter();
    let alone_and_left_out = fields.flat_map(|field| [*field, !field]);
    [0, u64::MAX, 1 << 3, 0x5555_5555_5555_5555].into_iter().chain(alone_and_left_out)
}

fn every_register(_: usize, configuration: &Configuration, system: &mut dyn System) {
    for version in VERSIONS {
        system.start(configuration, combinations::TESTED, version);
        for strand in configuration.guests[combinations::TESTED].strands.iter() {
            for id in 0..90 {
                values(id).for_each(|value| system.set(strand, id, value));
                system.get(strand, id);
            }
            for id in (90..256).chain(EDGES) {
                system.get(strand, id);
                system.set(strand, id, 1);
            }
            system.state();
        }
    }
}

fn read_back(_: usize, configuration: &Configuration, system: &mut dyn System) {
    for cell in Cell::all() {
        if let Cell::L2(node, bank) = cell
            && configuration.machine.has_node(node)
        {
            // Bit 22 always reads as 0.
            let other_bits =
                !(0b11 << 36 | 1 << 22) & 0x0123_4567_89ab_cdef_u64.rotate_left(bank as u32);
            system.change(Change::Put(cell, other_bits));
        }
    }
    let strands = || configuration.guests[0].strands.iter();
    if let Some(first) = strands().next() {
        system.negotiate(first, [PERF_COUNTERS, 1, 1]);
    }
    for id in 0..90 {
        for value in values(id) {
            for writer in strands() {
                system.set(writer, id, value);
                strands().for_each(|reader| system.get(reader, id));
            }
        }
    }
    system.state();
}
