//! Tests the contract sweep on the production image. Two guests with two strands each make calls at
//! the same time, and every answer is checked.

use std::collections::BTreeMap;
use std::env;

use guest_abi::StrandId;
use simulator::conform::Image;
use simulator::conform::callers::Callers;
use simulator::conform::judge::Judge;
use simulator::conform::pairs::{BootedPair, GuestPair};
pub(crate) use simulator::conform::requests::requests;
use simulator::execute::Limits;
use tests::oracle::Grant;
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use super::image;

/// The maximum number of instructions that a strand executes between two calls.
const CALL: u64 = 1_000_000;

/// Converts an image to the type that `simulator::conform` checks.
pub(crate) fn conformed(hypervisor: &[u8]) -> Image {
    let elf = elf::parse(hypervisor).unwrap();
    let (text, interfaces) = (elf::text(&elf), elf::interfaces(&elf).unwrap());
    Image { segments: elf::loaded(hypervisor).unwrap(), text, interfaces }
}

/// With `ALL` in the environment, the test makes many more calls.
#[test]
#[ignore = "builds images"]
fn calls_of_two_guests_at_the_same_time_are_as_in_the_contract() {
    let requests = requests(env::var_os("ALL").is_some());
    let hypervisor = conformed(&image(Production::Shipped));
    let mut statuses: BTreeMap<u64, usize> = BTreeMap::new();
    // In the first case, both guests are on one core. In the second case they are on two nodes, and in the third case on three.
    let cases: [GuestPair; 3] = [
        [([0, 1], Grant::GLOBAL_HTSTRAND), ([2, 3], Grant::STRAND)],
        [([0, 64], Grant::HTSTRAND), ([1, 72], Grant::GLOBAL)],
        [([8, 70], Grant::NONE), ([3, 130], Grant::GLOBAL_STRAND)],
    ];
    for (case, sides) in (0..).zip(&cases) {
        let BootedPair { mut execution, strands, mut callers, watch, world } =
            BootedPair::boot(&hypervisor, sides, case).unwrap();
        let (execution, ids) = (&mut execution, strands.concat());
        // All strands make the same calls in the same cyclic order, but each starts at a different call.
        let mut left: BTreeMap<StrandId, _> = (0..)
            .zip(&ids)
            .map(|(number, id)| {
                let first = number * requests.len() / ids.len();
                let from_there = requests.iter().cycle().skip(first);
                (*id, from_there.take(requests.len()).copied())
            })
            .collect();
        loop {
            let stop = execution.run(Limits::instructions(CALL));
            let strand =
                Callers::asking_strand(execution, stop).unwrap_or_else(|| panic!("{stop:?}"));
            let next = left.get_mut(&strand).and_then(Iterator::next);
            callers.turn(execution, &watch, strand, next).unwrap();
            if next.is_none() && !ids.iter().any(|id| callers.is_calling(*id)) {
                break;
            }
        }
        assert_eq!(callers.made.len(), ids.len() * requests.len());
        let seen = watch.seen();
        assert!(seen.forbidden.is_empty(), "{:x?}", &seen.forbidden[0]);
        let mut judge = Judge::new(world);
        judge.judge(&callers.made, &seen.devices).unwrap();
        judge.end(execution, &ids).unwrap();
        for (status, count) in &judge.statuses {
            *statuses.entry(*status).or_default() += *count;
        }
    }
    tests::print_line(format_args!("calls by status: {statuses:?}"));
    // Each of these statuses occurs often.
    for status in [0, 6, 7, 9, 10, 13] {
        let count = statuses.get(&status).copied().unwrap_or_default();
        assert!(count >= 100, "status {status}: {statuses:?}");
    }
}
