//! Tests `top` when standard output is not a terminal.

use std::fmt::Write;

use crate::program::{TestDirectory, with_input};
use crate::top::two_threads;

/// Returns one column of all rows of node 0. The first column has index 0.
fn column(text: &str, column: usize) -> Vec<u64> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("   0 "));
    let cells = rows.map(|row| row.split_whitespace().nth(column).unwrap());
    cells.map(|cell| cell.replace(',', "").parse().unwrap()).collect()
}

#[test]
fn a_block_for_each_interval_and_then_what_stat_prints() {
    let text = with_input(&["top", "--interval", "600", "-"], two_threads()).assert_success();
    assert!(
        text.starts_with("recording: standard input\nbatoka with 4 nodes, 256 strands; guest measuring (global+htstrand); memory: hardware, 512 bytes\n"),
        "{text}"
    );
    // Two events are counted on each of 30 units: 8 channels, 2 strands, 16 link port units and 4
    // address serialization units.
    let truth = text.lines().find(|line| line.starts_with("Truth: ")).unwrap();
    assert!(
        truth.starts_with("Truth: all 60 counters show exactly what happened (2000 references in "),
        "{text}"
    );
    let blocks: Vec<_> = text.lines().filter(|line| line.starts_with("After ")).collect();
    assert_eq!(blocks.len(), 4, "{text}");
    assert!(
        blocks[3].starts_with("After 2,000 references, ") && blocks[3].contains("; the last 200, ")
    );
    assert_eq!(column(&text, 0), [150, 150, 150, 50]);
    assert!(text.contains("\nwaits for memory: page 0x40000 100%\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "there is nothing for a terminal");
}

/// The blocks cover more and more intervals. The first 50 blocks cover one interval each, the next 25 blocks two, the next 25 blocks four,
/// and so on.
#[test]
fn many_intervals_have_few_blocks() {
    let mut program = String::new();
    for number in 0..400 {
        writeln!(program, "0 r {:#x}", number * 64).unwrap();
    }
    let place = TestDirectory::new("top-blocks");
    place.file("program", program);
    let text = place.run("top --interval 1 --json top.json program").assert_success();
    let blocks: Vec<_> = text.lines().filter(|line| line.starts_with("After ")).collect();
    assert_eq!(blocks.len(), 50 + 25 + 25 + 25, "{text}");
    assert!(blocks[0].starts_with("After 1 references, "));
    assert!(blocks[124].starts_with("After 400 references, "));
    let results = place.json("top.json");
    assert_eq!(results["references"], 400);
    assert_eq!(results["truth_matches"], true);
}

#[test]
fn the_help_has_keys() {
    assert!(with_input(&["top", "--help"], "").assert_success().contains("Keys:\n  space"));
}
