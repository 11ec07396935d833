//! Tests overlapping requests and waits against expected times computed by hand from [`super::super::timing`].

use super::stream::FLOWS;
use super::*;
use crate::recording::Recording;
use crate::replay::scheduler::Scheduler;

impl Bench {
    /// Executes references on several strands in parallel, from the current time on. Returns how long each strand takes.
    fn together(&mut self, threads: &[(usize, Vec<Reference>)]) -> Vec<u64> {
        let began = self.truth().cycles();
        let chunk = |references: &Vec<Reference>| Chunk::new(references.clone(), Vec::new());
        let recorded = threads.iter().map(|(_, references)| vec![chunk(references)]);
        let recording = Recording::from_threads("threads", recorded.collect());
        let strands: Vec<_> = threads.iter().map(|(strand, _)| id(*strand)).collect();
        let mut scheduler = Scheduler::new(vec![recording], &strands);
        let mut ends = vec![0; threads.len()];
        let mut work = self.system.work(&self.devices);
        while let Some((thread, quantum)) = scheduler.next(usize::MAX).unwrap() {
            let executed = work.replay(&Quantum {
                begins: began + quantum.begins,
                until: quantum.until.saturating_add(began),
                ..quantum
            });
            ends[thread] = executed.ends - began;
            scheduler.executed(&Executed {
                issued: executed.issued.saturating_sub(began),
                ends: ends[thread],
                ..executed
            });
        }
        work.finish(began + scheduler.now()).unwrap();
        ends
    }
}

fn load(address: u64) -> Vec<Reference> {
    vec![Reference::new(address, 8, Kind::Load)]
}

/// Returns the two references of an instruction at address 0 that loads 8 bytes at address 0x40.
fn loads(flow: Flow) -> [Reference; 2] {
    let fetch = Reference::new(0, 4, Kind::FetchLoad);
    [Reference { flow, ..fetch }, Reference::new(0x40, 8, Kind::Load)]
}

/// Returns a bench that has executed [`loads`], and the record of its events so far.
fn warm() -> (Bench, Truth) {
    let mut bench = Bench::new(Model::Maramba, 1);
    bench.replay(0, 0, &loads(Flow::Next));
    bench.rest();
    let before = bench.truth().clone();
    (bench, before)
}

#[test]
fn a_strand_waits_for_what_it_loads_and_for_taken_branches() {
    let (mut bench, before) = warm();
    // `FLOWS` begins with Next and NotTaken.
    let cycles = FLOWS.map(|flow| bench.together(&[(0, loads(flow).to_vec())])[0]);
    assert_eq!(cycles, [3, 3, 7, 7, 7, 7, 7]);
    let other = Reference::new(0, 4, Kind::FetchOther);
    bench.replay(0, 0, &[other, Reference { flow: Flow::Taken, ..other }]);
    let happened = bench.truth().since(&before);
    let count =
        |strand, event: SparcEvent| happened.strand(id(strand), event.into(), PerfConfig::All);
    // Two loads take 3 clocks each, five loads that also branch take 7, the plain instruction takes 1, and the branch takes 5.
    assert_eq!(happened.cycles(), 47);
    for (event, expected) in [
        (SparcEvent::Instructions, 9),
        (SparcEvent::BranchesCompleted, 6),
        (SparcEvent::BranchesTaken, 5),
        (SparcEvent::Loads, 7),
        // Branches are counted in a separate class.
        (SparcEvent::OtherInstructions, 1),
    ] {
        assert_eq!(count(0, event), expected, "{event}");
    }
    // Every strand of the core counts the core's idle clocks. The next core is always idle.
    let idle = [0, 7, 8].map(|strand| count(strand, SparcEvent::IdleStrands));
    assert_eq!(idle, [47 - 9, 47 - 9, 47]);
}

#[test]
fn a_core_is_idle_when_neither_of_its_pipelines_issues() {
    let (mut bench, before) = warm();
    let three: Vec<_> = (0..3).flat_map(|_| loads(Flow::Next)).collect();
    // Strands 0 and 4 issue at 0, 3 and 6. Strand 1 shares the pipeline of strand 0 and issues at 1, 4 and 7.
    let ends = bench.together(&[(0, three.clone()), (4, three.clone()), (1, three)]);
    assert_eq!(ends, [9, 9, 10]);
    let happened = bench.truth().since(&before);
    let idle = happened.strand(id(0), SparcEvent::IdleStrands.into(), PerfConfig::All);
    assert_eq!((happened.cycles(), idle), (10, 4));
}

#[test]
fn readers_queue_for_a_channel() {
    for (apart, ends, queued) in [
        // Four cores load lines from four banks and one channel. All requests arrive after 26 cycles.
        (0x40, [153, 160, 167, 174], 7 + 14 + 21 + 28),
        // Each channel has its own queue.
        (0x80, [153, 160, 153, 160], 7 + 14 + 7 + 14),
        // The requests go to one bank, where they arrive one after the other.
        (0x200, [153, 160, 167, 174], 7 + 13 + 19 + 25),
    ] {
        let mut bench = Bench::new(Model::Maramba, 1);
        let threads = [0, 1, 2, 3].map(|n| (8 * n, load(apart * n as u64)));
        assert_eq!(bench.together(&threads), ends, "{apart:#x}");
        assert_eq!(bench.dram(DramEvent::ReadQueueLatency), queued, "{apart:#x}");
    }
}

#[test]
fn a_line_on_its_way_is_waited_for() {
    let mut bench = Bench::new(Model::Maramba, 1);
    assert_eq!(bench.together(&[(0, load(0)), (8, load(0x10))]), [153, 153]);
    assert_eq!(bench.dram(DramEvent::Reads), 1);
    bench.rest();
    assert_eq!(bench.together(&[(16, load(0))]), [26]);
}

/// Strands of two nodes load the same line of node 2 (line 0x12, hub 1).
#[test]
fn a_hub_lets_one_request_for_a_line_wait_for_another() {
    let mut bench = Bench::new(Model::Batoka, 4);
    let ends = bench.together(&[(0, load(0x480)), (64, load(0x480))]);
    // The second request starts after the first. It takes the sum of these times: serialize 2, snoop 60, channel_read 7, memory
    // 120, remote 60, link 2 * 9.
    assert_eq!(ends, [293, 293 + 267]);
    assert_eq!((bench.asu(AsuEvent::CamHit), bench.asu(AsuEvent::Wakeup)), (1, 1));
    assert_eq!(bench.devices.now(), 560);
    // The hub also carries a line of home node 3. A request for this line waits only for the serialization.
    let mut bench = Bench::new(Model::Batoka, 4);
    let ends = bench.together(&[(0, load(0x480)), (64, load(0x680))]);
    assert_eq!(ends, [293, 295]);
    assert_eq!(bench.asu(AsuEvent::CamHit), 0);
}

#[test]
fn links_carry_one_line_at_a_time() {
    let mut bench = Bench::new(Model::Batoka, 4);
    // Hub 1 carries two lines from node 2 to nodes 0 and 1. The hub takes the second request 2 cycles after the first. This request
    // waits 5 cycles in its channel's queue, and then 2 cycles for node 2's outgoing link. The links into the other nodes are free.
    let ends = bench.together(&[(0, load(0x480)), (64, load(0x480 + 0x800))]);
    assert_eq!(ends, [293, 293 + 9]);
}

#[test]
fn eight_stores_are_under_way() {
    let mut bench = Bench::new(Model::Maramba, 1);
    // Two channels each serve four of eight banks. Lines leave channel 0 at 31, 38, 45 and 52, and channel 1 at 35, 42, 49 and 56.
    // Each store is complete 120 cycles later, but not before any earlier store.
    let stores = |count: u64| -> Vec<_> {
        (0..count).map(|n| Reference::new(n * 0x40, 8, Kind::Store)).collect()
    };
    assert_eq!(bench.together(&[(0, stores(8))]), [8]);
    for (count, ends) in [(9, 151), (10, 158), (12, 172), (13, 173), (16, 176)] {
        let mut bench = Bench::new(Model::Maramba, 1);
        assert_eq!(bench.together(&[(0, stores(count))]), [ends], "{count}");
    }
}

/// Two nodes add to counters in one line. `addq $3,(mem)` takes about as long as `mov`, `add` and `mov`, because in both cases the
/// strand continues while its store is under way. `lock addq` takes longer, because the strand waits for the store.
#[test]
fn only_an_atomic_waits_for_its_store() {
    const TIMES: usize = 200;
    let cycles = |instructions: &[Reference]| {
        let mut bench = Bench::new(Model::Batoka, 4);
        let thread = |counter: u64| -> Vec<Reference> {
            let own = |one: &Reference| match one.kind.is_fetch() {
                true => *one,
                false => Reference { address: counter, ..*one },
            };
            (0..TIMES).flat_map(|_| instructions.iter().map(own)).collect()
        };
        for strand in [0, 64] {
            bench.fetch(strand, 0x1000);
        }
        bench.rest();
        let ends = bench.together(&[(0, thread(0x10_0000)), (64, thread(0x10_0008))]);
        ends.into_iter().max().unwrap()
    };
    let fetch = |at: u64, kind| Reference::new(0x1000 + 4 * at, 4, kind);
    let data = |kind| Reference::new(0, 8, kind);
    let [load, store] = [Kind::Load, Kind::Store].map(data);
    let plain = cycles(&[fetch(0, Kind::FetchModify), load, store]);
    let parts = [
        fetch(0, Kind::FetchLoad),
        load,
        fetch(1, Kind::FetchOther),
        fetch(2, Kind::FetchStore),
        store,
    ];
    let in_parts = cycles(&parts);
    let atomic = Reference { class: Class::Atomic, ..fetch(0, Kind::FetchModify) };
    let atomic = cycles(&[atomic, data(Kind::Modify)]);
    assert!(plain.abs_diff(in_parts) * 50 <= in_parts, "{plain} is not {in_parts}");
    assert!(atomic * 10 > plain * 13, "{atomic} is not more than {plain}");
}

/// Threads on several nodes add to counters, which are either all in one line or each in a line of its own.
#[test]
fn false_sharing_costs_a_transfer_and_an_invalidation_each() {
    const TIMES: u64 = 100;
    for threads in [2, 3, 4] {
        let counted = |apart: u64| {
            let mut bench = Bench::new(Model::Batoka, 4);
            let add = |thread: usize| {
                let fetch = Reference::new(0x1000, 4, Kind::FetchModify);
                let counter = 0x10_0000 + thread as u64 * apart;
                let data = Reference::new(counter, 8, Kind::Modify);
                (64 * thread, (0..TIMES).flat_map(|_| [fetch, data]).collect())
            };
            let threads: Vec<_> = (0..threads).map(add).collect();
            for (strand, _) in &threads {
                bench.fetch(*strand, 0x1000);
            }
            bench.rest();
            let ends = bench.together(&threads);
            let lpu = |event| -> u64 {
                let counts = bench.lpu().into_iter().filter(|(.., found, _)| *found == event);
                counts.map(|(.., count)| count).sum()
            };
            // The hub passes each invalidation on to three other nodes.
            let invalidations = lpu(LpuEvent::InvalidateEgress) / 3;
            (lpu(LpuEvent::CacheHit), invalidations, ends.into_iter().max().unwrap())
        };
        let adds = threads as u64 * TIMES;
        let (transfers, invalidations, together) = counted(8);
        // The threads take turns, and each turn except the first fetches the line from the previous thread's node.
        assert_eq!((transfers, invalidations), (adds - 1, adds - 1), "{threads} threads");
        let (transfers, invalidations, apart) = counted(64);
        assert_eq!((transfers, invalidations), (0, 0), "{threads} threads");
        assert!(together > 5 * apart, "{together} cycles, {apart} in lines of their own");
    }
}
