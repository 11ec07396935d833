//! Tests flame graphs, pages, and the source lines and instructions of functions.

use std::fs;

use object::{Object, ObjectSymbol};

use crate::program::{PROGRAM, TestDirectory, contains_all, squeezed, vfalls};
use crate::report::{BUNDLED_ELF, number, profile};
use crate::stat::program;

#[test]
fn flame_graphs() {
    let place = TestDirectory::new("profile-flame");
    place.file("refs.txt", program(4_000));
    let common = "refs.txt -c 10 --folded folded --svg svg";
    profile(&place, &format!("{common} -e instructions"));
    let text = |name: &str| fs::read_to_string(place.at(name)).unwrap();
    assert_eq!(text("folded"), "page 0x400000 102\npage 0x401000 98\n");
    let picture = text("svg");
    assert!(picture.contains("<svg") && picture.trim_end().ends_with("</svg>"));
    assert!(picture.contains("page 0x400000 (102 samples, 51.00%)"));

    let (_, json) = profile(&place, &format!("{common} -e Instr_cnt -e Instr_ld"));
    assert_eq!(json["event"], "Instr_cnt");
    assert_eq!(json["further_events"][0]["event"], "Instr_ld");
    let stacks = text("folded");
    let total = |event: &str| -> u64 {
        let lines = stacks.lines().filter(|line| line.starts_with(&format!("{event};page 0x")));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    assert_eq!(total("Instr_cnt"), number(&json["samples"]));
    assert_eq!(total("Instr_ld"), number(&json["further_events"][0]["samples"]));
}

/// The function `find_order` is in lines 129 to 135 of the source, and starts at 0x100a84.
#[test]
fn lines_of_a_function() {
    let place = TestDirectory::new("profile-annotate");
    let line = |address: u64, times: usize| format!("I  {address:x},4\n").repeat(times);
    let refs = [line(0x10_0a84, 300), line(0x10_0aa0, 500), line(0x10_0cac, 200)];
    let refs = place.file("refs.txt", refs.concat());
    let annotate = |function: &str, more: &[&str]| {
        let arguments = [
            "annotate",
            function,
            &refs,
            "--symbols",
            BUNDLED_ELF,
            "-e",
            "instructions",
            "-c",
            "10",
        ];
        vfalls(&[&arguments[..], more].concat())
    };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let shown = annotate("find_order", &["--source", root]).assert_success();
    let lines = shown.lines().skip(5).map(str::trim_end).collect::<Vec<_>>();
    // Each of the 100 samples comes after 10 more instructions. The second instruction is inlined.
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

    // The source is neither at the path that the compiler wrote nor below this directory.
    let elsewhere = place.path().to_str().unwrap();
    let ended = annotate("find_order", &["--source", elsewhere]);
    let note = "note: simulator/bundled/workload.c: not found, so its lines have only numbers; --source DIR says where sources are\n";
    assert_eq!((ended.status, &*ended.stderr), (0, note));
    let lines = "    50.00%        500       500   116\n    29.00%        290       300   130\n";
    assert!(ended.stdout.ends_with(lines), "{}", ended.stdout);

    annotate("find_ordre", &[])
        .assert_failure("there is no function 'find_ordre'; did you mean find_order?");
    vfalls(&["annotate", "find_order", &refs, "-c", "10"]).assert_failure("--symbols");
}

#[test]
fn the_page_is_made_of_lines_and_stacks() {
    let place = TestDirectory::new("profile-page");
    let refs = [(0x10_0a84, 300), (0x10_0aa0, 500)];
    let refs = refs.map(|(address, times)| format!("I  {address:x},4\n").repeat(times));
    place.file("refs.txt", refs.concat());
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let options =
        format!("--symbols {BUNDLED_ELF} -e instructions -c 10 --source {root} --html page.html");
    place.run(&format!("report refs.txt {options}")).assert_success();
    let page = fs::read_to_string(place.at("page.html")).unwrap();
    // Each of the 80 samples is taken after 10 more instructions, the last one at the end. The second instruction belongs to an inlined
    // function.
    let parts = [
        "find_order;slot_of",
        "return customer * 0x9e3779b97f4a7c15u &gt;&gt; 54;",
        "simulator/bundled/workload.c",
        "<td>510</td><td>500</td>",
        "<td>290</td><td>300</td>",
    ];
    contains_all(&page, &parts);
}

/// The recording executes the first instruction of the test program's own `main`. valgrind loads the program at 0x108000.
#[test]
fn instructions_of_a_function() {
    let place = TestDirectory::new("profile-asm");
    let bytes = fs::read(PROGRAM).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let main = 0x10_8000 + elf.symbol_by_name("main").unwrap().address();
    let refs = place.file("refs.txt", format!("I  {main:x},1\n").repeat(100));
    let shown = vfalls(&[
        "annotate",
        "main",
        &refs,
        "--symbols",
        PROGRAM,
        "-e",
        "instructions",
        "-c",
        "10",
        "--asm",
    ])
    .assert_success();
    let first = shown.lines().map(squeezed).find(|line| line.contains(&format!("{main:#x}")));
    let first = first.unwrap_or_else(|| panic!("{shown}"));
    // The last sample is on the next instruction. On every host, the function has further instructions to show.
    assert!(first.starts_with(&format!("90.00% 90 100 {main:#x} ")), "{first}");
    let next = shown.lines().skip_while(|line| !line.contains(&format!("{main:#x}"))).nth(1);
    assert!(next.is_some_and(|next| next.contains("0x")), "{shown}");
}
