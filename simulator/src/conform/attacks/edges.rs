//! The addresses and values that attacks use.

use std::sync::OnceLock;

use platform::memory_map::REAL;

use super::MEMORY;
use crate::conform::judge::cells;
use crate::execute::map;

/// The real address at which the guest's memory ends. [`NEIGHBOUR`] is the physical address at which the second guest's memory
/// begins.
pub(super) const END: u64 = REAL + MEMORY;
pub(super) const NEIGHBOUR: u64 = map::PARTITION + MEMORY;

/// A real address in memory that the guest's program does not use.
pub(super) const OWN: u64 = REAL + 0x60_0000;

/// Addresses at and next to the edges of every region, with all alignments.
pub(super) const EDGES: [u64; 26] = [
    0,
    8,
    map::HYPERVISOR.start,
    map::HYPERVISOR.start + 0x4000,
    map::HYPERVISOR.start + 0x1_2344,
    map::MAILBOX,
    map::MAILBOX + 0x808,
    map::HYPERVISOR.end - 8,
    REAL - 8,
    REAL,
    REAL + 1,
    OWN,
    OWN + 4,
    END - 8,
    END,
    NEIGHBOUR + 8,
    NEIGHBOUR + MEMORY - 16,
    map::ROM.start + 0x20,
    map::DESCRIPTION.start,
    map::CONSOLES,
    map::CONSOLES + map::CONSOLE_STRIDE + 5,
    0x84_0000_0400,
    0xa9_0000_0000,
    0xe1_3000_4000,
    1 << 63,
    u64::MAX,
];

pub(super) const fn is_own(address: u64) -> bool {
    REAL <= address && address < END
}

pub(super) const ADDRESS_COUNT: usize = 61 * 3 + 0x3f0 + 128 + 6 + 16 + 32 + 16 + 72;

/// Addresses throughout the physical address space: near each power of two, in each 64 KB of the hypervisor's and the
/// neighbour's memory, and at the edges of read-only memory. Also the registers of two consoles and of all other devices.
pub(super) fn addresses() -> &'static [u64] {
    static ALL: OnceLock<Vec<u64>> = OnceLock::new();
    ALL.get_or_init(|| {
        let powers =
            (3..64).flat_map(|bit| [-8, 0, 8].map(|by| (1_u64 << bit).wrapping_add_signed(by)));
        let of_hypervisor = map::HYPERVISOR.step_by(0x1_0000);
        let of_neighbour = (NEIGHBOUR..NEIGHBOUR + MEMORY).step_by(0x1_0000);
        let edges = [map::ROM, map::DESCRIPTION].map(|it| [it.start, it.start + 0x28, it.end - 8]);
        let consoles = (0..16).map(|it| map::CONSOLES + it / 8 * map::CONSOLE_STRIDE + it % 8);
        let devices = cells().map(|(cell, node)| cell.address_from(node));
        let all = powers.chain(of_hypervisor).chain(of_neighbour);
        all.chain(edges.concat()).chain(consoles).chain(devices).collect()
    })
}

/// The values that attacks put into registers.
pub(super) const VALUES: [u64; 13] = [
    0,
    1,
    2,
    7,
    8,
    0xff,
    0x1ff,
    map::HYPERVISOR.start,
    NEIGHBOUR,
    OWN,
    1 << 63,
    0x5555_5555_5555_5555,
    u64::MAX,
];

/// Values that attacks pass to calls in %o1.
pub(super) const SECONDS: [u64; 7] = [0, 1, 8, 0x100, MEMORY, OWN, u64::MAX];
