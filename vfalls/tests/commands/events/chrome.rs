use std::collections::HashMap;

use serde_json::Value;

use super::{small, summary};
use crate::program::TestDirectory;

#[test]
fn chrome() {
    let place = TestDirectory::new("events-chrome");
    for layout in ["clock27", "clock19"] {
        let output = "--events-out events --events-chrome events.json --json results.json";
        small(&place, &format!("{output} --force --events-layout {layout}"));
        let trace = place.json("events.json");
        let events = trace["traceEvents"].as_array().unwrap();
        let of_kind = |ph: &'static str| events.iter().filter(move |event| event["ph"] == ph);
        // Every call has a slice. The slices of one strand do not overlap.
        let summary = summary(&place, "events");
        let calls = summary["calls"].as_array().unwrap().iter();
        let calls: u64 = calls.map(|calls| calls["total"].as_u64().unwrap()).sum();
        assert_eq!(of_kind("X").count() as u64, calls);
        let nanoseconds = |value: &Value| (value.as_f64().unwrap() * 1000.0).round() as u64;
        let mut ended = HashMap::new();
        for slice in of_kind("X") {
            let start = nanoseconds(&slice["ts"]);
            let end = ended.entry(slice["tid"].as_u64()).or_insert(0);
            assert!(start >= *end, "{slice}");
            *end = start + nanoseconds(&slice["dur"]);
        }
        // The last points of the counter tracks are the measured values.
        let mut last = HashMap::new();
        for point in of_kind("C") {
            last.insert(point["name"].as_str().unwrap(), &point["args"]);
        }
        let results = place.json("results.json");
        let counters = results["counters"].as_array().unwrap();
        for counter in counters.iter().filter(|counter| !counter["perfreg"].is_null()) {
            let point = last[counter["name"].as_str().unwrap()];
            let name = match counter["name"].as_str().unwrap().contains("MCU") {
                true => format!("pic{}", counter["counter"]),
                false => "count".to_owned(),
            };
            assert_eq!(point[&name], counter["measured"], "{counter}");
        }
        assert!(of_kind("i").any(|event| event["name"] == "hub_conflict"));
        let names = names_in_chrome(events);
        assert_eq!(names[&(1, None)], "measuring");
        assert_eq!(names[&(1, Some(1))], "strand 0");
    }
}

/// Returns the names of processes and threads. Asserts that their numbers start at 1, and that every event's process and thread have names.
fn names_in_chrome(events: &[Value]) -> HashMap<(u64, Option<u64>), &str> {
    let mut names = HashMap::new();
    for event in events {
        let pid = event["pid"].as_u64().unwrap();
        let thread = event["tid"].as_u64();
        assert!(pid >= 1 && thread != Some(0), "{event}");
        if event["ph"] == "M" {
            let name = event["args"]["name"].as_str().unwrap();
            assert_eq!(thread.is_some(), event["name"] == "thread_name");
            assert_eq!(names.insert((pid, thread), name), None);
        } else {
            assert!(names.contains_key(&(pid, None)), "{event}");
            assert!(names.contains_key(&(pid, thread)), "{event}");
        }
    }
    names
}

#[test]
fn chrome_has_names_for_what_was_lost() {
    let place = TestDirectory::new("events-chrome-lost");
    small(&place, "--events-chrome events.json --events-keep last");
    let trace = place.json("events.json");
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["name"] == "lost"));
    let names = names_in_chrome(events);
    assert_eq!(names[&(1000, None)], "machine");
    assert_eq!(names[&(1000, Some(1))], "strand 0");
}
