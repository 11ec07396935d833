//! Compares the scheduler with a plain model, and with schedules that were computed by hand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use guest_abi::StrandId;
use proptest::prelude::*;

use super::Scheduler;
use crate::memory::{Executed, Quantum};
use crate::recording::{Chunk, Kind, Order, Recording, Reference};

/// An action of a thread.
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
    Item::Order(Order::Wait(number))
}

/// Returns the number of cycles that an instruction and its data take.
const fn cycles(address: u64, data: u64) -> u64 {
    1 + address % 7 + data * (address % 3)
}

/// An instruction that begins: its thread, its address, and its issue time.
type Begin = (usize, u64, u64);

fn id(strand: usize) -> StrandId {
    StrandId::new(strand).unwrap()
}

/// Returns a recording of the threads, in chunks of `cut` items.
fn recording(threads: &[Vec<Item>], cut: usize) -> Recording {
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
    let threads = threads.iter().map(|items| items.chunks(cut).map(chunk).collect());
    Recording::from_threads("threads", threads.collect())
}

/// Executes all references, at most `most` at a time. Each instruction takes as long as [`cycles`] says.
fn execute(mut scheduler: Scheduler, mut most: impl FnMut() -> usize) -> (Vec<Begin>, u64) {
    let mut begins = Vec::new();
    let mut now = 0;
    while let Some((thread, quantum)) = scheduler.next(most()).unwrap() {
        assert!(!quantum.references.is_empty());
        let executed = step(&quantum, |address, at| begins.push((thread, address, at)));
        scheduler.executed(&executed);
        assert!(scheduler.now() >= now.max(executed.issued), "time does not go back");
        now = scheduler.now();
    }
    (begins, scheduler.now())
}

/// Executes threads on strands. `placed` has the number of each thread's strand.
fn scheduled(threads: &[Vec<Item>], placed: &[usize], cut: usize) -> (Vec<Begin>, u64) {
    let strands: Vec<_> = placed.iter().copied().map(id).collect();
    execute(Scheduler::new(vec![recording(threads, cut)], &strands), || usize::MAX)
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

/// A strand of the plain model.
#[derive(Default)]
struct Plain {
    ready: u64,
    /// The threads that have not ended, in the order of their turns. The first thread executes.
    threads: VecDeque<usize>,
}

/// Executes item by item, and searches all strands each time. Returns the instructions, the end, and the number of dropped waits.
fn plain(threads: &[Vec<Item>], placed: &[usize]) -> (Vec<Begin>, u64, u64) {
    let mut items: Vec<VecDeque<Item>> =
        threads.iter().map(|items| items.iter().copied().collect()).collect();
    let mut strands: BTreeMap<usize, Plain> = BTreeMap::new();
    for (thread, strand) in placed.iter().enumerate() {
        strands.entry(*strand).or_default().threads.push_back(thread);
    }
    let mut free = BTreeMap::new();
    let mut made = BTreeSet::new();
    // The waiting threads with their signals, longest wait first. `woken_at` has the time at which a thread was last woken.
    let mut waiting: Vec<(usize, u64)> = Vec::new();
    let mut woken_at = BTreeMap::new();
    let (mut begins, mut time, mut dropped) = (Vec::new(), 0, 0);
    loop {
        let waits =
            |waiting: &[(usize, u64)], thread| waiting.iter().any(|(who, _)| *who == thread);
        let can = strands.iter().filter_map(|(strand, plain)| {
            let thread = *plain.threads.front().filter(|thread| !waits(&waiting, **thread))?;
            let at = plain.ready.max(*free.get(&(strand / 4)).unwrap_or(&0));
            Some((at, strand / 4, plain.ready, *strand, thread))
        });
        let mut woken = Vec::new();
        if let Some((at, pipeline, _, strand, thread)) = can.min() {
            time = at;
            let plain = strands.get_mut(&strand).unwrap();
            match items[thread].pop_front() {
                None => {
                    time = time.max(plain.ready);
                    plain.threads.pop_front();
                }
                Some(Item::Instruction(address, data)) => {
                    begins.push((thread, address, at));
                    plain.ready = at + cycles(address, data);
                    free.insert(pipeline, at + 1);
                }
                Some(Item::Order(Order::Signal(number))) => {
                    made.insert(number);
                    let waits_for_it = waiting.iter().filter(|(_, wanted)| *wanted == number);
                    woken = waits_for_it.map(|(thread, _)| *thread).collect();
                }
                Some(Item::Order(Order::Wait(number))) if made.contains(&number) => {}
                Some(Item::Order(Order::Wait(number))) => waiting.push((thread, number)),
            }
            // Moves the next thread that is not waiting to the front.
            let all = plain.threads.len();
            if plain.threads.iter().any(|thread| !waits(&waiting, *thread)) {
                while waits(&waiting, plain.threads[0]) {
                    plain.threads.rotate_left(1);
                }
            }
            assert_eq!(plain.threads.len(), all);
        } else {
            let first = waiting
                .iter()
                .map(|(thread, _)| (strands[&placed[*thread]].ready, placed[*thread], *thread));
            let Some((.., thread)) = first.min() else {
                return (begins, time, dropped);
            };
            woken.push(thread);
            dropped += 1;
        }
        for thread in woken {
            waiting.retain(|(who, _)| *who != thread);
            let plain = strands.get_mut(&placed[thread]).unwrap();
            let idle =
                plain.threads.iter().all(|other| *other == thread || waits(&waiting, *other));
            if idle {
                while plain.threads[0] != thread {
                    plain.threads.rotate_left(1);
                }
            }
            woken_at.insert(thread, time);
        }
        // A woken thread does not continue before the time of the signal.
        for plain in strands.values_mut() {
            let first = plain.threads.front();
            if let Some(thread) = first.filter(|thread| !waits(&waiting, **thread)) {
                let woken = woken_at.get(thread).copied();
                plain.ready = plain.ready.max(woken.unwrap_or(0));
            }
        }
    }
}

/// Threads on strands of three pipelines. The actions of all threads are chosen in one common order, so no wait precedes its signal.
/// A few signals are missing.
fn threads() -> impl Strategy<Value = (Vec<Vec<Item>>, Vec<usize>)> {
    let placed = prop::collection::vec(0..12_usize, 1..8);
    let doing = prop::collection::vec((0..8_usize, 0..20_u32, any::<u16>()), 1..150);
    (placed, doing).prop_map(|(placed, doing)| {
        let mut threads = vec![Vec::new(); placed.len()];
        let mut signals = 0_u64;
        for (number, (thread, what, seed)) in doing.into_iter().enumerate() {
            let thread = &mut threads[thread % placed.len()];
            match what {
                0..=2 => {
                    if what > 0 || seed % 4 > 0 {
                        thread.push(signal(signals));
                    }
                    signals += 1;
                }
                3..=5 if signals > 0 => {
                    thread.push(wait(u64::from(seed) % signals));
                }
                _ => thread.push(Item::Instruction(
                    (number * 100) as u64 + u64::from(seed % 100),
                    u64::from(seed % 3),
                )),
            }
        }
        (threads, placed)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn as_a_plain_scheduler(
        (threads, placed) in threads(),
        cut in 1..9_usize,
        pauses in prop::collection::vec(1..6_usize, 1..9),
    ) {
        let (begins, ends, dropped) = plain(&threads, &placed);
        let strands: Vec<_> = placed.iter().copied().map(id).collect();
        let scheduler = || Scheduler::new(vec![recording(&threads, cut)], &strands);
        prop_assert_eq!(scheduled(&threads, &placed, cut), (begins.clone(), ends));
        // The schedule does not depend on pauses of the caller.
        let mut pauses = pauses.into_iter().cycle();
        let mut paused = scheduler();
        let executed = execute(std::mem::replace(&mut paused, scheduler()), || pauses.next().unwrap());
        prop_assert_eq!(executed, (begins, ends));
        while let Some((_, quantum)) = paused.next(usize::MAX).unwrap() {
            let executed = step(&quantum, |_, _| {});
            paused.executed(&executed);
        }
        prop_assert_eq!(paused.notes().len() as u64, dropped.min(1));
        prop_assert_eq!(paused.programs[0].dropped, dropped);
    }
}

/// Strand 1 has two threads. One waits for a signal, and the other makes this signal at time 1 and
/// ends. The woken thread could execute at time 1, but strand 2 has been ready longer.
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
    let (expected, ..) = plain(&threads, &placed);
    assert_eq!(begins, expected);
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
        // The strands are in two pipelines of one core, then in pipelines of different cores.
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

#[test]
fn programs_have_signals_and_memory_of_their_own() {
    let one = [vec![signal(1), instruction(7)]];
    let other = [vec![wait(1), instruction(14)]];
    let mut scheduler =
        Scheduler::new(vec![recording(&one, 9), recording(&other, 9)], &[id(0), id(8)]);
    let mut offsets = Vec::new();
    while let Some((thread, quantum)) = scheduler.next(usize::MAX).unwrap() {
        offsets.push((thread, quantum.offset));
        let executed = step(&quantum, |_, _| {});
        scheduler.executed(&executed);
    }
    assert_eq!(offsets, [(0, 0), (1, 1 << 33)]);
    assert_eq!(
        scheduler.notes(),
        ["threads lacks what its threads wait for (waits that are left out: 1)"]
    );
}

#[test]
fn references_are_dealt_in_turns() {
    // There are 3,000 instructions with a load each. A turn ends after an instruction, so the second turn also has 1,024 references.
    let thread = vec![(0..3_000).map(|n| Item::Instruction(n * 7, 1)).collect::<Vec<_>>()];
    let mut scheduler = Scheduler::dealing(recording(&thread, 100), &[id(0), id(64), id(8)]);
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
