mod chrome;
mod files;

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use xtask::tools::BABELTRACE;

use crate::program::{ProgramOutput, TestDirectory, vfalls};
use crate::stat;

/// Runs babeltrace2, which must succeed. Returns its standard output and its standard error.
fn babeltrace(place: &TestDirectory, arguments: &str) -> (String, String) {
    let program = Command::new(BABELTRACE.find().unwrap());
    let ProgramOutput { status, stdout, stderr } = (**place).run(program, arguments);
    assert_eq!(status, 0, "{stderr}");
    (stdout, stderr)
}

/// Returns the line that babeltrace2 prints for each event of a trace, and its standard error.
fn lines(place: &TestDirectory) -> (String, String) {
    babeltrace(place, "--clock-cycles --no-delta events")
}

fn summary(place: &TestDirectory, directory: &str) -> Value {
    place.run(&format!("events {directory} --json summary.json --force")).assert_success();
    place.json("summary.json")
}

/// Runs `stat` on a small program, with 10 samples.
fn small(place: &TestDirectory, arguments: &str) {
    place.file("refs.txt", stat::program(2_000));
    place.run(&format!("stat refs.txt --interval 200 {arguments}")).assert_success();
}

type ByStatus = BTreeMap<(String, String), u64>;

fn by_status<'a>(calls: impl Iterator<Item = (&'a Value, &'a Value)>) -> ByStatus {
    let mut sums = ByStatus::new();
    for (guest, by_status) in calls {
        for (status, count) in by_status.as_object().unwrap() {
            let key = (guest.as_str().unwrap().to_owned(), status.clone());
            *sums.entry(key).or_default() += count.as_u64().unwrap();
        }
    }
    sums
}

#[test]
fn the_default_run_records_every_call_and_loses_none() {
    let place = TestDirectory::new("events-default");
    for endian in ["be", "le"] {
        let output = "--events-out events --json results.json";
        place.run(&format!("stat {output} --events-endian {endian} --force")).assert_success();
        let (events, stderr) = lines(&place);
        assert_eq!(stderr, "");
        assert!(events.lines().count() >= 1000);
        let summary = summary(&place, "events");
        assert_eq!(summary["events"], events.lines().count());
        assert_eq!((&summary["lost"], &summary["missed"]), (&0.into(), &0.into()));
        // The summary counts the same calls as the service's statistics.
        let results = place.json("results.json");
        let guests = results["guests"].as_array().unwrap();
        let counted = by_status(guests.iter().flat_map(|guest| {
            let classes = guest["by_class"].as_object().unwrap();
            classes.values().map(|calls| (&guest["name"], &calls["by_status"]))
        }));
        let calls = summary["calls"].as_array().unwrap();
        let of_registers = calls.iter().filter(|calls| calls["call"] != "set_version");
        let recorded = by_status(of_registers.map(|calls| (&calls["guest"], &calls["by_status"])));
        assert_eq!(recorded, counted);
        // In this run, only calls to a hub return EWOULDBLOCK.
        let conflicts = summary["conflicts"].as_array().unwrap();
        let conflicts = conflicts.iter().flat_map(|part| part["hubs"].as_array().unwrap());
        let conflicts: u64 = conflicts.map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(conflicts, counted[&("measuring".to_owned(), "EWOULDBLOCK".to_owned())]);
    }
}

#[test]
fn what_events_prints() {
    let place = TestDirectory::new("events-prints");
    small(&place, "--events-out events");
    let output = place.run("events events").assert_success_with(&[
        " 0 lost; the clock has 1165379275 Hz, and times have a resolution of 1 ticks\n",
        "\nCalls:\n\nguest      call         of               calls  ENOACCESS  EOK  EWOULDBLOCK\n",
        "\n           get          ZAM3_ASU_PIC0       12         12\n",
        // The calls for each of the 8 channels are 2 calls at the start, 3 calls at each of the 11 samples, and 3 calls at the end.
        "\nget          dram       EOK        304   26   26   26       26     22\n",
        "\nHow long they took, in ticks:\n\ncall         registers  ended    calls  50%  90%  99%  longest  in ns\n",
        "\nCalls that did not get their hub immediately:\n\n ",
        "\nRings:\n\nstrand  events  lost  lost behind ms\n",
    ]);
    assert_eq!(place.run("events events").assert_success(), output);
}

/// babeltrace2 writes a copy of a trace. The copy has the same summary as the trace, and can be merged with another replay's trace.
#[test]
fn other_programs_read_write_and_merge_traces() {
    let place = TestDirectory::new("events-merged");
    small(&place, "--events-out one --events-epoch 1700000000");
    small(&place, "--events-out other --events-epoch 1700000001 --events-layout clock19");
    babeltrace(&place, "one -o ctf -w written");
    assert_eq!(summary(&place, "written/sun4v"), summary(&place, "one"));
    let printed = |directory: &str| place.run(&format!("events {directory}")).assert_success();
    assert_eq!(printed("written/sun4v"), printed("one"));
    let (merged, _) = babeltrace(&place, "--clock-seconds one other");
    let first = merged.lines().next().unwrap();
    let last = merged.lines().last().unwrap();
    assert!(first.starts_with("[1700000000.0"), "{first}");
    assert!(last.starts_with("[1700000001.0"), "{last}");
    vfalls(&["stat", "--events-epoch", "5"]).assert_failure("--events-out");
    // The latest epoch that babeltrace2 can read.
    small(&place, "--events-out late --events-epoch 9000000000");
    assert!(babeltrace(&place, "--clock-seconds late").0.starts_with("[9000000000.0"));
    place.run("stat --events-out late --events-epoch 9000000001").assert_failure("9000000000");
}

#[test]
fn layouts_and_what_is_kept() {
    let place = TestDirectory::new("events-layouts");
    let run = |arguments: &str| {
        small(&place, &format!("--events-out events --force {arguments}"));
        let (text, stderr) = lines(&place);
        let times = text.lines().map(|line| line[1..21].parse().unwrap());
        (times.collect::<Vec<u64>>(), stderr, summary(&place, "events"))
    };
    let (exact, stderr, all) = run("");
    assert_eq!(stderr, "");
    for layout in ["clock27-typed", "clock32", "clock64", "clock64-aligned"] {
        assert_eq!(run(&format!("--events-layout {layout}")).0, exact, "{layout}");
    }
    for (layout, ticks) in
        [("clock27-cut5", 32), ("clock26-cut6", 64), ("clock25-cut7", 128), ("clock19", 512)]
    {
        let (coarse, ..) = run(&format!("--events-layout {layout}"));
        let whole: Vec<u64> = exact.iter().map(|time| time / ticks * ticks).collect();
        assert_eq!(coarse, whole, "{layout}");
    }

    for keep in ["first", "last"] {
        let (left, stderr, summary) = run(&format!("--events-keep {keep}"));
        let [events, lost, total] = [&summary["events"], &summary["lost"], &all["events"]]
            .map(|number| number.as_u64().unwrap());
        assert_eq!(events, left.len() as u64);
        assert!(lost > 0);
        assert_eq!(events + lost, total);
        assert!(stderr.contains(&format!("discarded {lost} events")), "{keep}: {stderr}");
        if keep == "first" {
            assert_eq!(left[..100], exact[..100]);
        } else {
            assert_eq!(left[left.len() - 100..], exact[exact.len() - 100..]);
        }
    }
}

#[test]
fn a_scenario_is_recorded_too() {
    let place = TestDirectory::new("events-scenario");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../simulator/scenarios/transfer.toml");
    place.run(&format!("stat --scenario {scenario} --events-out events")).assert_success();
    // In this scenario, the counter right named `global` moves to the other guest, a hub fails and returns to service, and a guest is
    // reset.
    let expected = serde_json::json!({
        "change_complete": 2, "change_pending": 2, "granted": 2, "guest_reset": 1, "held": 2, "revoked": 2,
        "unit_out_of_service": 1, "unit_returned": 1,
    });
    assert_eq!(summary(&place, "events")["others"], expected);
    assert_eq!(lines(&place).1, "");
}

#[test]
fn without_hubs_and_with_another_machine() {
    let place = TestDirectory::new("events-maramba");
    small(&place, "--machine maramba --nodes 1 --events-out events");
    let summary = summary(&place, "events");
    assert_eq!(summary["conflicts"], Value::Array(Vec::new()));
    assert!(summary["events"].as_u64().unwrap() > 50);
}

/// The test lists the layouts at 4 GHz. The first five layouts are in the order of the seed document, compact_trace_events.txt. Some times
/// in this document are rounded or wrong. The following table quotes the document, with line numbers, and gives the exact times at 4 GHz:
///
/// | layout | line | quote | exact |
/// |---|---|---|---|
/// | clock27-typed | 16 | "wraps 32 times per second at 4GHz" | 29.8 times: 2^27 cycles are 33.55 ms |
/// | clock27-typed | 17 | "each wraps spaced from 0.03125s" | 33.55 ms |
/// | clock27-typed | 20 | "granularity : 2^0 = 1 cycle : 0.25ns @4GHz" | the same |
/// | clock27-cut5 | 29 | "wraps each second at 4GHz" | 27 + 5 = 32 bits: 2^32 cycles are 1.074 s |
/// | clock27-cut5 | 31 | "granularity : 2^5 = 32 cycles : 8ns @4GHz" | the same |
/// | clock26-cut6 | 40 | "wraps each 0.5 second at 4GHz" | 26 + 6 = 32 bits: 1.074 s |
/// | clock26-cut6 | 42 | "granularity : 2^6 = 64 cycles : 16ns @4GHz" | the same |
/// | clock25-cut7 | 51 | "wraps each 0.5 second at 4GHz" | 25 + 7 = 32 bits: 1.074 s |
/// | clock25-cut7 | 53 | "granularity : 2^7 = 128 cycles : 32ns @4GHz" | the same |
/// | clock19 | 121 | "Granularity : 800ns (200 cycles@4GHz) : 2^9 = 512 (remove 9 LSB)" | 2^9 cycles are 128 ns |
/// | clock19 | 124 | "(32-4 MSB for 4 GHZ : 0.26s)" | 28 bits: 0.067 s |
/// | clock32 | 63 | "wraps each second at 4GHz" | 1.074 s |
/// | clock64 | 75 | "wraps each 146.14 years at 4GHz" | the same |
#[test]
fn layouts_at_a_clock() {
    let place = TestDirectory::new("events-layouts-table");
    let output = place.run("events --layouts --hz 4000000000 --json layouts.json").assert_success();
    let table = "\
A clock of 4000000000 Hz, probes of 200 ns, a timer of 100 Hz, interrupts off for 20000000 ns: headers can omit
the lowest 9 bits of the clock, and the highest 4 of 32.

layout           short  full  type  id  size  clock  cut    ids  granularity  wraps after    heartbeat
clock27-typed       32    96     1   4     0     27    0     16     0.250 ns     33.55 ms            -
clock27-cut5        32    96     1   4     0     27    5     16     8.000 ns      1.074 s     521.9 ms
clock26-cut6        32    96     1   5     0     26    6     32     16.00 ns      1.074 s     521.9 ms
clock25-cut7        32    96     1   6     0     25    7     64     32.00 ns      1.074 s     521.9 ms
clock19             32    96     1  12     0     19    9   4096     128.0 ns     67.11 ms     18.55 ms
clock27             32   128     0   5     0     27    0     31     0.250 ns     33.55 ms            -
clock32             64    96     1  15    16     32    0  32768     0.250 ns      1.074 s     521.9 ms
clock64             96    96     1  15    16     64    0  32768     0.250 ns  146.1 years  73.07 years
clock64-aligned    128   128     1  15    16     64    0  32768     0.250 ns  146.1 years  73.07 years
";
    assert!(output.starts_with(table), "{output}");
    let layouts = place.json("layouts.json");
    assert_eq!((&layouts["lowest_cut"], &layouts["highest_cut"]), (&9.into(), &4.into()));
    let expected = serde_json::json!({
        "name": "clock19",
        "bits": {"short": 32, "full": 96, "type": 1, "id": 12, "size": 0, "clock": 19, "cut": 9},
        "ids": 4096, "granularity_s": 128e-9, "wrap_s": 0.067_108_864, "heartbeat_s": 0.018_554_432,
    });
    assert_eq!(layouts["layouts"][4], expected);
    assert_eq!(layouts["layouts"][0]["heartbeat_s"], Value::Null);
    vfalls(&["events", "--layouts", "--timer-hz", "0"])
        .assert_success_with(&["and the highest 0 of 32"]);
}

#[test]
fn bad_arguments() {
    let place = TestDirectory::new("events-arguments");
    for (arguments, says) in [
        ("stat --events-out events --events-endian pdp", "there is no byte order 'pdp'"),
        (
            "stat --events-out events --events-layout clock20",
            "there is no layout 'clock20'; did you mean clock",
        ),
        ("stat --events-out events --events-keep none", "there is no choice 'none'"),
        ("events", "DIR"),
        ("events --layouts --hz 0", "0 is not in 1.."),
        ("events events --layouts", "cannot be used with"),
        ("events events --hz 9", "cannot be used with"),
        ("events events", "is not a directory, expected a trace directory"),
        ("events .", "metadata: cannot be read"),
    ] {
        place.run(arguments).assert_failure(says);
    }
}
