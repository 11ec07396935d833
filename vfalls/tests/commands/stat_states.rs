//! Tests what `stat` reports about the states of threads. The tests write their own recordings, which say when threads lock, release and
//! sleep.

use std::sync::Mutex;

use refs::{
    Acquire, BlockDefinition, Cause, Definitions, Encoder, Exit, FILE_HEADER, Frame, Log, Order,
    Stored,
};
use serde_json::{Value, json};

use crate::program::{TestDirectory, contains_all, squeezed};
use crate::stat::json;

/// The number of cycles in a sleep of 10 ms. The machine executes 1,165,379,275 cycles per second.
pub(crate) const SLEEP: u64 = 11_653_792;

/// A thread's step in a recording that a test writes: an instruction at 0x1000, or an order.
pub(crate) enum Step {
    Instruction,
    Order(Order),
}

pub(crate) fn acquire(lock: u64, site: u64) -> Step {
    Step::Order(Order::Acquire(Acquire { lock, shared: false, site }))
}

pub(crate) fn release(lock: u64, signal: u64) -> Step {
    Step::Order(Order::Release { lock, signal })
}

pub(crate) fn sleep() -> Step {
    Step::Order(Order::Sleep(10_000_000))
}

pub(crate) fn recording(threads: &[Vec<Step>]) -> Vec<u8> {
    let definitions = Mutex::new(Definitions::default());
    let (sizes, exit, classes) = (vec![4], Exit::None, vec![]);
    let block = BlockDefinition { address: 0x1000, sizes, exit, classes };
    let block = definitions.lock().unwrap().block(block).unwrap();
    let (mut frames, mut references) = (Vec::new(), 0);
    for (number, steps) in (0..).zip(threads) {
        let mut log = Log::default();
        for step in steps {
            match step {
                Step::Instruction => log.block(block),
                Step::Order(order) => log.order(*order),
            }
        }
        let mut frame = Frame::default();
        Encoder::new(number).encode(&mut log, true, &definitions, &mut frame).unwrap();
        references += frame.references;
        frames.push(frame);
    }
    let mut defined = Frame::default();
    definitions.lock().unwrap().take(&mut defined);
    frames.insert(0, defined);
    frames.push(Frame::end(references, Some(0)));
    let mut file = FILE_HEADER.to_vec();
    for frame in frames {
        file.extend(frame.header(Stored::Plain, &frame.content));
        file.extend(frame.content);
    }
    file
}

/// Returns a recording of two threads that take the same lock in the same place, and sleep for 10 ms while they hold it.
pub(crate) fn sleepers() -> Vec<u8> {
    let thread = |signal| {
        let [one, other] = [Step::Instruction, Step::Instruction];
        vec![one, acquire(0x9000, 0x2000), sleep(), release(0x9000, signal), other]
    };
    recording(&[thread(1), thread(2)])
}

fn states(results: &Value, thread: usize, state: &str) -> u64 {
    results["threads"][thread]["states"][state].as_u64().unwrap()
}

#[test]
fn a_thread_waits_while_another_sleeps_with_the_lock() {
    let place = TestDirectory::new("stat-sleepers");
    place.file("sleepers.refs", sleepers());
    let results = json(&place, "sleepers.refs");
    let run = results["cycles"].as_u64().unwrap();
    assert!((2 * SLEEP..2 * SLEEP + 2_000).contains(&run), "{run}");
    for thread in 0..2 {
        assert_eq!(states(&results, thread, "sleep"), SLEEP);
        let all = results["threads"][thread]["states"].as_object().unwrap();
        assert_eq!(all.values().map(|cycles| cycles.as_u64().unwrap()).sum::<u64>(), run);
    }
    // The two threads begin at the same time, and the thread on the first strand takes the lock first.
    assert_eq!(states(&results, 0, "lock"), 0);
    let waited = states(&results, 1, "lock");
    assert!((SLEEP - 1_000..=SLEEP + 1_000).contains(&waited), "{waited}");
    let waits = &results["waits"];
    let wait = json!({
        "thread": 1, "state": "lock", "ended_by": 0, "times": 1, "cycles": waited,
    });
    assert_eq!(waits["pairs"], json!([wait]));
    let site = json!({ "address": "0x2000", "threads": 2, "least": 1, "most": 1 });
    let lock = json!({
        "program": 0, "address": "0x9000", "taken": 2, "waits": 1, "cycles": waited, "sites": [site],
    });
    assert_eq!(waits["locks"], json!([lock]));

    let output = place.run("stat sleepers.refs").assert_success();
    let lines: Vec<String> = output.lines().map(squeezed).collect();
    let text = lines.join("\n");
    let tables = format!(
        "
The time of each thread, in percent of the run of {run} cycles:

running lock sleep ended
thread 0 <0.1 - 50.0 50.0
thread 1 <0.1 50.0 50.0 -
all threads <0.1 25.0 50.0 25.0

Who waits for whom, longest waits first:

thread waits for ended by thread times cycles
1 lock 0 1 {waited}

The locks with the longest waits:

lock taken waits cycles waited taken at
0x9000 2 1 {waited} 0x2000"
    );
    assert!(text.ends_with(&tables), "{output}");
    // The columns align: all rows of the table are as wide as its header.
    let rows = output.lines().skip_while(|line| !line.ends_with("ended"));
    let ends: Vec<_> =
        rows.take(4).map(|row| row.find("<0.1").map_or(row.len(), |at| at + 4)).collect();
    assert_eq!(ends[1..], [ends[1]; 3], "{output}");

    // A node with several threads has its own row, unless all threads are on it.
    let both = place.run("stat sleepers.refs sleepers.refs --place 0,1,64,128").assert_success();
    let named: Vec<_> = both.lines().filter(|line| line.starts_with("node ")).collect();
    assert_eq!(named.len(), 1, "{both}");
    assert!(squeezed(named[0]).starts_with("node 0 <0.1 25.0 50.0 25.0"), "{both}");
    let alone = place.run("stat --bundled --place deal:0 -e pic:Instr_cnt");
    assert!(!alone.stdout.contains("The time of each thread"), "{}", alone.stdout);
}

/// The recording says that one critical section comes after another section of the same lock. In the replay, the later section waits for
/// the lock.
#[test]
fn a_wait_for_an_earlier_section_is_a_wait_for_its_lock() {
    let place = TestDirectory::new("stat-section");
    let first = vec![acquire(0x9000, 0x2000), sleep(), release(0x9000, 1), Step::Instruction];
    let section = Step::Order(Order::Wait(Cause::Section, 1));
    let second = vec![section, acquire(0x9000, 0x2000), release(0x9000, 2), Step::Instruction];
    place.file("section.refs", recording(&[first, second]));
    let waits = &json(&place, "section.refs")["waits"];
    let lock = &waits["locks"][0];
    assert_eq!((&lock["waits"], &waits["kept_orders"]), (&1.into(), &1.into()));
    assert_eq!(lock["cycles"], SLEEP);
    assert_eq!(waits["pairs"][0]["state"], "lock");
}

/// The details say which state each thread was in over time, and the page draws these states.
#[test]
fn a_page_draws_who_runs_and_who_waits() {
    let place = TestDirectory::new("stat-time-line");
    place.file("sleepers.refs", sleepers());
    let results = json(&place, "sleepers.refs --details --html page.html");
    let run = results["cycles"].as_u64().unwrap();
    let line = &results["details"]["timeline"];
    let ends = line["cycles"].as_array().unwrap();
    // The run takes about 91,000 * 256 cycles. A column is 256 cycles wide, doubled nine times, so the run has 178 columns.
    assert_eq!((&ends[0], ends.len()), (&(256 << 9).into(), run.div_ceil(256 << 9) as usize));
    assert_eq!(ends[ends.len() - 1], run);
    for thread in 0..2 {
        let line = &line["threads"][thread];
        assert_eq!(line["thread"], thread);
        for (state, columns) in line["states"].as_object().unwrap() {
            let columns = columns.as_array().unwrap();
            let sum: u64 = columns.iter().map(|cycles| cycles.as_u64().unwrap()).sum();
            assert_eq!(sum, states(&results, thread, state), "{thread} {state}");
        }
    }
    // Thread 1 waits in the first half of the run, and sleeps in the second half.
    let column = |state: &str, number: usize| line["threads"][1]["states"][state][number].clone();
    assert_eq!([column("lock", 5), column("sleep", 5)], [256 << 9, 0]);
    assert_eq!([column("lock", 150), column("sleep", 150)], [0, 256 << 9]);

    let page = std::fs::read_to_string(place.at("page.html")).unwrap();
    let drawn = [
        "<figure id=\"states\"",
        "<figure id=\"time-line\"",
        "<figure id=\"who-waits\"",
        "<figure id=\"locks\"",
        "<li><span class=\"c4\"></span>waits for a lock</li>",
        "<li><span class=\"c0\"></span>sleeps</li>",
        // Thread 1 waits for the lock (orange), and then sleeps (grey).
        "<title>thread 1</title>",
        "<td class=\"w\">0x9000</td><td>2</td><td>1</td>",
    ];
    contains_all(&page, &drawn);
    assert_eq!(place.run("page results.json").assert_success(), page);
    // Without details, the page has no time line.
    let page = place.run("stat sleepers.refs --json short.json");
    assert_eq!(page.status, 0);
    let page = place.run("page short.json").assert_success();
    assert!(page.contains("<figure id=\"states\"") && !page.contains("time-line"), "{page}");
}

#[test]
fn what_the_recording_decided_is_said() {
    let place = TestDirectory::new("stat-decided");
    let wake = Step::Order(Order::Wait(Cause::Wake, 9));
    let first = vec![
        Step::Instruction,
        acquire(0x9000, 0x2000),
        release(0x9000, 1),
        Step::Order(Order::Call(0)),
        Step::Order(Order::LeftOut(7)),
        Step::Order(Order::Signal(9)),
        Step::Instruction,
    ];
    let second = vec![
        Step::Instruction,
        acquire(0x9000, 0x2000),
        release(0x9000, 2),
        acquire(0x9000, 0x2000),
        release(0x9000, 3),
        wake,
        Step::Instruction,
    ];
    place.file("decided.refs", recording(&[first, second]));
    let output = place.run("stat decided.refs").assert_success();
    let parts = [
        "The order of the lock at 0x2000 decides which thread does which work: the recording host decided it.\n",
        "1 wait is as recorded: the lock is not known (in 0x1000).\n",
        "System calls that may block take no time: 1 read.\n",
        "7 recorded references of threads that waited for locks are left out: the machine's waits replace\nthem.\n",
    ];
    contains_all(&output, &parts);
    let waits = &json(&place, "decided.refs")["waits"];
    assert_eq!(waits["as_recorded"], 1);
    assert_eq!(waits["recorded_at"], json!([{ "program": 0, "address": "0x1000", "waits": 1 }]));
    // If one thread's references are dealt to several strands, the strands wait for their turns. These waits are not waits of the program.
    let one = (0..2000).map(|_| Step::Instruction).collect();
    place.file("one.refs", recording(&[one]));
    let dealt = json(&place, "one.refs --place deal:0,64");
    assert_eq!(
        (&dealt["waits"]["as_recorded"], &dealt["waits"]["recorded_at"]),
        (&0.into(), &json!([]))
    );
}

/// Each thread sleeps while it holds one lock, and then waits for the other thread's lock. No thread can end these waits, so the replay
/// cuts one of them short.
#[test]
fn threads_that_wait_for_each_other_go_on() {
    let place = TestDirectory::new("stat-circle");
    let thread = |own: u64, other: u64, signal: u64| {
        vec![
            acquire(own, 0x2000),
            sleep(),
            acquire(other, 0x2010),
            release(other, signal),
            release(own, signal + 1),
            Step::Instruction,
        ]
    };
    place.file("circle.refs", recording(&[thread(0x9000, 0xa000, 1), thread(0xa000, 0x9000, 3)]));
    let ended = place.run("stat circle.refs");
    assert_eq!(ended.status, 0);
    let note = "note: circle.refs has threads whose waits for locks, semaphores or barriers no thread can end (waits cut short: 1)\n";
    assert_eq!(ended.stderr, note);
}
