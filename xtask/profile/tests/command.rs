//! The program as a person or a script runs it, by `cargo xtask profile`.

#[path = "../../tests/commands/program.rs"]
mod program;

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use object::{Object, ObjectSymbol};
use serde_json::{Value, json};

use crate::program::{Ended, Place, command, end, with_input, xtask as run};

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_profile");

/// The symbols of the bundled program.
const BUNDLED_ELF: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../simulator/bundled/workload.elf"
);

/// A program of 5000 instructions in a row, again and again, each of which loads from or stores to many places.
fn recording(references: u64) -> String {
    let mut text = String::from("==1== a message\n\n");
    for number in 0..references / 2 {
        let _ = writeln!(text, "I  {:x},4", 0x40_0000 + number % 5000 * 4);
        let kind = ['L', 'S', 'S', 'M'][number as usize % 4];
        let data = 0x1000_0000 + number * 0x9e37_79b9 % 0x120_0000 / 8 * 8;
        let _ = writeln!(text, " {kind} {data:x},8");
    }
    text
}

/// Runs `profile` without an error. Returns what it prints, and what it writes as JSON.
fn profile(place: &Place, arguments: &[&str]) -> (String, Value) {
    let file = place.path().join("profile.json");
    let mut all = vec!["--force", "--json", file.to_str().unwrap()];
    all.extend(arguments);
    let output = run(&all).well();
    let text = fs::read_to_string(&file).unwrap();
    (output, serde_json::from_str(&text).unwrap())
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Returns the names of the rows, and how often the event really happened there.
fn exact(json: &Value) -> Vec<(&str, u64)> {
    let rows = json["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["name"].as_str().unwrap(), number(&row["exact"])))
        .collect()
}

/// Returns the distance between samples and truth, computed from the rows.
fn distance(rows: &[Value]) -> f64 {
    let sum = |key: &str| rows.iter().map(|row| number(&row[key])).sum::<u64>() as f64;
    let (samples, exact) = (sum("samples"), sum("exact"));
    let apart = rows.iter().map(|row| {
        (number(&row["samples"]) as f64 / samples - number(&row["exact"]) as f64 / exact).abs()
    });
    apart.sum::<f64>() / 2.0
}

/// Checks the profile without an event: instructions of the bundled program by function. The README of that
/// program has the number of each function's instructions.
/// Returns what is printed and what is in JSON.
fn of_the_bundled(unit: &str, event: &str, arguments: &[&str]) -> (String, Value) {
    let place = Place::new(&format!("profile-{unit}"));
    let (output, json) = profile(&place, &[&["--unit", unit], arguments].concat());
    assert_eq!(
        (&json["unit"], &json["event"]),
        (&unit.into(), &event.into())
    );
    assert_eq!(number(&json["instructions"]), 2_552_121);
    assert_eq!(number(&json["references"]), 3_024_846);
    assert_eq!(number(&json["count"]), 2_552_121);
    assert_eq!(number(&json["exact_count"]), 2_552_121);
    let samples = number(&json["samples"]);
    assert!(samples >= 3_000, "{samples}");
    // A strand of the eight may end with almost a period that is not sampled.
    let all = 2_552_121 / number(&json["period"]);
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
        ("take_ticket", 64_054),
        ("write_ledger", 56_352),
        ("serve_customers", 56_032),
        ("price_orders", 36_920),
        ("write_price_list", 28_684),
        ("follow_deliveries", 24_616),
        ("pass_ledger", 1_112),
    ] {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        assert_eq!(number(&row["exact"]), exact, "{name}");
        let percent = row["percent"].as_f64().unwrap();
        let exact = row["exact_percent"].as_f64().unwrap();
        assert!((percent - exact).abs() < 3.0, "{name}: {percent}, {exact}");
    }
    // Every function has a name, also those of the C library.
    let unnamed = rows
        .iter()
        .find(|row| row["name"].as_str().unwrap().starts_with("page"));
    assert_eq!(unnamed, None);
    assert_eq!(rows[0]["name"], "sort_by_price");
    assert_eq!(rows[0]["address"], "0x100b10");

    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[3].contains(&format!("# Samples: {samples} of event '{event}'")));
    assert!(output.contains("Total variation between samples and truth: 0.0"));
    (output, json)
}

#[test]
fn by_default_a_strand_samples_the_bundled_program() {
    let (output, _) = of_the_bundled("sparc", "Instr_cnt", &[]);
    let mut lines = output.lines();
    lines.find(|line| line.starts_with("# Overhead")).unwrap();
    let hottest = lines.next().unwrap();
    assert!(hottest.trim_start().starts_with("34."), "{hottest}");
    let ends = hottest.split_whitespace().skip(4).collect::<Vec<_>>();
    assert_eq!(ends, ["sort_by_price", "workload.c:138"]);
}

/// In the bundled program, `price_orders` asks `look_up_price` for 4,096 prices, and `serve_customers` takes 4,000 tickets. To get at
/// static data, both callees first call a procedure of two instructions that reads the program counter.
#[test]
fn an_r10000_samples_the_bundled_program_with_all_that_functions_call() {
    let place = Place::new("profile-children");
    let [folded, calls] = ["folded", "calls"].map(|name| place.path().join(name));
    let (folded, calls) = (folded.to_str().unwrap(), calls.to_str().unwrap());
    let events = "graduated_instructions,primary_data_cache_misses";
    let mut arguments = vec!["--children", "--folded", folded, "--callgrind", calls];
    arguments.extend(["-e", events]);
    let (output, json) = of_the_bundled("r10000", "graduated_instructions", &arguments);
    let rows = json["inclusive"].as_array().unwrap();
    let look_up_price = 518_072 + 4_096 * 2;
    let take_ticket = 64_054 + 4_000 * 2;
    for (name, exact) in [
        ("look_up_price", look_up_price),
        ("price_orders", 36_920 + look_up_price),
        ("take_ticket", take_ticket),
        ("serve_customers", 56_032 + take_ticket + 120_719),
        // It calls itself, and counts once.
        ("sort_by_price", 873_964),
    ] {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        assert_eq!(number(&row["exact"]), exact, "{name}");
    }
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let header = "# Children In truth Self In truth Samples Function";
    let header_is = |line: &str| words(line).starts_with(header);
    assert!(output.lines().any(header_is), "{output}");
    // 248,805 and 56,032 of 2,552,121 instructions.
    let serves = |line: &&str| line.contains(" serve_customers");
    let serves = words(output.lines().find(serves).unwrap());
    let cells: Vec<&str> = serves.split(' ').collect();
    assert_eq!((cells[1], cells[3]), ("9.75%", "2.20%"), "{serves}");

    let stacks = fs::read_to_string(folded).unwrap();
    let samples = |stack: &str| {
        let line = stacks.lines().find_map(|line| line.strip_prefix(stack));
        let samples = line.unwrap_or_else(|| panic!("{stack}: {stacks}")).trim();
        samples.parse::<u64>().unwrap()
    };
    let event = "graduated_instructions";
    let main = "_start;__libc_start_main;__libc_start_call_main;main";
    assert!(samples(&format!("{event};{main};write_price_list ")) > 20);
    let work = format!("{event};__thread_start;start_thread;work");
    assert!(samples(&format!("{work};sort_by_price;sort_by_price ")) > 700);
    assert!(samples(&format!("{work};serve_customers;find_order ")) > 100);

    // What callgrind_annotate shows of both events, functions with what they call.
    let misses = |rows: &Value, name| {
        let row = rows
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name);
        number(&row.unwrap()["exact"])
    };
    let second = &json["further_events"][0];
    let total = number(&second["exact_count"]);
    let callgrind = |options: &[&str]| {
        let mut annotate = Command::new("callgrind_annotate");
        let annotated = annotate.args(options).arg(calls).output();
        let annotated = annotated.expect("callgrind_annotate is in Debian's valgrind");
        let text = String::from_utf8(annotated.stdout).unwrap();
        assert!(annotated.status.success(), "{text}");
        text.replace(',', "")
    };
    let numbers = |text: &str, end: &str| -> Vec<u64> {
        let line = text.lines().find(|line| line.ends_with(end));
        let line = line.unwrap_or_else(|| panic!("{end}: {text}"));
        let words = line.split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let text = callgrind(&["--inclusive=yes", "--threshold=100"]);
    assert_eq!(numbers(&text, " PROGRAM TOTALS"), [2_552_121, total]);
    let file = "simulator/bundled/workload.c";
    for (name, exact) in [
        ("price_orders", 36_920 + look_up_price),
        ("serve_customers", 56_032 + take_ticket + 120_719),
    ] {
        let inclusive = [exact, misses(&second["inclusive"], name)];
        assert_eq!(numbers(&text, &format!("{file}:{name}")), inclusive);
    }
    let text = callgrind(&["--threshold=100"]);
    let own = [873_964, misses(&second["rows"], "sort_by_price")];
    assert_eq!(numbers(&text, &format!("{file}:sort_by_price")), own);

    let refs = place.file("refs.txt", recording(100));
    run(&["--children", &refs]).badly("refs.txt: --children needs call stacks");
    run(&["--children", "--place", "deal:0,1"]).badly("--children needs call stacks");
}

#[test]
fn without_symbols_there_are_pages() {
    let place = Place::new("profile-pages");
    let refs = place.file("refs.txt", recording(4_000));
    let (output, json) = profile(&place, &[&refs, "-c", "10"]);
    assert_eq!(
        (&json["rows_by"], number(&json["samples"])),
        (&"page".into(), 200)
    );
    // 2000 instructions of 4 bytes from 0x400000 on, 1024 to a page.
    let expected = [("page 0x400000", 1024), ("page 0x401000", 976)];
    assert_eq!(exact(&json), expected);
    let table: Vec<Vec<&str>> = output
        .lines()
        .filter(|line| line.contains(" page 0x"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        table[0],
        ["51.00%", "51.20%", "102", "1020", "page", "0x400000"]
    );
    assert_eq!(
        table[1],
        ["49.00%", "48.80%", "98", "980", "page", "0x401000"]
    );
    // The recording from a pipe, as `sim` takes it.
    let piped = with_input(&["-", "-c", "10"], recording(4_000)).well();
    assert_eq!(
        piped
            .replace("standard input", "")
            .lines()
            .skip(3)
            .collect::<Vec<_>>(),
        output.lines().skip(3).collect::<Vec<_>>()
    );
}

/// Two strands execute 40 and 60 instructions, where the file says or where `--place` does; an R10000 executes all.
#[test]
fn threads_of_a_file_by_hand() {
    let place = Place::new("profile-threads");
    let line = |strand: u64, n: u64| format!("{strand} i {:#x} 4\n", strand * 0x1000 + n % 8 * 4);
    let first = (0..40).map(|n| line(3, n));
    let refs = place.file(
        "refs.txt",
        first
            .chain((0..60).map(|n| line(70, n)))
            .collect::<String>(),
    );
    let of = "2 strands of a batoka, nodes: 4; placement:";
    for (arguments, processor) in [
        (&[][..], format!("{of} as the recording says")),
        (&["--place", "spread"][..], format!("{of} spread")),
        (
            &["--place", "1,2", "--machine", "maramba"][..],
            "2 strands of a maramba, nodes: 2; placement: 1-2".to_owned(),
        ),
        (
            &["--unit", "r10000"][..],
            "an R10000 with 1 MB of secondary cache; the threads take turns, each until it waits or ends".to_owned(),
        ),
    ] {
        let (output, json) = profile(&place, &[&[&*refs, "-c", "10"], arguments].concat());
        assert_eq!(json["processor"], processor);
        assert_eq!((number(&json["threads"]), number(&json["count"])), (2, 100));
        assert_eq!(exact(&json), [("page 0x46000", 60), ("page 0x3000", 40)]);
        assert!(output.contains("refs.txt: 100 instructions of 2 threads in "), "{output}");
    }
}

/// Functions of a program have names; what is elsewhere is a page.
#[test]
fn symbols_of_a_file() {
    let place = Place::new("profile-symbols");
    let line = |address: u64, times: usize| format!("I  {address:x},4\n").repeat(times);
    // Functions of the bundled program, and what might be a stack.
    let refs = [
        line(0x10_0a84, 500),
        line(0x10_0cac, 300),
        line(0x1fff_0000, 200),
    ]
    .concat();
    let refs = place.file("refs.txt", refs);
    let (_, json) = profile(&place, &[&refs, "--symbols", BUNDLED_ELF, "-c", "10"]);
    assert_eq!(
        exact(&json),
        [
            ("find_order", 500),
            ("turn_table", 300),
            ("page 0x1fff0000", 200)
        ]
    );
}

/// Symbols of another program are no error, but there is a note.
#[test]
fn symbols_of_another_program() {
    let place = Place::new("profile-another");
    let refs = place.file("refs.txt", "I  5000,4\n".repeat(100));
    let ended = run(&[&refs, "--symbols", BUNDLED_ELF, "-c", "10"]);
    assert_eq!(ended.status, 0);
    assert!(ended.stderr.starts_with("note: "), "{}", ended.stderr);
    let says = "workload.elf, loaded at 0x0, has functions for 0 of 10 samples\n";
    assert!(ended.stderr.ends_with(says), "{}", ended.stderr);
}

/// A program that may be loaded anywhere: this one. valgrind loads it at 0x108000.
#[test]
fn symbols_of_a_program_that_may_be_loaded_anywhere() {
    let place = Place::new("profile-anywhere");
    let program = PROGRAM;
    let bytes = fs::read(program).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let main = elf.symbol_by_name("main").unwrap().address();
    for (load, base) in [
        (&[][..], 0x10_8000),
        (&["--load-address", "0x5550000"][..], 0x555_0000),
    ] {
        let refs = place.file("refs.txt", format!("I  {:x},2\n", base + main).repeat(100));
        let folded = place.path().join("folded");
        let mut arguments = vec![&refs, "--symbols", program, "-c", "10"];
        arguments.extend(["--folded", folded.to_str().unwrap()]);
        arguments.extend(load);
        let (_, json) = profile(&place, &arguments);
        assert_eq!(json["rows"][0]["name"], "main", "{base:#x}");
        assert_eq!(json["rows"][0]["address"], format!("{:#x}", base + main));
        assert_eq!(fs::read_to_string(&folded).unwrap(), "main 10\n");
    }
}

#[test]
fn flame_graphs() {
    let place = Place::new("profile-flame");
    let refs = place.file("refs.txt", recording(4_000));
    let [folded, svg] = ["folded", "svg"].map(|name| place.path().join(name));
    let (folded, svg) = (folded.to_str().unwrap(), svg.to_str().unwrap());
    let common = [&refs, "-c", "10", "--folded", folded, "--svg", svg];
    profile(&place, &common);
    let text = || fs::read_to_string(folded).unwrap();
    assert_eq!(text(), "page 0x400000 102\npage 0x401000 98\n");
    let picture = fs::read_to_string(svg).unwrap();
    assert!(picture.contains("<svg") && picture.trim_end().ends_with("</svg>"));
    assert!(picture.contains("page 0x400000 (102 samples, 51.00%)"));

    let (_, json) = profile(
        &place,
        &[&common[..], &["-e", "Instr_cnt", "-e", "Instr_ld"]].concat(),
    );
    assert_eq!(json["event"], "Instr_cnt");
    assert_eq!(json["further_events"][0]["event"], "Instr_ld");
    let stacks = text();
    let total = |event: &str| -> u64 {
        let lines = stacks
            .lines()
            .filter(|line| line.starts_with(&format!("{event};page 0x")));
        lines
            .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
            .sum()
    };
    assert_eq!(total("Instr_cnt"), number(&json["samples"]));
    assert_eq!(
        total("Instr_ld"),
        number(&json["further_events"][0]["samples"])
    );
}

/// Lines 129 to 135 of the source are the function `find_order`, whose first instruction is at 0x100a84.
#[test]
fn lines_of_a_function() {
    let place = Place::new("profile-annotate");
    let line = |address: u64, times: usize| format!("I  {address:x},4\n").repeat(times);
    let refs = [
        line(0x10_0a84, 300),
        line(0x10_0aa0, 500),
        line(0x10_0cac, 200),
    ];
    let refs = place.file("refs.txt", refs.concat());
    let arguments = [&refs, "--symbols", BUNDLED_ELF, "-c", "10", "--annotate"];
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let shown = run(&[&arguments[..], &["find_order", "--source", root]].concat()).well();
    let lines = shown.lines().skip(3).map(str::trim_end).collect::<Vec<_>>();
    // 100 samples, each of the instruction after 10 others. The second instruction is inlined.
    let expected = "\
# Function: find_order
# Source: simulator/bundled/workload.c
# Overhead  Instr_cnt  In truth  Line  Source
                                  113
                                  114  static uint64_t slot_of(uint64_t customer)
                                  115  {
    50.00%        500       500   116      return customer * 0x9e3779b97f4a7c15u >> 54;
                                  117  }
                                  118
                                  119  APART static void build_index(struct till *till)
                                  ...
                                  127  }
                                  128
                                  129  APART static struct order *find_order(struct till *till, uint64_t customer)
    29.00%        290       300   130  {
                                  131      uint64_t slot = slot_of(customer);
                                  132      while (till->orders[till->index[slot] - 1].customer != customer)
                                  133          slot = (slot + 1) % SLOTS;";
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());

    // The source is not where it was compiled, and not below this directory.
    let elsewhere = place.path().to_str().unwrap();
    let ended = run(&[&arguments[..], &["find_order", "--source", elsewhere]].concat());
    let note = "note: simulator/bundled/workload.c: not found, so its lines have only numbers; --source DIR says where sources are\n";
    assert_eq!((ended.status, &*ended.stderr), (0, note));
    let lines = "    50.00%        500       500   116\n    29.00%        290       300   130\n";
    assert!(ended.stdout.ends_with(lines), "{}", ended.stdout);

    run(&[&arguments[..], &["find_ordre"]].concat())
        .badly("there is no function 'find_ordre'; did you mean find_order?");
    run(&[&refs, "-c", "10", "--annotate", "find_order"]).badly("--symbols");
}

/// The program `page` reads the report, the stacks and the lines. This cargo hands them on as the page.
#[test]
fn the_page_is_made_of_lines_and_stacks() {
    let place = Place::new("profile-page");
    let cargo = place.file("cargo", "#!/bin/sh\nexec cat\n");
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let refs = [(0x10_0a84, 300), (0x10_0aa0, 500)];
    let refs = refs.map(|(address, times)| format!("I  {address:x},4\n").repeat(times));
    let refs = place.file("refs.txt", refs.concat());
    let page = place.path().join("page.html");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut profile = command(&[&refs, "--symbols", BUNDLED_ELF, "-c", "10"]);
    profile.args(["--source", root, "--html", page.to_str().unwrap()]);
    profile.env("CARGO", cargo);
    end(profile, b"").well();
    let report: Value = serde_json::from_str(&fs::read_to_string(page).unwrap()).unwrap();
    // 80 samples, each of the instruction after 10 others; the last is of the end. The second instruction is inlined.
    assert_eq!(
        (&report["samples"], &report["exact_count"]),
        (&80.into(), &800.into())
    );
    assert_eq!(
        report["stacks"],
        json!(["find_order 29", "find_order;slot_of 51"])
    );
    let rows = json!([
        {
            "line": 116,
            "text": "    return customer * 0x9e3779b97f4a7c15u >> 54;",
            "counts": [[510, 500]],
        },
        { "line": 130, "text": "{", "counts": [[290, 300]] },
    ]);
    assert_eq!(
        report["lines"],
        json!([{ "function": "find_order", "file": "simulator/bundled/workload.c", "rows": rows }])
    );
}

/// The first instructions of this program's own `main`, which valgrind loads at 0x108000.
#[test]
fn instructions_of_a_function() {
    let place = Place::new("profile-asm");
    let bytes = fs::read(PROGRAM).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let main = 0x10_8000 + elf.symbol_by_name("main").unwrap().address();
    let refs = place.file("refs.txt", format!("I  {main:x},1\n").repeat(100));
    let arguments = [
        &refs,
        "--symbols",
        PROGRAM,
        "-c",
        "10",
        "--annotate",
        "main",
    ];
    let shown = run(&[&arguments[..], &["--asm"]].concat()).well();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = shown
        .lines()
        .map(words)
        .find(|line| line.contains(&format!("{main:#x}")));
    let first = first.unwrap_or_else(|| panic!("{shown}"));
    // The last sample is of what comes after. On this machine, whatever it is, the function has instructions.
    assert!(
        first.starts_with(&format!("90.00% 90 100 {main:#x} ")),
        "{first}"
    );
    let next = shown
        .lines()
        .skip_while(|line| !line.contains(&format!("{main:#x}")))
        .nth(1);
    assert!(next.is_some_and(|next| next.contains("0x")), "{shown}");
}

#[test]
fn what_is_not_modelled_says_so() {
    let place = Place::new("profile-not-modelled");
    let refs = place.file("refs.txt", recording(1_000));
    for (unit, event, absence) in [
        (
            "sparc",
            "ITLB_miss",
            "addresses are not translated, so there are no TLBs",
        ),
        (
            "r10000",
            "mispredicted_branches",
            "the recording does not tell branches from other instructions",
        ),
    ] {
        let ended = run(&[&refs, "--unit", unit, "-e", event]);
        assert_eq!(ended.status, 0);
        assert_eq!(
            ended.stderr,
            format!("note: {event} is not modelled, and reads 0: {absence}\n")
        );
        assert!(
            ended
                .stdout
                .contains(&format!("# Samples: 0 of event '{event}'"))
        );
        assert!(ended.stdout.contains("# Event count: 0, in truth: 0\n"));
    }
}

/// What a recording cannot cause, and what limits the rest.
#[test]
fn the_list_says_what_a_recording_cannot_cause() {
    let place = Place::new("profile-list");
    for (unit, events, occur, lines) in [
        (
            "r10000",
            32,
            21,
            &[
                " 2 issued_loads yes again after an interrupt or a TLB miss; what issues after a mispredicted branch is not recorded",
                "24 mispredicted_branches yes if the recording tells branches from other instructions, as those of record do",
                "23 tlb_misses yes those of the program; those in the refill handler with --exceptions",
                "12 external_interventions no there is no other processor",
                "25 primary_data_cache_misses yes",
            ][..],
        ),
        (
            "sparc",
            39,
            15,
            &[
                "Instr_FGU_arithmetic no a recording does not tell such instructions from others",
                "DTLB_miss no addresses are not translated, so there are no TLBs",
                "AES_op no there are no stream processing units",
                "DC_miss yes Misses of the data cache, by loads.",
            ],
        ),
    ] {
        let list = place.run(&format!("--list --unit {unit}")).well();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let list: Vec<String> = list.lines().map(words).collect();
        assert_eq!((&*list[0], list.len()), ("event occurs about", 1 + events));
        let yes = |line: &&String| line.contains(" yes");
        assert_eq!(list.iter().filter(yes).count(), occur, "{unit}");
        for line in lines {
            assert!(list.contains(&words(line)), "{line}: {list:?}");
        }
    }
    for output in ["json", "svg", "folded", "html"] {
        let ended = place.run(&format!("--list --{output} list"));
        ended.badly("cannot be used with");
        assert!(!place.path().join("list").exists(), "{output}");
    }
}

#[test]
fn the_help_has_examples() {
    for flag in ["-h", "--help"] {
        let help = end(command(&[flag]), b"").well();
        assert!(
            help.contains("Usage: cargo xtask profile [OPTIONS]"),
            "{help}"
        );
        assert!(
            help.contains("Examples:\n  cargo xtask profile\n"),
            "{help}"
        );
    }
}

#[test]
fn bad_input_gets_one_line() {
    let place = Place::new("profile-bad");
    let refs = place.file("refs.txt", recording(10));
    let data = place.file("data.txt", " L 1000,8\n");
    let broken = place.file("broken.txt", "I  04001090,3\n L zzz,8\n");
    let nearly = place.file("nearly.elf", "\x7fELF");
    let json = place.path().join("out.json");
    let all = guest_abi::event::SparcEvent::ALL
        .iter()
        .map(|event| event.name())
        .collect::<Vec<_>>()
        .join(",");
    for (arguments, says) in [
        (
            &["-e", "Instr_cn"][..],
            "there is no SPARC event 'Instr_cn'; did you mean Instr_cnt?",
        ),
        (
            &["--unit", "r10000", "-e", "graduated_lods"],
            "there is no R10000 event 'graduated_lods'; did you mean graduated_loads",
        ),
        (
            &["--unit", "r10000", "-e", "32"],
            "there is no event 32, but 0 to 31",
        ),
        (&["--exceptions"], "--exceptions is for --unit r10000"),
        (
            &["--unit", "r1000"],
            "there is no unit 'r1000'; did you mean r10000?",
        ),
        (
            &["-e", "Instr_ld,"],
            "found 'Instr_ld,', expected EVENT[,EVENT]...",
        ),
        (
            &["-e", "Instr_ld,instr_ld"],
            "the event Instr_ld is named twice",
        ),
        (
            &["-e", &all],
            "39 events, expected at most 16 for each of the two counters",
        ),
        (
            &["-c", "0"],
            "found '0', expected a period of 1 to 2147483648 events",
        ),
        (
            &["-c", "2147483649"],
            "found '2147483649', expected a period",
        ),
        (&["-c", "often"], "found 'often', expected a period"),
        (&["--seed", "3"], "--randomise"),
        (&["--load-address", "0x1000"], "--symbols"),
        (
            &["--symbols", &nearly, "--load-address", "10g0"],
            "found '10g0', expected an address",
        ),
        (&["/nowhere/refs"], "/nowhere/refs"),
        (&[&broken], "broken.txt:2: found"),
        (
            &[&data],
            "data.txt: found no instruction, expected at least one",
        ),
        (
            &["--symbols", "/nowhere/elf"],
            "/nowhere/elf: cannot be read",
        ),
        (&["--symbols", &refs], "refs.txt: found no ELF file"),
        (&["--symbols", &nearly], "nearly.elf: "),
        (&["--folded", "/nowhere/folded"], "/nowhere/folded"),
        (&["--html", "/nowhere/page"], "/nowhere/page"),
        (
            &[
                "-e",
                "ITLB_miss",
                "--svg",
                &format!("{}.svg", json.display()),
            ],
            "no sample was taken",
        ),
    ] {
        let mut all = vec!["--json", json.to_str().unwrap()];
        if arguments[0].starts_with('-') {
            all.push(&refs);
        }
        all.extend(arguments);
        let ended = run(&all);
        let notes = ended
            .stderr
            .lines()
            .filter(|line| !line.starts_with("note: "));
        let errors = notes.fold(String::new(), |all, line| all + line + "\n");
        Ended {
            stderr: errors,
            ..ended
        }
        .badly(says);
        let left = fs::read_dir(place.path()).unwrap().count();
        assert_eq!(left, 4, "{arguments:?} leaves a file");
    }
}
