use std::fmt::Write;

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use serde_json::Value;
use simulator::replay::Selection;

use crate::program::{TestDirectory, contains_all, vfalls, with_input};

/// Returns a program that loads from many locations, stores to few locations, and fills some sets of the L2 caches. The program causes
/// every kind of miss, transfers between caches, and write-backs. Every eighth line of the text modifies a location, which is a load and a
/// store, so eight lines of text make nine references.
pub(crate) fn program(lines: u64) -> String {
    let mut text = String::from("==1== a message\n\n");
    for number in 0..lines / 2 {
        let step = number * 0x9e37_79b9 % 0x120_0000;
        let _ = writeln!(text, "I  {:x},4", 0x40_0000 + number % 5000 * 4);
        // Cache lines that are 256 KB apart share a set, which has 16 ways.
        let one_set = number % 64 * 0x4_0000;
        let _ = match number % 4 {
            0 => writeln!(text, " L {:x},8", 0x1000_0000 + step),
            1 => writeln!(text, " S {:x},4", 0x1000_0000 + step % 0x2000),
            2 => writeln!(text, " S {:x},8", 0x2000_0000 + one_set),
            _ => writeln!(text, " M {:x},8", 0x1000_0000 + step % 0x10_0000),
        };
    }
    text
}

/// An option that distributes ("deals") one program's references over two strands of each node.
const DEALT: &str = "--place deal:0,8,64,72,128,136,192,200";

/// Returns the JSON of `stat`, which must succeed.
pub(crate) fn json(place: &TestDirectory, arguments: &str) -> Value {
    let ended = place.run(&format!("stat --json results.json --force {arguments}"));
    assert_eq!(ended.status, 0, "{arguments}: {}", ended.stderr);
    place.json("results.json")
}

fn counters(results: &Value) -> &Vec<Value> {
    results["counters"].as_array().unwrap()
}

pub(crate) fn measured(results: &Value) -> Vec<u64> {
    let all = counters(results).iter();
    all.map(|counter| counter["measured"].as_u64().unwrap()).collect()
}

#[test]
fn by_default_a_guest_measures_the_bundled_program() {
    let place = TestDirectory::new("stat-default");
    let results = json(&place, "");
    assert_eq!(results["machine"], "batoka");
    assert_eq!(results["nodes"], 4);
    assert!(results["references"].as_u64().unwrap() >= 500_000);
    assert_eq!(results["truth_matches"], true);
    let hypercalls = &results["hypercalls"];
    let by_status = hypercalls["by_status"].as_object().unwrap();
    let sum: u64 = by_status.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(hypercalls["total"], sum);
    // The first guest has all rights, and sometimes finds a hub busy. The second guest has no rights.
    for status in ["EOK", "EWOULDBLOCK", "ENOACCESS"] {
        assert!(by_status[status].as_u64().unwrap() > 0, "{status}");
    }
    // The 8 channels, 16 link port units, 4 serialization units and 8 strands have two counters each.
    assert_eq!(counters(&results).len(), 72);
    for counter in counters(&results) {
        let keys = ["perfreg", "counter", "strand", "name", "event", "measured", "truth"];
        let object = counter.as_object().unwrap();
        assert_eq!(object.len(), keys.len());
        assert!(keys.iter().all(|key| object.contains_key(*key)));
        assert_eq!(counter["measured"], counter["truth"]);
        assert_eq!(counter["perfreg"].is_null(), !counter["strand"].is_null());
    }
    let first = &counters(&results)[0];
    assert_eq!((&first["perfreg"], &first["counter"]), (&3.into(), &0.into()));
    assert_eq!((&first["name"], &first["event"]), (&"NODE0_MCU0_PIC".into(), &"mem_reads".into()));
    let active = measured(&results).iter().filter(|count| **count > 0).count();
    assert!(active >= 8, "{active} counters are not 0");
}

#[test]
fn what_it_prints() {
    let place = TestDirectory::new("stat-prints");
    place.file("refs.txt", program(5_000));
    let stat = "stat refs.txt --place 200 --calls --interval 2000 -e dram:mem_reads,pic:Instr_cnt";
    let output = place.run(stat).assert_success();
    // Under a single header, there are three samples of 8 channels and a strand.
    for (text, count) in [("NODE3_MCU1", 3), ("strand 200 %pic", 3), ("instance", 1)] {
        assert_eq!(output.matches(text).count(), count, "{text}");
    }
    let parts = [
        "batoka with 4 nodes, 256 strands; guest measuring (global+htstrand)",
        "placement: 200, 1 thread on strand 200",
        "Hypercalls by guest and status:",
        "ENOACCESS",
        "Truth: all 9 counters show exactly what happened (5625 references in ",
    ];
    contains_all(&output, &parts);
    assert_eq!(place.run(stat).assert_success(), output, "the same input gives the same output");
    place.file("one.txt", "0 w 1000\n");
    let output = place.run("stat one.txt").assert_success();
    assert!(output.contains("happened (1 reference in "), "{output}");
}

#[test]
fn lists_all_events() {
    let place = TestDirectory::new("stat-list");
    let list = place.run("stat --list --json events.json").assert_success();
    for line in [
        "event                             modelled  what it counts",
        "dram:mem_writes                   yes       Writes.",
        "lpu:cycles_link_retrain           no        Link retrainings. Reads 0: links are without fault.",
        "gpd:clock_cycles                  yes       Clock cycles.",
        "pic:Instr_cnt                     yes       All instructions.",
    ] {
        assert!(list.lines().any(|listed| listed == line), "{line}");
    }
    assert!(list.lines().all(|line| line.len() <= 100), "{list}");
    // The classes have 8, 42, 2, 6 and 39 events. `-e` accepts each event.
    let events = place.json("events.json");
    assert_eq!(events.as_array().unwrap().len(), 97);
    for event in events.as_array().unwrap() {
        let [class, name] = ["class", "event"].map(|key| event[key].as_str().unwrap());
        assert!(list.contains(&format!("\n{class}:{name} ")), "{name}");
        assert!(Selection::parse(&format!("{class}:{name}")).is_ok());
    }
    assert_eq!(events[1]["description"], "Writes.");
    assert_eq!(events[1]["absence"], Value::Null);
    assert_eq!(events[49]["absence"], "links are without fault");
    let list = vfalls(&["stat", "--list", "--machine", "maramba"]).assert_success();
    assert!(list.contains("dram:mem_reads") && !list.contains("lpu:"));
    vfalls(&["stat", "--list", "-e", "dram:mem_reads"]).assert_failure("cannot be used with");
}

#[test]
fn every_event_shows_what_happened() {
    let place = TestDirectory::new("stat-events");
    place.file("refs.txt", program(30_000));
    let names: [(&str, Vec<&str>); 5] = [
        ("dram", DramEvent::ALL.iter().map(|it| it.name()).collect()),
        ("lpu", LpuEvent::ALL.iter().map(|it| it.name()).collect()),
        ("gpd", GpdEvent::ALL.iter().map(|it| it.name()).collect()),
        ("asu", AsuEvent::ALL.iter().map(|it| it.name()).collect()),
        ("pic", SparcEvent::ALL.iter().map(|it| it.name()).collect()),
    ];
    let runs = names.iter().map(|(_, names)| names.len().div_ceil(2)).max().unwrap();
    let mut active = Vec::new();
    for run in 0..runs {
        // Each run counts two events from every class.
        let events: Vec<String> = (names.iter())
            .flat_map(|(class, names)| {
                let pair = [2 * run, 2 * run + 1].map(|index| names[index % names.len()]);
                pair.map(|name| format!("{class}:{name}"))
            })
            .collect();
        let config = ["all", "local", "remote", "c2c"][run % 4];
        let events = events.join(",");
        let options = format!("-e {events} --perf-config {config} {DEALT}");
        let results = json(&place, &format!("refs.txt {options}"));
        assert_eq!(results["truth_matches"], true);
        for counter in counters(&results).iter().filter(|counter| counter["measured"] != 0) {
            active.push(counter["event"].as_str().unwrap().to_owned());
        }
    }
    let expected = "mem_reads mem_writes rd_queue_latency wb_buf_hits clock_cycles cycles_c2c_portX cycles_HIT_M cycles_WB \
                    asu_in_pck IC_miss DC_miss";
    for event in expected.split(' ') {
        assert!(active.iter().any(|active| active == event), "{event} never counted");
    }
}

#[test]
fn perf_config_selects_among_the_misses() {
    let place = TestDirectory::new("stat-config");
    place.file("refs.txt", program(30_000));
    let misses = |config| -> u64 {
        let options = format!("-e pic:L2_dmiss_ld --perf-config {config} {DEALT}");
        measured(&json(&place, &format!("refs.txt {options}"))).iter().sum()
    };
    let [all, local, remote, c2c] = ["all", "local", "remote", "c2c"].map(misses);
    assert!(local > 0 && remote > 0 && c2c > 0);
    assert_eq!(all, local + remote + c2c);
}

#[test]
fn a_maramba_has_no_hubs() {
    let place = TestDirectory::new("stat-maramba");
    place.file("refs.txt", program(2_000));
    for (nodes, expected) in [(1, 6), (2, 10)] {
        let results = json(&place, &format!("--machine maramba --nodes {nodes} refs.txt"));
        // Each channel and the strand have two counters.
        assert_eq!(counters(&results).len(), expected);
        let mut registers = counters(&results).iter().map(|counter| counter["perfreg"].as_u64());
        assert!(registers.all(|register| register.unwrap_or(0) < 18));
        assert_eq!(results["truth_matches"], true);
    }

    let events = "dram:mem_reads,lpu:cycles_c2c_portX";
    let ended = place.run(&format!("stat --machine maramba -e {events} refs.txt"));
    let note = "note: a maramba has no hubs, and so no lpu events; they are left out\n";
    assert_eq!((ended.status, &*ended.stderr), (0, note));
    assert!(ended.stdout.contains("mem_reads") && !ended.stdout.contains("LPU"));
}

#[test]
fn recordings_come_together() {
    let place = TestDirectory::new("stat-recordings");
    place.file("refs.txt", program(3_000));
    let results = json(&place, "refs.txt refs.txt -e pic:Instr_cnt");
    assert_eq!(results["references"], 6_750);
    assert_eq!(results["placement"], "spread");
    // Every second line is an instruction fetch. The second program's thread executes on the next node.
    assert_eq!(measured(&results), [1_500, 1_500]);
    let strands: Vec<_> = counters(&results).iter().map(|counter| &counter["strand"]).collect();
    assert_eq!(strands, [0, 64]);
}

#[test]
fn a_recording_from_standard_input() {
    let place = TestDirectory::new("stat-stdin");
    let arguments = ["stat", "-", "--json", &place.at("results.json")];
    assert_eq!(with_input(&arguments, program(1_000)).status, 0);
    assert_eq!(place.json("results.json")["references"], 1_125);
}

#[test]
fn guests_from_a_file() {
    let place = TestDirectory::new("stat-guests");
    place.file("refs.txt", program(2_000));
    place.file(
        "guests.toml",
        "[[guest]]\nname = \"old\"\nstrands = \"0-63\"\ngrant = \"global+strand\"\ncompatible = true\n\n\
         [[guest]]\nname = \"new\"\nstrands = \"64-127,200\"\ngrant = \"htstrand\"\n",
    );
    // With only the grant htstrand, a guest measures its own strands and nothing else.
    let results = json(&place, "--guests guests.toml refs.txt --place deal:64,65");
    assert_eq!(counters(&results).len(), 4);
    assert!(counters(&results).iter().all(|counter| counter["name"] == "%pic"));
    assert_eq!(results["guests"][0]["name"], "old");
    assert_eq!(results["guests"][1]["grant"], "htstrand");
    // The first guest may use all hubs, and the channels of the nodes on which it has strands.
    let results = json(&place, "--guests guests.toml refs.txt --place 3");
    let names: Vec<&str> =
        counters(&results).iter().map(|counter| counter["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"NODE0_MCU1_PIC") && names.contains(&"ZAM3_ASU_PIC0"));
    assert!(!names.iter().any(|name| name.starts_with("NODE1")));
}

#[test]
fn events_without_a_model_read_0_and_are_named() {
    let place = TestDirectory::new("stat-note");
    place.file("refs.txt", program(1_000));
    let ended = place.run("stat refs.txt -e pic:ITLB_miss,lpu:cycles_CRC_errors");
    assert_eq!(ended.status, 0);
    let notes = ["lpu:cycles_CRC_errors", "pic:ITLB_miss"]
        .map(|event| format!("note: {event} is not modelled, and reads 0\n"));
    assert_eq!(ended.stderr, notes.concat());
}
