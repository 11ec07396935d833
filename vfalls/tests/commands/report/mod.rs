mod bundled;
mod messages;
mod source;

use std::fs;

use object::{Object, ObjectSymbol};
use serde_json::Value;

use crate::program::{PROGRAM, ProgramOutput, TestDirectory, squeezed, vfalls, with_input};
use crate::stat::program;

fn run(arguments: &[&str]) -> ProgramOutput {
    vfalls(&[&["report"], arguments].concat())
}

const BUNDLED_ELF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../simulator/bundled/workload.elf");

/// Runs `report`, which must succeed. Returns its text and its JSON.
fn profile(place: &TestDirectory, arguments: &str) -> (String, Value) {
    let output =
        place.run(&format!("report --force --json profile.json {arguments}")).assert_success();
    (output, place.json("profile.json"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Returns the name of each row, and its true number of events.
fn exact(json: &Value) -> Vec<(&str, u64)> {
    let rows = json["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["name"].as_str().unwrap(), number(&row["exact"]))).collect()
}

/// Returns the total variation distance between the samples and the truth in the rows.
fn distance(rows: &[Value]) -> f64 {
    let sum = |key: &str| rows.iter().map(|row| number(&row[key])).sum::<u64>() as f64;
    let (samples, exact) = (sum("samples"), sum("exact"));
    let apart = rows.iter().map(|row| {
        (number(&row["samples"]) as f64 / samples - number(&row["exact"]) as f64 / exact).abs()
    });
    apart.sum::<f64>() / 2.0
}

#[test]
fn without_symbols_there_are_pages() {
    let place = TestDirectory::new("profile-pages");
    place.file("refs.txt", program(4_000));
    let (output, json) = profile(&place, "refs.txt -e instructions -c 10");
    assert_eq!((&json["rows_by"], number(&json["samples"])), (&"page".into(), 200));
    // The program has 2000 4-byte instructions, starting at 0x400000. A page contains 1024 of them.
    let expected = [("page 0x400000", 1024), ("page 0x401000", 976)];
    assert_eq!(exact(&json), expected);
    let table = output.lines().filter(|line| line.contains(" page 0x"));
    let table: Vec<_> = table.map(squeezed).collect();
    assert_eq!(table[0], "51.00% 51.20% 102 1020 page 0x400000");
    assert_eq!(table[1], "49.00% 48.80% 98 980 page 0x401000");
    let piped = ["report", "-", "-e", "instructions", "-c", "10"];
    let piped = with_input(&piped, program(4_000)).assert_success();
    assert!(piped.replace("standard input", "").lines().skip(4).eq(output.lines().skip(4)));
}

/// Two strands execute 40 and 60 instructions. Either the file or the option `--place` names the strands. A single R10000 executes all 100
/// instructions.
#[test]
fn threads_of_a_file_by_hand() {
    let place = TestDirectory::new("profile-threads");
    let line = |strand: u64, n: u64| format!("{strand} i {:#x} 4\n", strand * 0x1000 + n % 8 * 4);
    let first = (0..40).map(|n| line(3, n));
    let both = first.chain((0..60).map(|n| line(70, n)));
    place.file("refs.txt", both.collect::<String>());
    let of = "2 strands of a batoka, nodes: 4; placement:";
    for (arguments, processor) in [
        ("", format!("{of} as the recording says")),
        ("--place spread", format!("{of} spread")),
        (
            "--place 1,2 --machine maramba",
            "2 strands of a maramba, nodes: 2; placement: 1-2".to_owned(),
        ),
        (
            "--unit r10000",
            "an R10000 with 1 MB of secondary cache; the threads take turns, each until it waits or ends".to_owned(),
        ),
    ] {
        let (output, json) = profile(&place, &format!("refs.txt -e instructions -c 10 {arguments}"));
        assert_eq!(json["processor"], processor);
        assert_eq!((number(&json["threads"]), number(&json["count"])), (2, 100));
        assert_eq!(exact(&json), [("page 0x46000", 60), ("page 0x3000", 40)]);
        assert!(output.contains("refs.txt: 100 instructions of 2 threads in "), "{output}");
    }
}

/// One page has a loop with 1,000 iterations, and another has a loop with 3,000 iterations. Each instruction takes one cycle, except the
/// first instruction on a page, which takes less than 400 cycles.
#[test]
fn by_default_a_strand_is_sampled_by_time() {
    let place = TestDirectory::new("profile-cycles");
    let turn = |page: u64| -> String {
        (0..8).map(|n| format!("I  {:x},4\n", page * 0x1000 + 4 * n)).collect()
    };
    place.file("refs.txt", turn(0x401).repeat(1_000) + &turn(0x402).repeat(3_000));
    let (output, json) = profile(&place, "refs.txt");
    let cycles = number(&json["cycles"]);
    assert!((32_000..32_800).contains(&cycles), "{cycles}");
    assert_eq!((&json["event"], number(&json["period"])), (&"cycles".into(), 211));
    assert_eq!((number(&json["count"]), number(&json["exact_count"])), (cycles, cycles));
    let samples = cycles / 211;
    assert_eq!(number(&json["samples"]), samples);
    let header = format!(
        "\n# Samples: {samples} of event 'cycles', one for 211, lost: 0\n# Event count: {cycles}, in truth: {cycles}\n"
    );
    assert!(output.contains(&header), "{output}");
    let rows = exact(&json);
    assert_eq!(
        rows.iter().map(|row| row.0).collect::<Vec<_>>(),
        ["page 0x402000", "page 0x401000"]
    );
    assert!(
        (24_000..24_400).contains(&rows[0].1) && (8_000..8_400).contains(&rows[1].1),
        "{rows:?}"
    );
    assert!(json["total_variation"].as_f64().unwrap() < 0.01);
    assert_eq!(json["waits"], Value::Null);
    // The default event is the one that `-e cycles` names. On an R10000, the default event is graduated instructions.
    let (_, named) = profile(&place, "refs.txt -e cycles");
    assert_eq!(named, json);
    let (_, r10000) = profile(&place, "refs.txt --unit r10000");
    assert_eq!(r10000["event"], "graduated_instructions");
}

/// Two threads are on one strand: the second is ready while the first executes.
#[test]
fn waits_are_frames_under_the_function_that_waits() {
    let place = TestDirectory::new("profile-waits");
    let line =
        |thread: u64, n: u64| format!("{thread} i {:#x} 4\n", (thread + 1) * 0x1000 + n % 8 * 4);
    let all: String = (0..2).flat_map(|thread| (0..4_000).map(move |n| line(thread, n))).collect();
    place.file("refs.txt", all);
    let arguments = "refs.txt --place 5 -c 10";
    let (_, json) = profile(&place, arguments);
    let alone = number(&json["count"]);
    let (output, json) = profile(&place, &format!("{arguments} --waits --folded folded"));
    assert_eq!(json["waits"], true);
    assert!(output.contains(" of event 'cycles' with waits, one for 10, "), "{output}");
    let rows: std::collections::BTreeMap<_, _> = exact(&json).into_iter().collect();
    let (first, second) = (rows["page 0x1000"], rows["page 0x2000"]);
    assert_eq!(first + second, alone);
    assert_eq!(rows["[ready]"], first);
    assert_eq!(number(&json["count"]), alone + first);
    assert_eq!(number(&json["exact_count"]), alone + first);
    assert_eq!(json["inclusive"], Value::Null);
    let stacks = fs::read_to_string(place.at("folded")).unwrap();
    let stacks: Vec<(&str, u64)> = stacks
        .lines()
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(stack, samples)| (stack, samples.parse().unwrap()))
        .collect();
    let names: Vec<_> = stacks.iter().map(|stack| stack.0).collect();
    assert_eq!(names, ["page 0x1000", "page 0x2000", "page 0x2000;[ready]"]);
    // A thread's samples cover the time from its start to its end.
    assert!((stacks[0].1 * 10).abs_diff(first) <= 10, "{stacks:?}");
    assert!(((stacks[1].1 + stacks[2].1) * 10).abs_diff(first + second) <= 10, "{stacks:?}");

    // In callgrind's format, waits are calls. The `diff` command compares waits, too.
    place
        .run(&format!("report {arguments} --waits --callgrind calls --json waits.json"))
        .assert_success();
    let calls = fs::read_to_string(place.at("calls")).unwrap();
    let call = format!("cfn=[ready]\ncalls=1 0\n0 {first}\n");
    assert!(calls.contains("fn=page 0x2000\n") && calls.contains(&call), "{calls}");
    place.run(&format!("report {arguments} --json alone.json")).assert_success();
    let diff = place.run("diff alone.json waits.json").assert_success();
    let diff: Vec<_> = diff.lines().map(squeezed).collect();
    assert!(diff.contains(&"waits - true".to_owned()), "{diff:?}");
    let ready = format!("[ready] exact - {first} +{first}");
    assert!(diff.iter().any(|line| line.starts_with(&ready)), "{diff:?}");
}

/// A program's functions are shown by name. Addresses outside functions are shown by page.
#[test]
fn symbols_of_a_file() {
    let place = TestDirectory::new("profile-symbols");
    let line = |address: u64, times: usize| format!("I  {address:x},4\n").repeat(times);
    // Two of the addresses are in functions of the bundled program. The third address is outside all functions, as an address in a stack
    // would be.
    let refs = [line(0x10_0a84, 500), line(0x10_0cac, 300), line(0x1fff_0000, 200)].concat();
    place.file("refs.txt", refs);
    let (_, json) =
        profile(&place, &format!("refs.txt --symbols {BUNDLED_ELF} -e instructions -c 10"));
    assert_eq!(exact(&json), [("find_order", 500), ("turn_table", 300), ("page 0x1fff0000", 200)]);
}

/// A note is printed if the symbols belong to another program.
#[test]
fn symbols_of_another_program() {
    let place = TestDirectory::new("profile-another");
    let refs = place.file("refs.txt", "I  5000,4\n".repeat(100));
    let ended = run(&[&refs, "--symbols", BUNDLED_ELF, "-e", "instructions", "-c", "10"]);
    assert_eq!(ended.status, 0);
    assert!(ended.stderr.starts_with("note: "), "{}", ended.stderr);
    let says = "workload.elf, loaded at 0x0, has functions for 0 of 10 samples\n";
    assert!(ended.stderr.ends_with(says), "{}", ended.stderr);
}

/// The test profiles its own program, which is position-independent. valgrind loads such programs at 0x108000.
#[test]
fn symbols_of_a_program_that_may_be_loaded_anywhere() {
    let place = TestDirectory::new("profile-anywhere");
    let bytes = fs::read(PROGRAM).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let main = elf.symbol_by_name("main").unwrap().address();
    for (load, base) in [("", 0x10_8000), ("--load-address 0x5550000", 0x555_0000)] {
        place.file("refs.txt", format!("I  {:x},2\n", base + main).repeat(100));
        let options = format!("--symbols {PROGRAM} -e instructions -c 10 --folded folded {load}");
        let (_, json) = profile(&place, &format!("refs.txt {options}"));
        assert_eq!(json["rows"][0]["name"], "main", "{base:#x}");
        assert_eq!(json["rows"][0]["address"], format!("{:#x}", base + main));
        assert_eq!(fs::read_to_string(place.at("folded")).unwrap(), "main 10\n");
    }
}
