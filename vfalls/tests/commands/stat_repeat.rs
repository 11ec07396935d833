//! Tests `stat --repeat`, with the real emulator.

use serde_json::Value;

use crate::program::{TestDirectory, contains_all};
use crate::record::HOST;
use crate::stat::json;

/// A program with three threads. Each thread takes the same lock five times, and sleeps for a millisecond each time while it holds the
/// lock.
const SLEEPERS: &str = r#"
#include <pthread.h>
#include <time.h>
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long words[100];
static void *work(void *own) {
    struct timespec millisecond = { 0, 1000000 };
    for (int round = 0; round < 5; round++) {
        pthread_mutex_lock(&table_lock);
        nanosleep(&millisecond, 0);
        for (int i = 0; i < 100; i++) words[i]++;
        pthread_mutex_unlock(&table_lock);
    }
    return 0;
}
int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return 0;
}
"#;

/// The number of cycles in a millisecond.
const MILLISECOND: u64 = 1_165_379;

#[test]
#[ignore = "needs qemu-user"]
fn recordings_of_one_program_take_the_same_time() {
    let place = TestDirectory::new("stat-repeat");
    HOST.compile(&place, "sleepers", SLEEPERS, &[]);
    let ended = place.run("stat --repeat 3 --json repeats.json -- ./sleepers");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let recorded = ["(recording 1 of 3)\n", "(recording 2 of 3)\n", "threads in vfalls.refs\n"];
    contains_all(&ended.stderr, &recorded);
    assert!(
        ended.stdout.contains("\nThe cycles of 3 recordings of the program:\n\n"),
        "{}",
        ended.stdout
    );
    let results = place.json("repeats.json");
    let cycles: Vec<u64> = serde_json::from_value(results["repeats"]["cycles"].clone()).unwrap();
    assert_eq!(cycles.len(), 3);
    assert_eq!(results["cycles"], cycles[2]);
    let [least, most] = ["least", "most"].map(|of| results["repeats"][of].as_u64().unwrap());
    assert!(most <= least + least / 50, "{cycles:?}");
    // The 15 sections come one after another, and each takes a millisecond.
    assert!((15 * MILLISECOND..16 * MILLISECOND).contains(&least), "{least}");
    // Only the last recording is kept.
    let refs: Vec<_> = place.names(".").into_iter().filter(|name| name.contains("refs")).collect();
    assert_eq!(refs, ["vfalls.refs"]);
    assert_eq!(json(&place, "vfalls.refs")["cycles"], cycles[2]);

    // Each thread sleeps for five milliseconds, and waits while the other threads sleep.
    let threads = results["threads"].as_array().unwrap();
    let of = |thread: &Value, state: &str| thread["states"][state].as_u64().unwrap();
    for thread in &threads[1..] {
        assert_eq!(of(thread, "sleep"), 5 * MILLISECOND);
        assert!(of(thread, "lock") > 4 * MILLISECOND, "{thread}");
    }
    assert!(of(&threads[0], "thread") > 14 * MILLISECOND);
    let lock = &results["waits"]["locks"][0];
    assert_eq!(lock["taken"], 15);
    let row = ended.stdout.lines().find(|line| line.starts_with("table_lock"));
    assert!(row.is_some_and(|row| row.ends_with("work (sleepers.c:9)")), "{}", ended.stdout);
}

#[test]
fn a_recording_is_not_repeated() {
    let place = TestDirectory::new("stat-no-repeat");
    place.file("refs", "0 r 0x1000\n");
    place.run("stat --repeat 2 refs").assert_failure("expected a program");
}
