//! Tests `stat --orders`, and what `stat` says if a small change to the order of threads changes the result.

use serde_json::json;

use crate::program::{TestDirectory, squeezed, with_input};
use crate::stat::json;
use crate::stat_states::{SLEEP, Step, acquire, recording, release, sleep, sleepers};

/// Two threads take one lock. Thread 2 releases the lock, and then sleeps for 10 ms. Thread 3 sleeps for 10 ms while it holds the lock. If
/// thread 2 takes the lock first, the threads sleep at the same time. If thread 3 takes the lock first, thread 2 waits for the lock until
/// thread 3 has slept, and then sleeps.
///
/// In the first replay, both threads start at the same time. Thread 2 then takes the lock first, because its strand has a lower number. In
/// the next four replays, thread 2 starts 62, 253, 82 and 159 cycles later, and thread 3 starts 3, 16, 224 and 154 cycles later.
fn sensitive() -> Vec<u8> {
    recording(&[
        vec![Step::Instruction],
        vec![Step::Instruction],
        vec![acquire(0x9000, 0x2000), release(0x9000, 1), sleep(), Step::Instruction],
        vec![acquire(0x9000, 0x2010), sleep(), release(0x9000, 2), Step::Instruction],
    ])
}

/// Returns how many sleeps fit into this number of cycles: 1 if the threads sleep at the same time, 2 if they sleep one after the other.
/// The rest of the run must take less than 2,000 cycles.
fn sleeps(cycles: u64) -> u64 {
    assert!(cycles % SLEEP < 2_000, "{cycles}");
    cycles / SLEEP
}

#[test]
fn a_result_that_depends_on_the_order_says_so() {
    let place = TestDirectory::new("stat-orders");
    place.file("sensitive.refs", sensitive());
    let results = json(&place, "sensitive.refs");
    let checked: Vec<u64> = serde_json::from_value(results["orders"]["cycles"].clone()).unwrap();
    assert_eq!(checked.iter().map(|cycles| sleeps(*cycles)).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(results["orders"]["cycles"][0], results["cycles"]);
    let output = place.run("stat sensitive.refs").assert_success();
    let sentence = format!(
        "A slightly different order of threads changes the result by 100%, from {} to {} cycles: --orders N gives the spread.",
        checked[0], checked[1]
    );
    assert!(squeezed(&output).ends_with(&sentence), "{output}");

    let results = json(&place, "sensitive.refs --orders 5");
    let orders = &results["orders"];
    let cycles: Vec<u64> = serde_json::from_value(orders["cycles"].clone()).unwrap();
    assert_eq!(cycles[..2], checked);
    assert_eq!(cycles.iter().map(|cycles| sleeps(*cycles)).collect::<Vec<_>>(), [1, 2, 2, 1, 2]);
    let number = |name: &str| orders[name].as_u64().unwrap();
    let [least, median, most] = ["least", "median", "most"].map(number);
    assert_eq!([least, median, most].map(sleeps), [1, 2, 2]);
    let output = place.run("stat sensitive.refs --orders 5").assert_success();
    let text = output.lines().map(squeezed).collect::<Vec<_>>().join("\n");
    let table = format!(
        "
The cycles of 5 replays, in which each thread starts up to 255 cycles later:

cycles from the median
least {least} -50.0%
median {median} 0.0%
most {most} 0.0%"
    );
    assert!(text.ends_with(&table), "{output}");
    assert_eq!(place.run("stat sensitive.refs --orders 5").assert_success(), output);
}

#[test]
fn a_result_that_does_not_depend_on_the_order_says_nothing() {
    let place = TestDirectory::new("stat-no-orders");
    place.file("sleepers.refs", sleepers());
    let output = place.run("stat sleepers.refs").assert_success();
    assert!(!output.contains("different order"), "{output}");
    let results = json(&place, "sleepers.refs");
    assert_eq!(results["orders"]["cycles"].as_array().unwrap().len(), 2);
    // With one thread, there is no order to change.
    place.file("one.refs", recording(&[vec![Step::Instruction]]));
    assert_eq!(json(&place, "one.refs")["orders"], json!(null));
    place
        .run("stat one.refs --orders 2")
        .assert_failure("found 1 thread, expected several for --orders");
    // A recording from standard input cannot be replayed a second time.
    let piped = with_input(&["stat", "-"], sleepers()).assert_success();
    let sentence = "\nIt was not checked whether a slightly different order of threads changes the result: standard input\ncan be read only once.\n";
    assert!(piped.ends_with(sentence), "{piped}");
    with_input(&["stat", "-", "--orders", "2"], sleepers())
        .assert_failure("standard input can be read only once, expected a file for --orders");
}
