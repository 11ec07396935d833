use serde_json::Value;

use crate::program::{TestDirectory, contains_all};
use crate::stat::program;

const BUNDLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../simulator/scenarios/transfer.toml");

/// Both guests have strands on both nodes. The first guest measures, and also executes the program on strand 0.
const GUESTS: &str = "[[guest]]\nname = \"old\"\nstrands = \"0-15,64-79\"\ngrant = \"global+htstrand\"\n\n\
                      [[guest]]\nname = \"new\"\nstrands = \"16-31,80-95\"\ngrant = \"none\"\n\n";

fn step(at: u64, action: &str, keys: &str) -> String {
    format!("[[step]]\nat = {at}\ndo = \"{action}\"\n{keys}\n")
}

fn play(place: &TestDirectory, steps: &str) -> (Value, String) {
    place.file("refs.txt", program(12_000));
    place.file("scenario.toml", format!("{GUESTS}{steps}"));
    let stat = "stat --nodes 2 refs.txt --scenario scenario.toml --json results.json";
    let output = place.run(stat).assert_success();
    (place.json("results.json"), output)
}

/// Calls `look` with each item of a list, and returns the results.
fn each<'a, T>(list: &'a Value, look: impl Fn(&'a Value) -> T) -> Vec<T> {
    list.as_array().unwrap().iter().map(look).collect()
}

/// Returns the number of counters that a guest has in a phase, not counting those of strands.
fn units_of(phase: &Value, guest: usize) -> usize {
    let counters = phase["guests"][guest]["counters"].as_array().unwrap();
    counters.iter().filter(|c| c["name"] != "%pic").count()
}

#[test]
fn global_moves_in_the_middle_of_the_run() {
    let place = TestDirectory::new("scenario-transfer");
    let steps = step(5_000, "transfer", "right = \"global\"\nfrom = \"old\"\nto = \"new\"");
    let (results, output) = play(&place, &steps);
    assert_eq!(results["truth_matches"], true);
    assert_eq!(results["references"], 13_500);
    let moved = &results["steps"][0];
    // The strand that takes the step has already acknowledged.
    assert_eq!(moved["awaited"], 31);
    assert!(moved["cross_calls"].as_u64().unwrap() > 32);
    // Until all strands have acknowledged, no guest has the right. The first guest keeps %pcr.
    let meanwhile = each(&moved["meanwhile"], |asked| {
        format!("{} {} {}", asked["guest"], asked["register"], asked["status"])
    });
    assert_eq!(
        meanwhile,
        [
            r#""old" "SPARC_PCR" "EOK""#,
            r#""old" "L2_PERF_CONFIG" "ENOACCESS""#,
            r#""new" "SPARC_PCR" "ENOACCESS""#,
            r#""new" "L2_PERF_CONFIG" "ENOACCESS""#,
        ]
    );
    // The registers are L2_PERF_CONFIG and those of 4 channels and 4 hubs.
    let found = &moved["found"][0];
    assert_eq!((&found["guest"], &found["registers"]), (&"new".into(), &81.into()));
    assert_eq!(found["not_zero"].as_array().unwrap().len(), 0);
    // The 4 channels, 16 link port units and 4 serialization units have two counters each.
    let [before, after] = [0, 1].map(|phase| &results["phases"][phase]);
    assert_eq!((&before["from"], &before["to"]), (&0.into(), &5_000.into()));
    assert_eq!([units_of(before, 0), units_of(before, 1)], [48, 0]);
    assert_eq!([units_of(after, 0), units_of(after, 1)], [0, 48]);
    let counted = |phase: &Value, guest: usize| -> u64 {
        let counters = &phase["guests"][guest]["counters"];
        each(counters, |counter| counter["measured"].as_u64().unwrap()).iter().sum()
    };
    assert!(counted(before, 0) > 1_000 && counted(after, 1) > 1_000 && counted(after, 0) > 1_000);
    let parts = [
        "At 5000 references",
        "scenario.toml:11): global goes from old to new",
        "pending: 31 strands have not yet taken their cross-calls",
        "meanwhile old gets EOK for SPARC_PCR and ENOACCESS for L2_PERF_CONFIG",
        "new can read 81 registers, all of them 0",
        "Phase 2, references 5000 to 13500:",
        "guest new (global): 48 counters",
        "counts in 2 phases show exactly what happened.",
    ];
    contains_all(&output, &parts);
}

#[test]
fn rights_come_and_go_one_by_one() {
    let place = TestDirectory::new("scenario-rights");
    let steps = [
        step(0, "grant", "right = \"strand\"\nguest = \"new\""),
        step(1_000, "grant", "right = \"htstrand\"\nguest = \"new\""),
        step(2_000, "grant", "right = \"global\"\nguest = \"new\""),
        step(3_000, "revoke", "right = \"global\"\nguest = \"old\""),
        step(3_000, "revoke", "right = \"global\"\nguest = \"old\""),
        step(4_000, "grant", "right = \"global\"\nguest = \"new\""),
        step(5_000, "reset", "guest = \"new\""),
    ]
    .concat();
    let (results, _) = play(&place, &steps);
    assert_eq!(results["truth_matches"], true);
    let rejected = each(&results["steps"], |step| step["rejected"].as_str().unwrap_or(""));
    assert_eq!(
        rejected,
        [
            "",
            "guest 1 has strand already",
            "guests 0 and 1 both have global; one guest of a machine can",
            "",
            "guest 0 does not have global",
            "",
            ""
        ]
    );
    let units = each(&results["phases"], |phase| [units_of(phase, 0), units_of(phase, 1)]);
    assert_eq!(units, [[48, 0], [48, 0], [48, 0], [0, 0], [0, 48], [0, 48]]);
    assert_eq!(each(&results["guests"], |guest| &guest["grant"]), ["htstrand", "global+strand"]);
    let reset = &results["steps"][6];
    assert_eq!(reset["meanwhile"][2]["status"], "ENOACCESS");
    assert_eq!(reset["found"][0]["registers"], 82);
    assert_eq!(reset["found"][0]["not_zero"].as_array().unwrap().len(), 0);
}

#[test]
fn devices_break_and_strands_die() {
    let place = TestDirectory::new("scenario-faults");
    let steps = [
        step(2_000, "fault", "unit = \"ZAM3\""),
        step(3_000, "fault", "unit = \"NODE1_MCU0\""),
        step(3_500, "kill", "strand = 65"),
        step(4_000, "transfer", "right = \"global\"\nfrom = \"old\"\nto = \"new\""),
        step(6_000, "mend", "unit = \"ZAM3\""),
        step(6_000, "mend", "unit = \"NODE1_MCU0\""),
    ]
    .concat();
    let (results, output) = play(&place, &steps);
    assert_eq!(results["truth_matches"], true);
    let phases = &results["phases"];
    let out = each(phases, |phase| phase["out_of_service"].to_string());
    let both = r#"["NODE1_MCU0","ZAM3"]"#;
    assert_eq!(out, ["[]", r#"["ZAM3"]"#, both, both, both, "[]"]);
    // A missing hub reduces the number of counters by 10, and a missing channel by 2.
    let units = each(phases, |phase| units_of(phase, 0) + units_of(phase, 1));
    assert_eq!(units, [48, 38, 36, 36, 36, 48]);
    assert_eq!(results["steps"][3]["excused"], serde_json::json!([65]));
    let mut faulted = each(&results["units"], |unit| {
        (unit["unit"].as_str().unwrap(), unit["faults"].as_u64().unwrap())
    });
    faulted.retain(|(_, faults)| *faults > 0);
    assert_eq!(faulted, [("NODE1_MCU0", 1), ("ZAM3", 1)]);
    let parts = [
        "strand 65 does not take its cross-call, and is excused",
        "references 2000 to 3000; out of service: ZAM3:",
        "ZAM3        in service       1      0",
    ];
    contains_all(&output, &parts);
}

#[test]
fn the_bundled_scenario() {
    let place = TestDirectory::new("scenario-bundled");
    let output =
        place.run(&format!("stat --scenario {BUNDLED} --json results.json")).assert_success();
    assert!(output.contains("second can read 90 registers, all of them 0"));
    let results = place.json("results.json");
    assert_eq!(results["truth_matches"], true);
    assert_eq!(results["steps"].as_array().unwrap().len(), 6);
    assert_eq!(results["phases"].as_array().unwrap().len(), 6);
}

#[test]
fn what_is_no_scenario() {
    let place = TestDirectory::new("scenario-bad");
    place.file("refs.txt", program(100));
    place.file("guests.toml", GUESTS);
    let transfer = |right: &str, from: &str, to: &str| {
        let keys = format!("right = \"{right}\"\nfrom = \"{from}\"\nto = \"{to}\"");
        step(1, "transfer", &keys)
    };
    for (steps, says) in [
        (String::new(), " there is no step, expected at least one [[step]]"),
        ("[[step]\n".to_owned(), "11: "),
        (step(1, "explode", ""), "13: there is no action 'explode'; did you mean "),
        (step(1, "reset", ""), "13: missing is 'guest'; reset takes guest"),
        (
            step(1, "reset", "guest = \"old\"\nunit = \"ZAM0\""),
            "13: found 'unit'; reset takes guest",
        ),
        (step(1, "reset", "guest = \"olt\""), "14: there is no guest 'olt'; did you mean old?"),
        (transfer("globe", "old", "new"), "14: there is no right 'globe'; did you mean global?"),
        (transfer("global", "old", "nobody"), "16: there is no guest 'nobody'"),
        (
            step(1, "fault", "unit = \"NODE2_MCU0\""),
            "14: there is no unit 'NODE2_MCU0'; did you mean ",
        ),
        (
            step(1, "kill", "strand = 128"),
            "14: there is no strand 128; this machine has strands 0 to 127",
        ),
        (
            step(1, "kill", "strand = 0"),
            "14: strand 0 executes the program or makes a guest's calls, expected another",
        ),
        (step(1, "kill", "strand = 16"), "14: strand 16 executes"),
        (step(1, "kill", "strand = -1"), "14: "),
        (
            step(7, "reset", "guest = \"old\"") + &step(6, "reset", "guest = \"old\""),
            "16: found 6 after 7, expected steps in the order of time",
        ),
        (step(1, "reset", "gest = \"old\""), "14: unknown field"),
        (
            step(1, "clock", "clock = \"%stick\"\nstop = true"),
            "13: a replay has no clocks that can go wrong, expected no step 'clock'",
        ),
    ] {
        place.file("scenario.toml", format!("{GUESTS}{steps}"));
        let stat = "stat --nodes 2 refs.txt --scenario scenario.toml";
        place.run(stat).assert_failure(&format!("error: scenario.toml:{says}"));
        if says.starts_with("14: there is no guest") {
            place
                .run(&format!("{stat} --guests guests.toml"))
                .assert_failure("the scenario has guests of its own, so --guests is not allowed");
        }
    }
    place.run("stat --scenario /nowhere/scenario.toml").assert_failure("/nowhere/scenario.toml");
}

#[test]
fn a_step_that_is_not_reached_is_named() {
    let place = TestDirectory::new("scenario-late");
    place.file("refs.txt", program(1_000));
    place.file("scenario.toml", step(5_000, "reset", "guest = \"measuring\""));
    let ended = place.run("stat refs.txt --scenario scenario.toml");
    assert_eq!(ended.status, 0);
    let note =
        "note: scenario.toml:1: not reached, because the program ends after 1125 references\n";
    assert_eq!(ended.stderr, note);
}
