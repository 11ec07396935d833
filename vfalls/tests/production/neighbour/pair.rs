//! A pair of executions that differ in what the neighbour does.

use std::collections::BTreeMap;

use guest_abi::PerfReg;
use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use perfctr_service::{Grants, Right};
use simulator::conform::attacks::CAUGHT;
use simulator::conform::guest::ANSWERED;
use simulator::interpreter::instruction::Register;
use tests::random::Random;

use super::super::strand;
use super::copy::{Copy, GuestProgress};
use super::observed::{Excluded, compare, equalise, memory as memory_differs};
use super::others::NeighbourDriver;
use super::script::Action;
use super::{GUEST, Ready};

/// The maximum number of instructions that the guest executes in one action.
const LONG: usize = 60;

/// The registers that the guest reads in each script: PCR, PERF_CONFIG, the node's channel registers, and some hub registers.
const READ: [u64; 12] = [0, 1, 2, 3, 4, 5, 18, 19, 20, 36, 54, 73];

/// What has happened in the pairs so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) pairs: usize,
    /// The number of comparisons, and how many of them come after a return from the hypervisor.
    pub(super) compared: usize,
    pub(super) returns: usize,
    /// The number of times that the guest has ended, the number of the neighbour's actions, and the number of its resets.
    pub(super) ends: usize,
    pub(super) others: usize,
    pub(super) resets: usize,
    /// The number of calls with each status.
    pub(super) statuses: BTreeMap<u64, usize>,
    /// How often a value was excluded.
    pub(super) excluded: BTreeMap<Excluded, usize>,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.compared += other.compared;
        self.returns += other.returns;
        self.ends += other.ends;
        self.others += other.others;
        self.resets += other.resets;
        for (status, times) in other.statuses {
            *self.statuses.entry(status).or_default() += times;
        }
        for (excluded, times) in other.excluded {
            *self.excluded.entry(excluded).or_default() += times;
        }
    }
}

/// Makes a seed's pair of executions. The error describes what the guest observes of its neighbour.
pub(super) fn run_seed(ready: &Ready, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random(seed);
    let schedule = random.next_u64();
    let behaviours = NeighbourDriver::behaviours(&mut random);
    let mut copies = behaviours.map(|behaviour| {
        let mut execution = ready.execution.clone();
        let others = NeighbourDriver::new(&mut execution, behaviour, Random(random.next_u64()));
        Copy::new(ready, execution, others, schedule)
    });
    let described = |why: String| format!("seed {seed}, {:?}, {behaviours:?}: {why}", ready.rights);
    for copy in &mut copies {
        before(copy).map_err(described)?;
    }
    let mut script: Vec<Action> =
        (0..4 + random.below(8)).map(|_| Action::drawn(&mut random)).collect();
    // The guest also reads registers that the neighbour may have changed: at the beginning if rights have moved, otherwise at the end.
    let reads = READ.map(|register| Action::get(&mut random, register));
    let at = if ready.rights.moves { 0 } else { script.len() };
    script.splice(at..at, reads);
    let mut counting = Vec::new();
    for (number, action) in script.iter().enumerate() {
        let described = |why| described(format!("action {number} {action:x?}: {why}"));
        if !act(&mut copies, *action, &mut counting, tally).map_err(described)? {
            tally.ends += 1;
            break;
        }
    }
    for copy in &copies {
        tally.others += copy.others.actions;
        tally.resets += copy.others.reset;
    }
    let [first, second] = copies.each_mut().map(|copy| copy.execution.console(0));
    if first != second {
        return Err(described(format!("the console: {first:x?} and {second:x?}")));
    }
    tally.pairs += 1;
    Ok(())
}

/// Lets the neighbour act before the guest begins. If this test moves rights, the operator then moves them.
fn before(copy: &mut Copy<'_>) -> Result<(), String> {
    if !copy.ready.rights.moves {
        return copy.neighbour(300);
    }
    copy.neighbour(3000)?;
    let mut grants = Grants::none(2).unwrap();
    let [guest, neighbour] = [0, 1].map(|guest| GuestId::new(guest).unwrap());
    for (guest, right) in
        [(guest, Right::Global), (guest, Right::HtStrand), (neighbour, Right::Strand)]
    {
        grants.grant(guest, right).unwrap();
    }
    copy.operate(&Step::Reconfigure(grants))?;
    Ok(())
}

/// Lets the guest perform an action in both copies. `counting` contains the hub counters that count clocks. Compares the copies after each
/// instruction. Returns `false` if the guest has ended.
fn act(
    copies: &mut [Copy<'_>; 2],
    action: Action,
    counting: &mut Vec<PerfReg>,
    tally: &mut Tally,
) -> Result<bool, String> {
    for copy in &mut *copies {
        action.begin(copy.ready, &mut copy.execution);
    }
    for _ in 0..LONG {
        let before = copies[0].execution.strand(strand(GUEST)).clone();
        let [first, second] = &mut *copies;
        let happened = [first.advance()?, second.advance()?];
        let memory = happened != [GuestProgress::Own; 2];
        let ended = happened.contains(&GuestProgress::Ended);
        if ended && happened != [GuestProgress::Ended; 2] {
            return Err(format!("{happened:?}"));
        }
        if ended {
            let executions = [&copies[0].execution, &copies[1].execution];
            return memory_differs(executions).map_or(Ok(false), Err);
        }
        let executions = copies.each_mut().map(|copy| &mut copy.execution);
        let excluded = equalise(executions, &before, counting);
        for excluded in excluded {
            *tally.excluded.entry(excluded).or_default() += 1;
        }
        let executions = [&copies[0].execution, &copies[1].execution];
        compare(executions, memory)?;
        tally.compared += 1;
        tally.returns += usize::from(memory);
        let at = executions[0].strand(strand(GUEST));
        if [ANSWERED, CAUGHT].contains(&at.pc) {
            if let Action::Call(..) = action {
                let status = at.registers.get(Register::new(8));
                *tally.statuses.entry(status).or_default() += 1;
            }
            break;
        }
    }
    Ok(true)
}
