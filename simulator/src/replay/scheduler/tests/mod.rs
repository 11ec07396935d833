//! Compares the scheduler with a simple model, and with schedules that were computed by hand.

mod model;
mod programs;

use guest_abi::StrandId;
use proptest::prelude::*;

use super::Scheduler;
use crate::memory::{Executed, Quantum};
use crate::recording::{Acquire, Cause, Chunk, Kind, Order, Recording, Reference};
use crate::run::States;
use model::{Modelled, modelled};
use programs::programs;

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// An instruction: its address, and the number of its data references.
    Instruction(u64, u64),
    Order(Order),
}

const fn instruction(address: u64) -> Item {
    Item::Instruction(address, 0)
}

const fn signal(number: u64) -> Item {
    Item::Order(Order::Signal(number))
}

const fn wait(number: u64) -> Item {
    Item::Order(Order::Wait(Cause::Wake, number))
}

/// Returns the number of cycles that an instruction and its data take.
const fn cycles(address: u64, data: u64) -> u64 {
    1 + address % 7 + data * (address % 3)
}

/// The beginning of an instruction: its thread, its address, and its issue time.
type Begin = (usize, u64, u64);

fn id(strand: usize) -> StrandId {
    StrandId::new(strand).unwrap()
}

/// Returns a recording of the threads. `cuts` gives the number of items in each successive chunk, and repeats after its last entry.
fn recording(threads: &[Vec<Item>], cuts: &[usize]) -> Recording {
    let chunk = |items: &[Item]| {
        let (mut references, mut orders) = (Vec::new(), Vec::new());
        for item in items {
            match *item {
                Item::Order(order) => orders.push((references.len(), order)),
                Item::Instruction(address, data) => {
                    let data = (0..data).map(|_| Reference::new(address, 8, Kind::Load));
                    let fetch = Reference::new(address, 4, Kind::FetchLoad);
                    references.extend([fetch].into_iter().chain(data));
                }
            }
        }
        Chunk::new(references, orders)
    };
    let chunks = |items: &Vec<Item>| {
        let mut rest = &items[..];
        let mut cuts = cuts.iter().cycle();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let (cut, after) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            chunks.push(chunk(cut));
            rest = after;
        }
        chunks
    };
    Recording::from_threads("threads", threads.iter().map(chunks).collect())
}

/// Executes all references, at most `most` at a time. Each instruction takes the number of cycles that [`cycles`] returns.
fn execute(mut scheduler: Scheduler, mut most: impl FnMut() -> usize) -> Modelled {
    let mut begins = Vec::new();
    let mut now = 0;
    let mut took = vec![0; scheduler.threads.len()];
    while let Some((thread, quantum)) = scheduler.next(most()).unwrap() {
        assert!(!quantum.references.is_empty());
        let executed = step(&quantum, |address, at| begins.push((thread, address, at)));
        took[thread] += scheduler.executed(&executed);
        assert!(scheduler.now() >= now.max(executed.issued), "time does not go back");
        now = scheduler.now();
        // Check all threads only from time to time, because otherwise a test with many threads would take a long time.
        if begins.len() % took.len().div_ceil(16) == 0 {
            let states = scheduler.states();
            assert!(states.iter().all(|states| states.sum() == now), "a state in every cycle");
        }
    }
    let states = scheduler.states();
    let running: Vec<_> = states.iter().map(|states| states.running).collect();
    assert_eq!(running, took, "a thread runs in the cycles that its instructions take");
    let dropped = scheduler.programs.iter().map(|program| program.dropped + program.forced).sum();
    Modelled { begins, ends: scheduler.now(), dropped, states }
}

/// Executes threads on strands. `placed` holds the number of each thread's strand.
fn scheduled(threads: &[Vec<Item>], placed: &[usize], cut: usize) -> (Vec<Begin>, u64) {
    let strands: Vec<_> = placed.iter().copied().map(id).collect();
    let scheduler = Scheduler::new(vec![recording(threads, &[cut])], &strands);
    let Modelled { begins, ends, .. } = execute(scheduler, || usize::MAX);
    (begins, ends)
}

fn step(quantum: &Quantum<'_>, mut begin: impl FnMut(u64, u64)) -> Executed {
    let mut executed = Executed { ends: quantum.begins, ..Executed::default() };
    for reference in quantum.references.iter() {
        if quantum.begins_at(&reference) {
            if executed.references > 0 && executed.ends >= quantum.until {
                break;
            }
            executed.issued = executed.ends;
            executed.ends += cycles(reference.address, 0);
            begin(reference.address, executed.issued);
        } else {
            executed.ends += reference.address % 3;
        }
        executed.references += 1;
    }
    executed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matches_the_model(
        (threads, placed) in programs(),
        cuts in prop::collection::vec(0..9_usize, 1..5),
        pauses in prop::collection::vec(1..6_usize, 1..9),
        late in prop::option::of(any::<u64>()),
    ) {
        let cuts = [&cuts[..], &[1]].concat();
        let strands: Vec<_> = placed.iter().copied().map(id).collect();
        let scheduler = || {
            let mut scheduler = Scheduler::new(vec![recording(&threads, &cuts)], &strands);
            late.iter().for_each(|seed| scheduler.delay_starts(*seed));
            scheduler
        };
        let delays = late.map_or(vec![0; threads.len()], |_| scheduler().delays);
        let modelled = modelled(&threads, &placed, &delays);
        prop_assert_eq!(&execute(scheduler(), || usize::MAX), &modelled);
        // The schedule does not depend on when the caller pauses.
        let mut pauses = pauses.into_iter().cycle();
        prop_assert_eq!(execute(scheduler(), || pauses.next().unwrap()), modelled);
    }
}

/// Strand 1 has two threads. One waits for a signal; the other sends it at time 1 and ends. The woken thread could execute at time
/// 1, but strand 2 has been ready longer.
#[test]
fn a_signal_at_the_end_of_a_thread() {
    let threads = [
        vec![instruction(300)],
        vec![wait(1), instruction(600)],
        vec![instruction(700)],
        vec![signal(1)],
    ];
    let placed = [0, 1, 2, 1];
    let (begins, _) = scheduled(&threads, &placed, 1);
    assert_eq!(begins, [(0, 300, 0), (2, 700, 1), (1, 600, 2)]);
    assert_eq!(begins, modelled(&threads, &placed, &[0; 4]).begins);
}

/// Returns threads of 100 instructions each. All addresses are multiples of 7, so each instruction takes one cycle.
fn plain_threads(count: usize) -> Vec<Vec<Item>> {
    (0..count as u64)
        .map(|thread| (0..100).map(|n| Item::Instruction((thread * 100 + n) * 7, 0)).collect())
        .collect()
}

#[test]
fn a_pipeline_issues_one_instruction_a_cycle() {
    for (strands, cycles) in [
        (&[0][..], 100),
        (&[0, 1], 200),
        (&[0, 1, 2, 3], 400),
        // In the next two rows, the strands are in two pipelines of one core; in the row after them, they are in pipelines of
        // different cores.
        (&[0, 4], 100),
        (&[0, 1, 4, 7], 200),
        (&[3, 8, 64, 255], 100),
        // The two threads share a strand.
        (&[9, 9], 200),
    ] {
        let (begins, ends) = scheduled(&plain_threads(strands.len()), strands, 64);
        assert_eq!((begins.len(), ends), (strands.len() * 100, cycles), "{strands:?}");
    }
}

#[test]
fn strands_of_a_pipeline_take_turns() {
    let (begins, _) = scheduled(&plain_threads(3), &[2, 0, 5], 64);
    let first: Vec<_> = begins.iter().take(6).map(|(thread, _, at)| (*thread, *at)).collect();
    // Strand 5 has its own pipeline.
    assert_eq!(first, [(1, 0), (2, 0), (0, 1), (2, 1), (1, 2), (2, 2)]);
}

#[test]
fn a_wait_ends_when_its_signal_is_made() {
    // Thread 0 executes for 7 cycles before it signals. Thread 1 executes for 2 cycles before it waits.
    let threads = [
        vec![instruction(6), signal(9), instruction(7)],
        vec![instruction(1), wait(9), instruction(14), wait(9), instruction(21)],
    ];
    let (begins, ends) = scheduled(&threads, &[0, 8], 9);
    assert_eq!(begins, [(0, 6, 0), (1, 1, 0), (0, 7, 7), (1, 14, 7), (1, 21, 8)]);
    assert_eq!(ends, 9);
}

#[test]
fn threads_that_share_a_strand_take_turns_when_they_wait() {
    let threads = [
        vec![instruction(0), wait(1), instruction(7)],
        vec![instruction(14), signal(1), instruction(21), wait(2), instruction(28)],
    ];
    let (begins, _) = scheduled(&threads, &[0, 0], 9);
    let order: Vec<_> = begins.iter().map(|(_, address, at)| (*address, *at)).collect();
    // Signal 2 is missing. The wait for it is dropped when nothing else can execute.
    assert_eq!(order, [(0, 0), (14, 1), (21, 2), (7, 3), (28, 4)]);
}

/// Executes threads on strands, without pauses. Returns how many cycles each thread spent in each state.
fn states(threads: &[Vec<Item>], placed: &[usize]) -> Vec<States> {
    let strands: Vec<_> = placed.iter().copied().map(id).collect();
    execute(Scheduler::new(vec![recording(threads, &[9])], &strands), || usize::MAX).states
}

#[test]
fn a_thread_that_executes_nothing_is_ready_until_it_ends() {
    let states = states(&[vec![instruction(1)], vec![]], &[0, 0]);
    assert_eq!(states[0], States { running: 2, ..States::default() });
    assert_eq!(states[1], States { ready: 2, ..States::default() });
}

/// Strand 1 is ready at time 0, but at that time, its pipeline issues an instruction of strand 0. So thread 1 starts thread 2 at
/// time 1.
#[test]
fn a_thread_does_not_run_before_it_begins() {
    let starts = Item::Order(Order::Start(0));
    let begins = Item::Order(Order::Wait(Cause::Start, 0));
    let threads = [vec![instruction(2)], vec![starts], vec![begins, instruction(0)]];
    let states = states(&threads, &[0, 1, 1]);
    assert_eq!(states[0], States { running: 3, ..States::default() });
    assert_eq!(states[2], States { not_begun: 1, running: 1, ended: 1, ..States::default() });
}

#[test]
fn a_recording_may_say_that_any_number_of_references_are_left_out() {
    let left_out = Item::Order(Order::LeftOut(u64::MAX));
    let mut scheduler = Scheduler::new(vec![recording(&[vec![left_out; 2]], &[9])], &[id(0)]);
    assert!(scheduler.next(usize::MAX).unwrap().is_none());
    assert_eq!(scheduler.waits().left_out, u64::MAX);
}

/// The lock is never free, so the run lasts as long as all sections together, which take 7 cycles each.
#[test]
fn thousands_of_threads_take_one_lock() {
    const THREADS: usize = 4096;
    let lock = Item::Order(Order::Acquire(Acquire { lock: 1, shared: false, site: 0 }));
    let thread = |number: u64| {
        let section = |round| {
            let release = Item::Order(Order::Release { lock: 1, signal: number * 3 + round });
            [lock, instruction(6), release]
        };
        (0..3).flat_map(section).collect()
    };
    let threads: Vec<_> = (0..THREADS as u64).map(thread).collect();
    let placed: Vec<_> = (0..THREADS).map(|number| id(number % 256)).collect();
    let scheduler = Scheduler::new(vec![recording(&threads, &[2])], &placed);
    let run = execute(scheduler, || usize::MAX);
    assert_eq!((run.begins.len(), run.ends, run.dropped), (3 * THREADS, 7 * 3 * THREADS as u64, 0));
}

#[test]
fn a_sleep_may_be_longer_than_a_run_can_be() {
    let sleep = |time| Item::Order(Order::Sleep(time));
    // The sleep takes one second: 1,165,379,275 cycles.
    let (begins, _) = scheduled(&[vec![sleep(1_000_000_000), instruction(0)]], &[0], 1);
    assert_eq!(begins, [(0, 0, 1_165_379_275)]);
    let long = vec![sleep(1 << 62), sleep(u64::MAX), sleep(1 << 62), instruction(0), sleep(9)];
    let scheduler = Scheduler::new(vec![recording(&[long.clone(), long], &[2])], &[id(0), id(255)]);
    let Modelled { begins, ends, states, .. } = execute(scheduler, || usize::MAX);
    assert_eq!(begins.iter().map(|(thread, ..)| *thread).collect::<Vec<_>>(), [0, 1]);
    assert!(ends > 1_165_379_275 * 3600 * 24, "more than a day");
    assert!(states.iter().all(|states| states.sum() == ends && states.running == 1));
}

#[test]
fn programs_have_signals_and_memory_of_their_own() {
    let one = [vec![signal(1), instruction(7)]];
    let other = [vec![wait(1), instruction(14)]];
    let mut scheduler =
        Scheduler::new(vec![recording(&one, &[9]), recording(&other, &[9])], &[id(0), id(8)]);
    let mut offsets = Vec::new();
    while let Some((thread, quantum)) = scheduler.next(usize::MAX).unwrap() {
        offsets.push((thread, quantum.offset));
        let executed = step(&quantum, |_, _| {});
        scheduler.executed(&executed);
    }
    assert_eq!(offsets, [(0, 0), (1, 1 << 33)]);
    assert_eq!(
        scheduler.notes(),
        ["threads lacks signals that its threads wait for (waits skipped: 1)"]
    );
}

#[test]
fn references_are_dealt_in_turns() {
    // The thread has 3,000 instructions with one load each. 512 instructions have 1,024 references, so every turn except the last
    // has exactly 1,024 references.
    let thread = vec![(0..3_000).map(|n| Item::Instruction(n * 7, 1)).collect::<Vec<_>>()];
    let mut scheduler = Scheduler::new_dealt(recording(&thread, &[100]), &[id(0), id(64), id(8)]);
    let mut turns: Vec<(usize, usize)> = Vec::new();
    let mut expected = 0;
    while let Some((player, quantum)) = scheduler.next(usize::MAX).unwrap() {
        let executed = step(&quantum, |address, _| {
            assert_eq!(address, expected, "in the order of the program");
            expected += 7;
        });
        match turns.last_mut() {
            Some((last, count)) if *last == player => *count += executed.references,
            _ => turns.push((player, executed.references)),
        }
        scheduler.executed(&executed);
    }
    assert_eq!(turns, [(0, 1024), (1, 1024), (2, 1024), (0, 1024), (1, 1024), (2, 880)]);
}
