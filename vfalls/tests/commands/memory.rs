//! Tests the option `--memory`, which places a program's pages on nodes, in all commands that replay.

use std::fs;

use serde_json::{Value, json};

use crate::program::{TestDirectory, vfalls};
use crate::stat::json;

/// Strand 64, which is on node 1, is the first to touch two pages. Strand 0, on node 0, then reads another line from each of these pages,
/// and a line from a third page.
const TOUCHES: &str = "64 r 0x0\n64 w 0x2000\n0 r 0x400\n0 r 0x2400\n0 r 0x4000\n";

/// For each thread, returns how many lines came from local memory, and how many from remote memory.
fn served(results: &Value) -> Vec<[u64; 2]> {
    let threads = results["threads"].as_array().unwrap().iter();
    let number = |thread: &Value, way: &str| thread["served"][way].as_u64().unwrap();
    threads.map(|thread| ["local", "remote"].map(|way| number(thread, way))).collect()
}

#[test]
fn pages_are_where_the_option_says() {
    let place = TestDirectory::new("memory-pages");
    // The second strand starts after the first strand has waited for its two lines.
    place.file("touches", TOUCHES);
    for (option, said, first, second) in [
        // With two nodes, the addresses 0x0, 0x400, 0x2000, 0x2400 and 0x4000 are all on node 0.
        ("", "hardware", [0, 2], [3, 0]),
        ("--memory hardware", "hardware", [0, 2], [3, 0]),
        ("--memory node:0", "node:0", [0, 2], [3, 0]),
        ("--memory node:1", "node:1", [2, 0], [0, 3]),
        // The pages at 0x0 and 0x4000 are on node 0, and the page at 0x2000 is on node 1.
        ("--memory interleave:8K", "interleave:8K", [1, 1], [2, 1]),
        ("--memory interleave:16384", "interleave:16K", [0, 2], [2, 1]),
    ] {
        let results = json(&place, &format!("touches --nodes 2 {option}"));
        assert_eq!(results["configuration"]["memory"]["pages"], said);
        let mut found = served(&results);
        found.sort_unstable();
        let mut expected = vec![first, second];
        expected.sort_unstable();
        assert_eq!(found, expected, "{option}");
        assert_eq!(results["truth_matches"], true);
    }
}

/// A configuration file can place pages, like the option `--memory`. The option cannot be combined with a file that does so.
#[test]
fn pages_of_a_configuration() {
    let place = TestDirectory::new("memory-file");
    place.file("touches", TOUCHES);
    place.file("pages.toml", "[memory]\npages = \"node:1\"\n");
    let results = json(&place, "touches --nodes 2 --config pages.toml");
    assert_eq!(results["configuration"]["memory"], json!({ "pages": "node:1" }));
    place
        .run("stat touches --config pages.toml --memory node:0")
        .assert_failure("pages.toml: has memory.pages, so --memory is not allowed");
    place
        .run("boot --config pages.toml")
        .assert_failure("has memory.pages, which is not allowed here");
    // Bit 30 of the address is the node number.
    place.file("gigabyte.toml", "[machine]\nnodes = 2\ninterleave = 0x4000_0000\n");
    place.file("far", "0 r 0x3fff0000\n0 r 0x40000000\n0 r 0x7fff0200\n");
    let results = json(&place, "far --config gigabyte.toml");
    assert_eq!(served(&results), [[1, 2]]);
    assert_eq!(results["configuration"]["machine"]["interleave"], 1 << 30);
    let text = place.run("stat far --config gigabyte.toml").assert_success();
    assert!(text.contains("; memory: hardware, 1 GB\n"), "{text}");
}

/// The output of each command that replays says how memory is placed on nodes.
#[test]
fn what_holds_is_said() {
    let place = TestDirectory::new("memory-said");
    place.file("touches", TOUCHES);
    let hardware = "memory: 512 bytes on each node in turn, as the hardware interleaves";
    let touched = "memory: each page of 8 KB on the node that first touches it";
    for command in ["stat", "top", "c2c", "report", "annotate"] {
        let parts = ["--memory <WHERE>", "first-touch", "node:N", "interleave:SIZE"];
        vfalls(&[command, "--help"]).assert_success_with(&parts);
        if command == "annotate" {
            continue;
        }
        let file = if command == "report" { "--bundled" } else { "touches" };
        let [hardware, touched] = match command {
            "stat" | "top" => ["; memory: hardware, 512 bytes\n", "; memory: first-touch\n"],
            _ => [hardware, touched],
        };
        for (option, said) in [("", hardware), ("--memory first-touch", touched)] {
            let text = place.run(&format!("{command} {file} {option}")).assert_success();
            assert!(text.contains(said), "{command} {option}: {text}");
        }
    }
    let text = place.run("c2c touches --memory interleave:4M").assert_success();
    assert!(text.contains("# memory: pages of 4M on each node in turn\n"), "{text}");
    place
        .run("c2c touches --memory node:3")
        .assert_success_with(&["# memory: all pages on node 3\n"]);
    assert!(!place.run("stat --bundled --nodes 1").assert_success().contains("memory: "));
    place.run("stat touches --memory first-touch --html page.html").assert_success();
    let page = fs::read_to_string(place.at("page.html")).unwrap();
    assert!(page.contains("each page of 8 KB on the node that first touches it"));
}

#[test]
fn what_is_refused() {
    for (arguments, message) in [
        (["stat", "--memory", "node:4"], "found node '4', expected 0 to 3"),
        (["c2c", "--memory", "interleave:4K"], "expected a power of two from 8K to 256M"),
        (["top", "--memory", "local"], "expected hardware, first-touch, node:N or interleave:SIZE"),
    ] {
        vfalls(&arguments).assert_failure(message);
    }
    vfalls(&["stat", "--nodes", "2", "--memory", "node:2"]).assert_failure("no memory on node 2");
    vfalls(&["report", "--unit", "r10000", "--memory", "node:0"])
        .assert_failure("is for --unit sparc");
}
