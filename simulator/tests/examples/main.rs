//! Tests that the example programs print what their documentation says.

use std::fs;
use std::path::Path;

#[path = "../../examples/hottest.rs"]
#[allow(dead_code, reason = "its main function")]
mod hottest;

#[test]
fn hottest_prints_counters_and_lines() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hottest.txt");
    // Two nodes alternately write different bytes of one cache line. Node 2 has a line to itself.
    let lines = "0 w 1000\n64 w 1008\n0 w 1000\n64 w 1008\n128 r 2000\n128 i 3000\n";
    fs::write(&path, lines).unwrap();
    let mut output = Vec::new();
    hottest::hottest(&path, &mut output).unwrap();
    let expected = "dram:mem_reads: 3\npic:Instr_cnt: 1\npic:L2_dmiss_ld: 1\n\
                    0x1000: 6 moves, false sharing\n";
    assert_eq!(String::from_utf8(output).unwrap(), expected);
    fs::remove_file(path).unwrap();
}
