//! Negotiates every major and minor version of every group. Repeats this in each of several prior states, which result from earlier
//! negotiations.

use guest_abi::trap::API_GET_VERSION;
use guest_abi::{ApiGroup, StrandId, Trap};
use perfctr_service::Grant;
use platform::{Machine, Model};

use super::{PERF_COUNTERS, strand};
use crate::configuration::guest;
use crate::{Change, Configuration, Part, System};

/// Negotiates in every prior state, with one configuration per state.
pub const NEGOTIATION: Part = Part {
    name: "negotiation from every prior state",
    limit: PRIOR.len(),
    configuration: two_guests,
    run: negotiation,
};

/// Reads the version of every group in every prior state, with one configuration per state.
pub const OF_EVERY_GROUP: Part = Part {
    name: "the version of every group",
    limit: PRIOR.len(),
    configuration: two_guests,
    run: of_every_group,
};

/// API groups that are not in `ApiGroup::NAMED`. Most of them do not exist in any hypervisor.
#[rustfmt::skip]
const OTHERS: [u64; 14] = [
    2, 0x200, 0x202, 0x204, 0x206, 0x209, 0x20c, 0x300,
    1 << 16 | 0x205, 1 << 32, 1 << 32 | 1, 1 << 32 | 0x205, 1 << 63 | 0x205, u64::MAX,
];

#[rustfmt::skip]
const MAJORS: [u64; 9] = [0, 1, 2, 3, 255, 1 << 8 | 1, 1 << 32 | 1, 1 << 63 | 1, u64::MAX];

const MINORS: [u64; 9] = [0, 1, 2, 3, 256, 1 << 32, 1 << 32 | 1, 1 << 63, u64::MAX];

/// The prior states. Each is described by the negotiations (group, major, minor) that lead to it.
const PRIOR: [&[[u64; 3]]; 8] = [
    &[],
    &[[0x205, 1, 0]],
    &[[0x205, 1, 1]],
    &[[0x205, 1, 1], [0x205, 1, 0]],
    &[[0x205, 1, 1], [0x205, 0, 0]],
    &[[0, 1, 0], [1, 1, 0]],
    &[[0, 1, 0], [1, 1, 0], [1, 0, 0], [0x205, 1, 9]],
    &[[0x205, 1, 0], [0x205, 2, 0], [0x202, 1, 0]],
];

fn groups() -> impl Iterator<Item = u64> {
    ApiGroup::NAMED.iter().map(|(_, group, _)| group.0).chain(OTHERS)
}

/// Returns a configuration of two guests: the first has two strands, and the second has one.
fn two_guests(_: usize) -> Option<Configuration> {
    let machine = Machine::new(Model::Batoka, 2).ok()?;
    let other = guest([64], Grant::STRAND).with_compatible(true);
    let guests = [guest([0, 1], Grant::ALL), other];
    Some(Configuration::new(machine, guests))
}

/// Resets the first guest, and makes the negotiations that lead to prior state `number`.
fn begin(number: usize, system: &mut dyn System) {
    system.change(Change::Reset(0));
    PRIOR[number].iter().for_each(|version| system.negotiate(strand(0), *version));
}

/// Reads everything that depends on a guest's versions: the versions themselves, and one register of each kind.
fn look(system: &mut dyn System, strand: StrandId) {
    for (_, group, _) in ApiGroup::NAMED {
        let registers = [group.0, 0x11aa, 0x22aa, 0x33aa, 0x44aa, API_GET_VERSION];
        system.call(strand, Trap::Core, registers);
    }
    for id in [0, 17, 18, 90] {
        system.get(strand, id);
    }
}

fn negotiation(number: usize, _: &Configuration, system: &mut dyn System) {
    system.negotiate(strand(64), [PERF_COUNTERS, 1, 0]);
    for group in groups() {
        for major in MAJORS {
            for minor in MINORS {
                begin(number, system);
                system.negotiate(strand(0), [group, major, minor]);
                // A guest's strands share its versions. The other guest has its own.
                look(system, strand(1));
            }
            look(system, strand(64));
        }
    }
}

fn of_every_group(number: usize, _: &Configuration, system: &mut dyn System) {
    begin(number, system);
    for group in groups().chain(0..0x400) {
        let registers = [group, u64::MAX, 2, 3, 4, API_GET_VERSION];
        system.call(strand(0), Trap::Core, registers);
    }
}
