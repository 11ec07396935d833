//! Reads traces with `babeltrace2`.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use guest_abi::StrandId;

use crate::recorded::Known;

#[derive(Debug, PartialEq)]
pub(crate) struct PrintedEvent {
    time: u64,
    name: String,
    cpu_id: u64,
    fields: Vec<(String, u64)>,
}

/// Runs `babeltrace2`. Returns whether it succeeded, its output and its error messages.
pub(crate) fn babeltrace(arguments: &[&str], directories: &[&Path]) -> (bool, String, String) {
    let output = Command::new("babeltrace2").args(arguments).args(directories).output();
    let output = output.expect("babeltrace2 cannot be run; Debian's package babeltrace2 has it");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// Returns all events in the order in which `babeltrace2` prints them, with their times in cycles, and the error messages. Asserts that
/// `babeltrace2` exits with status 0.
pub(crate) fn read(trace: &Path) -> (Vec<PrintedEvent>, String) {
    let (well, stdout, stderr) = babeltrace(&["--clock-cycles", "--no-delta"], &[trace]);
    assert!(well, "{stderr}");
    let lines = stdout.lines().map(|text| line(text).unwrap_or_else(|| panic!("{text}")));
    (lines.collect(), stderr)
}

/// Parses a line such as `[00000000000000000060] sun4v hv:name: { cpu_id = 0 }, { a = 1, b = 0x2, c = ( "NAME" : container = 3 )
/// }`.
fn line(text: &str) -> Option<PrintedEvent> {
    let (time, rest) = text.strip_prefix('[')?.split_once("] ")?;
    let (name, rest) = rest.strip_prefix("sun4v ")?.split_once(": { cpu_id = ")?;
    let (cpu_id, fields) = rest.strip_suffix(" }")?.split_once(" }, { ")?;
    Some(PrintedEvent {
        time: time.parse().ok()?,
        name: name.to_owned(),
        cpu_id: cpu_id.parse().ok()?,
        fields: fields.split(", ").map(field).collect::<Option<_>>()?,
    })
}

fn field(text: &str) -> Option<(String, u64)> {
    let (name, value) = text.split_once(" = ")?;
    let value = match value.split_once("container = ") {
        Some((_, number)) => number.strip_suffix(" )")?,
        None => value,
    };
    let value = match value.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => value.parse(),
    };
    Some((name.to_owned(), value.ok()?))
}

/// Asserts that each strand's events were read as they were recorded, in the same order.
pub(crate) fn compare(known: &[Known], read: &[PrintedEvent]) {
    let strands: HashSet<StrandId> = known.iter().map(|known| known.strand).collect();
    for strand in strands {
        let cpu_id = strand.index() as u64;
        let line = |known: &Known| {
            let (name, fields) = known.event.shown();
            let fields = fields.into_iter();
            PrintedEvent {
                time: known.time,
                name: name.to_owned(),
                cpu_id,
                fields: fields.map(|(name, value)| (name.to_owned(), value)).collect(),
            }
        };
        let expected = known.iter().filter(|known| known.strand == strand).map(line);
        let found = read.iter().filter(|line| line.cpu_id == cpu_id);
        assert_eq!(expected.clone().count(), found.clone().count(), "of {cpu_id}");
        for (expected, found) in expected.zip(found) {
            assert_eq!(*found, expected);
        }
    }
    assert_eq!(known.len(), read.len());
}

/// Returns the counts of discarded events that the warnings report.
pub(crate) fn discarded(stderr: &str) -> Vec<u64> {
    let number = |line: &str| {
        let (_, rest) = line.split_once("WARNING: Tracer discarded ")?;
        rest.split_once(" event")?.0.parse().ok()
    };
    stderr.lines().filter_map(number).collect()
}
