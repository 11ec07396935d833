use serde_json::{Value, json};

use crate::program::{TestDirectory, squeezed, vfalls};

fn files(place: &TestDirectory, a: &Value, b: &Value) -> [String; 2] {
    [("a.json", a), ("b.json", b)].map(|(name, run)| place.file(name, run.to_string()))
}

fn replay() -> Value {
    serde_json::from_str(include_str!("report.json")).unwrap()
}

#[test]
fn differences_are_shown_by_group() {
    let place = TestDirectory::new("diff");
    let (a, mut b) = (replay(), replay());
    b["placement"] = "pack".into();
    b["cycles"] = 800_000.into();
    b["threads"][0]["cycles"] = 390_000.into();
    b["threads"][1]["strand"] = 1.into();
    b["threads"][1]["cycles"] = 1_500_000.into();
    let counters = b["counters"].as_array_mut().unwrap();
    let mut other = counters[0].clone();
    other["name"] = "NODE0_MCU1_PIC".into();
    for (counter, measured, truth) in [(&mut counters[0], 85, 66), (&mut other, 40, 39)] {
        (counter["measured"], counter["truth"]) = (measured.into(), truth.into());
    }
    counters.push(other);
    let [a, b] = files(&place, &a, &b);
    let shown = vfalls(&["diff", &a, &b, "--json", &place.at("d.json")]).assert_success();
    let lines: Vec<_> = shown.lines().map(squeezed).collect();
    let heading = |words: &str| format!("{words} {a} {b}");
    assert_eq!(
        lines,
        [
            &*heading("set"),
            "placement spread pack",
            "",
            &*format!("{} change %", heading("run")),
            "cycles 1000000 800000 -200000 -20.0",
            "",
            &*format!("{} change %", heading("counters")),
            // A difference's rank is its relative change times the square root of a share. The share is the count divided by the sum of all
            // counts of its kind, both in the second run. For the measured counts, the rank is 1 * (40/125)^0.5 and 15/85 * (85/125)^0.5;
            // for the true count, it is 1 * (39/105)^0.5. The true count of the last counter changes by 6, which is little for 1,000,000
            // cycles.
            "NODE0_MCU1_PIC mem_reads counter 0 truth - 39 +39 -",
            "NODE0_MCU1_PIC mem_reads counter 0 measured - 40 +40 -",
            "NODE0_MCU0_PIC mem_reads counter 0 measured 70 85 +15 +21.4",
            "",
            &*format!("{} change %", heading("threads")),
            "thread 1 cycles 1000000 1500000 +500000 +50.0",
            "thread 0 cycles 400000 390000 -10000 -2.5",
            "",
            "1 row with small counts is omitted; --all shows it",
        ]
    );
    let all = vfalls(&["diff", &a, &b, "--all"]).assert_success();
    let row = "NODE0_MCU0_PIC mem_reads counter 0 truth 60 66 +6 +10.0";
    assert!(all.lines().map(squeezed).any(|line| line == row), "{all}");
    assert!(!all.contains("left out"), "{all}");
    let written = place.json("d.json");
    assert_eq!(written["settings"], json!([{ "name": "placement", "a": "spread", "b": "pack" }]));
    assert_eq!(
        written["numbers"][0],
        json!({ "group": "run", "name": "cycles", "a": 1_000_000.0, "b": 800_000.0, "change": -200_000.0 })
    );
    assert_eq!(written["numbers"].as_array().unwrap().len(), 7);
}

/// Returns a run of 17 million cycles with six channels, and with hubs, strands and threads that have these counts.
fn padded(reads: [u64; 6], snoops: [u64; 4], misses: u64, cycles: u64) -> Value {
    let mut run = replay();
    (run["nodes"], run["cycles"]) = (4.into(), cycles.into());
    let channel = |(number, reads): (usize, &u64)| json!({ "node": number / 2, "mcu": number % 2, "reads": reads, "writes": reads + 1, "busy": 40 * reads, "waited": 0, "limit": 1 });
    run["channels"] = reads.iter().enumerate().map(channel).collect();
    let counter = |register: u64, name: &str, event: &str, count: u64| json!({ "perfreg": register, "counter": 0, "strand": null, "name": name, "event": event, "measured": count, "truth": count });
    let mut counters: Vec<Value> = (snoops.iter().zip(0..))
        .map(|(count, hub)| {
            counter(20 + 18 * hub, &format!("ZAM{hub}_LPU_A_PIC0"), "cycles_READ_or_INV", *count)
        })
        .collect();
    let mut strand = counter(0, "%pic", "L2_dmiss_ld", misses);
    (strand["perfreg"], strand["strand"]) = (Value::Null, 0.into());
    counters.push(strand);
    run["counters"] = counters.into();
    run
}

/// Padding removes false sharing: a strand's misses fall by 98.9%. Rows with small counts do not hide this.
#[test]
fn what_matters_comes_first() {
    let place = TestDirectory::new("diff-matters");
    let a = padded([3, 5, 9, 14, 20, 31], [70_000, 69_950, 70_010, 70_100], 90_000, 17_020_000);
    let b = padded([8, 2, 1, 29, 12, 38], [70_020, 69_900, 70_000, 70_000], 990, 13_820_000);
    let [a, b] = files(&place, &a, &b);
    let shown = vfalls(&["diff", &a, &b]).assert_success();
    let lines: Vec<_> = shown.lines().map(squeezed).collect();
    let heading = |group: &str| format!("{group} {a} {b} change %");
    assert_eq!(
        lines,
        [
            &*heading("run"),
            "cycles 17020000 13820000 -3200000 -18.8",
            "",
            &*heading("counters"),
            "%pic L2_dmiss_ld counter 0 measured 90000 990 -89010 -98.9",
            "",
            // The 22 rows are the reads, writes and busy cycles of six channels, and the counts of four hubs.
            "22 rows with small counts are omitted; --all shows them",
        ]
    );
    let all = vfalls(&["diff", &a, &b, "--all"]).assert_success();
    assert_eq!(all.matches("reads").count(), 6, "{all}");
    let [pic, channel] =
        ["%pic L2_dmiss_ld counter 0 measured", "node 0 mcu 0 reads"].map(|row| all.find(row));
    assert!(pic < channel, "{all}");
}

/// The output omits changes that are not larger than the spread of the cycles.
#[test]
fn changes_within_the_spread_are_left_out() {
    let place = TestDirectory::new("diff-spread");
    let run = |misses: u64, threads: [u64; 2], cycles: u64| {
        let mut run = padded([0; 6], [0; 4], misses, cycles);
        for (number, cycles) in threads.iter().enumerate() {
            run["threads"][number]["cycles"] = (*cycles).into();
        }
        // The longest replay is 10% longer than the shortest.
        let [least, most] = [cycles, cycles + cycles / 10];
        run["orders"] =
            json!({ "least": least, "median": least, "most": most, "cycles": [least, most] });
        run
    };
    let [a, b] = files(
        &place,
        &run(1_000_000, [4_000_000, 4_000_000], 10_000_000),
        &run(1_050_000, [6_000_000, 4_200_000], 10_200_000),
    );
    let shown = vfalls(&["diff", &a, &b]).assert_success();
    let lines: Vec<_> = shown.lines().map(squeezed).collect();
    let heading = |group: &str| format!("{group} {a} {b} change %");
    assert_eq!(
        lines,
        [
            &*heading("run"),
            "cycles 10000000 10200000 +200000 +2.0",
            "",
            &*heading("threads"),
            "thread 0 cycles 4000000 6000000 +2000000 +50.0",
            "",
            "2 rows within the spread of the cycles (10.0%) are omitted; --all shows them",
        ]
    );
}

#[test]
fn rows_beyond_the_bound_are_counted_and_none_hides_another() {
    let place = TestDirectory::new("diff-most");
    let run = |rows: &[(&str, u64)]| {
        let mut run: Value = serde_json::from_str(include_str!("profile.json")).unwrap();
        let some = run["rows"][0].clone();
        let row = |(name, exact): &(&str, u64)| {
            let mut row = some.clone();
            (row["name"], row["exact"]) = ((*name).into(), (*exact).into());
            row
        };
        run["rows"] = rows.iter().map(row).collect();
        run
    };
    let rows = |first| run(&[("f", first), ("f", 2), ("g", first)]);
    let [a, b] = files(&place, &rows(1), &rows(9));
    let shown = vfalls(&["diff", &a, &b, "--most", "1"]).assert_success();
    assert!(shown.contains("f exact"), "{shown}");
    assert!(shown.ends_with("... and 1 more\n"), "{shown}");
    let [a, b] = files(&place, &run(&[("f", 1), ("f", 2)]), &run(&[("f", 1), ("f", 3)]));
    let shown = vfalls(&["diff", &a, &b]).assert_success();
    assert!(shown.contains("f (2) exact"), "{shown}");
    assert_eq!(vfalls(&["diff", &a, &a]).assert_success(), "nothing differs\n");
}

#[test]
fn what_is_no_run_is_named() {
    let place = TestDirectory::new("diff-bad");
    let good = place.file("good.json", replay().to_string());
    let mut other_version = replay();
    other_version["version"] = 999.into();
    let other_version = other_version.to_string();
    for (name, text, says) in [
        ("text.json", "cycles 7", "is not JSON"),
        ("list.json", "[1]", "is not a run: it has no version"),
        ("cut.json", "{\"a\": ", "is not JSON"),
        ("other.json", &other_version, "is a run of format version 999, expected version 1"),
    ] {
        let bad = place.file(name, text);
        for files in [[&good, &bad], [&bad, &good]] {
            vfalls(&["diff", files[0], files[1]]).assert_failure(&format!("{bad}: {says}"));
        }
    }
    vfalls(&["diff", &good, "nowhere.json"]).assert_failure("nowhere.json: cannot be read");
}

/// List entries are matched by their fields, not by their positions.
#[test]
fn traffic_is_compared_by_nodes_and_kind() {
    let place = TestDirectory::new("diff-traffic");
    let lines = |to: usize, lines: usize| json!({ "from": 0, "to": to, "kind": "memory", "lines": 1_000 * lines });
    let run = |traffic: Value| {
        let mut run = replay();
        (run["nodes"], run["traffic"]) = (4.into(), traffic);
        run
    };
    let a = run(json!([lines(1, 7), lines(2, 5)]));
    let [a, b] = files(&place, &a, &run(json!([lines(2, 8)])));
    let shown = vfalls(&["diff", &a, &b]).assert_success();
    let rows: Vec<_> = shown.lines().skip(1).map(squeezed).collect();
    let expected = [
        "memory from 0 to 1 lines 7000 - -7000 -100.0",
        "memory from 0 to 2 lines 5000 8000 +3000 +60.0",
    ];
    assert_eq!(rows, expected);
}

/// A run lists the longest waits first, so a wait's position does not identify it.
#[test]
fn waits_are_compared_by_threads_and_locks_by_addresses() {
    let place = TestDirectory::new("diff-waits");
    let wait = |state: &str, ended_by: usize, cycles: u64| json!({ "thread": 0, "state": state, "ended_by": ended_by, "times": 1, "cycles": cycles });
    let lock = |address: &str, cycles: u64| json!({ "program": 0, "address": address, "taken": 9, "waits": 1, "cycles": cycles, "sites": [] });
    let run = |pairs: Value, locks: Value| {
        let mut run = replay();
        run["waits"] = json!({
            "pairs": pairs, "locks": locks, "as_recorded": 0, "recorded_at": [], "calls": {}, "kept_orders": 0, "left_out": 0
        });
        run
    };
    let [a, b] = files(
        &place,
        &run(
            json!([wait("barrier", 1, 9_000), wait("lock", 1, 5_000)]),
            json!([lock("0x20", 7_000), lock("0x10", 4_000)]),
        ),
        &run(
            json!([wait("lock", 1, 6_500), wait("barrier", 1, 2_000)]),
            json!([lock("0x10", 9_000), lock("0x20", 3_000)]),
        ),
    );
    let shown = vfalls(&["diff", &a, &b]).assert_success();
    let rows: Vec<_> = shown.lines().skip(1).map(squeezed).collect();
    let expected = [
        "pairs thread 0 barrier ended by 1 cycles 9000 2000 -7000 -77.8",
        "locks program 0 0x10 cycles 4000 9000 +5000 +125.0",
        "locks program 0 0x20 cycles 7000 3000 -4000 -57.1",
        "pairs thread 0 lock ended by 1 cycles 5000 6500 +1500 +30.0",
    ];
    assert_eq!(rows, expected);
}
