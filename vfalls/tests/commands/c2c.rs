use serde_json::json;

use crate::program::{TestDirectory, squeezed, vfalls};

/// The bundled program has eight clerks, one per thread. Each clerk counts 2,500 coins in its own counter; all eight counters are in one
/// cache line. In total, the clerks take 4,000 tickets from another counter. The program's README explains these numbers.
#[test]
fn the_bundled_program_shares_falsely_and_truly() {
    let place = TestDirectory::new("c2c");
    let text = place.run("c2c --most 2 --json c2c.json").assert_success();
    let json = place.json("c2c.json");

    let lines = json["lines"].as_array().unwrap();
    let found: Vec<_> = (lines.iter())
        .map(|line| (line["sharing"].as_str().unwrap(), line["home"].as_u64().unwrap()))
        .collect();
    assert_eq!(found, [("false sharing", 1), ("true sharing", 1)]);
    // Each of the eight clerks uses its own 8 bytes of the first line.
    for thread in 0..8 {
        let users = lines[0]["users"].as_array().unwrap().iter();
        let counts: Vec<_> = users
            .filter(|user| user["thread"] == thread && user["function"] == "count_in_one_line")
            .map(|user| json!([user["what"], user["bytes"], user["times"]]))
            .collect();
        let bytes = format!("{}-{}", thread * 8, thread * 8 + 7);
        assert_eq!(counts, [json!(["load", bytes, 2500]), json!(["store", bytes, 2500])]);
    }
    let users = lines[1]["users"].as_array().unwrap();
    assert!(users.iter().all(|user| user["function"] == "take_ticket" && user["bytes"] == "0-7"));

    // According to the README of `simulator`, the hubs' counters show the same number of transfers.
    assert_eq!(json["cost"]["transfers"], 25_220);
    assert_eq!(json["cost"]["cycles"], 5_218_252);
    let (cost, apart) = (&json["cost"], &json["apart"]);
    assert_eq!(apart["lines"], 1);
    for part in ["transfers", "invalidations", "cycles"] {
        let (as_is, apart) = (cost[part].as_u64().unwrap(), apart["cost"][part].as_u64().unwrap());
        assert!(apart < as_is, "{part}: {apart} {as_is}");
    }
    // If the bytes were in separate lines, the program would save about the cost of moving the first line.
    let moved = |part: &str| lines[0][part].as_u64().unwrap();
    let saved = |part: &str| cost[part].as_u64().unwrap() - apart["cost"][part].as_u64().unwrap();
    for part in ["transfers", "invalidations"] {
        assert!(saved(part).abs_diff(moved(part)) * 100 < moved(part), "{part}");
    }

    let squeezed: Vec<_> = text.lines().map(squeezed).collect();
    for line in [
        "# the bundled recording: 8 threads",
        "# batoka with 4 nodes; placement: spread",
        "#1 0x402a40 false sharing crowded",
        // The source lines of `crowded[clerk]++`, and of the statement that takes the next ticket.
        "32-39 0 4 store 2500 count_in_one_line workload.c:243",
        "0-7 0-3 0-7 load 4000 take_ticket workload.c:210",
    ] {
        assert!(squeezed.iter().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn where_nothing_moves_there_are_no_lines() {
    let text = vfalls(&["c2c", "--place", "0-7"]).assert_success();
    assert_eq!(
        text,
        "# the bundled recording: 8 threads\n# batoka with 4 nodes; placement: 0-7\n\
         # memory: 512 bytes on each node in turn, as the hardware interleaves\n\
         # 0 lines that move between nodes: 0 transfers, 0 invalidations\n#\n"
    );
}

#[test]
fn what_cannot_be_replayed_is_said() {
    for stream in ["-", "/dev/stdin"] {
        vfalls(&["c2c", stream]).assert_failure(&format!("{stream}: expected a file"));
    }
    vfalls(&["c2c", "nowhere.refs"]).assert_failure("nowhere.refs");
    vfalls(&["c2c", "--place", "nowhere"]).assert_failure("found 'nowhere'");
    vfalls(&["c2c", "a.refs", "--", "true"]).assert_failure("cannot be used with");
}
