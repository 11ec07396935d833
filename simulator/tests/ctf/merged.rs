//! Tests traces that `babeltrace2` merges or rewrites.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use hv_core::trace::{Mode, Trace as _};
use simulator::events::collect::Rings;
use simulator::events::ctf::{self, Endian};
use simulator::events::layouts::LayoutName;
use simulator::events::{Epoch, Trace};
use tempfile::{TempDir, tempdir};
use tests::machine::strand;

use crate::babeltrace::babeltrace;
use crate::{Hands, overrun, record_and_read, trace, write_trace};

/// Rewrites a trace with `babeltrace2`'s `sink.ctf.fs` component. Returns the new directory.
pub(crate) fn rewritten(place: &TempDir, path: &Path) -> PathBuf {
    let output = place.path().join("rewritten");
    let _ = fs::remove_dir_all(&output);
    let arguments = ["-o", "ctf", "-w", output.to_str().unwrap()];
    let (well, _, stderr) = babeltrace(&arguments, &[path]);
    assert!(well, "{stderr}");
    output.join("sun4v")
}

/// Reads a trace that `babeltrace2` wrote, and adds back the kinds that have no events, which `babeltrace2` drops.
fn reread(path: &Path, trace: &Trace) -> Trace {
    let read = ctf::read(path).unwrap();
    let kept = read.kinds.iter().all(|(id, kind)| trace.kinds.get(id) == Some(kind));
    assert!(kept, "{:?}", read.kinds);
    Trace { kinds: trace.kinds.clone(), ..read }
}

#[test]
fn we_read_what_babeltrace_writes_of_our_traces() {
    let place = tempdir().unwrap();
    for layout in LayoutName::ALL {
        for endian in Endian::ALL {
            let (_, mut trace) = record_and_read(*layout);
            trace.epoch = Some(Epoch { seconds: 1_700_000_000, ticks: 123 });
            trace.missed = 7;
            let path = rewritten(&place, &write_trace(&place, &trace, endian));
            assert_eq!(reread(&path, &trace), trace, "{layout:?} {endian:?}");
        }
    }
}

#[test]
fn we_read_what_babeltrace_writes_of_traces_with_gaps() {
    let place = tempdir().unwrap();
    for mode in [Mode::Overwrite, Mode::Discard] {
        let (_, trace) = overrun(mode);
        assert!(trace.lost() > 0);
        let path = rewritten(&place, &write_trace(&place, &trace, Endian::Big));
        assert_eq!(reread(&path, &trace), trace, "{mode:?}");
    }
}

/// Returns a trace in which strand `number` has an event at each tick in `times`. The trace's clock has `hz` ticks per second.
fn at(hz: u64, epoch: Option<Epoch>, number: usize, times: &[u64]) -> Trace {
    let clock = Hands::default();
    let rings = Rings::new(LayoutName::Clock27, Mode::Discard);
    let collector = rings.collector(&clock);
    for time in times {
        let event = perfctr_service::trace::ChangeComplete { strand: 0 };
        collector.record(strand(number), *time, event);
    }
    Trace { hz, epoch, ..trace(LayoutName::Clock27, collector.streams()) }
}

#[test]
fn traces_of_two_clocks_are_merged() {
    let epoch = |seconds, ticks| Some(Epoch { seconds, ticks });
    let place = [tempdir().unwrap(), tempdir().unwrap()];
    let one = at(1_000_000_000, epoch(1_700_000_000, 0), 1, &[5, 2_000_000_000]);
    let other = at(500, epoch(1_700_000_000, 250), 2, &[1, 800]);
    let paths =
        [write_trace(&place[0], &one, Endian::Big), write_trace(&place[1], &other, Endian::Little)];
    let (well, stdout, stderr) =
        babeltrace(&["--clock-seconds", "--no-delta"], &[&paths[0], &paths[1]]);
    assert!(well, "{stderr}");
    let lines: Vec<(&str, &str)> = (stdout.lines())
        .map(|line| {
            let (time, rest) = line.strip_prefix('[').unwrap().split_once(']').unwrap();
            let (_, cpu) = rest.split_once("cpu_id = ").unwrap();
            (time, &cpu[..1])
        })
        .collect();
    let expected = [
        ("1700000000.000000005", "1"),
        ("1700000000.502000000", "2"),
        ("1700000002.000000000", "1"),
        ("1700000002.100000000", "2"),
    ];
    assert_eq!(lines, expected);
}

/// The clocks of different replays are unrelated unless the traces have an epoch.
#[test]
fn traces_without_an_epoch_are_not_merged() {
    let place = [tempdir().unwrap(), tempdir().unwrap()];
    let paths = [[5], [6]].map(|times| at(1_000_000_000, None, 1, &times));
    let paths = [0, 1].map(|index| write_trace(&place[index], &paths[index], Endian::Big));
    let (well, ..) = babeltrace(&[], &[&paths[0], &paths[1]]);
    assert!(!well);
}

/// Returns the identifiers of a trace and of its clock.
fn identifiers(trace: &Trace, endian: Endian) -> Vec<String> {
    let mut found = Vec::new();
    ctf::write(trace, endian, |name, bytes| {
        if name == "metadata" {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let lines = text.lines().filter_map(|line| line.trim().strip_prefix("uuid = "));
            found = lines.map(str::to_owned).collect();
        }
        Ok::<_, ()>(())
    })
    .unwrap();
    assert_eq!(found.len(), 2);
    found
}

#[test]
fn identifiers_depend_on_the_content_alone() {
    let trace = at(1_000_000_000, None, 1, &[5, 6]);
    let known = identifiers(&trace, Endian::Big);
    assert_ne!(known[0], known[1]);
    assert_eq!(known, identifiers(&trace.clone(), Endian::Little));
    let others = [
        at(1_000_000_001, None, 1, &[5, 6]),
        at(1_000_000_000, Some(Epoch::default()), 1, &[5, 6]),
        at(1_000_000_000, None, 2, &[5, 6]),
        at(1_000_000_000, None, 1, &[5, 7]),
        at(1_000_000_000, None, 1, &[5]),
        Trace { layout: LayoutName::Clock32, ..trace.clone() },
        Trace { began: 1, ..trace.clone() },
        Trace { missed: 1, ..trace.clone() },
        Trace { guests: trace.guests[1..].to_vec(), ..trace },
    ];
    let others = others.iter().flat_map(|other| identifiers(other, Endian::Big));
    assert_eq!(HashSet::<String>::from_iter(others.chain(known)).len(), 20);
}
