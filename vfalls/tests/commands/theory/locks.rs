//! Tests programs whose threads wait for each other. A program's source determines how long the program takes, and how long each thread
//! waits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use super::{on_both, record, replay};
use crate::program::{TestDirectory, squeezed};
use crate::stat::json;

/// The number of cycles in a unit of work in `locks.c`, which is a sleep of 1 ms. The machine executes 1,165,379,275 cycles per second.
const UNIT: u64 = 1_165_379;

/// The number of cycles that a thread spent in each state.
type States = BTreeMap<String, u64>;

fn cycles(results: &Value) -> u64 {
    results["cycles"].as_u64().unwrap()
}

/// Returns the states of each thread. Asserts that the cycles of a thread's states add up to the run's cycles.
fn states(results: &Value) -> Vec<States> {
    let threads = results["threads"].as_array().unwrap().iter();
    let threads: Vec<States> =
        threads.map(|one| serde_json::from_value(one["states"].clone()).unwrap()).collect();
    for thread in &threads {
        assert_eq!(thread.values().sum::<u64>(), cycles(results), "{thread:?}");
    }
    threads
}

/// Replays the file `recording`. Asserts that `stat` shows sums over threads for the whole run, and for each node with several threads.
/// Thread n is on node n modulo 4.
fn sums_are_shown(place: &TestDirectory, threads: &[States]) {
    const NAMES: [(&str, &str); 11] = [
        ("running", "running"),
        ("ready", "ready"),
        ("lock", "lock"),
        ("condition", "condition"),
        ("barrier", "barrier"),
        ("semaphore", "semaphore"),
        ("thread", "thread"),
        ("sleep", "sleep"),
        ("recorded", "as recorded"),
        ("not_begun", "not begun"),
        ("ended", "ended"),
    ];
    let text = place.run("stat recording --place spread").assert_success();
    let lines: Vec<_> = text.lines().map(squeezed).collect();
    let occur: Vec<_> =
        NAMES.into_iter().filter(|(key, _)| threads.iter().any(|one| one[*key] > 0)).collect();
    let header: Vec<_> = occur.iter().map(|(_, name)| *name).collect();
    let mut expected = vec![header.join(" ")];
    let mut row = |name: &str, of: &[&States]| {
        let all: u64 = of.iter().flat_map(|thread| thread.values()).sum();
        let shares = occur.iter().map(|(key, _)| {
            let cycles: u64 = of.iter().map(|thread| thread[*key]).sum();
            match cycles as f64 * 100.0 / all as f64 {
                0.0 => " -".to_owned(),
                share if share < 0.05 => " <0.1".to_owned(),
                share => format!(" {share:.1}"),
            }
        });
        expected.push(format!("{name}{}", shares.collect::<String>()));
    };
    for (number, thread) in threads.iter().enumerate() {
        row(&format!("thread {number}"), &[thread]);
    }
    for node in 0..4 {
        let on: Vec<_> = threads.iter().skip(node).step_by(4).collect();
        if on.len() > 1 {
            row(&format!("node {node}"), &on);
        }
    }
    row("all threads", &threads.iter().collect::<Vec<_>>());
    let begin =
        lines.iter().position(|line| *line == expected[0]).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(lines[begin..begin + expected.len()], expected, "{text}");
}

/// The times that a program must take according to its source, in units of work.
struct Theory<'a> {
    /// The time from the start of the first thread to the end of the last.
    takes: u64,
    /// How long each thread works. The main thread has no entry.
    works: &'a [u64],
    /// How long each thread waits. The main thread has no entry.
    waits: &'a [u64],
    state: &'a str,
}

impl Theory<'_> {
    /// Asserts that a program in `locks.c` takes as long as this theory says, and that each of its threads waits as long as the theory
    /// says. The program's time may differ by 2%. A thread's waiting time may differ by 2% and a tenth of a unit.
    #[track_caller]
    fn holds_for(&self, name: &str) {
        on_both(&format!("theory-{name}"), "locks", "-O2", |place, compiler| {
            let results = replay(place, &format!("./locks {name}"), "");
            let all = states(&results);
            sums_are_shown(place, &all);
            // The main thread only starts and joins the others.
            let threads = &all[1..];
            assert_eq!(threads.len(), self.waits.len(), "{compiler:?}");
            let least = |state: &str| threads.iter().map(|thread| thread[state]).min().unwrap();
            let took = cycles(&results) - least("not_begun") - least("ended");
            let expected = self.takes * UNIT;
            let apart = took.abs_diff(expected);
            assert!(apart <= expected / 50, "{compiler:?}: {took}, expected {expected}");
            for (thread, (works, waits)) in threads.iter().zip(self.works.iter().zip(self.waits)) {
                // Sleeps are whole cycles: 1,165,379 for one unit, and 2,330,758 for two.
                assert_eq!(thread["sleep"], works * UNIT, "{compiler:?}: {thread:?}");
                let expected = waits * UNIT;
                let apart = thread[self.state].abs_diff(expected);
                assert!(
                    apart <= expected / 50 + UNIT / 10,
                    "{compiler:?}, expected {expected}: {thread:?}"
                );
                let known = ["running", "sleep", "not_begun", "ended", self.state];
                let others = thread.iter().filter(|(state, _)| !known.contains(&&***state));
                let others: u64 = others.map(|(_, cycles)| cycles).sum();
                assert!(others <= UNIT / 10, "{compiler:?}: {thread:?}");
            }
            assert_eq!(results["waits"]["as_recorded"], 0, "{compiler:?}");
        });
    }
}

/// All times are in units. Each of four threads works 20 times with the mutex, which takes 4 * 20 * 1 = 80 units. The mutex goes to the
/// thread that has waited longest, so the threads take turns. Thread n's last turn lasts from time 76 + n to time 77 + n. Until then, the
/// thread works for 20 units, and waits for the other 77 + n - 20 units.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_mutex_is_held_by_one_thread_at_a_time() {
    Theory { takes: 80, works: &[20; 4], waits: &[57, 58, 59, 60], state: "lock" }
        .holds_for("mutex");
}

/// The threads wait for the same times as with the mutex.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_spin_lock_is_held_by_one_thread_at_a_time() {
    Theory { takes: 80, works: &[20; 4], waits: &[57, 58, 59, 60], state: "lock" }
        .holds_for("spin");
}

/// Thread 0 works for 1 unit before each of 20 barriers, which takes 20 * 1 = 20 units. Meanwhile, the three other threads wait.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_barrier_waits_for_the_late_thread() {
    Theory { takes: 20, works: &[20, 0, 0, 0], waits: &[0, 20, 20, 20], state: "barrier" }
        .holds_for("barrier");
}

/// All times are in units. Two of four threads work at the same time, and each thread works 20 times. This takes 4 * 20 * 1 / 2 = 40 units.
/// Threads 0 and 1 take turns with threads 2 and 3. The last turns of threads 0 and 1 last from time 38 to time 39, so these threads wait
/// for 39 - 20 units. The last turns of threads 2 and 3 last from time 39 to time 40, so these threads wait for 40 - 20 units.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_semaphore_of_two_lets_two_threads_work() {
    Theory { takes: 40, works: &[20; 4], waits: &[19, 19, 20, 20], state: "semaphore" }
        .holds_for("semaphore");
}

/// All times are in units. Each thread works 20 times for 1 unit with the lock and for 2 units without it. The writer starts first, and has
/// the lock from time 0 to time 1. The three readers wait for the lock, and share it from time 1 to time 2. After that, the lock is always
/// free when a thread needs it: the writer takes it at times 3, 6 and so on, and the readers take it at times 4, 7 and so on. The readers
/// therefore wait once, for 1 unit, and end at time 1 + 20 * 3 = 61.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn readers_share_a_lock_and_a_writer_does_not() {
    Theory { takes: 61, works: &[60; 4], waits: &[0, 1, 1, 1], state: "lock" }.holds_for("rwlock");
}

/// All times are in units. The producer works for 1 unit on each of 80 items, and the consumer works for 2 units on each item. The consumer
/// waits for the first item until time 1. After that, the consumer always finds an item: it takes item k at time 1 + 2k, and ends at time
/// 161, after 80 items. The queue has room for 4 items. From k = 8 on, the producer therefore puts item k into the queue at time 2k - 7,
/// when the consumer takes item k - 4. The producer puts in the last item, k = 79, at time 151, and has waited for 151 - 80 units.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_producer_waits_for_a_slow_consumer() {
    Theory { takes: 161, works: &[80, 160], waits: &[71, 1], state: "condition" }
        .holds_for("queue");
}

/// All times are in units. The first two stages are a producer that works for 1 unit on each of 80 items, and a consumer that works for 2
/// units on each item. The second stage puts item k into a second queue at time 3 + 2k. The third stage works for 1 unit on each item, and
/// then waits for the next item. It ends at time 3 + 2 * 79 + 1 = 162, and has waited for 162 - 80 units.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_pipeline_is_as_fast_as_its_slowest_stage() {
    Theory { takes: 162, works: &[80, 160, 80], waits: &[71, 1, 82], state: "condition" }
        .holds_for("pipeline");
}

/// Host threads that compute until this value is dropped.
struct Load {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn new(threads: usize) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let compute = || {
            let ends = Arc::clone(&ends);
            thread::spawn(move || while !ends.load(Ordering::Relaxed) {})
        };
        let threads = (0..threads).map(|_| compute()).collect();
        Self { ends, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A thread computes for 100 rounds with the lock, and for 150 rounds before it takes the lock again. In the meantime, three other threads
/// need the lock for 300 rounds, so almost all of the 8000 critical sections wait for the lock. During recording, the order in which
/// threads take the lock depends on the host, but in the replay it does not.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn recordings_on_an_idle_and_a_loaded_host_take_the_same_time() {
    on_both("theory-contended", "contended", "-O1", |place, compiler| {
        let run = |load: usize| {
            let load = Load::new(load);
            record(place, "./contended");
            drop(load);
            let results = json(place, "recording --place spread");
            states(&results);
            let lock = &results["waits"]["locks"][0];
            assert_eq!(lock["taken"], 8000, "{compiler:?}");
            let waits = lock["waits"].as_u64().unwrap();
            assert!((7950..8000).contains(&waits), "{compiler:?}: {waits}");
            cycles(&results)
        };
        let runs = [0, 4, 0, 4].map(run);
        let (least, most) = (runs.iter().min().unwrap(), runs.iter().max().unwrap());
        assert!(most - least <= least / 50, "{compiler:?}: {runs:?}");
    });
}
