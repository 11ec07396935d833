//! Compares branches, address translation, and issued and graduated instructions with the theory.

use guest_abi::sampling::ModeSet;
use platform::models::r10000::R10000Mode;
use simulator::analysis::profile::SampledUnit;
use simulator::recording::{Cause, Chunk, Class, Flow, Kind, Order, Recording, Reference};

use crate::{continue_always, every, fetch, fetches, job, profile, profile_flow};

/// A sampling period that no count in these tests reaches, so no overflow interrupts the program.
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

/// Returns an inner loop of ten iterations inside an outer loop of `times` iterations. The inner loop has three instructions and a backward
/// branch, which is not taken in the tenth iteration. Then a jump leads back to the beginning.
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

/// After two mispredictions, the two-bit counter predicts that the inner loop's branch is taken. From then on, only the last iteration of
/// each inner loop is mispredicted. Until that branch has executed, the processor decodes two more iterations, whose branches are counted
/// as decoded and are nullified. The first two mispredictions add no branches: they lead to the instruction after the loop, which the model
/// does not know because it has never been executed.
#[test]
fn a_loop_mispredicts_its_end() {
    for times in [1, 2, 50] {
        let decoded = (11 + 2) * times as u64;
        let expected = [decoded, 2 + times as u64];
        assert_eq!(counts(&nested(times), &BRANCHES), expected, "{times}");
    }
}

/// One branch is always taken, and another is never taken. If bits 11:3 of their addresses are equal, the two share a counter, and each
/// undoes what the other has trained.
#[test]
fn branches_4_kb_apart_share_a_counter() {
    let alternate = |apart: u64| -> Vec<Reference> {
        let pair = [(0x1000, Flow::Taken), (0x1000 + apart, Flow::NotTaken)];
        let branch = |(address, flow)| fetch(address, Kind::FetchOther, flow);
        (0..100).flat_map(|_| pair.map(branch)).collect()
    };
    assert_eq!(counts(&alternate(0x1000), &BRANCHES), [200, 100]);
    // The branch that is taken is mispredicted. The other branch follows it in memory, so it is decoded and then nullified.
    assert_eq!(counts(&alternate(4), &BRANCHES), [300, 100], "within 8 bytes");
    assert_eq!(counts(&alternate(8), &BRANCHES), [200, 2]);
    assert_eq!(counts(&alternate(0x800), &BRANCHES), [200, 2]);
}

/// Indirect branches are decoded and never mispredicted. Traps are not counted as branches.
#[test]
fn branches_are_recognised() {
    let flows = [Flow::Next, Flow::Jump, Flow::Call, Flow::Return, Flow::Trap];
    let found =
        flows.map(|flow| counts(&vec![fetch(0x1000, Kind::FetchOther, flow); 100], &BRANCHES));
    assert_eq!(found, [[0, 0], [100, 0], [100, 0], [100, 0], [0, 0]]);
}

/// At most one branch is decoded per cycle. After a mispredicted branch issues, it takes three cycles until the next instruction is
/// decoded.
#[test]
fn branch_costs() {
    let cycles = |flow: Flow| {
        let program = vec![fetch(0x1000, Kind::FetchOther, flow); 100];
        counts(&program, &["cycles"])[0]
    };
    assert_eq!(cycles(Flow::Jump) - cycles(Flow::Next), 99 - 24);
    assert_eq!(cycles(Flow::NotTaken), cycles(Flow::Jump));
    // The first two branches are mispredicted. Each issues in the cycle after its decoding.
    assert_eq!(cycles(Flow::Taken) - cycles(Flow::Jump), 2 * 3);
}

/// Jumps, calls, returns and traps use no functional unit unless they load or store.
#[test]
fn issued_instructions_are_counted() {
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

/// When a program without misses is interrupted, four instructions have issued but not graduated. These four issue again later.
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

/// Returns one load from the first page of each of `pairs` pairs of pages. The sequence is repeated `times` times.
fn pages(pairs: u64, times: u64) -> Vec<Reference> {
    let load = |n: u64| {
        let data = 0x4000_0000 + (n % pairs) * 0x8000;
        let load = fetch(0x1000, Kind::FetchLoad, Flow::Next);
        [load, Reference::new(data, 8, Kind::Load)]
    };
    (0..pairs * times).flat_map(load).collect()
}

const TLB: [&str; 1] = ["tlb_misses"];

/// Each pair of data pages misses the TLB once, and so does the code page. All these pages fit in the TLB.
#[test]
fn a_few_pages_miss_the_tlb_once() {
    for pairs in 1..7 {
        assert_eq!(counts(&pages(pairs, 20), &TLB), [pairs + 1], "{pairs}");
    }
}

/// In a stream of pages, each pair misses. The code misses again whenever the Random register has reached the code's entry. Random advances
/// by at least 8 per pair (the handler and the load), so the code misses for at most one pair in eight.
#[test]
fn a_stream_of_pages_misses_the_tlb_at_each_pair() {
    let [misses] = counts(&pages(2000, 1), &TLB)[..] else { unreachable!() };
    assert!((2001..=2001 + 2000 / 8).contains(&misses), "{misses}");
    // The 64 entries cannot hold 200 pairs, so most pairs miss in every round.
    let [misses] = counts(&pages(200, 10), &TLB)[..] else { unreachable!() };
    assert!((1000..=2001 + 2000 / 8).contains(&misses), "{misses}");
}

/// The handler runs in exception mode. Its own miss (of the page table) and its seven instructions are counted in this mode. Two
/// of the seven are loads.
#[test]
fn misses_in_the_handler_are_in_exception_mode() {
    let user = ModeSet::from(R10000Mode::User);
    let count = |exceptions: bool, event: &str| {
        let chunk = Chunk::new(pages(6, 1), Vec::new());
        let mut job = job(Recording::from_threads("test", vec![vec![chunk]]), every(NEVER));
        let exception = ModeSet::from(R10000Mode::Exception);
        job.modes = if exceptions { user | exception } else { user };
        let report = job.run(SampledUnit::R10000, event, continue_always).unwrap();
        assert_eq!(report.first.count, report.first.exact_count, "{event}");
        assert_eq!(event == "cycles" && exceptions, report.cycles == report.first.count);
        report.first.count
    };
    // In user mode, the code and six pairs miss. In all modes together, the page tables of the code and of the data miss as well.
    assert_eq!([false, true].map(|modes| count(modes, "tlb_misses")), [7, 7 + 2]);
    let graduated = "graduated_instructions";
    assert_eq!([false, true].map(|modes| count(modes, graduated)), [6, 6 + 9 * 7]);
    assert_eq!([false, true].map(|modes| count(modes, "graduated_loads")), [6, 6 + 9 * 2]);
    let [user, all] = [false, true].map(|modes| count(modes, "cycles"));
    // Exception mode covers two misses in the handler, of one cycle each, and nine runs of the handler, of seven cycles each.
    assert_eq!(all - user, 2 + 9 * 7);
}

/// A program executes in user mode, and the TLB miss handler executes in exception mode. Nothing executes in supervisor or kernel mode.
#[test]
fn each_mode_counts_its_own() {
    let count = |modes: ModeSet<R10000Mode>| {
        let chunk = Chunk::new(pages(6, 1), Vec::new());
        let mut job = job(Recording::from_threads("test", vec![vec![chunk]]), every(NEVER));
        job.modes = modes;
        let report =
            job.run(SampledUnit::R10000, "graduated_instructions", continue_always).unwrap();
        assert_eq!(report.first.count, report.first.exact_count, "{modes:?}");
        report.first.count
    };
    for modes in ModeSet::subsets() {
        let mut expected = 0;
        if modes.contains(R10000Mode::User) {
            expected += 6;
        }
        if modes.contains(R10000Mode::Exception) {
            expected += 9 * 7;
        }
        assert_eq!(count(modes), expected, "{modes:?}");
    }
}

const GRADUATED: [&str; 6] = [
    "graduated_instructions",
    "graduated_loads",
    "graduated_stores",
    "graduated_store_conditionals",
    "failed_store_conditionals",
    "graduated_floating_point_instructions",
];

const ISSUED: [&str; 4] =
    ["issued_instructions", "issued_loads", "issued_stores", "issued_store_conditionals"];

/// Section 14.20: a multiplication or division graduates as two instructions. An instruction that can set the bits EVZOUI of the
/// floating-point status register is counted as a floating-point instruction. Prefetches and SYNC are counted as loads.
#[test]
fn what_graduates_as_what() {
    for (class, graduated, issued) in [
        (Class::Other, [100, 0, 0, 0, 0, 0], [100, 0, 0, 0]),
        (Class::Multiply, [200, 0, 0, 0, 0, 0], [100, 0, 0, 0]),
        (Class::Divide, [200, 0, 0, 0, 0, 0], [100, 0, 0, 0]),
        (Class::FloatingPoint, [100, 0, 0, 0, 0, 100], [100, 0, 0, 0]),
        (Class::Vector, [100, 0, 0, 0, 0, 0], [100, 0, 0, 0]),
        (Class::System, [100, 0, 0, 0, 0, 0], [100, 0, 0, 0]),
        (Class::Prefetch, [100, 100, 0, 0, 0, 0], [100, 100, 0, 0]),
    ] {
        let fetch = Reference { class, ..fetch(0x1000, Kind::FetchOther, Flow::Next) };
        let program = vec![fetch; 100];
        assert_eq!(counts(&program, &GRADUATED), graduated, "{class:?}");
        assert_eq!(counts(&program, &ISSUED), issued, "{class:?}");
    }
}

/// An atomic instruction graduates as a load linked and a store conditional. On x86-64, `addq $3,(mem)` is one instruction that loads and
/// stores, and `imulq (mem)` is a multiplication that loads.
#[test]
fn what_instructions_with_data_graduate_as() {
    let program = |class, kind, data: &[Kind]| {
        let data = data.iter().map(|kind| Reference::new(0x1_0000, 8, *kind));
        let fetch = Reference { class, ..fetch(0x1000, kind, Flow::Next) };
        let instruction: Vec<_> = [fetch].into_iter().chain(data).collect();
        // The first instruction misses the TLB, so it is issued again.
        instruction.repeat(101)
    };
    for (program, graduated, issued) in [
        (
            program(Class::Atomic, Kind::FetchModify, &[Kind::Modify]),
            [202, 101, 101, 101, 0, 0],
            [202, 101, 101, 101],
        ),
        (
            program(Class::Other, Kind::FetchModify, &[Kind::Load, Kind::Store]),
            [101, 101, 101, 0, 0, 0],
            [101, 101, 101, 0],
        ),
        (
            program(Class::Multiply, Kind::FetchLoad, &[Kind::Load]),
            [202, 101, 0, 0, 0, 0],
            [101, 101, 0, 0],
        ),
        (
            program(Class::FloatingPoint, Kind::FetchLoad, &[Kind::Load]),
            [101, 101, 0, 0, 0, 101],
            [101, 101, 0, 0],
        ),
    ] {
        assert_eq!(counts(&program, &GRADUATED), graduated);
        let again = counts(&program, &ISSUED);
        // How many instructions issue again depends on how many are in the active list.
        for (found, least) in again.into_iter().zip(issued) {
            assert!((least..=least + 64).contains(&found) && (least > 0 || found == 0), "{found}");
        }
    }
}

/// An annulled delay slot is fetched with its branch, although it is not executed. Here, the delay slot is in the next 64-byte line, so its
/// fetch misses.
#[test]
fn an_annulled_delay_slot_is_fetched() {
    let count_at = |address, class, flow| {
        let branch = Reference { class, ..fetch(address, Kind::FetchOther, flow) };
        let found =
            counts(&[branch], &["primary_instruction_cache_misses", "graduated_instructions"]);
        (found[0], found[1])
    };
    let count = |class, flow| count_at(0x103c, class, flow);
    assert_eq!(count(Class::Other, Flow::NotTaken), (1, 1));
    assert_eq!(count(Class::Annuls, Flow::NotTaken), (2, 1));
    assert_eq!(count(Class::Annuls, Flow::Jump), (2, 1));
    // Here, the delay slot is the last but one instruction of the line.
    assert_eq!(count_at(0x1034, Class::Annuls, Flow::NotTaken), (1, 1));
    // If the branch is taken, the delay slot executes. A complete recording would then contain it as a separate instruction, but this one
    // ends after the branch.
    assert_eq!(count(Class::Annuls, Flow::Taken), (1, 1));
}

/// Returns the counts of these events when each of two processors executes a thread.
fn counts_of_two<const N: usize>(threads: [Thread; 2], events: [&str; N]) -> [u64; N] {
    events.map(|event| {
        let chunks = threads.clone().map(|(references, order)| vec![Chunk::new(references, order)]);
        let mut job = job(Recording::from_threads("test", chunks.to_vec()), every(NEVER));
        job.processors = 2;
        let report = job.run(SampledUnit::R10000, event, continue_always).unwrap();
        assert_eq!((report.first.count, report.first.samples), (report.first.exact_count, 0));
        report.first.count
    })
}

type Thread = (Vec<Reference>, Vec<(usize, Order)>);

/// Two processors use a block alternately. They execute different code. In each step, a processor executes so many instructions that all
/// earlier ones are complete before the next step.
///
/// | step | processor | does | the other processor sees |
/// |---|---|---|---|
/// | 1 | 0 | fetches its code: a miss | an intervention |
/// | | 0 | stores: a miss | an intervention |
/// | 2 | 1 | fetches its code: a miss | an intervention |
/// | | 1 | loads: a miss; both share the block | an intervention that hits |
/// | 3 | 0 | stores to a shared block | an invalidation that hits |
/// | 4 | 1 | loads: a miss | an intervention that hits |
#[test]
fn processors_see_what_others_do() {
    let step = |processor: u64, kind: Kind| {
        let code = 0x1_0000 * (1 + processor);
        let fetching = if kind == Kind::Load { Kind::FetchLoad } else { Kind::FetchStore };
        let mut step = vec![fetch(code, fetching, Flow::Next), Reference::new(0x8_0000, 8, kind)];
        step.extend((1..200).map(|n| fetch(code + n % 16 * 4, Kind::FetchOther, Flow::Next)));
        step
    };
    let length = step(0, Kind::Load).len();
    let first = [step(0, Kind::Store), step(0, Kind::Store), step(0, Kind::Store)[2..].to_vec()];
    let second = [step(1, Kind::Load), step(1, Kind::Load)];
    let first_order = vec![
        (length, Order::Signal(0)),
        (length, Order::Wait(Cause::Wake, 1)),
        (2 * length, Order::Signal(2)),
        (2 * length, Order::Wait(Cause::Wake, 3)),
    ];
    let second_order = vec![
        (0, Order::Wait(Cause::Wake, 0)),
        (length, Order::Signal(1)),
        (length, Order::Wait(Cause::Wake, 2)),
        (2 * length, Order::Signal(3)),
    ];
    let threads = [(first.concat(), first_order), (second.concat(), second_order)];
    let events = [
        "external_interventions",
        "external_intervention_hits_in_scache",
        "external_invalidations",
        "external_invalidation_hits_in_scache",
        "store_prefetch_exclusive_to_shared_block_in_scache",
        "secondary_data_cache_misses",
    ];
    assert_eq!(counts_of_two(threads, events), [5, 2, 1, 1, 1, 3]);
}

/// A store conditional that fails is executed again, together with its load linked. In the end, each of the program's atomic instructions
/// has exactly one store conditional that succeeds.
#[test]
fn a_store_conditional_fails_if_another_processor_takes_the_block() {
    let thread = |processor: u64, address: u64| -> Thread {
        let code = 0x1_0000 * (1 + processor);
        let atomic =
            Reference { class: Class::Atomic, ..fetch(code, Kind::FetchModify, Flow::Next) };
        ([atomic, Reference::new(address, 8, Kind::Modify)].repeat(1000), Vec::new())
    };
    let events =
        ["graduated_store_conditionals", "failed_store_conditionals", "graduated_instructions"];
    let [graduated, failed, instructions] =
        counts_of_two([thread(0, 0x8_0000), thread(1, 0x8_0008)], events);
    assert!(failed > 0);
    assert_eq!((graduated, instructions), (2000 + failed, 2 * (2000 + failed)));
    // Here, the threads use different 128-byte blocks.
    let apart = counts_of_two([thread(0, 0x8_0000), thread(1, 0x8_0080)], events);
    assert_eq!(apart, [2000, 0, 4000]);
}
