//! Tests threads' waiting times. The expected times are computed by hand from the times in `simulator::memory::timing`.

use platform::{Machine, Model};
use proptest::prelude::*;
use simulator::memory::Served;
use simulator::memory::TrafficKind;
use simulator::recording::{Chunk, Flow, Kind, Recording, Reference};
use simulator::replay::Setup;
use simulator::run::{Replayed, Stack};

use crate::run;

/// Replays threads on these strands. The machine has one node, or four nodes with hubs.
fn outcome(nodes: usize, place: &str, threads: &[Vec<Reference>]) -> Replayed {
    let chunks = threads.iter().map(|thread| vec![Chunk::new(thread.clone(), Vec::new())]);
    let program = Recording::from_threads("by hand", chunks.collect());
    let model = if nodes == 1 { Model::Maramba } else { Model::Batoka };
    let setup = Setup::new(Machine::new(model, nodes).unwrap(), program)
        .placement(Some(place.parse().unwrap()));
    run(setup).unwrap()
}

fn stacks(nodes: usize, place: &str, threads: &[Vec<Reference>]) -> Vec<Stack> {
    let threads = outcome(nodes, place, threads).threads.into_iter();
    threads
        .map(|thread| {
            assert_eq!(thread.stack.sum(), thread.cycles);
            thread.stack
        })
        .collect()
}

fn data(kind: Kind, address: u64) -> Reference {
    Reference::new(address, 8, kind)
}

fn load(address: u64) -> Reference {
    data(Kind::Load, address)
}

#[test]
fn a_request_is_waited_for_where_it_is_served() {
    // The loads are served from memory, the L2 cache and the L1 cache. A load issues in 1 cycle and takes 2 more. The L2 cache takes
    // 23 cycles, a channel takes 7, and the channel's memory takes 120.
    let loads = [0, 0x10, 0x18].map(load).to_vec();
    let expected = Stack { busy: 3 * 3, l2: 23, local: 23 + 7 + 120, ..Stack::default() };
    assert_eq!(stacks(1, "0", &[loads]), [expected]);
    // If node 1 loads a line of node 0, it waits for 2 more cycles in a hub, 60 for the snoop answers, 60 because the memory is remote, and
    // 9 for each of two links.
    let expected = Stack { busy: 3, remote: 23 + 2 + 60 + 7 + 120 + 60 + 18, ..Stack::default() };
    assert_eq!(stacks(4, "64", &[vec![load(0)]]), [expected]);
}

#[test]
fn another_cache_is_waited_for() {
    // Strand 0 writes the line early. Strand 64 loads the line 100 instructions later. The instructions are also in node 0's memory, but
    // use another hub and channel.
    let fetch = |kind| Reference::new(0x1180, 4, kind);
    let mut later = vec![fetch(Kind::FetchOther); 600];
    later.push(fetch(Kind::FetchLoad));
    later.push(load(0));
    let [writer, reader] = stacks(4, "0,64", &[vec![data(Kind::Store, 0)], later])[..] else {
        panic!();
    };
    assert_eq!(writer, Stack { busy: 1, ..Stack::default() });
    // The owner's cache supplies the line in 80 cycles.
    let expected = Stack {
        busy: 600 + 3,
        remote: 23 + 2 + 60 + 7 + 120 + 60 + 18,
        c2c: 23 + 2 + 60 + 80 + 18,
        ..Stack::default()
    };
    assert_eq!(reader, expected);
}

#[test]
fn what_others_use_is_waited_for() {
    // Two strands of one pipeline fetch the same line. The second fetch hits the core's cache.
    let fetch = vec![Reference::new(0, 4, Kind::FetchOther)];
    let first = Stack { busy: 1, local: 150, ..Stack::default() };
    let second = Stack { busy: 1, pipeline: 1, ..Stack::default() };
    assert_eq!(stacks(1, "0,1", &[fetch.clone(), fetch]), [first, second]);
    // Strands of two cores load from one line. The second strand waits 1 cycle for the bank, and then until the line has arrived for the
    // first strand.
    let first = Stack { busy: 3, local: 150, ..Stack::default() };
    let second = Stack { busy: 3, l2: 1 + 23, arriving: 150 - 24, ..Stack::default() };
    assert_eq!(stacks(1, "0,8", &[vec![load(0)], vec![load(0x10)]]), [first, second]);
}

#[test]
fn stores_are_waited_for_when_eight_are_under_way() {
    let store = |n: u64| data(Kind::Store, 0x40 * n);
    let expected = |busy, stores| Stack { busy, stores, ..Stack::default() };
    assert_eq!(stacks(1, "0", &[(0..8).map(store).collect()]), [expected(8, 0)]);
    // The first store ends at 1 + 23 + 7 + 120 = 151.
    assert_eq!(stacks(1, "0", &[(0..9).map(store).collect()]), [expected(9, 151 - 9)]);
}

#[test]
fn an_atomic_instruction_waits_for_its_store() {
    let expected = Stack { busy: 3, local: 150, atomics: 23, ..Stack::default() };
    assert_eq!(stacks(1, "0", &[vec![data(Kind::Modify, 0)]]), [expected]);
}

#[test]
fn threads_of_one_strand_wait_each_for_itself() {
    let [first, second] =
        [(150, 0), (0, 23)].map(|(local, l2)| Stack { busy: 3, l2, local, ..Stack::default() });
    assert_eq!(stacks(1, "0", &[vec![load(0)], vec![load(0x10)]]), [first, second]);
}

/// Generates a thread whose instructions are in a few cache lines and whose data are in a few others.
fn thread() -> impl Strategy<Value = Vec<Reference>> {
    let instruction = (0..400_u64, 0..3_usize, 0..4_usize, 0..40_u64, 0..7_u64);
    let instruction = instruction.prop_map(|(at, flow, kind, line, byte)| {
        let kinds = [
            (Kind::FetchOther, None),
            (Kind::FetchLoad, Some(Kind::Load)),
            (Kind::FetchStore, Some(Kind::Store)),
            (Kind::FetchModify, Some(Kind::Modify)),
        ];
        let (fetch, data) = kinds[kind];
        let fetch = Reference {
            flow: [Flow::Next, Flow::NotTaken, Flow::Call][flow],
            ..Reference::new(0x1000 + 4 * at, 4, fetch)
        };
        let data = data.map(|kind| self::data(kind, 0x10_0000 + line * 0x1c0 + byte * 8));
        [Some(fetch), data].into_iter().flatten()
    });
    prop::collection::vec(instruction, 1..60)
        .prop_map(|instructions| instructions.into_iter().flatten().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Waits do not change the time that a thread spends on its own instructions. The parts of a thread's time add up to all its cycles.
    #[test]
    fn the_sum_is_all_cycles(
        threads in prop::collection::vec(thread(), 1..7),
        place in prop::sample::select(vec!["0", "0-3", "0,64,1,65", "0,8,64,72,128,192"]),
    ) {
        let outcome = outcome(4, place, &threads);
        for (thread, results) in threads.iter().zip(&outcome.threads) {
            let cycles = |one: &Reference| match one.kind {
                Kind::Load | Kind::Modify => 2,
                Kind::Store => 0,
                _ if one.flow == Flow::Call => 1 + 4,
                _ => 1,
            };
            prop_assert_eq!(results.stack.busy, thread.iter().map(cycles).sum::<u64>());
            prop_assert_eq!(results.stack.sum(), results.cycles);
        }
        // A node receives one line for each miss of its threads.
        for node in 0..4 {
            let lines = |kind| -> u64 {
                let traffic = outcome.usage.traffic.iter();
                let traffic = traffic.filter(|one| (one.to, one.kind) == (node, kind));
                traffic.map(|one| one.lines).sum()
            };
            let served = |by: fn(&Served) -> u64| -> u64 {
                let threads = outcome.threads.iter().filter(|thread| thread.node() == node);
                threads.map(|thread| by(&thread.served)).sum()
            };
            prop_assert_eq!(lines(TrafficKind::Memory), served(|served| served.local + served.remote));
            prop_assert_eq!(lines(TrafficKind::C2c), served(|served| served.c2c));
        }
    }
}
