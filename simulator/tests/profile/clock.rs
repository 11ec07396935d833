//! Tests cycle samples on programs whose timing is known.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use guest_abi::sampling::Period;
use simulator::analysis::profile::events::Rate;
use simulator::analysis::profile::functions::waiting_state;
use simulator::analysis::profile::report::ProfileReport;
use simulator::analysis::profile::{EventError, Job, ProfileError, SampledUnit};
use simulator::recording::{Acquire, Cause, Chunk, Flow, Kind, Order, Recording, Reference};
use simulator::run::State;

use crate::{continue_always, every, fetch, fetches, job, profile, randomised};

/// The most cycles that the first fetch on a page takes. The line may come from another node's memory.
const FIRST: u64 = 400;

/// Returns the fetches of a loop on a page. The loop's 8 instructions share one cache line.
fn turns(page: u64, turns: u64) -> impl Iterator<Item = u64> {
    (0..turns * 8).map(move |n| page * 0x1000 + n % 8 * 4)
}

/// Returns two counts for each page and for each state in which threads wait: the events that the samples represent, and the true number of
/// events.
fn rows(report: &ProfileReport) -> BTreeMap<String, (u64, u64)> {
    let rows = report.first.rows.iter();
    rows.map(|row| (row.name.clone(), (row.events, row.exact))).collect()
}

fn sums_agree(report: &ProfileReport) {
    let event = &report.first;
    let exact: u64 = event.rows.iter().map(|row| row.exact).sum();
    assert_eq!((event.exact_count, event.count), (exact, exact));
    assert_eq!((event.lost, event.missed, event.count_error), (0, 0, Some(0)));
}

/// An instruction without data takes one cycle. One page has a loop of 10,000 iterations, and another has a loop of 30,000.
#[test]
fn a_loop_of_three_times_as_many_turns_has_three_quarters() {
    let program = fetches(turns(0x401, 10_000).chain(turns(0x402, 30_000)));
    let report = profile(SampledUnit::Sparc, &program, "cycles", Rate::default()).unwrap();
    sums_agree(&report);
    let event = &report.first;
    assert_eq!((&*event.event, event.modelled, event.period), ("cycles", true, 211));
    assert_eq!(event.count, report.cycles, "the only thread runs all the time");
    assert_eq!(event.samples, report.cycles / 211);
    let rows = rows(&report);
    for (page, cycles) in [("page 0x401000", 80_000), ("page 0x402000", 240_000)] {
        let (events, exact) = rows[page];
        assert!((cycles..cycles + FIRST).contains(&exact), "{page}: {exact}");
        // Each page executes without interruption, so there is at most one sample too few or too many.
        assert!(events.abs_diff(exact) <= 211, "{page}: {events}, {exact}");
    }
    let shares: Vec<_> = event.rows.iter().map(|row| row.exact_percent.round()).collect();
    assert_eq!(shares, [75.0, 25.0]);
    assert!(event.total_variation < 0.001, "{}", event.total_variation);
}

/// An iteration of 8 cycles on one page alternates with an iteration of 24 cycles on another. The period of 320 cycles is ten times the
/// length of such a pair, so all samples would be on the same page if the periods did not vary.
#[test]
fn random_periods_are_not_in_step_with_the_machine() {
    let program = fetches((0..20_000).flat_map(|_| turns(0x401, 1).chain(turns(0x402, 3))));
    let share = |rate: Rate| {
        let report = profile(SampledUnit::Sparc, &program, "cycles", rate).unwrap();
        sums_agree(&report);
        let (events, exact) = rows(&report)["page 0x401000"];
        assert!((160_000..160_000 + FIRST).contains(&exact), "{exact}");
        let all = report.first.samples * u64::from(report.first.period);
        (events as f64 / all as f64, report.first.samples as f64)
    };
    let (in_step, _) = share(every(320));
    assert!(!(0.02..0.98).contains(&in_step), "{in_step}");
    for seed in 1..=3 {
        let (quarter, samples) = share(randomised(320, seed));
        let error = (0.25 * 0.75 / samples).sqrt();
        assert!((quarter - 0.25).abs() < 3.0 * error, "{seed}: {quarter}");
    }
}

/// For strand 0, which is on node 0, a load takes 293 cycles from another node's memory and 215 cycles from node 0's memory
/// (`memory::timing`). The home node changes every 512 bytes of memory.
#[test]
fn a_sample_names_the_instruction_that_waits_for_memory() {
    let load =
        |code: u64, line: u64| format!("I  {code:x},4\n L {line:x},8\nI  {:x},4\n", code + 4);
    let on_node = |node: u64, n: u64| 0x1000_0000 + n * 0x800 + node * 0x200;
    let program: String = (0..1_000)
        .map(|n| load(0x40_1000, on_node(0, n)) + &load(0x40_2000, on_node(1, n)))
        .collect();
    let report = profile(SampledUnit::Sparc, &program, "cycles", every(97)).unwrap();
    sums_agree(&report);
    let rows = rows(&report);
    for (page, load) in [("page 0x401000", 215), ("page 0x402000", 293)] {
        let (events, exact) = rows[page];
        // Each load is followed by an instruction of one cycle.
        let cycles = 1_000 * (load + 1);
        assert!((cycles..cycles + FIRST).contains(&exact), "{page}: {exact}");
        assert!(events.abs_diff(exact) < cycles / 50, "{page}: {events}, {exact}");
    }
    // All but a few samples are at the loads, not at the instructions that follow them.
    let samples = |at: &dyn Fn(u64) -> bool| -> u64 {
        let taken = report.first.taken().iter();
        taken.filter(|(point, _)| at(point.address)).map(|(_, weight)| weight.samples).sum()
    };
    let after = samples(&|address| address % 8 == 4);
    assert!(after * 100 < samples(&|_| true), "{after}");
}

/// Returns a chunk of a loop's first `count` instructions, with these orders (log entries such as waits). An iteration takes 12 cycles: one
/// for each of 7 instructions, and 5 for the branch.
fn thread(page: u64, count: u64, order: Vec<(usize, Order)>) -> Vec<Chunk> {
    let fetches = turns(page, count.div_ceil(8)).take(count as usize);
    let flow = |address| if address % 32 == 28 { Flow::Taken } else { Flow::Next };
    let fetches = fetches.map(|address| fetch(address, Kind::FetchOther, flow(address)));
    vec![Chunk::new(fetches.collect(), order)]
}

fn threads(threads: Vec<Vec<Chunk>>, place: &str, period: u32) -> Job<'static> {
    let rate = Rate { period: Period::new(period), seed: None };
    let job = job(Recording::from_threads("test", threads), rate);
    job.placement(Some(place.parse().unwrap())).waits(true)
}

/// The clock has 1,165,379,275 cycles per second, so a sleep of two milliseconds takes 2,330,758 cycles.
#[test]
fn a_sleep_takes_the_time_that_the_thread_asked_for() {
    let program = || vec![thread(0x401, 1_000, vec![(400, Order::Sleep(2_000_000))])];
    let report =
        threads(program(), "0", 211).run(SampledUnit::Sparc, "cycles", continue_always).unwrap();
    sums_agree(&report);
    assert!(report.waits);
    let found = rows(&report);
    assert_eq!(found["[sleep]"].1, 2_330_758);
    assert!(found["[sleep]"].0.abs_diff(2_330_758) <= 211);
    assert!((1_500..1_500 + FIRST).contains(&found["page 0x401000"].1));
    assert_eq!(report.first.exact_count, report.cycles, "the life of the thread is the run");
    assert_eq!(report.first.samples, report.cycles / 211);
    // The wait's caller is the instruction before the sleep: the last instruction of the loop.
    let (wait, _) = (report.first.taken().iter())
        .find(|(point, _)| waiting_state(point.address) == Some(State::Sleep))
        .unwrap();
    let stack = report.stacks().addresses(*wait, None);
    assert_eq!(stack, [0x40_101c, wait.address]);

    // Without waits, only the cycles in which the thread executes are counted.
    let job = threads(program(), "0", 211).waits(false);
    let report = job.run(SampledUnit::Sparc, "cycles", continue_always).unwrap();
    sums_agree(&report);
    assert_eq!(report.first.exact_count + 2_330_758, report.cycles);
    assert_eq!(rows(&report).len(), 1);
}

/// Thread 1 holds a lock while it sleeps for a millisecond, 1,165,379 cycles. Thread 0 needs the lock after 100 iterations. Thread 2 is on
/// thread 0's strand, so it is ready but does not execute until thread 0 waits. Later, thread 2 waits for thread 0.
#[test]
fn the_cycles_of_threads_with_their_waits_are_their_lives() {
    let acquire = Order::Acquire(Acquire { lock: 0x8000, shared: false, site: 0x40_1000 });
    let release = Order::Release { lock: 0x8000, signal: 1 };
    let program = vec![
        thread(0x401, 1_600, vec![(800, acquire), (1_600, Order::Signal(2))]),
        thread(0x402, 16, vec![(8, acquire), (8, Order::Sleep(1_000_000)), (16, release)]),
        thread(0x403, 80, vec![(40, Order::Wait(Cause::Thread, 2))]),
    ];
    let report =
        threads(program, "0,8", 7).run(SampledUnit::Sparc, "cycles", continue_always).unwrap();
    sums_agree(&report);
    let found = rows(&report);
    let exact = |name: &str| found[name].1;
    let near = |name: &str, cycles: u64| {
        assert!((cycles..cycles + FIRST).contains(&exact(name)), "{name}: {found:?}");
    };
    near("page 0x401000", 2_400);
    near("page 0x402000", 24);
    near("page 0x403000", 120);
    near("[ready]", 1_200);
    assert_eq!(exact("[sleep]"), 1_165_379);
    // Thread 0 continues when thread 1 ends, with half of its iterations left. When thread 0 has ended, thread 2 executes the second half
    // of its own iterations.
    let released = exact("page 0x402000") + exact("[sleep]");
    let ends = [
        exact("page 0x401000") + exact("[lock]"),
        released,
        exact("[ready]") + exact("page 0x403000") + exact("[thread]"),
    ];
    assert_eq!(ends, [released + 1_200, released, released + 1_200 + 60]);
    assert_eq!((report.first.exact_count, report.cycles), (ends.iter().sum(), ends[2]));
    assert!(found.values().all(|(events, exact)| events.abs_diff(*exact) <= 21), "{found:?}");
}

/// A sleep of an hour has billions of samples. They are not taken one by one, so the test takes little time.
#[test]
fn a_long_wait_takes_no_long_time() {
    for seed in [None, Some(3)] {
        let program = vec![thread(0x401, 16, vec![(8, Order::Sleep(3_600_000_000_000))])];
        let mut job = threads(program, "0", 1);
        job.rate.seed = seed;
        let report = job.run(SampledUnit::Sparc, "cycles", continue_always).unwrap();
        sums_agree(&report);
        assert_eq!(rows(&report)["[sleep]"].1, 4_195_365_390_000);
        assert_eq!(report.first.samples, report.cycles);
    }
}

/// Cycles, which no counter counts, can be sampled together with events that counters count.
#[test]
fn cycles_and_counted_events_at_once() {
    let program = fetches(turns(0x401, 1_000));
    let rate = every(10);
    let report = profile(SampledUnit::Sparc, &program, "Instr_cnt,cycles,DC_miss", rate).unwrap();
    let events: Vec<_> = report.events().collect();
    let names: Vec<_> = events.iter().map(|event| &*event.event).collect();
    assert_eq!(names, ["Instr_cnt", "cycles", "DC_miss"]);
    assert_eq!((events[0].count, events[0].exact_count, events[0].samples), (8_000, 8_000, 800));
    assert_eq!((events[1].count, events[1].exact_count), (report.cycles, report.cycles));
    assert_eq!((events[2].count, events[2].exact_count), (0, 0));
    // The counts are the same when cycles are not sampled.
    let alone = profile(SampledUnit::Sparc, &program, "Instr_cnt", rate).unwrap();
    assert_eq!((alone.cycles, &alone.first.rows), (report.cycles, &events[0].rows));
}

/// Each of a hundred threads has its own strand and is shorter than the sampling period.
#[test]
fn short_threads_are_sampled_in_proportion() {
    let program = (0..100).map(|page| thread(0x1000 + page * 0x10, 200, Vec::new())).collect();
    let job = threads(program, "pack", 1_009).waits(false);
    let report = job.run(SampledUnit::Sparc, "cycles", continue_always).unwrap();
    sums_agree(&report);
    let expected = report.first.count as f64 / 1_009.0;
    assert!((0.8..1.2).contains(&(report.first.samples as f64 / expected)), "{expected}");
}

/// A job is stopped when four threads are in different states: one executes, one waits, one has not begun, and one has ended. A fifth
/// thread is on the first thread's strand.
#[test]
fn a_job_that_is_stopped_has_the_cycles_so_far() {
    let program = vec![
        thread(0x401, 100_000, Vec::new()),
        thread(0x402, 16, vec![(8, Order::Wait(Cause::Thread, 1))]),
        thread(0x403, 16, vec![(0, Order::Wait(Cause::Start, 1))]),
        thread(0x404, 16, Vec::new()),
        thread(0x405, 16, Vec::new()),
    ];
    let job = threads(program, "0-3", 10);
    let stop = |_| ControlFlow::Break(());
    let report = job.run(SampledUnit::Sparc, "cycles", stop).unwrap();
    assert!(report.stopped);
    sums_agree(&report);
    let found = rows(&report);
    let names: Vec<_> = found.keys().map(String::as_str).collect();
    let pages = ["page 0x401000", "page 0x402000", "page 0x404000"];
    assert_eq!(names, [&["[thread]"][..], &pages].concat());
    assert_eq!(found["[thread]"].1 + found["page 0x402000"].1, report.cycles);
}

/// Data references without an instruction belong to no place in the code, whether cycles or other events are sampled.
#[test]
fn instructions_of_memory_alone() {
    let data = (0..100).map(|n| Reference::new(0x1000 + n * 8, 8, Kind::Load));
    let code = fetch(0x40_1000, Kind::FetchOther, Flow::Next);
    let chunks = vec![Chunk::new(data.collect(), Vec::new()), Chunk::new(vec![code], Vec::new())];
    let job = threads(vec![chunks], "0", 10);
    let report = job.run(SampledUnit::Sparc, "cycles", continue_always).unwrap();
    sums_agree(&report);
    assert_eq!(report.first.count, report.cycles);
    assert_eq!(report.first.rows[0].name, "page 0x0");
}

#[test]
fn waits_need_cycles() {
    for (unit, event) in [(SampledUnit::Sparc, "Instr_cnt"), (SampledUnit::R10000, "cycles")] {
        let job = threads(vec![thread(0x401, 16, Vec::new())], "0", 10);
        let error = job.run(unit, event, continue_always).unwrap_err();
        assert!(matches!(error, ProfileError::Events(EventError::NoCycles)), "{error:?}");
    }
}
