//! Tests profiles of the bundled program.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::program::{TestDirectory, squeezed};
use crate::report::{distance, exact, number, profile, run};
use crate::stat::program;

/// Profiles the bundled program. Compares each function's number of instructions with the program's README. `twice` says how many
/// instructions the event counts twice: in the whole program, and in each function that has such instructions. Returns the text and the
/// JSON.
fn profile_bundled(
    place: &TestDirectory,
    [unit, event, arguments]: [&str; 3],
    twice: (u64, &[(&str, u64)]),
) -> (String, Value) {
    let (output, json) = profile(place, &format!("--unit {unit} {arguments}"));
    assert_eq!((&json["unit"], &json["event"]), (&unit.into(), &event.into()));
    assert_eq!(number(&json["instructions"]), 2_515_549);
    assert_eq!(number(&json["references"]), 2_982_862);
    let counted = 2_515_549 + twice.0;
    assert_eq!((number(&json["count"]), number(&json["exact_count"])), (counted, counted));
    let samples = number(&json["samples"]);
    assert!(samples >= 3_000, "{samples}");
    // Each of the eight strands executes at most one period of instructions after its last sample.
    let all = counted / number(&json["period"]);
    assert!((all - 8..=all).contains(&samples), "{samples}");
    assert_eq!(number(&json["lost"]), 0);

    let rows = json["rows"].as_array().unwrap();
    let variation = json["total_variation"].as_f64().unwrap();
    assert!((0.0..=0.15).contains(&variation), "{variation}");
    assert!((variation - distance(rows)).abs() < 1e-9);
    let sum: u64 = rows.iter().map(|row| number(&row["samples"])).sum();
    assert_eq!(sum, samples);
    for (name, exact) in [
        ("sort_by_price", 873_964),
        ("look_up_price", 518_072),
        ("turn_table", 173_672),
        ("find_order", 120_719),
        ("count_in_one_line", 120_088),
        ("count_in_own_lines", 120_088),
        ("read_archive", 90_232),
        ("build_index", 86_576),
        ("load_orders", 69_824),
        ("take_ticket", 64_120),
        ("write_ledger", 56_352),
        ("serve_customers", 56_032),
        ("price_orders", 36_920),
        ("write_price_list", 28_684),
        ("follow_deliveries", 24_616),
        ("pass_ledger", 1_112),
    ] {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        let extra = twice.1.iter().find(|of| of.0 == name).map_or(0, |of| of.1);
        assert_eq!(number(&row["exact"]), exact + extra, "{name}");
        let percent = row["percent"].as_f64().unwrap();
        let exact = row["exact_percent"].as_f64().unwrap();
        assert!((percent - exact).abs() < 3.0, "{name}: {percent}, {exact}");
    }
    // Functions of the C library also have names.
    let unnamed = rows.iter().find(|row| row["name"].as_str().unwrap().starts_with("page"));
    assert_eq!(unnamed, None);
    assert_eq!(rows[0]["name"], "sort_by_price");
    assert_eq!(rows[0]["address"], "0x100b10");

    assert!(output.contains(&format!("\n# Samples: {samples} of event '{event}'")));
    assert!(output.contains("Total variation between samples and truth: 0.0"));
    (output, json)
}

#[test]
fn a_strand_samples_the_instructions_of_the_bundled_program() {
    let place = TestDirectory::new("profile-sparc");
    let (output, _) = profile_bundled(&place, ["sparc", "Instr_cnt", "-e instructions"], (0, &[]));
    let mut lines = output.lines();
    lines.find(|line| line.starts_with("# Overhead")).unwrap();
    let hottest = lines.next().unwrap();
    assert!(hottest.trim_start().starts_with("34."), "{hottest}");
    let ends = hottest.split_whitespace().skip(4).collect::<Vec<_>>();
    assert_eq!(ends, ["sort_by_price", "workload.c:138"]);
}

/// Without `--waits`, the profile has the cycles in which `stat` finds threads running. With `--waits`, it has the cycles in all states,
/// from each thread's start to its end.
#[test]
fn by_default_a_strand_samples_the_bundled_program_by_time() {
    let place = TestDirectory::new("profile-cycles-bundled");
    place.run("stat --bundled --json stat.json").assert_success();
    let stat = place.json("stat.json");
    let spent = |is_meant: &dyn Fn(&str) -> bool| -> u64 {
        let threads = stat["threads"].as_array().unwrap().iter();
        let states = threads.flat_map(|thread| thread["states"].as_object().unwrap());
        states.filter(|(state, _)| is_meant(state)).map(|(_, cycles)| number(cycles)).sum()
    };
    let (_, json) = profile(&place, "--bundled");
    assert_eq!(json["event"], "cycles");
    let running = spent(&|state| state == "running");
    assert_eq!((number(&json["count"]), number(&json["exact_count"])), (running, running));
    assert!(json["total_variation"].as_f64().unwrap() < 0.01);
    let (_, json) = profile(&place, "--bundled --waits");
    let lives = spent(&|state| !["not_begun", "ended"].contains(&state));
    assert_eq!((number(&json["count"]), number(&json["exact_count"])), (lives, lives));
    for row in exact(&json).into_iter().filter(|(name, _)| name.starts_with('[')) {
        let name = row.0.trim_matches(['[', ']']).replace("as ", "");
        assert_eq!(row.1, spent(&|state| state == name), "{name}");
    }
}

/// An R10000 graduates each multiplication, division and atomic instruction as two instructions. The program executes 12,379
/// multiplications, 2,190 divisions and 4,588 atomic instructions. Each of 4,096 orders needs one multiplication when it is loaded, and one
/// when its slot is computed. Each of 4,000 searches begins with one multiplication. Each of 2,048 prices needs one division. A clerk takes
/// a ticket with `casx`, which fails 20 times in all.
///
/// In the bundled program, `price_orders` calls `look_up_price` for 4,096 prices, and `serve_customers` takes 4,000 tickets. Each callee
/// needs static data, so it first calls a two-instruction procedure that reads the program counter.
#[test]
fn an_r10000_samples_the_bundled_program_with_all_that_functions_call() {
    let place = TestDirectory::new("profile-children");
    let event = "graduated_instructions";
    let arguments = format!(
        "--children --folded folded --callgrind calls -e {event},primary_data_cache_misses"
    );
    let twice = [
        ("load_orders", 4_096),
        ("build_index", 4_096),
        ("find_order", 4_000),
        ("write_price_list", 2_048),
        ("take_ticket", 4_020),
        ("pass_ledger", 16),
    ];
    let of_all = 12_379 + 2_190 + 4_588;
    let (output, json) = profile_bundled(&place, ["r10000", event, &arguments], (of_all, &twice));
    let rows = json["inclusive"].as_array().unwrap();
    let look_up_price = 518_072 + 4_096 * 2;
    let take_ticket = 64_120 + 4_020 + 4_000 * 2;
    for (name, exact) in [
        ("look_up_price", look_up_price),
        ("price_orders", 36_920 + look_up_price),
        ("take_ticket", take_ticket),
        ("serve_customers", 56_032 + take_ticket + 120_719 + 4_000),
        // A recursive function is counted once in each stack.
        ("sort_by_price", 873_964),
    ] {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        assert_eq!(number(&row["exact"]), exact, "{name}");
    }
    let header = "# Children In truth Self In truth Samples Function";
    let header_is = |line: &str| squeezed(line).starts_with(header);
    assert!(output.lines().any(header_is), "{output}");
    // Of 2,534,706 instructions, the function has 256,891 with its callees and 56,032 without them.
    let serves = |line: &&str| line.contains(" serve_customers");
    let serves = squeezed(output.lines().find(serves).unwrap());
    let cells: Vec<&str> = serves.split(' ').collect();
    assert_eq!((cells[1], cells[3]), ("10.13%", "2.21%"), "{serves}");

    let stacks = fs::read_to_string(place.at("folded")).unwrap();
    let samples = |stack: &str| {
        let line = stacks.lines().find_map(|line| line.strip_prefix(stack));
        let samples = line.unwrap_or_else(|| panic!("{stack}: {stacks}")).trim();
        samples.parse::<u64>().unwrap()
    };
    let main = "_start;__libc_start_main;__libc_start_call_main;main";
    assert!(samples(&format!("{event};{main};write_price_list ")) > 20);
    let work = format!("{event};__thread_start;start_thread;work");
    assert!(samples(&format!("{work};sort_by_price;sort_by_price ")) > 700);
    assert!(samples(&format!("{work};serve_customers;find_order ")) > 100);

    // callgrind_annotate shows these inclusive counts for both events.
    let misses = |rows: &Value, name| {
        let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name);
        number(&row.unwrap()["exact"])
    };
    let second = &json["further_events"][0];
    let total = number(&second["exact_count"]);
    let callgrind = |options: &str| {
        let annotate = Command::new("callgrind_annotate");
        let annotated = (*place).run(annotate, &format!("{options} calls"));
        assert_eq!(annotated.status, 0, "{}", annotated.stderr);
        annotated.stdout.replace(',', "")
    };
    let numbers = |text: &str, end: &str| -> Vec<u64> {
        let line = text.lines().find(|line| line.ends_with(end));
        let line = line.unwrap_or_else(|| panic!("{end}: {text}"));
        let words = line.split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let text = callgrind("--inclusive=yes --threshold=100");
    assert_eq!(numbers(&text, " PROGRAM TOTALS"), [2_515_549 + of_all, total]);
    let file = "simulator/bundled/workload.c";
    for (name, exact) in [
        ("price_orders", 36_920 + look_up_price),
        ("serve_customers", 56_032 + take_ticket + 120_719 + 4_000),
    ] {
        let inclusive = [exact, misses(&second["inclusive"], name)];
        assert_eq!(numbers(&text, &format!("{file}:{name}")), inclusive);
    }
    let text = callgrind("--threshold=100");
    let own = [873_964, misses(&second["rows"], "sort_by_price")];
    assert_eq!(numbers(&text, &format!("{file}:sort_by_price")), own);

    let refs = place.file("refs.txt", program(100));
    run(&["--children", &refs]).assert_failure("refs.txt: --children needs call stacks");
    run(&["--children", "--place", "deal:0,1"]).assert_failure("--children needs call stacks");
}
