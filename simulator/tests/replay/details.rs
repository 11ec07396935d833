//! Tests the details of replays, with handwritten programs whose numbers are known.

use std::fmt::Write;
use std::ops::ControlFlow;

use simulator::analysis::details::{Details, Missed};
use simulator::analysis::sharing::{Sharing, Use};
use simulator::memory::Served;
use simulator::recording::{Chunk, Kind, Recording, Reference};
use simulator::replay::{Selection, Setup, Stage};
use simulator::run::Replayed;

use crate::{machine, recording, run};

/// Returns a setup with few counters, so that each point of the series is quick to take.
pub(crate) fn setup(program: Recording) -> Setup {
    Setup::new(machine(), program)
        .details(true)
        .selection(Selection::parse("pic:Instr_cnt").unwrap())
}

fn details(program: Recording) -> (Replayed, Details) {
    details_of(setup(program))
}

fn details_of(setup: Setup) -> (Replayed, Details) {
    let mut outcome = run(setup).unwrap();
    assert!(outcome.truth_matches);
    let details = outcome.details.take().unwrap();
    let json = serde_json::to_string(&details).unwrap();
    let read: Details = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    (outcome, details)
}

/// Collecting details changes nothing but the measuring guest's calls.
#[test]
fn details_change_nothing() {
    let program = || {
        let mut text = String::new();
        for n in 0..6_000_u64 {
            let op = ["r", "w", "r", "a"][n as usize % 4];
            let address = n * n % 977 * 0x48;
            let _ = writeln!(text, "{} {op} {address:x}", [0, 64, 1, 130][n as usize / 3 % 4]);
        }
        recording(text)
    };
    let plain = run(Setup::new(machine(), program())).unwrap();
    assert!(plain.details.is_none());
    let (outcome, details) = details_of(Setup::new(machine(), program()).details(true));
    assert_eq!(outcome.cycles, plain.cycles);
    assert_eq!(outcome.threads, plain.threads);
    assert_eq!(outcome.usage, plain.usage);
    assert_eq!(outcome.counters, plain.counters);
    assert!(outcome.trace.is_none(), "nobody asked for it");
    // The series covers every interval, and counts no event twice.
    let series = &details.series;
    let points = series.references.len();
    let references: Vec<u64> = (1..=11).map(|n| 512 * n).chain([6_000]).collect();
    assert_eq!(series.references, references);
    // `reads` counts only the samples that the guest takes for the series. At the last point, the guest reads its counters even when there
    // is no series.
    assert_eq!(series.reads.samples, 11);
    assert_eq!(outcome.hypercalls.total - series.reads.calls, plain.hypercalls.total);
    assert_eq!(series.cycles.last(), Some(&outcome.cycles));
    assert!(series.cycles.is_sorted() && series.clock.is_sorted());
    assert_eq!(series.counters.len(), outcome.counters.len());
    for (counter, series) in outcome.counters.iter().zip(&series.counters) {
        assert_eq!(
            (&*counter.name, &*counter.event, counter.strand),
            (&*series.name.name, &*series.name.event, series.name.strand)
        );
        assert_eq!(series.truth.iter().sum::<u64>(), counter.truth);
        assert_eq!(series.measured, series.truth);
        assert_eq!(series.truth.len(), points);
    }
    for (channel, series) in outcome.usage.channels.iter().zip(&series.channels) {
        assert_eq!((channel.node, channel.mcu), (series.node, series.mcu));
        assert_eq!(series.used.busy.iter().sum::<u64>(), channel.busy);
        let bytes = 64 * (channel.reads + channel.writes);
        assert_eq!(series.used.bytes.iter().sum::<u64>(), bytes);
    }
    for (link, series) in outcome.usage.links.iter().zip(&series.links) {
        assert_eq!((link.hub, link.node), (series.hub, series.node));
        assert_eq!(series.used.bytes.iter().sum::<u64>(), 64 * (link.into + link.out));
    }
    // Both the heat map and the list of code contain all misses.
    let misses = |part: fn(&Served) -> u64| -> u64 {
        outcome.threads.iter().map(|thread| part(&thread.served)).sum()
    };
    let heat = |rows: &[Vec<u64>]| rows.iter().flatten().sum::<u64>();
    assert_eq!(heat(&details.heat.misses), misses(Served::misses));
    assert_eq!(heat(&details.heat.transfers), misses(|served| served.c2c));
    assert!(details.heat.first.len() <= 64 && details.heat.cycles.len() <= 128);
    let code = details.code.iter().map(|one| one.missed);
    let code: Vec<Missed> = code.chain([details.code_others]).collect();
    let l2: u64 = code.iter().map(|missed| missed.misses.l2).sum();
    assert_eq!(l2, misses(|served| served.l2));
    let waited: u64 = code.iter().map(|missed| missed.cycles).sum();
    let stacks = outcome.threads.iter().map(|thread| thread.stack);
    let waits = stacks.map(|stack| stack.sum() - stack.busy - stack.pipeline);
    assert_eq!(waited, waits.sum::<u64>());
    // The numbers of calls in the summary add up to the total.
    let total: u64 = details.calls.iter().map(|calls| calls.count).sum();
    assert_eq!(total, outcome.hypercalls.total);
    let by_guest: u64 =
        (series.hypercalls.iter()).map(|guest| guest.calls.iter().sum::<u64>()).sum();
    assert!(by_guest > 0 && by_guest <= total);
    assert!(details.events.len() <= 1000);
    assert!(details.events.is_sorted_by_key(|event| event.time));
    // The listed calls span the whole replay.
    let end = series.clock.last().unwrap();
    let quarters = (0..4).map(|quarter| quarter * end / 4..(quarter + 1) * end / 4);
    for quarter in quarters {
        let shown = details.events.iter();
        let shown = shown.filter(|event| quarter.contains(&event.time)).count();
        assert!(shown >= 100, "{quarter:?}: {shown}");
    }
}

/// Strand 64 reads a 16-page buffer once.
#[test]
fn misses_by_address_and_time() {
    let mut text = String::new();
    for line in 0..16 * 128 {
        let _ = writeln!(text, "64 r {:x}", 0x10_0000 + line * 64);
    }
    let _ = writeln!(text, "64 r 7fff00000000");
    let (outcome, details) = details(recording(text));
    let heat = details.heat;
    assert_eq!(heat.page_bytes, 8192);
    let pages = (0..16).map(|page| 0x10_0000 + page * 8192);
    assert_eq!(heat.first, pages.chain([0x7fff_0000_0000]).collect::<Vec<_>>());
    assert_eq!(heat.bytes, [8192; 17]);
    assert_eq!(heat.program, [0; 17]);
    let sums: Vec<u64> = heat.misses.iter().map(|row| row.iter().sum()).collect();
    assert_eq!(sums, [[128; 16].as_slice(), &[1]].concat());
    assert_eq!(heat.transfers.iter().flatten().sum::<u64>(), 0);
    // The misses go through the pages in order.
    let first = |row: &Vec<u64>| row.iter().position(|count| *count > 0).unwrap();
    assert!(heat.misses.iter().map(first).is_sorted());
    assert_eq!(heat.cycles.last(), Some(&outcome.cycles));
    assert!((64..=128).contains(&heat.cycles.len()));
}

/// The rows of a large buffer have equal sizes. A distant access gets a row of its own.
#[test]
fn regions_stay_apart() {
    let mut text = String::new();
    for page in 0..1000 {
        let _ = writeln!(text, "0 r {:x}", 0x1000_0000 + page * 8192);
    }
    let _ = writeln!(text, "0 r 400000\n0 r 7fff00000000");
    let (_, details) = details(recording(text));
    let heat = details.heat;
    assert_eq!(heat.first.len(), 64);
    assert_eq!((heat.first[0], heat.bytes[0]), (0x40_0000, 8192));
    assert_eq!((heat.first[63], heat.bytes[63]), (0x7fff_0000_0000, 8192));
    // The 1000 pages take 62 rows.
    let pages = heat.bytes[1..63].iter().map(|bytes| bytes / 8192);
    assert_eq!(pages.clone().sum::<u64>(), 1000);
    assert!(pages.clone().all(|pages| (8..=32).contains(&pages)));
    let misses = heat.misses.iter().map(|row| row.iter().sum::<u64>());
    assert!(misses.skip(1).take(62).eq(pages));
}

/// An instruction on node 1 loads node 0's lines, and then a line that node 1 already has. Another instruction stores.
#[test]
fn misses_by_instruction() {
    let fetch = |address, kind| Reference::new(address, 4, kind);
    let load = |address| [fetch(0x1180, Kind::FetchLoad), Reference::new(address, 8, Kind::Load)];
    let mut references = [0, 0x10, 0x800].map(load).concat();
    references.push(fetch(0x1184, Kind::FetchStore));
    references.push(Reference::new(0x20, 8, Kind::Store));
    let program = Recording::from_threads("by hand", vec![vec![Chunk::new(references, vec![])]]);
    let setup = setup(program).placement(Some("64".parse().unwrap()));
    let details = run(setup).unwrap().details.unwrap();
    let code = details.code.iter().map(|one| {
        let Served { l2, local, remote, c2c } = one.missed.misses;
        (one.address, [l2, local, remote, c2c], one.missed.cycles)
    });
    assert_eq!(
        code.collect::<Vec<_>>(),
        [
            // The L2 cache misses the instruction's line and two data lines. The load of 0x10 finds its line there.
            (Some(0x1180), [1, 0, 3, 0], 3 * 290 + 23),
            // The strand does not wait for its store.
            (Some(0x1184), [1, 0, 0, 0], 0),
        ]
    );
    assert_eq!(details.code_others, Missed::default());
}

/// Strands of two nodes write to different bytes of one line.
#[test]
fn lines_that_are_shared() {
    let text = "0 w 1000\n64 w 1008\n".repeat(10);
    let (outcome, details) = details(recording(text));
    let lines = details.lines;
    assert_eq!((lines.moved, lines.transfers, lines.invalidations), (1, 19, 19));
    let [line] = &lines.hottest[..] else { panic!() };
    assert_eq!((line.address, line.sharing), (0x1000, Sharing::False));
    let users = line.users.iter();
    let users =
        users.map(|user| (user.thread, user.strand.index(), user.what, user.bytes, user.times));
    // The first write comes before the line moves for the first time.
    let expected = [(0, 0, Use::Store, 0xff, 9), (1, 64, Use::Store, 0xff00, 10)];
    assert_eq!(users.collect::<Vec<_>>(), expected);
    let json = serde_json::to_value(line).unwrap();
    assert_eq!(json["address"], "0x1000");
    assert_eq!((&json["home"], &json["transfers"]), (&0.into(), &19.into()));
    assert_eq!(json["sharing"], "false sharing");
    assert_eq!(json["users"][1]["bytes"], "8-15");
    assert_eq!(json["users"][1]["what"], "store");
    assert_eq!(outcome.threads.len(), 2);
}

/// At each sample, a replay's observer sees the details.
#[test]
fn details_while_it_runs() {
    let setup = setup(crate::program(3_000)).interval(Some(1_000));
    let mut seen = Vec::new();
    let outcome = setup.check().unwrap().run(|progress| {
        if let Stage::Sample { now, .. } = progress {
            let details = now.run().details.unwrap();
            let misses: u64 = details.heat.misses.iter().flatten().sum();
            let served = now.run().threads[0].served;
            assert_eq!(misses, served.misses());
            seen.push(details.series.references.last().copied());
        }
        ControlFlow::Continue(())
    });
    // The series has a point after every 512 references. After 1000, 2000 and 3000 references, these are the latest points.
    assert_eq!(seen, [Some(512), Some(1_536), Some(2_560)]);
    let series = outcome.unwrap().details.unwrap().series;
    assert_eq!(series.references.last(), Some(&3_000));
}
