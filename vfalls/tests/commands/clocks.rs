use serde_json::Value;

use crate::program::{ProgramOutput, TestDirectory};

/// Runs `clocks` for a short time. Returns the finished command and its JSON.
fn clocks(name: &str, arguments: &str) -> (ProgramOutput, Value) {
    of(name, &format!("--seconds 0.1 {arguments}"))
}

/// Runs `clocks`. Returns the finished command and its JSON.
fn of(name: &str, arguments: &str) -> (ProgramOutput, Value) {
    let place = TestDirectory::new(name);
    let ended = place.run(&format!("clocks --json clocks.json {arguments}"));
    (ended, place.json("clocks.json"))
}

const NAMES: [&str; 4] = ["tsc", "monotonic_raw", "monotonic", "monotonic_coarse"];

fn clock<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut clocks = report["clocks"].as_array().unwrap().iter();
    clocks.find(|clock| clock["name"] == name).unwrap()
}

/// Returns the number of clocks other than `name` that are present and have a nominal frequency.
fn others(report: &Value, name: &str) -> usize {
    let all = NAMES.iter().filter(|other| ![name, "tsc"].contains(other));
    all.filter(|other| clock(report, other)["present"] == true).count()
}

#[test]
fn all_are_measured_and_the_best_is_chosen() {
    let (ended, report) = clocks("clocks-all", "");
    let stdout = ended.assert_success();
    for name in NAMES {
        let line = stdout.lines().find(|line| line.starts_with(&format!("{name} ")));
        assert!(line.is_some(), "{stdout}");
        let clock = clock(&report, name);
        let present = clock["present"] == true;
        for number in ["hz", "read", "rating"] {
            assert_eq!(clock[number].is_number(), present, "{name} {number}");
        }
        // A clock is measured against another clock with a nominal frequency. The cycle counter has none.
        let measured = &clock["measured"];
        assert_eq!(measured.is_object(), present && others(&report, name) > 0);
        if let Some(hz) = measured["hz"].as_f64() {
            let [nominal, error] =
                [&clock["hz"], &measured["uncertainty"]].map(|number| number.as_f64().unwrap());
            // The interrupt that updates the coarse clock may come later than the clock's resolution promises.
            let near = (hz - nominal).abs() < error + nominal / 1000.0;
            assert!(error > 0.0 && (near || name == "monotonic_coarse"));
            assert!(measured["by"] != name && measured["by"] != "tsc");
        }
        if !present {
            assert_eq!(clock["verdict"], "not used: not there");
        }
    }
    assert_eq!(clock(&report, "tsc")["present"] == true, cfg!(target_arch = "x86_64"));
    let rating = |clock: &Value| clock["rating"].as_u64().unwrap();
    let usable = report["clocks"].as_array().unwrap().iter();
    let usable = usable.filter(|clock| clock["usable"] == true);
    let best = usable.max_by_key(|clock| rating(clock)).unwrap();
    if report["watchdog"]["demoted"].as_array().unwrap().is_empty() {
        assert_eq!(report["chosen"], best["name"]);
    }
    let present = NAMES.iter().filter(|name| clock(&report, name)["present"] == true).count();
    let day = &report["time_of_day"];
    let count = |what: &str| day[what].as_u64().unwrap();
    assert_eq!(count("readings"), count("agreed") + count("slewed") + count("stepped"));
    assert!(stdout.contains("\ntime of day: "), "{stdout}");
    let drift = report["drift"].as_array().unwrap();
    assert_eq!(drift.len(), present * (present - 1));
}

/// Each clock belongs to a witness. If there is only one witness, the verdict says that there is no
/// second witness.
#[test]
fn clocks_are_grouped_by_witness() {
    let (ended, report) = clocks("clocks-witnesses", "");
    let stdout = ended.assert_success();
    let witnesses = report["witnesses"].as_array().unwrap();
    let of = |witness: &Value| witness["clocks"].as_array().unwrap().clone();
    let all: Vec<Value> = witnesses.iter().flat_map(of).collect();
    for name in NAMES.into_iter().chain(["realtime"]) {
        let present = name == "realtime" || clock(&report, name)["present"] == true;
        assert_eq!(
            all.iter().filter(|clock| *clock == name).count(),
            usize::from(present),
            "{name}"
        );
    }
    let verdict = report["verdict"].as_str().unwrap();
    let number = format!("{} clocks, {} witness", all.len(), witnesses.len());
    assert!(verdict.starts_with(&number), "{verdict}");
    assert_eq!(verdict.contains("There is no second witness"), witnesses.len() == 1, "{verdict}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let printed = &stdout[stdout.rfind("\nverdict: ").unwrap()..];
    assert_eq!(words(printed), words(&format!("verdict: {verdict}")));
    for compared in report["compared"].as_array().unwrap() {
        let number = compared["faster"]["uncertainty"].as_f64();
        assert!(number.is_none_or(|number| number > 0.0), "{compared}");
    }
}

/// `--lock` compares five methods in six situations. With the hypervisor's method, the time never steps back, and the corrections never
/// change their direction.
#[test]
fn ways_to_lock_a_clock_are_compared() {
    let (ended, report) = of("clocks-lock", "--lock");
    let stdout = ended.assert_success();
    let outcomes = report.as_array().unwrap();
    assert_eq!(outcomes.len(), 30);
    for outcome in outcomes {
        let way = outcome["way"].as_str().unwrap();
        assert_eq!(outcome["steps_back"] != 0, way == "bound", "{outcome}");
        assert!(way != "time of day" || outcome["turns"] == 0, "{outcome}");
    }
    let rows = |way: &str| stdout.lines().filter(|line| line.starts_with(way)).count();
    let ways = ["bound", "p, gain 4", "p, gain 1/2", "pid", "time of day"].map(rows);
    assert_eq!(ways, [6; 5], "{stdout}");
}

#[test]
fn the_operator_disables_and_forces() {
    let arguments = "--disable tsc --disable monotonic_raw --force monotonic";
    let (ended, report) = clocks("clocks-operator", arguments);
    let stdout = ended.assert_success();
    assert_eq!(clock(&report, "monotonic_raw")["verdict"], "not used: disabled by the operator");
    assert_eq!(clock(&report, "monotonic_raw")["usable"], false);
    // The monotonic clock is safe, and is better than the coarse clock.
    assert_eq!(clock(&report, "monotonic")["verdict"], "safe");
    assert!(stdout.contains("\nchosen: monotonic"), "{stdout}");
}

#[test]
fn none_is_left() {
    let disabled = NAMES.map(|name| format!("--disable {name}")).join(" ");
    let (ended, report) = clocks("clocks-none", &disabled);
    assert_eq!(ended.status, 1);
    assert_eq!(ended.stderr, "error: no clock can be used\n");
    for none in ["chosen", "watchdog", "time_of_day"] {
        assert!(report[none].is_null(), "{none}");
    }
}

#[test]
fn bad_input_gets_one_line() {
    let place = TestDirectory::new("clocks-bad");
    place.file("there.json", "mine");
    for (arguments, says) in [
        (
            "--disable monotonic-row",
            "there is no clock 'monotonic-row'; did you mean monotonic_raw",
        ),
        ("--seconds 0", "expected 0.1 to 3600"),
        ("--seconds NaN", "expected 0.1 to 3600"),
        ("--disable tsc --force tsc", "tsc cannot be both disabled and forced"),
        ("--lock --seconds 1", "cannot be used with '--seconds"),
        ("--json .", "is not a regular file"),
        ("--json there.json", "there.json: already exists"),
    ] {
        place.run(&format!("clocks {arguments}")).assert_failure_without_output(says);
    }
}
