//! Tests traces in the Common Trace Format, read by `babeltrace2` and by our reader.

mod babeltrace;
mod broken;
mod kinds;
mod merged;
mod recorded;

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use guest_abi::Clock;
use hv_core::trace::{Mode, Trace as _};
use perfctr_service::trace::ChangeComplete;
use simulator::events::collect::Rings;
use simulator::events::ctf::{self, Endian};
use simulator::events::kinds::EventKinds;
use simulator::events::layouts::LayoutName;
use simulator::events::{Stream, StreamEntry, Trace};
use tempfile::{TempDir, tempdir};
use tests::machine::strand;
use tests::random::Random;

use recorded::{Known, random_event, record};

pub(crate) fn write_trace(place: &TempDir, trace: &Trace, endian: Endian) -> PathBuf {
    let path = place.path().join("trace");
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    ctf::write(trace, endian, |name, bytes| fs::write(path.join(name), bytes)).unwrap();
    path
}

#[derive(Debug, Default)]
pub(crate) struct Hands(Cell<u64>);

impl Clock for Hands {
    fn ticks(&self) -> u64 {
        self.0.get()
    }
}

pub(crate) fn trace(layout: LayoutName, streams: Vec<Stream>) -> Trace {
    Trace {
        hz: 1_165_379_275,
        layout,
        began: 0,
        epoch: None,
        missed: 0,
        guests: vec!["measuring".to_owned(), "the \"other\" \\ \u{e4}".to_owned()],
        kinds: EventKinds::default(),
        streams,
    }
}

/// Returns a random gap in cycles, below 2^32. Many gaps are near 2^27 or 2^28, where the times in short headers wrap.
fn gap(random: &mut Random) -> u64 {
    let gap = match random.below(8) {
        0 => 0,
        1 => (1 << 27) - 1 + random.below(3),
        2 => (1 << 28) - 1 + random.below(3),
        3 => random.below(1 << 32),
        bits => random.below(1 << (4 * bits)),
    };
    gap as u64
}

/// Records random events at random times, on random strands of `strands`. `reads` holds the number of events to record before each read of
/// the rings.
fn record_random(
    (layout, mode): (LayoutName, Mode),
    mut random: Random,
    strands: &[usize],
    reads: &[usize],
) -> (Vec<Known>, Trace) {
    let clock = Hands::default();
    let rings = Rings::new(layout, mode);
    let collector = rings.collector(&clock);
    let mut known = Vec::new();
    for events in reads {
        for _ in 0..*events {
            let time = clock.0.get() + gap(&mut random);
            clock.0.set(time);
            let strand = strand(random.one_of(strands));
            let event = random_event(&mut random);
            assert_eq!(collector.time(strand), Some(time));
            record(&collector, strand, time, event);
            known.push(Known {
                time: time / layout.resolution() * layout.resolution(),
                strand,
                event,
            });
        }
        (strands.iter()).for_each(|number| collector.collect(strand(*number)));
    }
    (known, trace(layout, collector.streams()))
}

/// Records 3000 random events on four strands, and reads the rings after each event.
pub(crate) fn record_and_read(layout: LayoutName) -> (Vec<Known>, Trace) {
    let random = Random(layout as u64 + 1);
    record_random((layout, Mode::Discard), random, &[0, 9, 70, 255], &[1; 3000])
}

/// A short event header takes no more space in a written trace than in the ring: with Clock27, it has 4 bytes, and 27 of its bits hold the
/// time. The header of an event long after the previous event starts with a reserved number and contains all 64 bits of the time.
#[test]
fn headers_are_as_compact_as_in_the_rings() {
    const FAR: u64 = 0x2_0000_0001;
    for (layout, endian, near, far) in [
        (LayoutName::Clock27, Endian::Big, &[0x98, 0, 0, 9][..], &[0xf8][..]),
        (LayoutName::Clock32, Endian::Big, &[0, 19, 0, 0, 0, 9], &[0xff, 0xff]),
        (LayoutName::Clock32, Endian::Little, &[19, 0, 9, 0, 0, 0], &[0xff, 0xff]),
    ] {
        let clock = Hands::default();
        let rings = Rings::new(layout, Mode::Discard);
        let collector = rings.collector(&clock);
        for time in [9, FAR] {
            collector.record(strand(0), time, ChangeComplete { strand: 5 });
        }
        let [id, time, five] = match endian {
            Endian::Big => [vec![0, 0, 0, 19], FAR.to_be_bytes().to_vec(), vec![0, 0, 0, 5]],
            Endian::Little => [vec![19, 0, 0, 0], FAR.to_le_bytes().to_vec(), vec![5, 0, 0, 0]],
        };
        let expected = [near, &five, far, &id, &time, &five].concat();
        let place = tempdir().unwrap();
        let path = write_trace(&place, &trace(layout, collector.streams()), endian);
        let bytes = fs::read(path.join("strand_000")).unwrap();
        assert_eq!(bytes[60..], expected, "{layout:?} {endian:?}");
    }
    // With Clock19, the ring stores 19 bits of the time in units of 512 (2^9) ticks. The trace stores the time in ticks, so it needs 28
    // bits (19 + 9). With the type and 12 bits for the kind, the header has 6 bytes.
    let (_, trace) = record_random((LayoutName::Clock19, Mode::Discard), Random(3), &[1], &[1]);
    let place = tempdir().unwrap();
    let path = write_trace(&place, &trace, Endian::Big);
    let words = trace.streams[0].events().next().unwrap().payload.len();
    let bytes = fs::metadata(path.join("strand_001")).unwrap().len();
    assert_eq!(bytes, 60 + 6 + 4 * words as u64);
}

#[test]
fn babeltrace_reads_every_event_and_timestamp() {
    for (layout, endian) in LayoutName::ALL
        .iter()
        .zip(Endian::ALL.into_iter().cycle())
        .chain([(&LayoutName::Clock19, Endian::Little)])
    {
        let place = tempdir().unwrap();
        let (known, trace) = record_and_read(*layout);
        assert_eq!((trace.events(), trace.lost()), (3000, 0));
        let (read, stderr) = babeltrace::read(&write_trace(&place, &trace, endian));
        assert_eq!(stderr, "", "nothing is lost");
        babeltrace::compare(&known, &read);
    }
}

#[test]
fn we_read_what_we_wrote() {
    let place = tempdir().unwrap();
    for endian in Endian::ALL {
        for layout in [LayoutName::Clock19, LayoutName::Clock27] {
            let (_, trace) = record_and_read(layout);
            assert_eq!(ctf::read(&write_trace(&place, &trace, endian)).unwrap(), trace);
        }
    }
}

#[test]
fn an_empty_trace() {
    let place = tempdir().unwrap();
    let trace = trace(LayoutName::Clock27, Vec::new());
    let path = write_trace(&place, &trace, Endian::Big);
    assert_eq!(ctf::read(&path).unwrap(), trace);
    let (read, stderr) = babeltrace::read(&path);
    assert_eq!((read.len(), &*stderr), (0, ""));
}

/// Records events on one strand and reads its ring five times. The ring overflows before three of the reads.
pub(crate) fn overrun(mode: Mode) -> (Vec<Known>, Trace) {
    let reads = [4000, 10, 5000, 100, 3000];
    record_random((LayoutName::Clock27, mode), Random(7), &[9], &reads)
}

#[test]
fn babeltrace_knows_what_was_lost() {
    for (mode, endian) in [(Mode::Overwrite, Endian::Big), (Mode::Discard, Endian::Little)] {
        let place = tempdir().unwrap();
        let (known, trace) = overrun(mode);
        let lost: Vec<u64> = trace.streams[0].gaps().map(|(_, lost)| lost).collect();
        assert_eq!(lost.len(), 3, "one gap for each time that it was too much");
        let path = write_trace(&place, &trace, endian);
        let (read, stderr) = babeltrace::read(&path);
        // The losses are reported in the order of the gaps in the trace.
        assert_eq!(babeltrace::discarded(&stderr), lost, "{stderr}");
        assert_eq!(read.len() as u64 + lost.iter().sum::<u64>(), known.len() as u64);
        let mut left = Vec::new();
        let mut rest = &known[..];
        for entry in &trace.streams[0].entries {
            match entry {
                StreamEntry::Lost(lost) => rest = &rest[*lost as usize..],
                StreamEntry::Event(_) => left.extend(rest.split_off_first()),
            }
        }
        assert_eq!(rest, []);
        babeltrace::compare(&left, &read);
        assert_eq!(ctf::read(&path).unwrap(), trace);
    }
}
