//! Tests profiles of multithreaded programs.

use std::ops::ControlFlow;

use platform::{Machine, Model};
use simulator::analysis::profile::report::{EventProfile, ProfileReport};
use simulator::analysis::profile::{Job, ProfileError, SampledUnit};
use simulator::recording::{Cause, Chunk, Flow, Kind, Order, Recording, Reference};
use simulator::replay::placement::Placement;

use crate::{continue_always, every, fetch, job};

/// Returns a chunk of `count` consecutive instructions. Each thread has its own page.
fn instructions(thread: u64, count: u64) -> Chunk {
    let address = |n: u64| 0x10_0000 + thread * 0x1000 + n % 64 * 4;
    let fetches = (0..count).map(|n| fetch(address(n), Kind::FetchOther, Flow::Next));
    Chunk::new(fetches.collect(), Vec::new())
}

/// Returns a chunk that loads from `lines` 64-byte lines. All threads load from the same lines.
fn loads(thread: u64, lines: u64) -> Chunk {
    let load = |n: u64| {
        let load = fetch(0x10_0000 + thread * 0x1000, Kind::FetchLoad, Flow::Next);
        [load, Reference::new(0x80_0000 + n * 64, 8, Kind::Load)]
    };
    Chunk::new((0..lines).flat_map(load).collect(), Vec::new())
}

fn threads(chunks: Vec<Chunk>, place: &str) -> Job<'static> {
    let threads = chunks.into_iter().map(|chunk| vec![chunk]).collect();
    job(Recording::from_threads("test", threads), every(10)).placement(Some(place.parse().unwrap()))
}

/// Returns the threads' pages, sorted by address, with the true number of events on each page.
fn pages(event: &EventProfile) -> Vec<(u64, u64)> {
    let rows = event.rows.iter();
    let mut pages: Vec<_> = rows.map(|row| ((row.address >> 12) & 0xf, row.exact)).collect();
    pages.sort_unstable();
    pages
}

fn check_counts(report: &ProfileReport, threads: usize, count: u64) {
    let first = &report.first;
    assert_eq!((report.threads, report.instructions), (threads, count));
    assert_eq!((first.count, first.exact_count), (count, count));
    assert_eq!((first.count_error, first.lost), (Some(0), 0));
}

#[test]
fn each_strand_has_counters_and_a_guest_of_its_own() {
    let counts = [1_000, 2_005, 3_009, 17];
    let chunks = || (0..).zip(counts).map(|(thread, count)| instructions(thread, count));
    // The threads run on four nodes, on one core, or in pairs on two strands.
    for place in ["spread", "pack", "1,9"] {
        let report = threads(chunks().collect(), place)
            .run(SampledUnit::Sparc, "instructions", continue_always)
            .unwrap();
        check_counts(&report, 4, 6_031);
        let expected = [(0, 1_000), (1, 2_005), (2, 3_009), (3, 17)];
        assert_eq!(pages(&report.first), expected, "{place}");
        // Each strand takes one sample per ten events.
        let samples = match place {
            "1,9" => 4_009 / 10 + 2_022 / 10,
            _ => 100 + 200 + 300 + 1,
        };
        assert_eq!(report.first.samples, samples, "{place}");
        assert!(report.first.total_variation < 0.01, "{place}");
    }
}

#[test]
fn the_processor_and_the_placement_are_named() {
    let on = |place: &str, threads_: u64| {
        let chunks = (0..threads_).map(|thread| instructions(thread, 100)).collect();
        threads(chunks, place)
            .run(SampledUnit::Sparc, "instructions", continue_always)
            .unwrap()
            .processor
    };
    let of = "of a batoka, nodes: 4; placement:";
    assert_eq!(on("spread", 1), format!("strand 0 {of} spread"));
    assert_eq!(on("72", 1), format!("strand 72 {of} 72"));
    assert_eq!(on("pack", 3), format!("3 strands {of} pack"));
    assert_eq!(on("1,9", 4), format!("2 strands {of} 1,9"));
    let chunk = vec![instructions(0, 3_000)];
    let dealt = threads(chunk, "deal:0,8")
        .run(SampledUnit::Sparc, "instructions", continue_always)
        .unwrap();
    assert_eq!(dealt.processor, format!("2 strands {of} artificial, deal:0,8"));
    check_counts(&dealt, 1, 3_000);
}

/// Each thread loads from 100 lines in order. On one core, the second thread finds the lines in the data cache.
#[test]
fn a_placement_decides_what_threads_share() {
    for (place, misses) in [("0,1", 100), ("0,8", 200)] {
        let (mut first, mut second) = (loads(0, 100), loads(1, 100));
        first.order.push((first.len(), Order::Signal(7)));
        second.order.push((0, Order::Wait(Cause::Wake, 7)));
        let job = threads(vec![first, second], place);
        let report = job.run(SampledUnit::Sparc, "DC_miss", continue_always).unwrap();
        let event = &report.first;
        assert_eq!((event.count, event.exact_count), (misses, misses), "{place}");
    }
}

/// Thread 0 executes until it waits for thread 1. Thread 1 executes to its end, and then thread 0 continues.
#[test]
fn an_r10000_executes_threads_in_turns() {
    let (mut first, mut second) = (instructions(0, 400), instructions(1, 300));
    first.order = vec![(100, Order::Signal(1)), (200, Order::Wait(Cause::Wake, 2))];
    second.order = vec![(0, Order::Wait(Cause::Wake, 1)), (300, Order::Signal(2))];
    for events in ["graduated_instructions", "issued_instructions"] {
        let job = threads(vec![first.clone(), second.clone()], "spread");
        let report = job.run(SampledUnit::R10000, events, continue_always).unwrap();
        let turns = "; the threads take turns, each until it waits or ends";
        assert!(report.processor.ends_with(turns));
        assert_eq!(report.notes, Vec::<String>::new());
        let event = &report.first;
        assert_eq!(event.count, event.exact_count);
        match events {
            "graduated_instructions" => {
                check_counts(&report, 2, 700);
                assert_eq!(pages(event), [(0, 400), (1, 300)]);
            }
            _ => assert!(event.count > 700, "interrupts make instructions issue again"),
        }
    }
}

/// The recording is cut off, so the signal is missing.
#[test]
fn a_wait_that_nothing_ends_is_left_out_with_a_note() {
    for unit in SampledUnit::ALL {
        let mut chunk = instructions(0, 100);
        chunk.order.push((50, Order::Wait(Cause::Wake, 1)));
        let report =
            threads(vec![chunk], "spread").run(unit, "instructions", continue_always).unwrap();
        check_counts(&report, 1, 100);
        assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    }
}

#[test]
fn a_job_that_is_stopped_reports_its_part() {
    let run = |stop_at: u64| {
        let job = threads(vec![instructions(0, 1 << 20)], "0");
        job.run(SampledUnit::Sparc, "instructions", |progress| {
            assert_eq!(progress.total, Some(1 << 20));
            if progress.references < stop_at {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
    };
    let part = run(1 << 19).unwrap();
    assert!(part.stopped && !run(u64::MAX).unwrap().stopped);
    check_counts(&part, 1, 1 << 19);
    let note = "the replay was stopped after 524288 references, before the end of its programs";
    assert_eq!(part.notes, [note]);
}

#[test]
fn threads_that_cannot_be_placed() {
    let run = |place: &str, many: u64| {
        let chunks = (0..many).map(|thread| instructions(thread, 100)).collect();
        let mut job = threads(chunks, place);
        job.machine = Machine::new(Model::Maramba, 1).unwrap();
        let error = job.run(SampledUnit::Sparc, "instructions", continue_always).unwrap_err();
        assert!(matches!(error, ProfileError::Placement(_)), "{error:?}");
        error.to_string()
    };
    assert_eq!(run("64", 1), "there is no strand 64; this machine has strands 0 to 63");
    assert_eq!(run("deal:0,1", 2), "deal deals the references of one thread, found 2 threads");
    assert!("everywhere".parse::<Placement>().is_err());
}
