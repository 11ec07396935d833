//! Tests the options that select a region, and recordings of a single function. The programs' accesses are known.

use std::fs;

use serde_json::Value;
use simulator::recording::{Kind, Reference};

use crate::program::{TestDirectory, contains_all};
use crate::record::{Compiler, HOST, Read, SPARC, printed};
use crate::stat::json;

const LAPS: &str = include_str!("region/laps.c");
const SHARES: &str = include_str!("region/shares.c");

/// The compilers and flags that build the tests' programs. The programs may or may not be position-independent and use shared libraries.
/// The points that begin and end a region must be found in all these programs.
const BUILDS: [(Compiler, &[&str]); 5] = [
    (HOST, &["-pie", "-fPIE"]),
    (HOST, &["-static", "-no-pie", "-fno-pie"]),
    (HOST, &["-static-pie", "-fPIE"]),
    (SPARC, &["-pie", "-fPIE"]),
    (SPARC, &["-static"]),
];

/// Compiles a program with inlining, in a directory that contains the marker header.
fn compile(name: &str, source: &str, (compiler, flags): (Compiler, &[&str])) -> TestDirectory {
    let place = TestDirectory::new(name);
    let header = place.run("record --marker-header").assert_success();
    place.file("vfalls-marker.h", &header);
    compiler.compile(&place, "program", source, &[&["-O2", "-I."], flags].concat());
    place
}

fn part(results: &Value, part: &str) -> [u64; 2] {
    let part = &results["region"][part];
    ["references", "instructions"].map(|field| part[field].as_u64().unwrap())
}

/// Returns the number of data references in a part of a replay.
fn data(results: &Value, of: &str) -> u64 {
    let [references, instructions] = part(results, of);
    references - instructions
}

fn measured(results: &Value, event: &str) -> u64 {
    let counters = results["counters"].as_array().unwrap().iter();
    let of_event = counters.filter(|counter| counter["event"] == event);
    of_event.map(|counter| counter["measured"].as_u64().unwrap()).sum()
}

#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn functions_and_markers_are_found_in_every_kind_of_program() {
    for (number, build) in BUILDS.into_iter().enumerate() {
        let place = compile(&format!("region-build-{number}"), LAPS, build);
        let recorded = place.run("record --force -o refs -- ./program");
        assert_eq!(recorded.status, 0, "{}", recorded.stderr);
        let stat = |options: &str| {
            json(&place, &format!("refs -e pic:Instr_cnt,pic:L2_dmiss_ld {options}"))
        };
        // A lap loads each word once, and nothing else. Without a warm-up, each of the 125 cache lines causes a miss.
        let lap = stat("--phase marker:lap#2");
        assert_eq!(data(&lap, "counted"), 1000, "{build:?}");
        assert_eq!(measured(&lap, "L2_dmiss_ld"), 125);
        assert_eq!(measured(&lap, "Instr_cnt"), part(&lap, "counted")[1]);
        assert_eq!(
            (&lap["region"]["from"], &lap["region"]["to"]),
            (&"marker:lap#2".into(), &"marker:lap#3".into())
        );
        // The previous lap fills the caches.
        let warm = stat("--from marker:lap#3 --to marker:lap#4 --warm-up marker:lap#2");
        assert_eq!(part(&warm, "counted"), part(&lap, "counted"));
        assert_eq!(part(&warm, "warmed"), part(&lap, "counted"));
        assert_eq!(measured(&warm, "L2_dmiss_ld"), 0);
        // A warm-up with as many instructions as the previous lap also fills the caches.
        let instructions = part(&lap, "counted")[1];
        let last = stat(&format!("--phase marker:lap#3 --warm-up {instructions}"));
        assert_eq!(last["region"]["warmed"], warm["region"]["warmed"]);
        assert_eq!(measured(&last, "L2_dmiss_ld"), 0);
        // The compiler has put the marker in several places, and laps at all of these places are counted together. Lap 7 is the second of
        // the two laps at the end of the program.
        let end = stat("--from marker:lap#7 --to marker:end");
        assert_eq!(data(&end, "counted"), 1000);
        // The region has three of the function's five calls. These three calls make 3000 loads, and each call and return makes at most two
        // further accesses.
        let calls = stat("--from work#3 --to marker:work_is_done");
        assert!((3000..=3012).contains(&data(&calls, "counted")), "{}", data(&calls, "counted"));
        place
            .run("stat refs --from marker:lap#8")
            .assert_failure("the program ends before marker:lap#8: it reaches this point 7 times");
    }
}

#[test]
#[ignore = "needs qemu-user"]
fn other_views_are_of_the_region() {
    let place = compile("region-views", LAPS, BUILDS[0]);
    assert_eq!(place.run("record --force -o refs -- ./program").status, 0);
    let lap = "--phase marker:lap#2";
    let note = "note: the result covers marker:lap#2 to marker:lap#3: ";
    let report = place.run(&format!("report refs -e Instr_ld -c 13 {lap} --json report.json"));
    assert!(report.stderr.contains(note), "{}", report.stderr);
    // Each lap has 1000 loads, all of them in the function main.
    contains_all(&report.stdout, &["in truth: 1000\n", " main "]);
    assert_eq!(place.json("report.json")["region"]["from"], "marker:lap#2");
    let annotated = place.run(&format!("annotate main refs -e Instr_ld -c 13 {lap}"));
    assert!(annotated.stderr.contains(note), "{}", annotated.stderr);
    let shared = place.run(&format!("c2c refs {lap} --json c2c.json"));
    assert!(shared.stderr.contains(note), "{}", shared.stderr);
    assert_eq!(place.json("c2c.json")["region"]["to"], "marker:lap#3");
    let top = place.run(&format!("top refs {lap} --json top.json"));
    assert!(top.stderr.contains(note), "{}", top.stderr);
    assert_eq!(place.json("top.json")["region"], json(&place, &format!("refs {lap}"))["region"]);
}

#[test]
fn a_wrong_point_is_one_clear_line() {
    let place = TestDirectory::new("region-wrong");
    let instruction = "0 i 0x1000 4\n0 r 0x8000 8\n";
    place.file("text", instruction.repeat(10));
    for (options, message) in [
        (
            "--bundled --from sort_by_prise",
            "there is no function 'sort_by_prise'; did you mean sort_by_price?",
        ),
        ("--bundled --from marker:frame", "there is no marker 'frame'"),
        (
            "--bundled --phase 5M",
            "--phase is 5M, expected a function or a marker: a number of instructions has no next occurrence",
        ),
        (
            "--bundled --from read_archive#9",
            "the program ends before read_archive#9: it reaches this point 8 times",
        ),
        ("text --from 11", "the program ends before 11: it has 10 instructions"),
        ("text --from 5 --to 4", "4 comes before 5, expected it later"),
        ("text --warm-up 5", "--warm-up needs the start of a region, expected --from or --phase"),
        (
            "text --from main",
            "main: the recording does not name the program's files, so its functions and markers are unknown: expected a number of instructions",
        ),
    ] {
        place.run(&format!("stat {options}")).assert_failure(message);
    }
    let run = json(&place, "text --from 4 --to 7 --warm-up 2");
    assert_eq!((part(&run, "skipped"), part(&run, "warmed")), ([4, 2], [4, 2]));
    assert_eq!(part(&run, "counted"), [6, 3]);
    assert_eq!(run["truth_matches"], true);
}

/// Returns how often each word in an array of 8-byte words is loaded.
fn loads(references: impl Iterator<Item = Reference>, begin: u64, words: usize) -> Vec<u64> {
    let mut counts = vec![0; words];
    for one in references.filter(|one| one.kind == Kind::Load) {
        let word = one.address.wrapping_sub(begin) / 8;
        if let Some(count) = counts.get_mut(word as usize) {
            *count += 1;
        }
    }
    counts
}

#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_function_is_recorded_alone() {
    for (number, build) in BUILDS.into_iter().enumerate() {
        let place = compile(&format!("region-only-{number}"), LAPS, build);
        let ended = place.run("record --force -o refs --only work -- ./program");
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let read = Read::new(&place.path().join("refs"));
        assert_eq!(read.notes, ["./program is recorded only while a thread executes work"]);
        let [thread] = &*read.threads else { panic!("{} threads", read.threads.len()) };
        // Five calls load each word once. On x86-64, each return from the function may load the return address. Nothing else is recorded:
        // the other seven laps are missing.
        let begin = printed(&ended, "words");
        assert_eq!(loads(thread.references.iter().copied(), begin, 1000), [5; 1000], "{build:?}");
        let data = thread.references.iter().filter(|one| !one.kind.is_fetch()).count();
        assert!(data == 5000 || data == 5005, "{data}");
        assert_eq!(place.run("stat refs").status, 0);
    }
}

#[test]
#[ignore = "needs qemu-user"]
fn a_function_that_threads_execute_is_recorded_alone() {
    let place = compile("region-only-threads", SHARES, BUILDS[0]);
    for _ in 0..5 {
        let ended = place.run("record --force -o refs --only share -- ./program");
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        assert_eq!(printed(&ended, "sum"), 0x12);
        let read = Read::new(&place.path().join("refs"));
        let all = read.threads.iter().flat_map(|thread| thread.references.iter().copied());
        assert_eq!(loads(all, printed(&ended, "words"), 2000), [3; 2000]);
        let run = json(&place, "refs");
        let notes = ["./program is recorded only while a thread executes share"];
        assert_eq!(run["notes"], serde_json::json!(notes));
        // Each call takes the lock once.
        let taken: u64 = run["waits"]["locks"][0]["taken"].as_u64().unwrap();
        assert_eq!(taken, 12);
    }
}

#[test]
#[ignore = "needs qemu-user"]
fn a_function_that_is_not_called_is_not_recorded() {
    let place = compile("region-only-never", LAPS, BUILDS[0]);
    let message = "./program never called wurk. In the program itself, there is no function 'wurk'; did you mean work?";
    place.run("record -o refs --only wurk -- ./program").assert_failure(message);
    assert!(fs::metadata(place.path().join("refs")).is_err());
    let place = compile("region-only-unknown", LAPS, BUILDS[1]);
    let message = "there is no function 'wurk'; did you mean work?";
    place.run("record -o refs --only wurk -- ./program").assert_failure(message);
    // The function belongs to a shared library.
    let place = compile("region-only-library", LAPS, BUILDS[0]);
    let ended = place.run("record --force -o refs --only printf -- ./program");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let read = Read::new(&place.path().join("refs"));
    let all = read.threads.iter().flat_map(|thread| thread.references.iter().copied());
    assert_eq!(loads(all, printed(&ended, "words"), 1000), [0; 1000]);
}
