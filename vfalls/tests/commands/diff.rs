use serde_json::{Value, json};

use crate::program::{Place, squeezed, vfalls};

fn files(place: &Place, a: &Value, b: &Value) -> [String; 2] {
    [("a.json", a), ("b.json", b)].map(|(name, run)| place.file(name, run.to_string()))
}

fn replay() -> Value {
    serde_json::from_str(include_str!("report.json")).unwrap()
}

#[test]
fn the_largest_differences_come_first() {
    let place = Place::new("diff");
    let (a, mut b) = (replay(), replay());
    b["placement"] = "pack".into();
    b["cycles"] = 800_000.into();
    b["threads"][0]["cycles"] = 390_000.into();
    b["threads"][1]["strand"] = 1.into();
    b["threads"][1]["cycles"] = 1_500_000.into();
    let counters = b["counters"].as_array_mut().unwrap();
    let mut other = counters[0].clone();
    other["name"] = "NODE0_MCU1_PIC".into();
    for (counter, measured, truth) in [(&mut counters[0], 85, 66), (&mut other, 4, 5)] {
        (counter["measured"], counter["truth"]) = (measured.into(), truth.into());
    }
    counters.push(other);
    let [a, b] = files(&place, &a, &b);
    let shown = vfalls(&["diff", &a, &b, "--json", &place.at("d.json")]).well();
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
            "NODE0_MCU0_PIC mem_reads counter 0 measured 70 85 +15 +21.4",
            "NODE0_MCU0_PIC mem_reads counter 0 truth 60 66 +6 +10.0",
            "NODE0_MCU1_PIC mem_reads counter 0 truth - 5 +5 -",
            "NODE0_MCU1_PIC mem_reads counter 0 measured - 4 +4 -",
            "",
            &*format!("{} change %", heading("threads")),
            "thread 1 cycles 1000000 1500000 +500000 +50.0",
            "thread 0 cycles 400000 390000 -10000 -2.5",
        ]
    );
    let written = place.json("d.json");
    assert_eq!(written["settings"], json!([{ "name": "placement", "a": "spread", "b": "pack" }]));
    assert_eq!(
        written["numbers"][0],
        json!({ "group": "run", "name": "cycles", "a": 1_000_000.0, "b": 800_000.0, "change": -200_000.0 })
    );
    assert_eq!(written["numbers"].as_array().unwrap().len(), 7);
}

#[test]
fn rows_beyond_the_bound_are_counted_and_none_hides_another() {
    let place = Place::new("diff-most");
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
    let shown = vfalls(&["diff", &a, &b, "--most", "1"]).well();
    assert!(shown.contains("f exact"), "{shown}");
    assert!(shown.ends_with("... and 1 more\n"), "{shown}");
    let [a, b] = files(&place, &run(&[("f", 1), ("f", 2)]), &run(&[("f", 1), ("f", 3)]));
    let shown = vfalls(&["diff", &a, &b]).well();
    assert!(shown.contains("f (2) exact"), "{shown}");
    assert_eq!(vfalls(&["diff", &a, &a]).well(), "nothing differs\n");
}

#[test]
fn what_is_no_run_is_named() {
    let place = Place::new("diff-bad");
    let good = place.file("good.json", replay().to_string());
    let mut other_version = replay();
    other_version["version"] = 999.into();
    let other_version = other_version.to_string();
    for (name, text, says) in [
        ("text.json", "cycles 7", "is not JSON"),
        ("list.json", "[1]", "is not a run: it has no version"),
        ("cut.json", "{\"a\": ", "is not JSON"),
        ("other.json", &other_version, "has version 999 of a run, expected version 1"),
    ] {
        let bad = place.file(name, text);
        for files in [[&good, &bad], [&bad, &good]] {
            vfalls(&["diff", files[0], files[1]]).badly(&format!("{bad}: {says}"));
        }
    }
    vfalls(&["diff", &good, "nowhere.json"]).badly("nowhere.json: cannot be read");
}

/// The entries of a list are matched by their fields, not by their positions.
#[test]
fn traffic_is_compared_by_nodes_and_kind() {
    let place = Place::new("diff-traffic");
    let lines =
        |to: usize, lines: usize| json!({ "from": 0, "to": to, "kind": "memory", "lines": lines });
    let run = |traffic: Value| {
        let mut run = replay();
        (run["nodes"], run["traffic"]) = (4.into(), traffic);
        run
    };
    let a = run(json!([lines(1, 7), lines(2, 5)]));
    let [a, b] = files(&place, &a, &run(json!([lines(2, 8)])));
    let shown = vfalls(&["diff", &a, &b]).well();
    let rows: Vec<_> = shown.lines().skip(1).map(squeezed).collect();
    let expected =
        ["memory from 0 to 1 lines 7 - -7 -100.0", "memory from 0 to 2 lines 5 8 +3 +60.0"];
    assert_eq!(rows, expected);
}
