//! Tests that each broken trace is refused with a one-line message that names the place and the problem.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use hv_core::trace::Trace;
use perfctr_service::trace::Get;
use simulator::events::collect::{Retention, Rings};
use simulator::events::ctf::{self, Endian};
use simulator::events::layouts::LayoutName;
use tempfile::{TempDir, tempdir};
use tests::machine::strand;
use tests::random::Random;

use crate::merged::rewritten;
use crate::{Hands, trace, write_trace};

/// Writes a big-endian trace in which strand 3 has two events, at 1000 and 2000, in one packet of 60 + 2 * (10 + 16) bytes.
fn small() -> (TempDir, PathBuf) {
    let place = tempdir().unwrap();
    let clock = Hands::default();
    let rings = Rings::new(LayoutName::Clock64, Retention::All.mode());
    let collector = rings.collector(&clock);
    for time in [1000, 2000] {
        collector.record(strand(3), time, Get::default());
    }
    let path = write_trace(&place, &trace(LayoutName::Clock64, collector.streams()), Endian::Big);
    assert_eq!(fs::metadata(path.join("strand_003")).unwrap().len(), 112);
    (place, path)
}

/// Reads a trace that must be refused. Returns the message, which must be one line.
fn problem(path: &Path) -> String {
    let error = ctf::read(path).unwrap_err();
    let source = error.source().map(|source| format!(": {source}"));
    let message = format!("{error}{}", source.unwrap_or_default());
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

/// Returns the message about a file of the trace, without the file's name.
fn problem_of(path: &Path, file: &str) -> String {
    let message = problem(path);
    let start = format!("{}: ", path.join(file).display());
    let rest = message.strip_prefix(&start);
    rest.unwrap_or_else(|| panic!("{message}")).to_owned()
}

/// Changes strand 3's file and asserts the messages. Each case has an offset, the new bytes, and the message about packet 0.
fn with_bytes(cases: &[(usize, &[u8], &str)]) {
    for (at, bytes, says) in cases {
        let (_place, path) = small();
        let file = path.join("strand_003");
        let mut content = fs::read(&file).unwrap();
        content[*at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&file, content).unwrap();
        assert_eq!(problem_of(&path, "strand_003"), format!("packet 0: {says}"));
    }
}

#[test]
fn packets() {
    let short = [[0, 0, 0, 0, 0, 0, 0, 8]; 2].concat();
    with_bytes(&[
        (0, &[0], "begins with 0x00fc1fc1, expected 0xc1fc1fc1"),
        (7, &[1], "is of stream class 1, expected 0"),
        (8, &[1], "is from 72057594037928936 to 2000, but the packet before it ends at 0"),
        // Sizes are in bits: 112 bytes are 0x380 bits.
        (31, &[0x88], "has 896 bits, 904 of them used, but there are 112 bytes"),
        // The packet ends one byte earlier, so its last event is cut off.
        (31, &[0x78], "event 1: is cut off: expected a header and its fields"),
        (24, &short, "has 8 bits, expected at least 480"),
        (47, &[1], "has number 1, expected 0"),
        (58, &[1, 1], "there is no strand 257"),
    ]);
}

#[test]
fn events() {
    with_bytes(&[
        (60, &[0x7f], "event 0: is of the unknown kind 32520"),
        // The first row changes the time of event 0, and the second row changes the time of event 1.
        (69, &[0], "event 0 is at 768, expected 1000 to 2000"),
        (94, &[1], "event 1 is at 464, expected 1000 to 2000"),
        // Event 1 is a read. Kind 11 is a refused write, whose fields are longer.
        (87, &[11], "event 1: is cut off: expected a header and its fields"),
    ]);
}

#[test]
fn files() {
    let (_place, path) = small();
    let file = path.join("strand_003");
    let bytes = fs::read(&file).unwrap();
    let twice = bytes.repeat(2);
    for (content, says) in [
        (&twice[..59], "packet 0: is cut off: 59 bytes are too few for its header"),
        (&twice[..111], "packet 0: has 896 bits, 896 of them used, but there are 111 bytes"),
        (&twice, "packet 1: has number 0, expected 1"),
    ] {
        fs::write(&file, content).unwrap();
        assert_eq!(problem_of(&path, "strand_003"), says);
    }
    fs::remove_file(&file).unwrap();
    fs::write(path.join("strand_004"), &bytes).unwrap();
    let elsewhere = "holds the events of strand 3, expected them in the file strand_003";
    assert_eq!(problem_of(&path, "strand_004"), elsewhere);
    fs::remove_file(path.join("strand_004")).unwrap();
    fs::create_dir(path.join("more")).unwrap();
    assert_eq!(problem_of(&path, "more"), "is not a regular file");
}

#[test]
fn metadata() {
    let (_place, path) = small();
    let file = path.join("metadata");
    let text = fs::read_to_string(&file).unwrap();
    for row in [
        "perfctr-service | lttng-modules | not a trace that vfalls wrote: the line tracer_name = \"perfctr-service\"; is missing",
        "byte_order = be | byte_order = pdp | found 'pdp' for byte_order, expected be or le",
        "= 1165379275 | = fast | found 'fast' for freq, expected a number",
        "= 1165379275 | = 0 | found 0 for freq, expected the rate of a clock",
        "freq = 1165379275; |  | the clock has no freq",
        "layout = \"clock64\" | layout = \"clock65\" | found 'clock65' for layout, expected the name of one",
        "clock { | cluck { | found 0 of clock, expected 1",
        "clock { | /* clock { | line 29: a comment without an end",
        "\"hv:held\" | \"bent\" | the event bent is unknown",
        "uint16_t awaited; | uint32_t awaited; | the fields of change_pending do not fill words of 32 bits",
        "uint16_t id; time_t | uint17_t id; time_t | line 53: found 'uint17_t', expected a type",
        "uint16_t id; time_t | integer { size = 65; } id; time_t | line 53: an integer of 65 bits, expected 1 to 64",
        "uint16_t id; time_t | integer { size = 16; signed = true; } id; time_t | line 53: found 'true', expected 'false'",
        "uint16_t id; time_t | variant <id> { uint16_t a; } id[2]; time_t | line 53: found '2', expected no length after a type that is not an integer",
    ] {
        let [old, new, says] = row.split(" | ").collect::<Vec<_>>()[..] else { unreachable!() };
        assert_eq!(text.matches(old).count(), 1, "{old}");
        fs::write(&file, text.replace(old, new)).unwrap();
        assert_eq!(problem_of(&path, "metadata"), says);
    }
    // The types are nested too deeply.
    let deep = "struct { ".repeat(100_000);
    let old = "struct { uint16_t id;";
    fs::write(&file, text.replace(old, &deep)).unwrap();
    let says = "line 53: found 'struct', expected fewer nested types";
    assert_eq!(problem_of(&path, "metadata"), says);
    // In these cases, a header has no event number, has no time, or has size 0.
    for row in [
        "struct { uint16_t id; } | event 0: has no timestamp",
        "struct { time_t timestamp; } | event 0: has no id",
        "struct { uint8_t id[0]; time_t timestamp[0]; } | event 0: has no id",
        "struct { enum : uint8_t { a = 1 } id; variant <id> { struct { time_t timestamp; } a; } v; } | event 0: is cut off: expected a header and its fields",
        "struct { uint8_t id[18446744073709551615]; time_t timestamp; } | event 0: is cut off: expected a header and its fields",
    ] {
        let (header, says) = row.split_once(" | ").unwrap();
        let old = "struct { uint16_t id; time_t timestamp; }";
        fs::write(&file, text.replace(old, header)).unwrap();
        assert_eq!(problem_of(&path, "strand_003"), format!("packet 0: {says}"));
    }
    fs::remove_file(&file).unwrap();
    assert!(problem_of(&path, "metadata").starts_with("cannot be read: "));
    assert!(problem(&file).ends_with("is not a directory, expected a trace directory"));
}

/// However a trace from our writer or from `babeltrace2` is damaged, the reader reads it or refuses it, but never panics.
#[test]
fn any_damage() {
    let (place, path) = small();
    let rewritten = rewritten(&place, &path);
    let mut random = Random(1);
    for path in [path, rewritten] {
        let files = ["metadata", "strand_003"].map(|name| path.join(name));
        let whole = files.clone().map(|file| fs::read(file).unwrap());
        let mut refused = 0;
        for _ in 0..300 {
            let number = random.below(2);
            let mut bytes = whole[number].clone();
            let at = random.below(bytes.len());
            let length = random.below(40);
            let end = bytes.len().min(at + length);
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..end)),
                2 => bytes.extend_from_within(at..end),
                _ => bytes[at] = random.next_u64() as u8,
            }
            fs::write(&files[number], bytes).unwrap();
            refused += u32::from(ctf::read(&path).is_err());
            fs::write(&files[number], &whole[number]).unwrap();
        }
        assert!((100..300).contains(&refused), "{refused}");
    }
}
