//! Boots the guests of a machine description, and performs an operator's steps on them.

use serde_json::{Value, json};

use crate::boot::{THREE, run};
use crate::program::TestDirectory;

/// Returns a step in the format of scenario files.
fn step(at: u64, action: &str, keys: &[(&str, &str)]) -> String {
    let keys = keys.iter().map(|(key, value)| format!("{key} = {value}\n"));
    format!("[[step]]\nat = {at}\ndo = \"{action}\"\n{}", keys.collect::<String>())
}

/// The first guest has strands 0, 8 and 64, and at first no right to the memory channels. The second guest has strands 72 and 80, and has
/// the right to the channels. The third guest has strand 88, which dies.
///
/// All guests are already running when the first step is due. A channel breaks before the first guest receives the right. The channel is
/// repaired before the operator resets the first guest.
#[test]
fn rights_move_units_break_and_strands_die() {
    let place = TestDirectory::new("scenario");
    let steps = [
        step(2_600_000, "fault", &[("unit", "\"NODE0_MCU1\"")]),
        step(
            2_700_000,
            "transfer",
            &[("right", "\"global\""), ("from", "\"ldg1\""), ("to", "\"primary\"")],
        ),
        step(2_800_000, "grant", &[("right", "\"global\""), ("guest", "\"ldg2\"")]),
        step(3_500_000, "kill", &[("strand", "88")]),
        step(8_000_000, "mend", &[("unit", "\"NODE0_MCU1\"")]),
        step(8_500_000, "reset", &[("guest", "\"primary\"")]),
        // When this step is due, all strands wait forever.
        step(900_000_000, "grant", &[("right", "\"strand\""), ("guest", "\"ldg2\"")]),
    ];
    place.file("steps.toml", steps.concat());
    let ended = place
        .run(&format!("boot --md {THREE} --scenario steps.toml --json out.json --html page.html"));
    assert_eq!((ended.status, &*ended.stderr), (1, "error: ldg2 has no working strand left\n"));
    let said = &ended.stdout;
    let (happened, _) = said.split_once("\n\n").unwrap();
    let operator = |line: &&str| line.starts_with("operator: ");
    let steps: Vec<_> = happened.lines().filter(operator).collect();
    assert_eq!(
        steps,
        [
            "operator: NODE0_MCU1 breaks (steps.toml:1)",
            "operator: global goes from ldg1 to primary (steps.toml:5)",
            "operator: ldg2 is granted global (steps.toml:11): rejected: guests 0 and 2 both have global; one guest of a machine can",
            "operator: strand 88 dies (steps.toml:16)",
            "operator: NODE0_MCU1 is mended and returned to service (steps.toml:20): it was out of service (faults: 1)",
            "operator: primary is reset (steps.toml:24)",
            "operator: ldg2 is granted strand (steps.toml:28)",
        ]
    );
    let lines = |text: &str| happened.lines().filter(|line| line.contains(text)).count();
    // Before the reset, three of the four channels work. After the reset, all four channels work, and the caches hold the lines.
    assert_eq!(lines("primary: 3 strands, 60000 loads each"), 2);
    assert_eq!(lines("primary: 16384 lines read, "), 2);
    assert_eq!(lines(" reads in 3 memory channels"), 1);
    assert_eq!(lines("primary: 16384 lines read, 0 reads in 4 memory channels"), 1);
    assert_eq!(lines("ldg1: 16384 lines read, 0 reads in 0 memory channels"), 1);
    assert_eq!((lines("ldg2: 1 strands"), lines("ldg2: ")), (1, 1));

    // Either a call or the scrub finds that the channel is broken. The operator is told about it only once.
    let told = "\noperator: NODE0_MCU1 is out of service: an access failed at 0x84000";
    assert_eq!(ended.stdout.matches(told).count(), 1, "{}", ended.stdout);

    // The hypervisor's log contains the same messages. The log appears in three places: among the lines of the guests' output, in the
    // JSON, and on the page.
    let report = place.json("out.json");
    let console = report["hypervisor"]["console"].as_str().unwrap();
    let said: Vec<_> = console.lines().map(|line| line.split_once("] ").unwrap().1).collect();
    let expected = [
        "note: the counter right global moves from guest ldg1 to guest primary, once all strands have acknowledged",
        "error: the last strand of guest ldg2 has died: strand 88",
        "error: memory channel 1 of node 0 is out of service: a read at 0x8400001400 by guest primary on strand 0 failed",
        "note: guest ldg2 gets the counter right strand",
    ];
    assert_eq!(said, expected);
    assert_eq!(report["hypervisor"]["left_out"], 0);
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    for line in console.lines() {
        assert_eq!(happened.matches(&format!("\nhypervisor: {line}\n")).count(), 1, "{happened}");
        assert!(page.contains(line), "{line}");
    }
    let [failure] = &report["failures"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!(
        (&failure["reason"], &failure["unit"], &failure["registers"]),
        (&json!("an access failed"), &json!("NODE0_MCU1"), &json!([]))
    );
    let [fault, _, grant, .., mend, _, _] = &report["steps"].as_array().unwrap()[..] else {
        panic!("{report}");
    };
    assert_eq!(
        (&fault["at"], &fault["line"], &fault["rejected"], &fault["unit"]),
        (&json!(2_600_000), &json!(1), &Value::Null, &Value::Null)
    );
    assert!(grant["rejected"].is_string());
    // The channel was broken when a guest lost the right, so nothing has scrubbed it.
    let unit = json!({
        "unit": "NODE0_MCU1", "in_service": false, "clean": false, "faults": 1, "stuck": 0,
    });
    assert_eq!(mend["unit"], unit);
    let states = report["guests"].as_array().unwrap().iter();
    let states: Vec<_> = states.map(|guest| &guest["state"]).collect();
    assert_eq!(states, [&json!({"exited": 0}), &json!({"exited": 0}), &json!("failed")]);
    // The first guest makes only one call to the broken channel.
    let refused = &report["guests"][0]["hypercalls"]["by_status"]["ENOACCESS"];
    assert_eq!(refused, 1);
}

/// A dead strand delays neither a change of rights nor a reset. After the reset, the dead CPU no longer belongs to the guest.
#[test]
fn nobody_waits_for_the_dead() {
    let place = TestDirectory::new("scenario-of-the-dead");
    let steps = [
        step(3_000_000, "kill", &[("strand", "8")]),
        step(3_100_000, "revoke", &[("right", "\"strand\""), ("guest", "\"primary\"")]),
        step(
            3_200_000,
            "transfer",
            &[("right", "\"global\""), ("from", "\"ldg1\""), ("to", "\"ldg2\"")],
        ),
        step(3_300_000, "reset", &[("guest", "\"primary\"")]),
    ];
    place.file("steps.toml", steps.concat());
    let ended = place.run(&format!(
        "boot --md {THREE} --scenario steps.toml --json out.json --limit 12000000 --fast"
    ));
    assert_eq!((ended.status, &*ended.stderr), (0, ""));
    let made = place.json("out.json")["steps"].as_array().unwrap().clone();
    assert_eq!(made.len(), 4);
    assert!(made.iter().all(|step| step["rejected"].is_null()), "{made:?}");
    for line in [
        "primary: 3 strands, 60000 loads each\n",
        // CPU 1 has failed. If a CPU does not start, the guest starts no further CPUs.
        "primary: 1 strands, 60000 loads each\n",
        // The third guest's node has two channels.
        "ldg2: 16384 lines read, 0 reads in 2 memory channels\n",
    ] {
        assert!(ended.stdout.contains(line), "{line}{}", ended.stdout);
    }
}

#[test]
fn a_step_after_the_end_is_not_reached() {
    let place = TestDirectory::new("scenario-too-late");
    place.file("steps.toml", step(900_000_000, "kill", &[("strand", "7")]));
    let ended = place.run("boot --strands 0 --scenario steps.toml --fast");
    let note = "note: steps.toml:1: not reached, because the machine stopped earlier\n";
    assert_eq!((ended.status, &*ended.stderr), (0, note));
}

/// The result and the page compare each changed clock with the true time. The guest does not read
/// %tick or the PTIMER, so the steps do not change its output.
#[test]
fn clocks_go_wrong() {
    let place = TestDirectory::new("scenario-clocks");
    let steps = [
        step(100_000, "clock", &[("clock", "\"%tick\""), ("jump", "7_000_000")]),
        step(200_000, "clock", &[("clock", "\"ptimer\""), ("stop", "true")]),
        step(300_000, "clock", &[("clock", "\"%tick\""), ("strand", "0"), ("jump", "-9_000_000")]),
    ];
    place.file("steps.toml", steps.concat());
    let ended = place.run("boot --scenario steps.toml --fast --json out.json --html page.html");
    assert_eq!((ended.status, &*ended.stderr), (0, ""));
    let report = place.json("out.json");
    let cycles = report["time"]["cycles"].as_u64().unwrap();
    let stopped = report["clocks"][1]["changes"][0]["at"].as_u64().unwrap();
    // The PTIMER is behind by the time that has passed since it stopped.
    let behind = (u128::from(cycles - stopped) * 1_000_000_000).div_ceil(1_165_379_275);
    for line in [
        "operator: %tick of all strands jumps by 7000000 ns (steps.toml:1)\n",
        "operator: PTIMER stops (steps.toml:6)\n",
        "operator: %tick of strand 0 jumps by -9000000 ns (steps.toml:11)\n",
        "clock: %tick of all strands has changed 1 time; it ends 7000000 ns ahead of the true time\n",
        &format!("clock: PTIMER has changed 1 time; it ends {behind} ns behind the true time\n"),
        "clock: %tick of strand 0 has changed 2 times; it ends 2000000 ns behind the true time\n",
    ] {
        assert!(ended.stdout.contains(line), "{line}{}", ended.stdout);
    }
    let ahead = report["clocks"][2]["ahead"].as_array().unwrap();
    assert_eq!(
        (ahead.len(), &ahead[0], &ahead[200]),
        (201, &json!([0, 0]), &json!([cycles, -2_000_000]))
    );
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    assert!(page.contains("<figure id=\"clocks\""));
    assert!(page.contains("<title>%tick of strand 0 jumps by -9000000 ns</title>"));
    let without = place.run("boot --fast --html page.html --json out.json --force");
    assert!(!without.stdout.contains("clock: "));
    assert!(place.json("out.json").get("clocks").is_none());
    assert!(
        !std::fs::read_to_string(place.path().join("page.html")).unwrap().contains("id=\"clocks\"")
    );
}

#[test]
fn bad_scenarios() {
    let place = TestDirectory::new("bad-scenarios");
    let bad = |text: &str, says: &str| {
        let path = place.file("steps.toml", text);
        run(&["--md", THREE, "--scenario", &path]).assert_failure(says);
    };
    bad("", "steps.toml: there is no step");
    bad(&step(1, "explode", &[]), "steps.toml:3: there is no action 'explode'");
    bad(&step(1, "reset", &[("guest", "\"ldg3\"")]), "'ldg3'");
    bad(&step(1, "kill", &[("strand", "128")]), "there is no strand 128");
    bad(
        &step(1, "clock", &[("clock", "\"%stick\"")]),
        "steps.toml:3: expected one of drift, stop,",
    );
    let guest = "[[guest]]\nname = \"a\"\nstrands = \"0\"\ngrant = \"none\"\n";
    bad(&[guest, &step(1, "kill", &[("strand", "1")])].concat(), "has guests of its own");
    let path = place.file("steps.toml", step(1, "kill", &[("strand", "1")]));
    run(&["--scenario", &path, "--gdb", "0"]).assert_failure("--gdb");
}
