//! One guest attacks the image while another guest makes calls. The attacker must reach nothing outside its own memory. The neighbour must
//! get the answers that the reference model gives, and the hypervisor must survive.

mod attack;
mod attacker;
mod edges;
mod kinds;
mod program;
mod random;
mod traps;

use conform::oracle::Grant;
use guest_abi::StrandId;

use super::caller::Request;
use super::callers::Callers;
use super::comparison::Findings;
use super::differences::{Key, Subject};
use super::image::Image;
use super::judge::Judge;
use super::pairs::{BootedPair, GuestPair};
use super::requests::requests;
use super::watch::MEMORY;
use crate::execute::{Limits, Stop, map};
use attacker::Attacker;
pub use attacker::{Failure, Tally};
pub use kinds::{ADDRESSES, ALL, JUMPS, Kind, STACKS};
pub use program::{CAUGHT, prepare};

/// The number of instructions in a turn. After each turn, the check looks at what has happened.
const TURN_INSTRUCTIONS: u64 = 2000;

/// The maximum number of turns that one of the neighbour's calls may take.
const MAX_CALL_TURNS: usize = 2000;

/// How far the neighbour may be ahead: the number of its calls minus the number of attacks that the attacker has completed. When it is
/// further ahead, the neighbour pauses.
const MAX_LEAD: usize = 100;

/// Boots a hypervisor with the two guests of `sides`. The guest with index `guest` performs attacks of one `kind`: those with the numbers
/// that `numbers` yields. The other guest repeats `calls`.
///
/// # Errors
/// The first failure, or the first call that violates the contract.
pub fn run_attacks(
    image: &Image,
    (sides, guest): (&GuestPair, usize),
    calls: &[Request],
    (kind, mut numbers): (&Kind, impl Iterator<Item = usize>),
) -> Result<Tally, Failure> {
    let ready = BootedPair::boot(image, sides, kind.count as u64);
    let ready = ready.map_err(|fault| Failure::Other(fault.to_string()))?;
    let BootedPair { mut execution, strands, mut callers, watch, world } = ready;
    let execution = &mut execution;
    let peaceful = strands[1 - guest];
    let mut attacker = Attacker::new(execution, strands, guest, kind, &mut numbers)?;
    let mut left = peaceful.map(|_| calls.iter().copied().cycle());
    let mut waited = 0;
    loop {
        let stop = execution.run(Limits::instructions(TURN_INSTRUCTIONS));
        if let [first, ..] = &*watch.seen().forbidden {
            return Err(Failure::Forbidden(*first));
        }
        let is_ahead = callers.made.len() > attacker.tally.tried + MAX_LEAD;
        let is_done = attacker.is_done();
        match stop {
            Stop::Breakpoint(id) => {
                if let Some(number) = peaceful.iter().position(|one| *one == id) {
                    let next = left[number].next().filter(|_| !is_done && !is_ahead);
                    let turn = callers.turn(execution, &watch, id, next);
                    turn.map_err(Failure::Other)?;
                    waited = 0;
                } else if let Some(strand) = attacker.ids.iter().position(|one| *one == id) {
                    attacker.stopped(execution, strand)?;
                }
            }
            Stop::Limit => {}
            stop => return Err(Failure::Other(format!("{stop:x?}"))),
        }
        attacker.check_progress(execution)?;
        let is_calling = peaceful.iter().any(|id| callers.is_calling(*id));
        if is_done && !is_calling {
            break;
        }
        if !is_done && !is_ahead && !calls.is_empty() {
            peaceful.iter().for_each(|id| Callers::wake(execution, *id));
        }
        waited = if is_calling { waited + 1 } else { 0 };
        if waited > MAX_CALL_TURNS {
            return Err(Failure::Other("the calls of the neighbour do not end".to_owned()));
        }
    }
    // The machine runs on until the last stores to devices have completed.
    execution.breakpoints().clear();
    execution.run(Limits::instructions(TURN_INSTRUCTIONS));
    let seen = watch.seen();
    if let [first, ..] = &*seen.forbidden {
        return Err(Failure::Forbidden(*first));
    }
    let of_attacker = |strand: &StrandId| strands[guest].contains(strand);
    let mut devices = seen.devices.iter();
    let reached =
        devices.find(|one| of_attacker(&one.strand) && one.physical >> 32 != map::CONSOLES >> 32);
    if let Some(reached) = reached.filter(|_| !kind.has_rights) {
        return Err(Failure::Forbidden(*reached));
    }
    let mut judge = Judge::new(world);
    judge.judge(&callers.made, &seen.devices).map_err(Failure::Neighbour)?;
    // The attacker writes its %pcr without a call, so only the neighbour's %pcr is compared.
    judge.end(execution, &peaceful).map_err(Failure::Neighbour)?;
    Ok(attacker.tally)
}

/// Pairs of guests on one core or two nodes, each pair with the attacker's index. Only the last pair's attacker may use devices.
pub const GUEST_PAIRS: [(GuestPair, usize); 3] = [
    ([([0, 1], Grant::STRAND), ([2, 3], Grant::GLOBAL_HTSTRAND)], 0),
    ([([2, 64], Grant::GLOBAL_STRAND), ([3, 65], Grant::NONE)], 1),
    ([([0, 1], Grant::STRAND), ([2, 3], Grant::GLOBAL_HTSTRAND)], 1),
];

/// How reports describe what the contract requires for the guest that does not attack.
pub(super) const NEIGHBOUR: &str = "the neighbour is answered as in the contract";

/// The check's name in reports.
pub(super) const CHECK: &str = "attacks";

/// Returns the calls that the neighbour makes. The image may have groups and functions that the model does not know, so the neighbour does
/// not call them.
fn neighbours_calls() -> Vec<Request> {
    let mut calls = requests(false);
    calls.retain(|request| match (request.trap, request.registers) {
        (0x80, [.., function]) => matches!(function, 0x106 | 0x107),
        (0xff, [group, .., 0 | 3]) => matches!(group, 0 | 1 | 0x205),
        _ => false,
    });
    calls
}

/// Performs every [`stride`](Kind::stride)-th attack of one kind.
pub(super) fn check(image: &Image, number: usize) -> Findings {
    let kind = ALL[number];
    let (sides, guest) = &GUEST_PAIRS[if kind.has_rights { 2 } else { number % 2 }];
    let numbers = (0..kind.count).step_by(kind.stride);
    let mut found = Findings::default();
    match run_attacks(image, (sides, *guest), &neighbours_calls(), (kind, numbers)) {
        Ok(tally) => found.calls = tally.tried as u64,
        Err(failure) => {
            let (expected, wrong) = match failure {
                Failure::Neighbour(_) => (NEIGHBOUR, "otherwise"),
                _ => ("the guest reaches its own memory alone", "more"),
            };
            let key = Key {
                check: CHECK,
                call: CHECK,
                expected: expected.to_owned(),
                found: wrong.to_owned(),
                subject: Subject::Kind(kind.name),
                right: "any".to_owned(),
                version: "any",
            };
            found.differences.note(key, || match failure {
                Failure::Forbidden(access) => format!("{access:x?}"),
                Failure::Neighbour(what) | Failure::Other(what) => what,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_neighbour_calls_what_the_contract_knows() {
        let calls = neighbours_calls();
        let of_trap = |trap| calls.iter().filter(move |call| call.trap == trap);
        let functions: BTreeSet<u64> = of_trap(0x80).map(|call| call.registers[5]).collect();
        assert_eq!(functions, BTreeSet::from([0x106, 0x107]));
        let groups: BTreeSet<_> =
            of_trap(0xff).map(|call| (call.registers[5], call.registers[0])).collect();
        let expected = [0, 3].map(|function| [0, 1, 0x205].map(|group| (function, group)));
        assert_eq!(groups, expected.into_iter().flatten().collect());
        assert_eq!(of_trap(0x80).count() + of_trap(0xff).count(), calls.len());
    }
}
