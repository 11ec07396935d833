//! Tests `stat` with more events than a unit has counters.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::program::{TestDirectory, contains_all, squeezed, vfalls, with_input};
use crate::stat::{json, program};

/// Five channel events and three strand events, which together need three passes.
const EVENTS: [&str; 8] = [
    "dram:mem_reads",
    "dram:mem_writes",
    "dram:rd_queue_latency",
    "pic:Instr_cnt",
    "pic:L2_dmiss_ld",
    "dram:wb_buf_hits",
    "pic:DC_miss",
    "dram:wr_queue_latency",
];

/// Returns each counter's measured and true count, by the counter's unit and event.
fn counts(results: &Value) -> BTreeMap<String, [u64; 2]> {
    let counters = results["counters"].as_array().unwrap().iter();
    let counts = counters.map(|counter| {
        let [name, event] = ["name", "event"].map(|key| counter[key].as_str().unwrap());
        let count = ["measured", "truth"].map(|key| counter[key].as_u64().unwrap());
        (format!("{name} {} {event}", counter["strand"]), count)
    });
    counts.collect()
}

#[test]
fn passes_count_what_single_replays_count() {
    let place = TestDirectory::new("stat-passes");
    place.file("refs.txt", program(20_000));
    let options = "refs.txt refs.txt --perf-config remote";
    let all = json(&place, &format!("{options} -e {}", EVENTS.join(",")));
    // 8 channels with 5 events, and 2 strands with 3 events.
    assert_eq!(all["counters"].as_array().unwrap().len(), 46);
    assert_eq!(all["truth_matches"], true);
    let mut single = BTreeMap::new();
    for event in EVENTS {
        let one = json(&place, &format!("{options} -e {event}"));
        for same in ["cycles", "references", "threads", "channels", "waits"] {
            assert_eq!(one[same], all[same], "{same} with {event}");
        }
        single.extend(counts(&one));
    }
    let counted = counts(&all);
    assert_eq!(counted, single);
    let active = |event: &str| counted.iter().any(|(name, [n, _])| name.ends_with(event) && *n > 0);
    assert!(["mem_reads", "rd_queue_latency", "DC_miss"].iter().all(|event| active(event)));

    let output = place.run(&format!("stat {options} -e {}", EVENTS.join(","))).assert_success();
    let said = "The 8 events were counted in 3 passes, because a unit counts two at a time.";
    contains_all(&squeezed(&output), &["Truth: all 46 counters show exactly what happened", said]);
    // Events of the same class are listed together.
    let rows: Vec<_> = output.lines().filter_map(|line| line.split_once(' ')).collect();
    let rows: Vec<_> =
        rows.iter().map(|(event, _)| *event).filter(|event| event.contains(':')).collect();
    let classes = rows.iter().map(|event| event.split(':').next().unwrap());
    assert_eq!(
        classes.filter(|class| ["dram", "pic"].contains(class)).collect::<Vec<_>>(),
        [&["dram"; 5][..], &["pic"; 3]].concat()
    );
    assert_eq!(
        place.run(&format!("stat {options} -e {}", EVENTS.join(","))).assert_success(),
        output
    );
    // Two events of one class need one pass, and an event that is named twice is counted once.
    let one =
        place.run("stat refs.txt -e pic:Instr_cnt,pic:DC_miss,pic:PAPI_tot_ins").assert_success();
    assert!(!one.contains("passes"), "{one}");
}

#[test]
fn all_events_of_a_class_are_counted() {
    let place = TestDirectory::new("stat-passes-all");
    place.file("refs.txt", program(2_000));
    let list = vfalls(&["stat", "--list"]).assert_success();
    let events: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    let events: Vec<&str> = events.into_iter().filter(|event| event.contains("pic:")).collect();
    assert_eq!(events.len(), 39);
    let results = json(&place, &format!("refs.txt -e {}", events.join(",")));
    assert_eq!(results["counters"].as_array().unwrap().len(), 39);
    // Even with many events, the thread table has some rows.
    let ended = place.run(&format!("stat refs.txt refs.txt -e {}", events.join(",")));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let output = ended.stdout;
    assert!(output.contains("in 20 passes"), "{output}");
    // A thread's row starts with its number and its strand, and has more columns than a process's row.
    let rows = output.lines().map(squeezed).filter(|row| row.split(' ').count() == 10);
    assert_eq!(rows.filter(|row| row.starts_with("0 0 ") || row.starts_with("1 64 ")).count(), 2);
}

#[test]
fn a_stream_is_read_once_and_replayed_in_each_pass() {
    let place = TestDirectory::new("stat-passes-stream");
    place.file("refs.txt", program(3_000));
    let events = "dram:mem_reads,dram:mem_writes,dram:wb_buf_hits";
    let file = place.run(&format!("stat refs.txt -e {events}")).assert_success();
    let piped = with_input(&["stat", "-", "-e", events], program(3_000)).assert_success();
    assert_eq!(piped, file.replace("recording: refs.txt", "recording: standard input"));
    with_input(&["stat", "-", "-e", events], "I  04001090,3\n L zzz,8\n")
        .assert_failure("standard input:2: found");
}

#[test]
fn samples_of_passes_are_merged_by_references() {
    let place = TestDirectory::new("stat-passes-interval");
    place.file("refs.txt", program(5_000));
    let sampled = |events: &str| {
        let stat = format!("stat refs.txt --place 200 --interval 2000 -e {events}");
        let output = place.run(&stat).assert_success();
        let rows = output.lines().take_while(|line| !line.starts_with("event "));
        rows.map(squeezed)
            .filter(|row| row.contains("NODE3_MCU1") || row.contains("%pic"))
            .collect::<Vec<_>>()
    };
    let both = sampled("dram:mem_reads,dram:mem_writes,dram:wb_buf_hits,pic:Instr_cnt");
    let first = sampled("dram:mem_reads,dram:mem_writes,pic:Instr_cnt");
    let second = sampled("dram:wb_buf_hits");
    // In each of three samples, the unit has a row for each pass, and the strand has one row.
    let merged: Vec<_> = (0..3)
        .flat_map(|sample| [&first[2 * sample], &second[sample], &first[2 * sample + 1]])
        .collect();
    assert_eq!(both.iter().collect::<Vec<_>>(), merged);
    assert!(both[0].starts_with("2000 NODE3_MCU1 mem_reads "), "{}", both[0]);
    assert!(both[8].starts_with("5625 strand 200 %pic Instr_cnt "), "{}", both[8]);
}

#[test]
fn details_over_time_have_all_counters() {
    let place = TestDirectory::new("stat-passes-details");
    place.file("refs.txt", program(30_000));
    let results = json(&place, &format!("refs.txt --details -e {}", EVENTS.join(",")));
    let series = results["details"]["series"]["counters"].as_array().unwrap();
    assert_eq!(series.len(), 43);
    let intervals = results["details"]["series"]["references"].as_array().unwrap().len();
    let totals = counts(&results);
    for counter in series {
        let [name, event] = ["name", "event"].map(|key| counter[key].as_str().unwrap());
        let counts = ["measured", "truth"].map(|key| counter[key].as_array().unwrap());
        assert!(counts.iter().all(|counts| counts.len() == intervals));
        let sums: [u64; 2] =
            counts.map(|counts| counts.iter().map(|one| one.as_u64().unwrap()).sum());
        assert_eq!(totals[&format!("{name} {} {event}", counter["strand"])], sums, "{event}");
    }
}

#[test]
fn one_pass_is_enough_elsewhere() {
    let place = TestDirectory::new("stat-passes-top");
    place.file("refs.txt", program(100));
    place.file("scenario.toml", "[[step]]\nat = 1\ndo = \"reset\"\nguest = \"other\"\n");
    let events = "-e dram:mem_reads,dram:mem_writes,dram:wb_buf_hits";
    let says = "'dram:wb_buf_hits' is a third dram event: a unit has two counters, and only stat without --scenario \
                counts more events";
    for command in ["top refs.txt", "stat refs.txt --scenario scenario.toml"] {
        place.run(&format!("{command} {events}")).assert_failure(says);
    }
}

#[test]
fn a_maramba_counts_without_hubs() {
    let place = TestDirectory::new("stat-passes-maramba");
    place.file("refs.txt", program(100));
    let events = "lpu:cycles_READ_or_INV,lpu:cycles_c2c_portX,lpu:clock_cycles,dram:mem_reads";
    let ended = place.run(&format!("stat refs.txt --machine maramba -e {events}"));
    let note = "note: a maramba has no hubs, and so no lpu events; they are left out\n";
    assert_eq!((ended.status, &*ended.stderr), (0, note));
    assert!(!ended.stdout.contains("passes"), "{}", ended.stdout);
}
