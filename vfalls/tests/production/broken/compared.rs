//! Compares a run with failures to the run without failures, and decides which differences are allowed.

use std::collections::BTreeSet;
use std::ops::Range;

use guest_abi::StrandId;
use hv_core::trace::remote::Memory;
use perfctr_service::Unit;
use perfctr_service::mailbox::ServiceState;
use platform::memory_map::MAILBOX;
use platform::memory_map::mailbox::{OPERATOR_WORDS, RECORDS};
use simulator::execute::{Execution, map};
use simulator::interpreter::Strand;

use super::super::{ENOACCESS, levels, strand};
use super::image::Image;
use super::plan::{BetweenStages, Fault, STRANDS, unit};
use super::{End, Run, list_at};

/// Returns the words of memory that differ between the two runs: each physical address, with the value in each run.
pub(crate) fn differences(
    right: &Execution,
    found: &Execution,
    range: Range<u64>,
) -> Vec<(u64, [u64; 2])> {
    const EMPTY: &[u8] = &[0; 8192];
    let of_range = |(address, _): &(u64, &[u8])| range.contains(address);
    let mut right = right.pages().filter(of_range).peekable();
    let mut found = found.pages().filter(of_range).peekable();
    let mut words = Vec::new();
    while let Some(address) =
        [right.peek(), found.peek()].into_iter().flatten().map(|page| page.0).min()
    {
        let next = |(at, _): &(u64, &[u8])| *at == address;
        let pages = [right.next_if(next), found.next_if(next)];
        let [a, b] = pages.map(|page| page.map_or(EMPTY, |(_, bytes)| bytes));
        if a != b {
            let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0).map(|(a, b)| [*a, *b]);
            let words_of_page = (address..).step_by(8).zip(pairs).filter(|(_, [a, b])| a != b);
            words.extend(words_of_page.map(|(at, pair)| (at, pair.map(u64::from_be_bytes))));
        }
    }
    words
}

const GUESTS: Range<u64> = map::PARTITION..map::PARTITION + 2 * super::MEMORY;

/// Compares a run to the run without failures, both at the end of a stage. Returns the number of calls that were refused because of the
/// failures. An error describes a difference that is not allowed.
pub(super) fn judge(stage: usize, end: &End, found: &mut Run<'_>) -> Result<usize, String> {
    let right = &end.execution;
    let told = check_reports(stage, found)?;
    let mut refused = 0;
    let mut may_differ = BTreeSet::new();
    for (number, id) in STRANDS.into_iter().enumerate() {
        let list = &found.plan.lists[stage][number];
        let mut out = Vec::new();
        for (place, entry) in list.iter().enumerate() {
            let fails = |unit: &Unit| found.plan.faults.iter().any(|fault| fault.unit == *unit);
            let Some(unit) = unit(entry, number).filter(fails) else { continue };
            let at = list_at(number) + 64 * place as u64 + 8;
            let [[status, _], [answer, value]] = [right, &found.execution]
                .map(|execution| [at, at + 8].map(|at| word(execution, at)));
            let is_last = list[place + 1..]
                .iter()
                .all(|later| super::plan::unit(later, number) != Some(unit));
            let is_out =
                told.contains(&unit) && (stage, found.plan.between) != (1, BetweenStages::Return);
            let must_refuse = found.must_refuse.contains(&(number, place));
            let is_right = match (status, answer) {
                (ENOACCESS, answer) => answer == ENOACCESS,
                (0, answer) if must_refuse && answer != ENOACCESS => false,
                (_, ENOACCESS) => is_out && value == entry[2],
                (status, answer) => {
                    status == answer && !out.contains(&unit) && !(is_out && is_last && stage == 1)
                }
            };
            if !is_right {
                return Err(format!(
                    "stage {stage}, strand {number}, call {place} {entry:x?} on {unit}: {answer}, {value:#x} in place of {status}; told {told:?}"
                ));
            }
            if answer == ENOACCESS && status != ENOACCESS {
                refused += 1;
                out.push(unit);
            }
            may_differ.extend([at, at + 8]);
        }
        // At the end of the first stage, a strand may still be in the hypervisor.
        if stage == 1 {
            let [right, found] = [right, &found.execution].map(|it| it.strand(strand(id)));
            judge_strand(right, found).map_err(|why| format!("strand {number}: {why}"))?;
        }
    }
    if stage == 1 {
        judge_hypervisor(right, &found.execution, &found.ready.image)?;
        judge_look(end.look.as_ref().unwrap(), found)?;
    }
    let differs = differences(right, &found.execution, GUESTS);
    match differs.iter().find(|(address, _)| !may_differ.contains(address)) {
        None => Ok(refused),
        Some((address, words)) => {
            let lists = (0..4).filter(|number| list_at(*number) <= *address);
            let number = lists.max_by_key(|number| list_at(*number)).unwrap_or(0);
            let entry =
                found.plan.lists[stage][number].get((address - list_at(number)) as usize / 64);
            Err(format!(
                "stage {stage}, memory at {address:#x}: {words:x?}, strand {number}, {entry:x?}"
            ))
        }
    }
}

/// Compares a strand's registers as its guest sees them, and checks its trap levels.
fn judge_strand(right: &Strand, found: &Strand) -> Result<(), String> {
    levels::judge(found)?;
    let [right, found] = [right, found].map(Strand::seen_by_guest);
    match right == found {
        true => Ok(()),
        false => Err(lines_that_differ(&right, &found)),
    }
}

/// Compares the rights and units that the operator sees at the end, except the failed units.
fn judge_look(right: &ServiceState, found: &Run<'_>) -> Result<(), String> {
    let mut right = *right;
    let seen = found.look.unwrap();
    for Fault { unit, .. } in &found.plan.faults {
        right.units[unit.number()] = seen.units[unit.number()];
    }
    match right == seen {
        true => Ok(()),
        false => Err(lines_that_differ(&right, &seen)),
    }
}

/// Compares the hypervisor's memory. Only these words may differ:
/// - the answers to the operator, the failure records, the logger's state, and the stacks;
/// - in a strand's block: the guest's registers that a slow call or another trap has saved, the L2 control values that a write of
///   PERF_CONFIG reads first, and the reports;
/// - in the services' state: at most `LIMIT` words, which are counts and times of calls and waits, and states of units.
pub(crate) fn judge_hypervisor(
    right: &Execution,
    found: &Execution,
    image: &Image,
) -> Result<(), String> {
    const LIMIT: usize = 60;
    let Image { services, blocks, log, stacks } = image;
    let block = (blocks.end - blocks.start) / StrandId::COUNT as u64;
    let mut of_services = 0;
    for (address, words) in differences(right, found, map::HYPERVISOR) {
        let may_differ = match address {
            MAILBOX.. => !(OPERATOR_WORDS..RECORDS).contains(&((address - MAILBOX) as usize / 8)),
            _ if address >= *stacks || log.contains(&address) => true,
            _ if blocks.contains(&address) => {
                // Three groups of words in a strand's block must be equal. The first two groups are the values that the fast path only
                // reads, the stack's address, %pcr and %pic. The third group is the handler, the functions that it serves, and the bounds
                // of the guest's memory.
                let word = (address - blocks.start) % block / 8;
                !matches!(word, 0..11 | 18..25 | 38..46)
            }
            _ if services.contains(&address) => {
                of_services += 1;
                of_services <= LIMIT
            }
            _ => false,
        };
        if !may_differ {
            return Err(format!("the hypervisor's memory at {address:#x}: {words:x?}"));
        }
    }
    Ok(())
}

fn word(execution: &Execution, address: u64) -> u64 {
    Memory::load(execution, address).unwrap()
}

pub(crate) fn lines_that_differ(
    right: &impl std::fmt::Debug,
    found: &impl std::fmt::Debug,
) -> String {
    let [right, found] = [format!("{right:#x?}"), format!("{found:#x?}")];
    let lines = right.lines().zip(found.lines()).filter(|(right, found)| right != found);
    lines.map(|(right, found)| format!("{} in place of {}, ", found.trim(), right.trim())).collect()
}

/// Returns the units that the operator knows to have failed. In the first stage, the result includes units whose failure report a strand
/// has read, because the strand may be about to tell the operator.
///
/// Returns an error if the operator is told about a unit twice. At the end, also returns an error if a strand has read a unit's report but
/// has not told the operator about the unit.
fn check_reports(stage: usize, run: &mut Run<'_>) -> Result<Vec<Unit>, String> {
    let (failures, number) = run.execution.failures();
    let may_repeat = (stage, run.plan.between) == (1, BetweenStages::Return);
    let mut told = Vec::new();
    for failure in &failures {
        let fails = run.plan.faults.iter().map(|fault| fault.unit);
        let name = failure.unit.as_deref().unwrap_or_default();
        match fails.into_iter().find(|unit| unit.to_string() == name) {
            Some(unit) if may_repeat || !told.contains(&unit) => told.push(unit),
            _ => return Err(format!("the operator is told: {failure}")),
        }
    }
    match run.reported.iter().find(|unit| stage == 1 && !told.contains(unit)) {
        Some(unit) => Err(format!("the operator is not told of {unit}, but of {told:?}")),
        None if stage == 1 && told.len() as u64 != number => Err(format!("{number} failures")),
        None => {
            told.extend(run.reported.iter().filter(|_| stage == 0));
            Ok(told)
        }
    }
}
