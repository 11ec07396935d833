//! Replays regions of handwritten programs that show which references are counted.

use std::fmt::Write;
use std::ops::ControlFlow;

use platform::Machine;
use simulator::analysis::profile::events::Rate;
use simulator::analysis::profile::{Job, SampledUnit};
use simulator::analysis::sharing;
use simulator::memory::Served;
use simulator::recording::Recording;
use simulator::replay::Setup;
use simulator::replay::region::{Moment, Point, Region, instructions_before};
use simulator::run::{Covered, Replayed, Run};

use crate::threads::threads;
use crate::{machine, program, recording, run};

const FRAME: u64 = 0x40_0000;
const FRAMES: u64 = 5;
const LINES: u64 = 100;

/// Each frame has an instruction without data, and a loop of `LINES` loads. Each load in the loop is from a different line of the L2 cache,
/// and all these lines fit in the data cache. All frames load the same lines.
fn frames() -> Recording {
    let mut text = String::new();
    for _ in 0..FRAMES {
        let _ = writeln!(text, "I  {FRAME:x},4");
        for line in 0..LINES {
            let _ = writeln!(text, "I  {:x},4\n L {:x},8", FRAME + 4, 0x1000_0000 + line * 64);
        }
    }
    recording(text)
}

/// The number of references in a frame: the fetches of its instructions, and its data.
const OF_FRAME: u64 = 1 + 2 * LINES;

fn frame(number: Option<u64>) -> Option<Point> {
    let at = Moment::Reached { addresses: vec![(0, FRAME)], number };
    Some(Point { name: number.map_or("frame".into(), |number| format!("frame#{number}")), at })
}

fn after(instructions: u64) -> Option<Point> {
    Some(Point {
        name: format!("instruction {instructions}"),
        at: Moment::Instructions(instructions),
    })
}

fn region(from: Option<Point>, to: Option<Point>, warm_up: Option<Point>) -> Region {
    Region { from, to, warm_up }
}

fn replayed(program: Recording, region: Region) -> Replayed {
    let run = run(Setup::new(machine(), program).region(region)).unwrap();
    assert!(run.truth_matches);
    run
}

fn error(program: Recording, region: Region) -> String {
    run(Setup::new(machine(), program).region(region)).unwrap_err().to_string()
}

fn measured(run: &Replayed, event: &str) -> u64 {
    let of_event = run.counters.iter().filter(|counter| counter.event == event);
    of_event.map(|counter| counter.measured).sum()
}

fn covered(references: u64, instructions: u64) -> [u64; 2] {
    [references, instructions]
}

fn part(covered: &Covered) -> [u64; 2] {
    [covered.references, covered.instructions]
}

#[test]
fn a_region_counts_from_its_start_to_its_end() {
    let run = replayed(frames(), region(frame(Some(2)), frame(None), None));
    assert_eq!((run.references, run.threads[0].instructions), (OF_FRAME, 1 + LINES));
    assert_eq!(measured(&run, "Instr_cnt"), 1 + LINES);
    // The caches are empty, so each line comes from memory, including the line that holds the instructions.
    let Served { l2, local, remote, c2c } = run.threads[0].served;
    assert_eq!((l2, local + remote, c2c), (0, LINES + 1, 0));
    assert_eq!(measured(&run, "mem_reads"), LINES + 1);
    assert_eq!(run.cycles, run.threads[0].cycles);
    let of_run = run.region.as_ref().unwrap();
    assert_eq!(part(&of_run.skipped), covered(OF_FRAME, 1 + LINES));
    assert_eq!(part(&of_run.warmed), covered(0, 0));
    assert_eq!(part(&of_run.counted), covered(OF_FRAME, 1 + LINES));
    assert!(!run.stopped);
    assert_eq!(
        run.notes,
        [
            "the result covers frame#2 to frame: 201 references (101 instructions); skipped before: 201 references (101 instructions)"
        ]
    );
}

#[test]
fn a_warm_up_fills_the_caches_and_counts_nothing() {
    // The second frame fills the caches.
    let run = replayed(frames(), region(frame(Some(3)), frame(Some(4)), frame(Some(2))));
    assert_eq!((run.references, run.threads[0].instructions), (OF_FRAME, 1 + LINES));
    assert_eq!(run.threads[0].served, Served::default());
    assert_eq!((measured(&run, "Instr_cnt"), measured(&run, "mem_reads")), (1 + LINES, 0));
    let of_run = run.region.as_ref().unwrap();
    assert_eq!(part(&of_run.skipped), covered(OF_FRAME, 1 + LINES));
    assert_eq!(part(&of_run.warmed), covered(OF_FRAME, 1 + LINES));
    // The warm-up ends with 50 loads, so 50 loads hit and the other 50 miss. The fetch hits, too.
    let run = replayed(frames(), region(frame(Some(3)), frame(Some(4)), after(2 * LINES + 2 - 50)));
    let Served { local, remote, .. } = run.threads[0].served;
    assert_eq!(local + remote, LINES - 50);
    // A load that hits the data cache takes 3 cycles, and an instruction without data takes 1 cycle.
    let warm = replayed(frames(), region(frame(Some(3)), frame(Some(4)), after(0)));
    assert_eq!((warm.cycles, warm.threads[0].cycles), (3 * LINES + 1, 3 * LINES + 1));
    assert_eq!(warm.time.cycles, warm.cycles);
}

#[test]
fn a_region_is_a_number_of_instructions() {
    let run = replayed(frames(), region(after(150), after(250), None));
    assert_eq!((run.threads[0].instructions, measured(&run, "Instr_cnt")), (100, 100));
    // One of these instructions, the first of the third frame, has no data.
    assert_eq!(run.references, 100 + 99);
    let rest = replayed(frames(), region(after(150), None, None));
    assert_eq!(rest.threads[0].instructions, FRAMES * (1 + LINES) - 150);
    let none = replayed(frames(), region(after(7), after(7), None));
    assert_eq!((none.references, none.cycles), (0, 0));
}

/// Replays a program in three ways: only the first part, the second part after the first as a warm-up, and the whole program.
fn parts(program: fn() -> Recording, at: u64) -> [Replayed; 3] {
    [
        replayed(program(), region(None, after(at), None)),
        replayed(program(), region(after(at), None, after(0))),
        replayed(program(), Region::default()),
    ]
}

/// A warm-up counts nothing, so the counts of a program's two parts add up to those of the whole program.
#[test]
fn the_parts_of_a_program_add_up() {
    fn long() -> Recording {
        program(30_000)
    }
    for (program, at) in
        [(long as fn() -> _, 1), (long, 4_321), (long, 14_999), (threads, 300), (threads, 1_700)]
    {
        let [first, second, whole] = parts(program, at);
        assert_eq!(first.references + second.references, whole.references);
        assert_eq!(first.cycles + second.cycles, whole.cycles, "{at}");
        for ((first, second), whole) in
            first.counters.iter().zip(&second.counters).zip(&whole.counters)
        {
            let name = (&whole.event, whole.perfreg, whole.strand);
            assert_eq!(first.measured + second.measured, whole.measured, "{name:?} {at}");
        }
        for ((first, second), whole) in
            first.threads.iter().zip(&second.threads).zip(&whole.threads)
        {
            assert_eq!(first.instructions + second.instructions, whole.instructions);
            assert_eq!(first.cycles + second.cycles, whole.cycles);
            assert_eq!(first.served.misses() + second.served.misses(), whole.served.misses());
            assert_eq!(second.stack.sum(), second.cycles);
            assert_eq!(first.states.running + second.states.running, whole.states.running);
            assert_eq!(first.states.recorded + second.states.recorded, whole.states.recorded);
        }
        for ((first, second), whole) in
            first.usage.channels.iter().zip(&second.usage.channels).zip(&whole.usage.channels)
        {
            assert_eq!(first.reads + second.reads, whole.reads);
            assert_eq!(first.busy + second.busy, whole.busy);
        }
        for run in [first, second, whole] {
            for thread in &run.threads {
                assert_eq!(thread.states.sum(), run.cycles, "thread {}", thread.thread);
            }
        }
    }
}

#[test]
fn threads_keep_their_order_in_a_skipped_part() {
    // The first thread has started the other threads, which execute at the same pace: eight threads with 240 instructions each.
    let run = replayed(threads(), region(after(1_000), None, None));
    assert_eq!(run.notes.len(), 1, "{:?}", run.notes);
    let executed: Vec<_> = run.threads.iter().map(|thread| thread.instructions).collect();
    assert_eq!(executed.iter().sum::<u64>(), 9 + 8 * 240 - 1_000);
    assert_eq!(executed[0], 1);
    for thread in &run.threads {
        assert_eq!(thread.states.sum(), run.cycles);
        assert_eq!(thread.states.not_begun, 0);
    }
}

#[test]
fn details_are_those_of_the_region() {
    let setup = Setup::new(machine(), program(30_000)).details(true);
    let run = run(setup.region(region(after(9_000), after(12_000), after(6_000)))).unwrap();
    assert!(run.truth_matches);
    let details = run.details.as_ref().unwrap();
    assert_eq!(details.series.references.last(), Some(&run.references));
    assert_eq!(details.series.cycles.last(), Some(&run.cycles));
    assert_eq!(details.timeline.cycles.last(), Some(&run.cycles));
    let running: u64 = details.timeline.threads[0].states.values().flatten().sum();
    assert_eq!(running, run.cycles);
    let misses = run.threads[0].served.misses();
    let by_code: u64 = details.code.iter().map(|one| one.missed.misses.misses()).sum();
    assert_eq!(by_code, misses);
}

#[test]
fn a_point_that_is_not_reached_is_an_error() {
    let missing = |number| error(frames(), region(frame(number), None, None));
    assert_eq!(missing(Some(6)), "the program ends before frame#6: it reaches this point 5 times");
    let nowhere = Moment::Reached { addresses: vec![(0, 0x50_0000)], number: None };
    let nowhere = Some(Point { name: "other".into(), at: nowhere });
    let never = "the program ends before other: it never reaches this point";
    assert_eq!(error(frames(), region(nowhere.clone(), None, None)), never);
    assert_eq!(error(frames(), region(None, nowhere.clone(), None)), never);
    assert_eq!(error(frames(), region(frame(Some(2)), None, nowhere)), never);
    let earlier = error(frames(), region(after(500), frame(None), None));
    assert_eq!(earlier, "the program ends before frame: it reaches this point only earlier");
    let long = error(frames(), region(after(506), None, None));
    assert_eq!(long, "the program ends before instruction 506: it has 505 instructions");
    let order = error(frames(), region(frame(Some(3)), frame(Some(2)), None));
    assert_eq!(order, "frame#2 comes before frame#3, expected it later");
    let order = error(frames(), region(frame(Some(3)), None, after(250)));
    assert_eq!(order, "frame#3 comes before instruction 250, expected it later");
}

#[test]
fn instructions_before_a_point_are_counted() {
    let before = |point: Option<Point>| {
        let goes_on = |_| ControlFlow::Continue(());
        instructions_before(&point.unwrap(), vec![frames()], machine(), None, goes_on)
    };
    assert_eq!(before(frame(None)).unwrap(), 0);
    assert_eq!(before(frame(Some(4))).unwrap(), 3 * (1 + LINES));
    assert!(before(frame(Some(6))).is_err());
}

#[test]
fn a_profile_is_of_the_region() {
    let profile = |warm_up| {
        let rate = Rate { period: None, seed: None };
        let job = Job::new(machine(), frames(), rate).region(region(
            frame(Some(3)),
            frame(Some(4)),
            warm_up,
        ));
        job.run(SampledUnit::Sparc, "Instr_cnt,DC_miss,cycles", |_| ControlFlow::Continue(()))
            .unwrap()
    };
    let exact = |report: &simulator::analysis::profile::report::ProfileReport| -> Vec<u64> {
        let events = report.events();
        events.map(|event| event.exact().values().sum()).collect()
    };
    let cold = profile(None);
    assert_eq!((cold.instructions, cold.references), (1 + LINES, OF_FRAME));
    assert_eq!(exact(&cold)[..2], [1 + LINES, LINES]);
    assert_eq!(exact(&cold)[2], cold.cycles);
    let warm = profile(after(0));
    assert_eq!(exact(&warm), [1 + LINES, 0, 3 * LINES + 1]);
    assert_eq!(warm.cycles, 3 * LINES + 1);
    let counted: Vec<u64> = warm.events().map(|event| event.count).collect();
    assert_eq!(counted, exact(&warm));
    assert_eq!(part(&warm.region.as_ref().unwrap().warmed), covered(2 * OF_FRAME, 2 + 2 * LINES));
    let json = serde_json::to_string(&Run::from(warm)).unwrap();
    assert_eq!(
        Run::parse(json.as_bytes()).unwrap().region().unwrap().from.as_deref(),
        Some("frame#3")
    );
}

#[test]
fn an_r10000_executes_a_region_and_has_no_warm_up() {
    let job = |warm_up| {
        let rate = Rate { period: None, seed: None };
        Job::new(machine(), frames(), rate).region(region(frame(Some(3)), frame(Some(4)), warm_up))
    };
    let unit = SampledUnit::R10000;
    let cold = job(None).run(unit, "instructions", |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((cold.instructions, cold.references), (1 + LINES, OF_FRAME));
    assert_eq!(cold.first.count, 1 + LINES);
    let warm = job(after(0)).run(unit, "instructions", |_| ControlFlow::Continue(()));
    assert_eq!(
        warm.unwrap_err().to_string(),
        "an R10000 has no warm-up: expected a region without one"
    );
}

/// Two strands on different nodes take turns to write to one line. Each write takes the line from the other node.
#[test]
fn lines_move_in_the_region() {
    const ROUNDS: u64 = 50;
    let text: String = (0..ROUNDS)
        .map(|_| "0 i 0x400000 4\n0 w 0x1000 8\n64 i 0x500000 4\n64 w 0x1008 8\n")
        .collect();
    let machine = Machine::new(platform::Model::Batoka, 2).unwrap();
    let moves = |region| {
        let job = sharing::Job::new(machine).region(region);
        let open = || Ok(recording(text.clone()));
        let report = job.run(open, |_, _| ControlFlow::Continue(())).unwrap();
        report.lines.iter().map(|line| line.moves.all()).sum::<u64>()
    };
    let whole = moves(Region::default());
    assert!(whole >= ROUNDS, "{whole}");
    // Of the last 20 writes, the first takes the line from memory if there is no warm-up.
    let [cold, warm] = [None, after(0)].map(|warm_up| moves(region(after(80), None, warm_up)));
    assert!(cold < warm && warm * 5 <= whole + 5, "{cold} {warm} {whole}");
}
