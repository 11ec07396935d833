//! Tests `table`. The expected tables are written by hand.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::program::{TestDirectory, squeezed};

/// Returns a run with 60 memory reads.
fn replay() -> Value {
    let mut run: Value = serde_json::from_str(include_str!("report.json")).unwrap();
    run["counters"][0]["measured"] = 60.into();
    run["truth_matches"] = true.into();
    run["details"] = Value::Null;
    run
}

/// Returns a run with these settings and results.
fn run(l2: u64, placement: &str, cycles: u64, reads: u64) -> String {
    let mut run = replay();
    run["configuration"]["l2"]["bytes"] = l2.into();
    (run["placement"], run["cycles"]) = (placement.into(), cycles.into());
    for count in ["measured", "truth"] {
        run["counters"][0][count] = reads.into();
    }
    run.to_string()
}

/// Writes three runs. The second has another placement and a smaller cache than the first. The third differs from the first only in its
/// placement.
fn three(name: &str) -> TestDirectory {
    let place = TestDirectory::new(name);
    place.file("a.json", run(4_194_304, "spread", 1_000_000, 60));
    place.file("b.json", run(1_048_576, "pack", 800_000, 75));
    place.file("c.json", run(4_194_304, "pack", 1_250_000, 60));
    place
}

#[test]
fn what_differs_is_a_column() {
    let place = three("table");
    let expected = "\
3 runs; each % is the change from a.json
the same in all runs: CPI 7.00; MPKI 10.00; guests measuring (global); kind replay; l2.ways 4;
machine.model batoka; machine.nodes 2; references 250000

run  l2.bytes  placement   cycles      %  dram:mem_reads      %
a     4194304  spread     1000000    0.0              60    0.0
b     1048576  pack        800000  -20.0              75  +25.0
c     4194304  pack       1250000  +25.0              60    0.0
";
    assert_eq!(place.run("table a.json b.json c.json").assert_success(), expected);
}

#[test]
fn csv_and_json_have_the_whole_table() {
    let place = three("table-files");
    let line = "table a.json b.json c.json -e cycles,CPI -e dram:mem_reads";
    let csv = "\
run,l2.bytes,placement,cycles,cycles %,CPI,CPI %,dram:mem_reads,dram:mem_reads %
a.json,4194304,spread,1000000,0.0,7,0.0,60,0.0
b.json,1048576,pack,800000,-20.0,7,0.0,75,+25.0
c.json,4194304,pack,1250000,+25.0,7,0.0,60,0.0
";
    assert_eq!(place.run(&format!("{line} --csv -")).assert_success(), csv);
    let text =
        place.run(&format!("{line} --csv t.csv --json t.json --html t.html")).assert_success();
    assert!(text.starts_with("3 runs; "), "{text}");
    assert_eq!(fs::read_to_string(place.at("t.csv")).unwrap(), csv);
    let row = |run: &str, l2: u64, placement: &str, figures: [u64; 2], changes: [f64; 2]| {
        json!({
            "run": run,
            "settings": { "l2.bytes": l2, "placement": placement },
            "figures": { "CPI": 7.0, "cycles": figures[0], "dram:mem_reads": figures[1] },
            "changes": { "CPI": 0.0, "cycles": changes[0], "dram:mem_reads": changes[1] },
        })
    };
    let expected = json!({
        "base": "a.json",
        "same": { "guests": "measuring (global)", "kind": "replay", "l2.ways": 4, "machine.model": "batoka", "machine.nodes": 2 },
        "runs": [
            row("a.json", 4_194_304, "spread", [1_000_000, 60], [0.0, 0.0]),
            row("b.json", 1_048_576, "pack", [800_000, 75], [-20.0, 25.0]),
            row("c.json", 4_194_304, "pack", [1_250_000, 60], [25.0, 0.0]),
        ],
    });
    assert_eq!(place.json("t.json"), expected);
    let page = fs::read_to_string(place.at("t.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("<script"), "{page}");
    for cell in ["1048576", "pack", "800000", "-20.0", "75", "+25.0"] {
        assert!(page.contains(&format!(">{cell}</td>")), "{cell}: {page}");
    }
    place
        .run("table a.json --json t.json")
        .assert_failure("t.json: already exists; --force replaces it");
    assert_eq!(place.json("t.json"), expected);
}

#[test]
fn rows_are_sorted_and_changes_have_a_base() {
    let place = three("table-sort");
    let rows = |options: &str| {
        let text =
            place.run(&format!("table a.json b.json c.json -e cycles {options}")).assert_success();
        let rows = text.lines().skip_while(|line| !line.starts_with("run "));
        rows.skip(1).map(squeezed).collect::<Vec<_>>().join("\n")
    };
    let (a, b, c) = (
        "a 4194304 spread 1000000 0.0",
        "b 1048576 pack 800000 -20.0",
        "c 4194304 pack 1250000 +25.0",
    );
    for (options, order) in [
        ("", [a, b, c]),
        ("--reverse", [c, b, a]),
        ("--sort cycles", [b, a, c]),
        ("--sort cycles --reverse", [c, a, b]),
        ("--sort l2.bytes", [b, a, c]),
        ("--sort placement", [b, c, a]),
        ("--sort run", [a, b, c]),
    ] {
        assert_eq!(rows(options), order.join("\n"), "{options}");
    }
    assert_eq!(
        rows("--base c.json"),
        "a 4194304 spread 1000000 -20.0\nb 1048576 pack 800000 -36.0\nc 4194304 pack 1250000 0.0"
    );
    let all = "table a.json b.json c.json";
    place.run(&format!("{all} --base d.json")).assert_failure("d.json: is not one of the runs");
    place
        .run(&format!("{all} --sort cyles"))
        .assert_failure("there is no column 'cyles'; did you mean cycles?");
    place.run(&format!("{all} -e dram:mem_raeds")).assert_failure("did you mean dram:mem_reads?");
}

/// The runs' files are in different directories, but have the same name. The table omits the parts of the paths that all runs share.
#[test]
fn a_number_that_a_run_lacks_is_missing() {
    let place = TestDirectory::new("table-lacks");
    let mut without = replay();
    without["counters"] = json!([]);
    place.file("runs/one/a.json", replay().to_string());
    place.file("runs/other/a.json", without.to_string());
    let text = place.run("table runs/one/a.json runs/other/a.json").stdout;
    let rows: Vec<_> = text.lines().skip_while(|line| !line.starts_with("run ")).collect();
    assert_eq!(
        rows.iter().map(|row| squeezed(row)).collect::<Vec<_>>(),
        ["run dram:mem_reads %", "one/a 60 0.0", "other/a - -"]
    );
    let alone = place.run("table runs/one/a.json").assert_success();
    assert!(alone.starts_with("1 run\nits settings: guests measuring (global); "), "{alone}");
    assert!(alone.contains("\nrun   cycles "), "{alone}");
}

#[test]
fn doubtful_runs_are_noted() {
    let place = three("table-notes");
    let mut wrong = replay();
    (wrong["truth_matches"], wrong["placement"]) = (false.into(), "0-1".into());
    let mut stopped = replay();
    (stopped["stopped"], stopped["nodes"]) = (true.into(), 3.into());
    place.file("wrong.json", wrong.to_string());
    place.file("stopped.json", stopped.to_string());
    place.file("d.json", run(4_194_304, "pack", 1_250_000, 60));
    let ended = place.run("table a.json wrong.json b.json c.json d.json stopped.json");
    assert_eq!(ended.status, 0);
    let notes = "\
note: wrong.json has counters that do not show what happened
note: stopped.json has been stopped before the end of the program
note: 2 runs have the settings of an earlier run, such as d.json those of c.json
";
    assert_eq!(ended.stderr, notes);
}

#[test]
fn what_is_no_run_or_comes_twice_is_named() {
    let place = three("table-bad");
    let other = run(1, "pack", 1, 1).replacen("\"version\":1", "\"version\":999", 1);
    assert!(other.contains("999"));
    place.file("other.json", other);
    let whole = run(4_194_304, "pack", 1, 1);
    place.file("half.json", &whole[..whole.len() / 2]);
    symlink("a.json", place.at("link.json")).unwrap();
    for (files, says) in [
        ("a.json other.json", "other.json: is a run of format version 999, expected version 1"),
        ("a.json half.json", "half.json: is not JSON"),
        ("nowhere.json a.json", "nowhere.json: cannot be read"),
        ("a.json b.json a.json", "a.json: is the same file as a.json"),
        ("a.json b.json link.json", "link.json: is the same file as a.json"),
    ] {
        let ended = place.run(&format!("table {files} --json t.json --csv t.csv --html t.html"));
        ended.assert_failure_without_output(says);
    }
    // An output appears complete or not at all.
    let files = ["a.json", "b.json", "c.json", "half.json", "link.json", "other.json"];
    assert_eq!(place.names("."), files);
    place.run("table").assert_failure("<RUN.json>...");
}

/// Each setting that the user chose has a column, for every kind of run.
#[test]
fn settings_of_real_runs_are_columns() {
    let place = TestDirectory::new("table-real");
    place.file("one.txt", "0 i 0x4000 4\n0 w 0x1000 8\n64 r 0x1008 8\n");
    place.file("two.txt", "0 i 0x4000 4\n0 r 0x1000 8\n");
    place.file("small.toml", "[l2]\nbytes = 0x10_0000\n[timing]\nmemory = 200\n");
    place.file("steps.toml", "[[step]]\nat = 1\ndo = \"fault\"\nunit = \"ZAM1\"\n");
    let options = [
        "stat one.txt",
        "stat one.txt --place pack",
        "stat one.txt --machine maramba --nodes 2",
        "stat one.txt --memory node:1",
        "stat one.txt --config small.toml",
        "stat one.txt --perf-config local",
        "stat one.txt --hub-cycles 200",
        "stat two.txt",
        "stat one.txt --scenario steps.toml",
        "report one.txt",
        "c2c one.txt",
        "boot --fast --strands 0",
    ];
    let mut files = String::new();
    for (number, options) in options.iter().enumerate() {
        let ended = place.run(&format!("{options} --json {number}.json"));
        assert_eq!(ended.status, 0, "{options}: {}", ended.stderr);
        files += &format!(" {number}.json");
    }
    place.run(&format!("table{files} --json t.json")).assert_success();
    let table = place.json("t.json");
    let setting = |run: usize, name: &str| table["runs"][run]["settings"][name].clone();
    for (run, name, before, value) in [
        (1, "placement", json!("as the recording says"), json!("pack")),
        (2, "machine.model", json!("batoka"), json!("maramba")),
        (2, "machine.nodes", json!(4), json!(2)),
        (3, "memory.pages", json!("hardware"), json!("node:1")),
        (4, "l2.bytes", json!(4_194_304), json!(1_048_576)),
        (4, "timing.memory", json!(120), json!(200)),
        (5, "perf_config", json!("all"), json!("local")),
        (6, "hub_cycles", json!(100), json!(200)),
        (7, "recording", json!("one.txt"), json!("two.txt")),
        (8, "scenario", json!(null), json!("steps.toml")),
        (9, "unit", json!(null), json!("sparc")),
        (10, "kind", json!("replay"), json!("sharing")),
        (11, "kind", json!("replay"), json!("execution")),
    ] {
        assert_eq!((setting(0, name), setting(run, name)), (before, value), "{name}");
    }
}

/// Runs are read one after another. Only the parts that the table shows stay in memory.
#[test]
fn ten_thousand_runs_need_little_memory() {
    let place = TestDirectory::new("table-many");
    let mut all = "table --memory-limit 100 --csv -".to_owned();
    for number in 0..10_000 {
        let name = format!("{number}.json");
        place.file(&name, run(4_194_304, &format!("{number}"), 1_000_000 + number, 60));
        all += " ";
        all += &name;
    }
    let csv = place.run(&all).assert_success();
    assert_eq!(csv.lines().count(), 10_001);
    assert_eq!(csv.lines().last(), Some("9999.json,9999,1009999,+1.0"));
}

/// `cargo xtask prove` runs these scripts.
#[test]
fn the_guide_shows_the_scripts_of_sweeps() {
    let guide = include_str!("../../../simulator/README.md");
    for script in [
        include_str!("../../../simulator/examples/sweep/runs.sh"),
        include_str!("../../../simulator/examples/sweep/parallel.sh"),
        include_str!("../../../simulator/examples/sweep/array.sh"),
    ] {
        assert!(guide.contains(&format!("\n```bash\n{script}```\n")), "{script}");
    }
}
