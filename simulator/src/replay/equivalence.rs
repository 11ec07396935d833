//! Tests that a replay has the same outcome whether its cores run ahead or its strands execute turn by turn.

use std::ops::ControlFlow;

use platform::{Machine, Model};
use proptest::prelude::*;

use super::placement::Placement;
use super::region::{Moment, Point, Region};
use super::{Setup, SetupError};
use crate::memory::{Cache, Config};
use crate::recording::{Acquire, Cause, Chunk, Class, Flow, Kind, Order, Recording, Reference};
use crate::run::Replayed;

/// Something that a thread does.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// Some rounds of a loop over a block's instructions. The loop's data begin at `line`.
    Loop {
        block: u64,
        rounds: u64,
        line: u64,
        shared: bool,
    },
    /// An instruction and its data accesses, each with its kind and its line.
    Instruction {
        number: u64,
        data: [Option<(Kind, u64)>; 3],
    },
    /// An instruction that accesses data many times, from the line `line` on.
    LongInstruction {
        accesses: u64,
        line: u64,
    },
    Signal(u64),
    Wait(u64),
    /// A loop while the thread holds a lock.
    Locked {
        lock: u64,
        rounds: u64,
    },
    Sleep(u64),
}

const LINE: u64 = 64;

/// The last line of the address space. It is one of the lines that threads share, so a replay that takes another line for it is noticed.
const LAST_LINE: u64 = (1 << 40) - LINE;

/// Appends a block's instructions, which include loads, a store, and an instruction that loads and stores.
fn block(references: &mut Vec<Reference>, block: u64, round: u64, data: impl Fn(u64) -> u64) {
    let code = 0x1_0000 + block * 0x150;
    let fetch = |at: u64, kind| Reference::new(code + at, 4, kind);
    references.push(fetch(0, Kind::FetchOther));
    references.push(fetch(4, Kind::FetchLoad));
    references.push(Reference::new(data(round), 8, Kind::Load));
    references.push(fetch(8, Kind::FetchOther));
    references.push(fetch(12, Kind::FetchLoad));
    references.push(Reference::new(data(round / 2) + 24, 8, Kind::Load));
    if round % 3 == block % 3 {
        references.push(fetch(16, Kind::FetchModify));
        references.push(Reference::new(data(round) + 8, 8, Kind::Load));
        references.push(Reference::new(data(round) + 8, 8, Kind::Store));
    }
    if round % 4 == 1 {
        references.push(fetch(60, Kind::FetchStore));
        references.push(Reference::new(data(round / 4) + 60, 8, Kind::Store));
        references.push(fetch(64, Kind::FetchOther));
    }
    let last = Reference { flow: Flow::Taken, ..fetch(68, Kind::FetchOther) };
    references.push(last);
}

/// Returns a thread that executes these items, in chunks of about `chunk` references. The thread's number determines where its own
/// lines are.
fn thread(number: u64, items: &[Item], chunk: usize) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let (mut references, mut order) = (Vec::new(), Vec::new());
    let own = move |line: u64| 0x100_0000 * (1 + number) + line * LINE;
    let shared = |line: u64| LAST_LINE - line * LINE;
    for item in items {
        let at = references.len();
        match *item {
            Item::Loop { block: code, rounds, line, shared: is_shared } => {
                for round in 0..rounds {
                    block(&mut references, code, round, |round| match is_shared {
                        true => shared(line + round % 2),
                        false => own(line + round % 5),
                    });
                }
            }
            Item::Instruction { number, data } => {
                let has = |kind: Kind| data.iter().flatten().any(|(other, _)| *other == kind);
                let (loads, stores) = (has(Kind::Load), has(Kind::Store));
                let kind = match (has(Kind::Modify), loads, stores) {
                    (true, ..) | (_, true, true) => Kind::FetchModify,
                    (_, true, false) => Kind::FetchLoad,
                    (_, false, true) => Kind::FetchStore,
                    (_, false, false) => Kind::FetchOther,
                };
                let class = if has(Kind::Modify) { Class::Atomic } else { Class::Other };
                let fetch = Reference::new(0x4_0000 + number * 28, 6, kind);
                references.push(Reference { class, ..fetch });
                for (kind, line) in data.into_iter().flatten() {
                    references.push(Reference::new(shared(line), 8, kind));
                }
            }
            Item::LongInstruction { accesses, line } => {
                references.push(Reference::new(0x5_0000, 6, Kind::FetchModify));
                for access in 0..accesses {
                    let kind = if access % 40 == 39 { Kind::Store } else { Kind::Load };
                    references.push(Reference::new(shared(line + access % 7), 8, kind));
                }
            }
            Item::Signal(signal) => order.push((at, Order::Signal(signal))),
            Item::Wait(signal) => order.push((at, Order::Wait(Cause::Condition, signal))),
            Item::Locked { lock, rounds } => {
                let acquire = Acquire { lock, shared: false, site: 0 };
                order.push((at, Order::Acquire(acquire)));
                for round in 0..rounds {
                    block(&mut references, lock, round, |round| shared(8 * lock + round % 3));
                }
                let signal = 1 << 32 | number << 16 | at as u64;
                order.push((references.len(), Order::Release { lock, signal }));
            }
            Item::Sleep(nanoseconds) => order.push((at, Order::Sleep(nanoseconds))),
        }
        if references.len() > chunk {
            let references = std::mem::take(&mut references);
            chunks.push(Chunk::new(references, std::mem::take(&mut order)));
        }
    }
    chunks.push(Chunk::new(references, order));
    chunks
}

fn item() -> impl Strategy<Value = Item> {
    let kind = prop::sample::select(vec![Kind::Load, Kind::Store, Kind::Load, Kind::Modify]);
    let datum = || prop::option::of((kind.clone(), 0..40_u64));
    let data = (datum(), datum(), datum()).prop_map(|(one, two, three)| [one, two, three]);
    prop_oneof![
        6 => (0..6_u64, 1..40_u64, 0..60_u64, prop::bool::weighted(0.2))
            .prop_map(|(block, rounds, line, shared)| Item::Loop { block, rounds, line, shared }),
        6 => (0..60_u64, data).prop_map(|(number, data)| Item::Instruction { number, data }),
        1 => (1..300_u64, 0..40_u64)
            .prop_map(|(accesses, line)| Item::LongInstruction { accesses, line }),
        1 => (0..6_u64).prop_map(Item::Signal),
        1 => (0..6_u64).prop_map(Item::Wait),
        1 => (0..3_u64, 1..5_u64).prop_map(|(lock, rounds)| Item::Locked { lock, rounds }),
        1 => (1..2000_u64).prop_map(Item::Sleep),
    ]
}

/// How a program is replayed.
#[derive(Clone, Debug)]
struct ReplayOptions {
    nodes: usize,
    placement: Placement,
    is_small: bool,
    chunk: usize,
    interval: Option<u64>,
    ends: Option<u64>,
    pause: Option<u64>,
    details: bool,
}

fn how() -> impl Strategy<Value = ReplayOptions> {
    let placements = vec![Placement::Spread, Placement::Pack, Placement::OnePerCore];
    (
        1..=4_usize,
        prop::sample::select(placements),
        any::<bool>(),
        prop::sample::select(vec![300, usize::MAX]),
        prop::option::of(200..3000_u64),
        prop::option::weighted(0.3, 1..4000_u64),
        prop::option::of(1..2000_u64),
        any::<bool>(),
    )
        .prop_map(|(nodes, placement, is_small, chunk, interval, ends, pause, details)| {
            ReplayOptions { nodes, placement, is_small, chunk, interval, ends, pause, details }
        })
}

/// Caches that are so small that lines are replaced all the time.
fn small() -> Config {
    let cache = |bytes, ways, line| Cache { bytes, ways, line };
    Config {
        l1i: cache(512, 2, 32),
        l1d: cache(512, 2, 16),
        l2: cache(8192, 2, 64),
        ..Config::T2_PLUS
    }
}

fn replay(threads: &[Vec<Item>], how: &ReplayOptions, is_one_by_one: bool) -> Option<Replayed> {
    let threads = (0..).zip(threads).map(|(number, items)| thread(number, items, how.chunk));
    replay_threads(threads.collect(), how, is_one_by_one)
}

fn replay_threads(
    threads: Vec<Vec<Chunk>>,
    how: &ReplayOptions,
    is_one_by_one: bool,
) -> Option<Replayed> {
    let recording = Recording::from_threads("program", threads);
    let machine = Machine::new(Model::Batoka, how.nodes).unwrap();
    let to = how.ends.map(|at| Point { name: "end".into(), at: Moment::Instructions(at) });
    let mut setup = Setup::new(machine, recording)
        .placement(Some(how.placement.clone()))
        .region(Region { to, ..Region::default() });
    setup.interval = how.interval;
    setup.details = how.details;
    if how.is_small {
        setup = setup.memory(small());
    }
    let mut prepared = match setup.check() {
        Err(SetupError::Placement(_)) => return None,
        prepared => prepared.unwrap(),
    };
    prepared.is_one_by_one = is_one_by_one;
    if let Some(pause) = how.pause.filter(|_| !is_one_by_one) {
        prepared.pause = pause;
    }
    // A region can end after the program.
    prepared.run(|_| ControlFlow::Continue(())).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn running_ahead_does_not_change_the_outcome(
        threads in prop::collection::vec(prop::collection::vec(item(), 1..40), 1..24),
        how in how(),
    ) {
        let without_steps = replay(&threads, &how, true);
        let ahead = replay(&threads, &how, false);
        let json = |run: &Option<Replayed>| serde_json::to_string_pretty(run).unwrap();
        let (without_steps, ahead) = (json(&without_steps), json(&ahead));
        prop_assert_eq!(without_steps, ahead);
    }
}

/// Threads repeatedly take two lines from each other, so their cores have long pauses.
#[test]
fn pauses_do_not_change_the_outcome() {
    let items = [Item::Loop { block: 1, rounds: 2000, line: 0, shared: true }];
    for (placement, details) in
        [(Placement::Spread, false), (Placement::Pack, false), (Placement::Pack, true)]
    {
        let how = ReplayOptions {
            nodes: 2,
            placement,
            is_small: false,
            chunk: usize::MAX,
            interval: None,
            ends: None,
            pause: None,
            details,
        };
        let threads = vec![items.to_vec(); 12];
        let [without_steps, ahead] = [true, false].map(|way| {
            let run = replay(&threads, &how, way);
            serde_json::to_string_pretty(&run).unwrap()
        });
        assert_eq!(without_steps, ahead, "{how:?}");
    }
}

/// Thread 0 stores to a line once, and then loads it again and again. Thread 1, on the other node, executes `others` other
/// instructions and then loads the line once. That load moves the line to the other node, but thread 0 keeps it in its L1 cache.
fn one_move(others: u64) -> Vec<Vec<Chunk>> {
    let fetch = |at: u64, kind| Reference::new(at, 4, kind);
    let mut owner =
        vec![fetch(0x1_0000, Kind::FetchStore), Reference::new(0x80_0000, 8, Kind::Store)];
    for _ in 0..ROUNDS {
        owner.push(fetch(0x1_0004, Kind::FetchLoad));
        owner.push(Reference::new(0x80_0000, 8, Kind::Load));
        owner.push(Reference { flow: Flow::Taken, ..fetch(0x1_0008, Kind::FetchOther) });
    }
    let mut other: Vec<_> =
        (0..others).map(|n| fetch(0x2_0000 + n % 8 * 4, Kind::FetchOther)).collect();
    other.push(fetch(0x2_0020, Kind::FetchLoad));
    other.push(Reference::new(0x80_0000, 8, Kind::Load));
    [owner, other].map(|references| vec![Chunk::new(references, Vec::new())]).into()
}

const ROUNDS: u64 = 40_000;

/// The uses of a line are counted from its first move on, even if a core that uses it has run ahead of the move.
#[test]
fn uses_count_from_the_first_move_on() {
    let how = ReplayOptions {
        nodes: 2,
        placement: Placement::Spread,
        is_small: false,
        chunk: usize::MAX,
        interval: None,
        ends: None,
        pause: None,
        details: true,
    };
    let mut counted = Vec::new();
    for others in [1000, 10_000, 30_000, 60_000] {
        let [without_steps, ahead] =
            [true, false].map(|way| replay_threads(one_move(others), &how, way).unwrap());
        let uses = |run: &Replayed| -> u64 {
            let lines = &run.details.as_ref().unwrap().lines;
            assert_eq!((lines.moved, lines.transfers), (1, 1));
            let of_owner = lines.hottest[0].users.iter().filter(|user| user.thread == 0);
            of_owner.map(|user| user.times).sum()
        };
        assert_eq!(uses(&without_steps), uses(&ahead), "{others}");
        counted.push(uses(&ahead));
    }
    // The later the line moves, the fewer uses follow.
    assert!(counted.is_sorted_by(|early, late| early > late && *early < ROUNDS), "{counted:?}");
}
