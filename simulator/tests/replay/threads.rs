//! Tests replays of multithreaded programs.

use guest_abi::StrandId;
use simulator::memory::Served;
use simulator::recording::{Cause, Chunk, Flow, Kind, Order, Recording, Reference};
use simulator::replay::placement::Placement;
use simulator::replay::{Selection, Setup};
use simulator::run::{Replayed, ThreadRun};

use crate::{machine, program, run};

/// Returns nine threads. The first starts and joins the other eight. Each of the eight uses private and shared lines, and sometimes wakes
/// the next thread.
pub(crate) fn threads() -> Recording {
    const THREADS: u64 = 9;
    let instruction =
        |n: u64, kind, flow| Reference { flow, ..Reference::new(0x1000 + n % 40 * 4, 4, kind) };
    let worker = |thread: u64| {
        let mut references = Vec::new();
        let mut order = vec![(0, Order::Wait(Cause::Wake, thread))];
        for n in 0..120 {
            let shared = 0x2000_0000 + (n * 7 + thread) % 32 * 0x40;
            let own = 0x1000_0000 * thread + n * 0x1c0;
            let data = if n % 4 == 0 { shared } else { own };
            let (fetch, kind) = match n % 3 {
                0 => (Kind::FetchLoad, Kind::Load),
                1 => (Kind::FetchStore, Kind::Store),
                _ => (Kind::FetchModify, Kind::Modify),
            };
            references.push(instruction(n, fetch, Flow::Next));
            references.push(Reference::new(data, 8, kind));
            references.push(instruction(n + 1, Kind::FetchOther, Flow::Taken));
            if n % 30 == 29 {
                let place = references.len();
                let number = |thread| 1000 + thread * 10 + n / 30;
                order.push((place, Order::Signal(number(thread))));
                if thread > 1 {
                    order.push((place, Order::Wait(Cause::Wake, number(thread - 1))));
                }
            }
        }
        order.push((references.len(), Order::Signal(100 + thread)));
        vec![Chunk::new(references, order)]
    };
    let (mut references, mut order) = (Vec::new(), Vec::new());
    for thread in 1..THREADS {
        references.push(instruction(thread, Kind::FetchOther, Flow::Call));
        order.push((references.len(), Order::Signal(thread)));
    }
    for thread in 1..THREADS {
        order.push((references.len(), Order::Wait(Cause::Wake, 100 + thread)));
    }
    references.push(instruction(0, Kind::FetchOther, Flow::Return));
    let first = Chunk::new(references, order);
    let all = [vec![first]].into_iter().chain((1..THREADS).map(worker));
    Recording::from_threads("threads", all.collect())
}

fn setup(placement: &str, events: &str) -> Setup {
    Setup::new(machine(), threads())
        .placement(Some(placement.parse().unwrap()))
        .selection(Selection::parse(events).unwrap())
}

fn results(outcome: &Replayed) -> (u64, Vec<ThreadRun>, Vec<u64>) {
    let truth = outcome.counters.iter().map(|counter| counter.truth);
    (outcome.cycles, outcome.threads.clone(), truth.collect())
}

/// The sampling interval changes neither the program's time nor its work. The counters show all of the work.
#[test]
fn samples_change_nothing() {
    for events in [
        "pic:Idle_strands,pic:Instr_cnt,dram:rd_queue_latency,dram:wr_queue_latency,lpu:clock_cycles,asu:asu_CAM_hit",
        "pic:Br_completed,pic:Br_taken,dram:mem_reads,lpu:cycles_c2c_portX,asu:asu_wakeup",
    ] {
        for placement in ["spread", "pack", "0,64,8"] {
            let run = |interval| {
                let outcome = run(setup(placement, events).interval(interval)).unwrap();
                assert!(outcome.truth_matches, "{placement}, {interval:?}");
                assert_eq!(outcome.references, 9 + 8 * 360);
                assert_eq!(outcome.placement, placement.parse::<Placement>().unwrap().to_string());
                assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
                results(&outcome)
            };
            let undisturbed = run(None);
            for interval in [7, 100, 963, 2_889] {
                assert_eq!(run(Some(interval)), undisturbed, "{placement}, {interval}");
            }
        }
    }
}

#[test]
fn what_each_thread_did() {
    let outcome = run(setup("pack", "dram:mem_reads")).unwrap();
    for (number, thread) in outcome.threads.iter().enumerate() {
        assert_eq!((thread.thread, thread.strand.index()), (number, number));
        assert_eq!(thread.instructions, if number == 0 { 9 } else { 240 });
        assert!(thread.cycles >= thread.instructions && thread.cycles < outcome.cycles);
        let Served { l2, local, remote, c2c } = thread.served;
        // Two of every three data references write. All strands are on one node.
        assert!(number == 0 || l2 + local + remote >= 80);
        assert_eq!(c2c, 0);
    }
    // No work of the threads is lost: every request that needs memory is one read on a channel.
    let reads: u64 = outcome.counters.iter().map(|counter| counter.truth).sum();
    let from_memory =
        outcome.threads.iter().map(|thread| thread.served.local + thread.served.remote);
    assert_eq!(from_memory.sum::<u64>(), reads);
}

#[test]
fn references_that_are_dealt_are_one_thread() {
    let strands = [0, 64, 65].map(|number| StrandId::new(number).unwrap());
    let outcome = run(Setup::new(machine(), program(4_000))
        .placement(Some(Placement::Deal(strands.to_vec())))
        .selection(Selection::parse("pic:Instr_cnt").unwrap()))
    .unwrap();
    assert_eq!(outcome.placement, "artificial, deal:0,64-65");
    // A strand receives 1024 references at a time. Every second reference is an instruction.
    let threads =
        outcome.threads.iter().map(|part| (part.thread, part.strand.index(), part.instructions));
    assert_eq!(threads.collect::<Vec<_>>(), [(0, 0, 512 + 464), (0, 64, 512), (0, 65, 512)]);
    // Only one strand executes at a time.
    let cycles: u64 = outcome.threads.iter().map(|part| part.cycles).sum();
    assert_eq!(cycles, outcome.cycles);
    let counted: Vec<_> = outcome.counters.iter().map(|counter| counter.measured).collect();
    assert_eq!(counted, [976, 512, 512]);
}

#[test]
fn a_recording_without_flow_has_no_branches() {
    let selection = Selection::parse("pic:Br_taken,pic:Instr_other").unwrap();
    let outcome = run(Setup::new(machine(), program(1_000)).selection(selection)).unwrap();
    let note = "test does not say which instructions are branches: none is counted as one";
    assert_eq!(outcome.notes, [note]);
    assert_eq!(outcome.counters[0].truth, 0);
}
