//! Branches, address translation, and issued and graduated instructions are compared with theory.

use simulator::analysis::profile::SampledUnit;
use simulator::recording::{Chunk, Flow, Kind, Recording, Reference};

use crate::{every, fetch, fetches, go_on, job, profile, profile_flow};

/// A period that no count in these tests reaches, so nothing interrupts.
const NEVER: u32 = 1 << 20;

/// Returns the counts of these events. Each event is counted in a separate run.
fn counts(program: &[Reference], events: &[&str]) -> Vec<u64> {
    let count = |event: &&str| {
        let profile = profile_flow(SampledUnit::R10000, program.to_vec(), event, every(NEVER));
        let first = profile.unwrap().first;
        assert_eq!((first.count, first.samples), (first.exact_count, 0), "{event}");
        first.count
    };
    events.iter().map(count).collect()
}

const BRANCHES: [&str; 2] = ["decoded_branches", "mispredicted_branches"];

/// Returns a loop of ten iterations inside a loop of `times` iterations. The inner loop has three instructions and a
/// branch back, which is not taken in the tenth iteration. Then a jump leads back to the beginning.
fn nested(times: usize) -> Vec<Reference> {
    let mut program = Vec::new();
    for _ in 0..times {
        for iteration in 0..10 {
            let body = [0x1000, 0x1004, 0x1008];
            program.extend(body.map(|address| fetch(address, Kind::FetchOther, Flow::Next)));
            let flow = if iteration < 9 { Flow::Taken } else { Flow::NotTaken };
            program.push(fetch(0x100c, Kind::FetchOther, flow));
        }
        program.push(fetch(0x1010, Kind::FetchOther, Flow::Jump));
    }
    program
}

/// The two-bit counter learns the branch after two mispredictions. Then only the end of each loop is mispredicted.
#[test]
fn a_loop_mispredicts_its_end() {
    for times in [1, 2, 50] {
        let decoded = 11 * times as u64;
        let expected = [decoded, 2 + times as u64];
        assert_eq!(counts(&nested(times), &BRANCHES), expected, "{times}");
    }
}

/// One branch is always taken, another never. If bits 11:3 of their addresses are equal, they share a counter, and each
/// branch undoes what the other has trained.
#[test]
fn branches_4_kb_apart_share_a_counter() {
    let alternate = |apart: u64| -> Vec<Reference> {
        let pair = [(0x1000, Flow::Taken), (0x1000 + apart, Flow::NotTaken)];
        let branch = |(address, flow)| fetch(address, Kind::FetchOther, flow);
        (0..100).flat_map(|_| pair.map(branch)).collect()
    };
    assert_eq!(counts(&alternate(0x1000), &BRANCHES), [200, 100]);
    assert_eq!(counts(&alternate(4), &BRANCHES), [200, 100], "within 8 bytes");
    assert_eq!(counts(&alternate(8), &BRANCHES), [200, 2]);
    assert_eq!(counts(&alternate(0x800), &BRANCHES), [200, 2]);
}

/// Indirect branches are decoded and never mispredicted. Traps do not count as branches.
#[test]
fn what_is_a_branch() {
    let flows = [Flow::Next, Flow::Jump, Flow::Call, Flow::Return, Flow::Trap];
    let found =
        flows.map(|flow| counts(&vec![fetch(0x1000, Kind::FetchOther, flow); 100], &BRANCHES));
    assert_eq!(found, [[0, 0], [100, 0], [100, 0], [100, 0], [0, 0]]);
}

/// At most one branch is decoded per cycle. When a mispredicted branch issues, the next instruction is decoded three cycles later.
#[test]
fn what_branches_cost() {
    let cycles = |flow: Flow| {
        let program = vec![fetch(0x1000, Kind::FetchOther, flow); 100];
        counts(&program, &["cycles"])[0]
    };
    assert_eq!(cycles(Flow::Jump) - cycles(Flow::Next), 99 - 24);
    assert_eq!(cycles(Flow::NotTaken), cycles(Flow::Jump));
    // The first two branches are mispredicted. Each issues in the cycle after it is decoded.
    assert_eq!(cycles(Flow::Taken) - cycles(Flow::Jump), 2 * 3);
}

/// Jumps, calls, returns and traps use no functional unit unless they load or store.
#[test]
fn what_is_issued() {
    let events = ["issued_instructions", "graduated_instructions"];
    for (kind, flow, issued) in [
        (Kind::FetchOther, Flow::Next, 100),
        (Kind::FetchOther, Flow::Taken, 100),
        (Kind::FetchOther, Flow::NotTaken, 100),
        (Kind::FetchOther, Flow::Jump, 0),
        (Kind::FetchOther, Flow::Call, 0),
        (Kind::FetchOther, Flow::Return, 0),
        (Kind::FetchOther, Flow::Trap, 0),
        (Kind::FetchStore, Flow::Call, 100),
    ] {
        let program = vec![fetch(0x1000, kind, flow); 100];
        assert_eq!(counts(&program, &events), [issued, 100], "{kind:?}, {flow:?}");
    }
}

/// When a program without misses is interrupted, four instructions have issued but not graduated. These four issue again.
#[test]
fn an_interrupt_makes_instructions_issue_again() {
    let program = fetches((0..20_000).map(|n| 0x1000 + n % 16 * 4));
    let report = profile(SampledUnit::R10000, &program, "1,17", every(300)).unwrap();
    let [issued, graduated] = [&report.first, &report.further_events[0]];
    assert_eq!((graduated.count, graduated.exact_count), (20_000, 20_000));
    assert_eq!(issued.count, issued.exact_count);
    assert!(report.interrupts >= 20_000 / 300, "{}", report.interrupts);
    assert_eq!(issued.count - graduated.count, 4 * report.interrupts);
}

/// Returns one load from each of `pairs` pairs of pages, from the first page of the pair. The sequence is repeated `times` times.
fn pages(pairs: u64, times: u64) -> Vec<Reference> {
    let load = |n: u64| {
        let data = 0x4000_0000 + (n % pairs) * 0x8000;
        let load = fetch(0x1000, Kind::FetchLoad, Flow::Next);
        [load, Reference::new(data, 8, Kind::Load)]
    };
    (0..pairs * times).flat_map(load).collect()
}

const TLB: [&str; 1] = ["tlb_misses"];

/// Each pair of data pages misses the TLB once, and so does the code page. The TLB has room for all these pages.
#[test]
fn a_few_pages_miss_the_tlb_once() {
    for pairs in 1..7 {
        assert_eq!(counts(&pages(pairs, 20), &TLB), [pairs + 1], "{pairs}");
    }
}

/// In a stream of pages, each pair misses. The code misses again when the Random register reaches the code's entry. For each pair,
/// Random advances by at least 8 (the handler and the load), so the code misses for at most one pair in eight.
#[test]
fn a_stream_of_pages_misses_the_tlb_at_each_pair() {
    let [misses] = counts(&pages(2000, 1), &TLB)[..] else { unreachable!() };
    assert!((2001..=2001 + 2000 / 8).contains(&misses), "{misses}");
    // The 64 entries cannot hold 200 pairs, so most pairs miss in every round.
    let [misses] = counts(&pages(200, 10), &TLB)[..] else { unreachable!() };
    assert!((1000..=2001 + 2000 / 8).contains(&misses), "{misses}");
}

/// The handler runs in exception mode. Its own miss (of the page table) and its seven instructions count in this mode. Two of the
/// seven are loads.
#[test]
fn misses_in_the_handler_are_in_exception_mode() {
    let count = |exceptions: bool, event: &str| {
        let chunk = Chunk::new(pages(6, 1), Vec::new());
        let mut job = job(Recording::from_threads("test", vec![vec![chunk]]), every(NEVER));
        job.exceptions = exceptions;
        let report = job.run(SampledUnit::R10000, event, go_on).unwrap();
        assert_eq!(report.first.count, report.first.exact_count, "{event}");
        assert_eq!(event == "cycles" && exceptions, report.cycles == report.first.count);
        report.first.count
    };
    // In user mode, the code and six pairs miss. In all modes, the page tables of the code and of the data miss too.
    assert_eq!([false, true].map(|modes| count(modes, "tlb_misses")), [7, 7 + 2]);
    let graduated = "graduated_instructions";
    assert_eq!([false, true].map(|modes| count(modes, graduated)), [6, 6 + 9 * 7]);
    assert_eq!([false, true].map(|modes| count(modes, "graduated_loads")), [6, 6 + 9 * 2]);
    let [user, all] = [false, true].map(|modes| count(modes, "cycles"));
    // Exception mode has two misses in the handler, at one cycle each, and nine runs of the handler, at seven instructions each.
    assert_eq!(all - user, 2 + 9 * 7);
}
