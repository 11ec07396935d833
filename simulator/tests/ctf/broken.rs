//! Traces that are broken: each is refused with one line that says where and what.

use std::error::Error;
use std::fs;
use std::path::Path;

use hv_core::trace::Trace;
use perfctr_service::trace::Get;
use simulator::events::collect::{Keep, LayoutName, Rings};
use simulator::events::ctf::{self, Endian};

use crate::{Hands, Place, strand, trace};

/// A big-endian trace with two events on strand 3, at 1000 and 2000, in one packet of 60 + 2 * (10 + 16) bytes.
fn small(place: &Place) -> std::path::PathBuf {
    let clock = Hands::default();
    let rings = Rings::new(LayoutName::Clock27, Keep::All.mode());
    let collector = rings.collector(&clock);
    for time in [1000, 2000] {
        collector.record(strand(3), time, Get::default());
    }
    let path = place.trace(
        &trace(LayoutName::Clock27, collector.streams()),
        Endian::Big,
    );
    assert_eq!(fs::metadata(path.join("strand_003")).unwrap().len(), 112);
    path
}

/// The one line about the trace.
fn problem(path: &Path) -> String {
    let error = ctf::read(path).unwrap_err();
    let source = error.source().map(|source| format!(": {source}"));
    let message = format!("{error}{}", source.unwrap_or_default());
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

/// What is said of strand 3 once these bytes of its file are changed.
fn with_bytes(at: usize, bytes: &[u8]) -> String {
    let place = Place::new("ctf-broken-bytes");
    let path = small(&place);
    let file = path.join("strand_003");
    let mut content = fs::read(&file).unwrap();
    content[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(&file, content).unwrap();
    let message = problem(&path);
    let start = format!("{}: ", file.display());
    message
        .strip_prefix(&start)
        .unwrap_or_else(|| panic!("{message}"))
        .to_owned()
}

#[test]
fn packets() {
    assert_eq!(
        with_bytes(0, &[0]),
        "packet 0: begins with 0x00fc1fc1, expected 0xc1fc1fc1"
    );
    assert_eq!(
        with_bytes(7, &[1]),
        "packet 0: is of stream class 1, expected 0"
    );
    assert_eq!(
        with_bytes(8, &[1]),
        "packet 0: is from 72057594037928936 to 2000, the one before to 0"
    );
    // The sizes, in bits: 112 bytes are 0x380.
    assert_eq!(
        with_bytes(31, &[0x78]),
        "packet 0: has 896 bits, 888 of them used, but there are 112 bytes"
    );
    let short = [0, 0, 0, 0, 0, 0, 0, 8];
    assert_eq!(
        with_bytes(24, &[short, short].concat()),
        "packet 0: has 8 bits, expected at least 480"
    );
    assert_eq!(with_bytes(47, &[1]), "packet 0: has the number 1");
    assert_eq!(with_bytes(58, &[1, 1]), "packet 0: there is no strand 257");
}

#[test]
fn events() {
    assert_eq!(
        with_bytes(60, &[0x7f]),
        "packet 0: event 0: is of the unknown kind 32520"
    );
    // The first event's time, then the second's.
    assert_eq!(
        with_bytes(69, &[0]),
        "packet 0: event 0 is at 768, expected 1000 to 2000"
    );
    assert_eq!(
        with_bytes(94, &[1]),
        "packet 0: event 1 is at 464, expected 1000 to 2000"
    );
    // A set has as many fields, a refused one more.
    assert_eq!(
        with_bytes(87, &[11]),
        "packet 0: event 1: is cut off: expected 10 bytes and its fields"
    );
}

#[test]
fn files() {
    let place = Place::new("ctf-broken-files");
    let path = small(&place);
    let file = path.join("strand_003");
    let bytes = fs::read(&file).unwrap();
    let about = |file: &str, problem: &str| format!("{}: {problem}", path.join(file).display());

    fs::write(&file, &bytes[..59]).unwrap();
    let cut = "packet 0: is cut off: 59 bytes, expected 60 at least";
    assert_eq!(problem(&path), about("strand_003", cut));
    fs::write(&file, &bytes[..111]).unwrap();
    let cut = "packet 0: has 896 bits, 896 of them used, but there are 111 bytes";
    assert_eq!(problem(&path), about("strand_003", cut));
    fs::write(&file, [&bytes[..], &bytes[..]].concat()).unwrap();
    assert_eq!(
        problem(&path),
        about("strand_003", "packet 1: has the number 0")
    );

    fs::rename(&file, path.join("strand_004")).unwrap();
    fs::write(path.join("strand_004"), &bytes).unwrap();
    let elsewhere = "holds the events of strand 3, expected them in the file strand_003";
    assert_eq!(problem(&path), about("strand_004", elsewhere));
    fs::remove_file(path.join("strand_004")).unwrap();
    fs::create_dir(path.join("more")).unwrap();
    assert!(problem(&path).starts_with(&about("more", "cannot be read: ")));
}

#[test]
fn metadata() {
    let place = Place::new("ctf-broken-metadata");
    let path = small(&place);
    let file = path.join("metadata");
    let text = fs::read_to_string(&file).unwrap();
    let changed = |old: &str, new: &str| {
        assert_eq!(text.matches(old).count(), 1, "{old}");
        fs::write(&file, text.replace(old, new)).unwrap();
        let message = problem(&path);
        let start = format!("{}: ", file.display());
        message
            .strip_prefix(&start)
            .unwrap_or_else(|| panic!("{message}"))
            .to_owned()
    };
    assert_eq!(
        changed("perfctr-service", "lttng-modules"),
        "not a trace of this program: the line tracer_name = \"perfctr-service\"; is missing"
    );
    assert_eq!(
        changed("byte_order = be", "byte_order = pdp"),
        "found 'pdp' for byte_order, expected be or le"
    );
    assert_eq!(
        changed("freq = 1165379275", "freq = fast"),
        "found 'fast' for freq, expected a number"
    );
    assert_eq!(
        changed("freq = 1165379275", "freq = 0"),
        "found 0 for freq, expected the rate of a clock"
    );
    assert_eq!(changed("freq = 1165379275;", ""), "there is no freq");
    assert_eq!(
        changed(
            "uint16_t id; stick_t timestamp;",
            "uint32_t id; stick_t timestamp;"
        ),
        "line 50: found 'event.header := struct { uint32_t id; stick_t timestamp; };', \
         expected 'event.header := struct { uint16_t id; stick_t timestamp; };'"
    );
    let lines = text.lines().count();
    fs::write(&file, format!("{text}\n")).unwrap();
    assert!(problem(&path).ends_with(&format!("found {} lines, expected {lines}", lines + 1)));
    fs::remove_file(&file).unwrap();
    assert!(problem(&path).starts_with(&format!("{}: cannot be read: ", file.display())));
    assert!(problem(&file).ends_with("is no directory, expected one with a trace"));
}
