//! What differs between two runs.

use serde_json::{Value, json};

use crate::program::{Place, xtask};

fn files(place: &Place, a: &Value, b: &Value) -> [String; 2] {
    [("a.json", a), ("b.json", b)].map(|(name, run)| place.file(name, run.to_string()))
}

#[test]
fn the_largest_differences_come_first() {
    let place = Place::new("diff");
    let a = json!({
        "placement": "spread", "cycles": 1000, "references": 7, "truth_matches": true,
        "threads": [{ "thread": 0, "strand": 0, "cycles": 400, "served": { "l2": 5 } }, { "thread": 1, "strand": 64, "cycles": 300 }],
        "counters": [{ "name": "NODE0_MCU0_PIC", "counter": 0, "event": "mem_reads", "strand": null, "measured": 12, "truth": 12 }],
    });
    let b = json!({
        "placement": "pack", "cycles": 800, "references": 7, "truth_matches": true,
        "threads": [{ "thread": 0, "strand": 0, "cycles": 390, "served": { "l2": 5 } }, { "thread": 1, "strand": 1, "cycles": 450 }],
        "counters": [{ "name": "NODE0_MCU0_PIC", "counter": 0, "event": "mem_reads", "strand": null, "measured": 15, "truth": 15 },
                     { "name": "NODE0_MCU1_PIC", "counter": 0, "event": "mem_reads", "strand": null, "measured": 4, "truth": 5 }],
    });
    let [a, b] = files(&place, &a, &b);
    let json = place.path().join("d.json");
    let shown = xtask(&["diff", &a, &b, "--json", json.to_str().unwrap()]).well();
    let lines: Vec<_> = (shown.lines())
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let heading = |words: &str| format!("{words} {a} {b}");
    assert_eq!(
        lines,
        [
            &*heading("set"),
            "placement spread pack",
            "",
            &*format!("{} change %", heading("run")),
            "cycles 1000 800 -200 -20.0",
            "",
            &*format!("{} change %", heading("counters")),
            "NODE0_MCU1_PIC mem_reads counter 0 truth - 5 +5 -",
            "NODE0_MCU1_PIC mem_reads counter 0 measured - 4 +4 -",
            "NODE0_MCU0_PIC mem_reads counter 0 measured 12 15 +3 +25.0",
            "NODE0_MCU0_PIC mem_reads counter 0 truth 12 15 +3 +25.0",
            "",
            &*format!("{} change %", heading("threads")),
            "thread 1 cycles 300 450 +150 +50.0",
            "thread 0 cycles 400 390 -10 -2.5",
        ]
    );
    let written: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(
        written["settings"],
        json!([{ "name": "placement", "a": "spread", "b": "pack" }])
    );
    assert_eq!(
        written["numbers"][0],
        json!({ "group": "run", "name": "cycles", "a": 1000.0, "b": 800.0, "change": -200.0 })
    );
    assert_eq!(written["numbers"].as_array().unwrap().len(), 7);
}

#[test]
fn rows_beyond_the_bound_are_counted_and_none_hides_another() {
    let place = Place::new("diff-most");
    let rows = |first: u32| json!({ "rows": [{ "name": "f", "exact": first }, { "name": "f", "exact": 2 }, { "name": "g", "exact": first }] });
    let [a, b] = files(&place, &rows(1), &rows(9));
    let shown = xtask(&["diff", &a, &b, "--most", "1"]).well();
    assert!(shown.contains("f exact"), "{shown}");
    assert!(shown.ends_with("... and 1 more\n"), "{shown}");
    let [a, b] = files(
        &place,
        &json!({ "rows": [{ "name": "f", "exact": 1 }, { "name": "f", "exact": 2 }] }),
        &json!({ "rows": [{ "name": "f", "exact": 1 }, { "name": "f", "exact": 3 }] }),
    );
    let shown = xtask(&["diff", &a, &b]).well();
    assert!(shown.contains("f (2) exact"), "{shown}");
    assert_eq!(xtask(&["diff", &a, &a]).well(), "nothing differs\n");
}

#[test]
fn what_is_no_run_is_named() {
    let place = Place::new("diff-bad");
    let good = place.file("good.json", "{}");
    for (name, text) in [
        ("text.json", "cycles 7"),
        ("list.json", "[1]"),
        ("cut.json", "{\"a\": "),
    ] {
        let bad = place.file(name, text);
        for files in [[&good, &bad], [&bad, &good]] {
            xtask(&["diff", files[0], files[1]]).badly(&format!(
                "{bad}: expected what a run has written with --json"
            ));
        }
    }
    xtask(&["diff", &good, "nowhere.json"]).badly("nowhere.json: cannot be read");
}

/// What is the same is found in both runs, wherever it is in their lists.
#[test]
fn traffic_is_compared_by_nodes_and_kind() {
    let place = Place::new("diff-traffic");
    let lines =
        |to: usize, lines: usize| json!({ "from": 0, "to": to, "kind": "memory", "lines": lines });
    let a = json!({ "traffic": [lines(1, 7), lines(2, 5)] });
    let b = json!({ "traffic": [lines(2, 8)] });
    let [a, b] = files(&place, &a, &b);
    let shown = xtask(&["diff", &a, &b]).well();
    let rows: Vec<_> = (shown.lines().skip(1))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "memory from 0 to 1 lines 7 - -7 -100.0",
            "memory from 0 to 2 lines 5 8 +3 +60.0",
        ]
    );
}
