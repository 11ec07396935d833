//! Full rings: which events remain, and how many are lost.

use std::any::type_name;

use hv_core::trace::{
    Clock19, Clock27, Clock32, Clock64, Clock64Aligned, Layout, Mode, Next, Ring,
};
use proptest::prelude::*;

use crate::{Empty, Got, Large, Rare, Small, TestEvent, drain};

fn small(number: u32) -> Got {
    Got::Event(number.into(), TestEvent::Small(Small { number }))
}

/// Returns a ring of two packets of ten words. An event of these tests takes two words; the first of a packet, with its
/// full header, takes five. So a packet has room for three events.
fn ring(mode: Mode) -> Ring<Clock27, 2, 10> {
    Ring::new(mode)
}

fn record(ring: &Ring<Clock27, 2, 10>, numbers: std::ops::Range<u32>) {
    for number in numbers {
        ring.record(number.into(), Small { number });
    }
}

#[test]
fn an_empty_ring() {
    for mode in [Mode::Overwrite, Mode::Discard] {
        assert_eq!(drain(&mut ring(mode).reader()), []);
    }
}

#[test]
fn overwriting_keeps_the_last_events() {
    let ring = ring(Mode::Overwrite);
    record(&ring, 0..7);
    let left: Vec<_> = [Got::Lost(3)]
        .into_iter()
        .chain((3..7).map(small))
        .collect();
    assert_eq!(drain(&mut ring.reader()), left);
    assert_eq!(ring.discarded(), 0);
}

#[test]
fn discarding_keeps_the_first_events() {
    let ring = ring(Mode::Discard);
    record(&ring, 0..9);
    let mut reader = ring.reader();
    let left: Vec<_> = (0..6).map(small).chain([Got::Lost(3)]).collect();
    assert_eq!(drain(&mut reader), left);
    assert_eq!(ring.discarded(), 3);
    // The reader has finished the first packet, which is free now. The second is still the newest.
    record(&ring, 9..14);
    let left: Vec<_> = (9..12).map(small).chain([Got::Lost(2)]).collect();
    assert_eq!(drain(&mut reader), left);
    record(&ring, 14..15);
    assert_eq!(drain(&mut reader), [small(14)]);
}

#[test]
fn a_reader_that_keeps_up_loses_nothing() {
    for mode in [Mode::Overwrite, Mode::Discard] {
        let ring = ring(mode);
        let mut reader = ring.reader();
        for number in 0..100 {
            record(&ring, number..number + 1);
            assert_eq!(drain(&mut reader), [small(number)], "{mode:?}");
        }
    }
}

#[test]
fn a_reader_is_overtaken_in_the_middle_of_a_packet() {
    let ring = ring(Mode::Overwrite);
    let mut reader = ring.reader();
    record(&ring, 0..2);
    assert_eq!(drain(&mut reader), [small(0), small(1)]);
    // The packets of events 0-2 and 3-5 are overwritten by those of 6-8 and 9.
    record(&ring, 2..10);
    let left: Vec<_> = [Got::Lost(4)]
        .into_iter()
        .chain((6..10).map(small))
        .collect();
    assert_eq!(drain(&mut reader), left);
}

#[test]
fn a_reader_returns_its_copy_of_an_overwritten_packet() {
    let ring = ring(Mode::Overwrite);
    let mut reader = ring.reader();
    record(&ring, 0..3);
    assert!(matches!(reader.next(TestEvent::words), Some(Next::Event(event)) if event.time == 0));
    record(&ring, 3..12);
    let left: Vec<_> = [small(1), small(2), Got::Lost(3)]
        .into_iter()
        .chain((6..12).map(small))
        .collect();
    assert_eq!(drain(&mut reader), left);
}

#[test]
fn an_event_larger_than_a_packet_is_discarded() {
    let ring = Ring::<Clock27, 2, 6>::new(Mode::Overwrite);
    let mut reader = ring.reader();
    ring.record(1, Large::default());
    assert_eq!(drain(&mut reader), [Got::Lost(1)]);
    ring.record(2, Small { number: 2 });
    ring.record(3, Large::default());
    ring.record(4, Small { number: 4 });
    assert_eq!(drain(&mut reader), [small(2), Got::Lost(1), small(4)]);
}

#[test]
fn no_smaller_event_comes_after_one_that_was_discarded() {
    // An event with a full header and no payload leaves three of seven words.
    let ring = Ring::<Clock27, 2, 7>::new(Mode::Discard);
    for time in 0..2 {
        ring.record(time, Empty {});
        ring.record(time, Large::default());
        ring.record(time, Empty {});
    }
    assert_eq!(
        drain(&mut ring.reader()),
        [
            Got::Event(0, TestEvent::Empty(Empty {})),
            Got::Event(0, TestEvent::Large(Large::default())),
            Got::Lost(4),
        ]
    );
}

#[test]
fn unknown_events_count_as_lost() {
    let ring = ring(Mode::Overwrite);
    record(&ring, 0..5);
    let mut reader = ring.reader();
    let nothing_known = |_| None;
    assert_eq!(reader.next(nothing_known), Some(Next::Lost(3)));
    assert_eq!(reader.next(nothing_known), Some(Next::Lost(2)));
    assert_eq!(reader.next(nothing_known), None);
}

/// What is lost is said before the events behind it, also if these come to the same packet later.
#[test]
fn a_loss_comes_before_the_events_behind_it() {
    let ring = ring(Mode::Overwrite);
    ring.record(0, Small { number: 0 });
    ring.record(1, Empty {});
    let mut reader = ring.reader();
    let no_empty = |id| TestEvent::words(id).filter(|words| *words > 0);
    let mut next = || match reader.next(no_empty) {
        Some(Next::Event(event)) => Ok(event.time),
        Some(Next::Lost(lost)) => Err(lost),
        None => Err(0),
    };
    assert_eq!(next(), Ok(0));
    ring.record(2, Small { number: 2 });
    assert_eq!([next(), next(), next()], [Err(1), Ok(2), Err(0)]);
}

/// An operation on a ring.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Records an event of this kind, this many ticks after the one before.
    Record(u64, u8),
    /// Reads up to this many entries.
    Read(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let record = (
        prop_oneof![0..1000u64, Just(1 << 27), Just(1 << 28)],
        0..4u8,
    )
        .prop_map(|(gap, kind)| Step::Record(gap, kind));
    let read = (1..40u8).prop_map(Step::Read);
    proptest::collection::vec(prop_oneof![9 => record, 1 => read], 0..400)
}

/// Asserts that each event is returned once, in order and with its time, or counted once as lost.
fn check<L: Layout>(mode: Mode, steps: &[Step], resolution: u64) {
    let ring = Ring::<L, 4, 20>::new(mode);
    let mut reader = ring.reader();
    let mut recorded = Vec::new();
    let mut next = 0;
    let mut take = |got: Got, recorded: &[Got]| {
        match got {
            Got::Lost(lost) => {
                assert!(lost > 0);
                next += lost as usize;
            }
            event => {
                assert_eq!(event, recorded[next], "{} {mode:?}", type_name::<L>());
                next += 1;
            }
        }
        assert!(next <= recorded.len());
        next
    };
    let mut time = 0;
    for (number, step) in (0..).zip(steps) {
        match *step {
            Step::Record(gap, kind) => {
                time += gap;
                let event = match kind {
                    0 => {
                        ring.record(time, Empty {});
                        TestEvent::Empty(Empty {})
                    }
                    1 => {
                        ring.record(time, Small { number });
                        TestEvent::Small(Small { number })
                    }
                    2 => {
                        ring.record(time, Rare { number });
                        TestEvent::Rare(Rare { number })
                    }
                    _ => {
                        let event = Large { number, value: 7 };
                        ring.record(time, event);
                        TestEvent::Large(event)
                    }
                };
                recorded.push(Got::Event(time / resolution * resolution, event));
            }
            Step::Read(entries) => {
                for _ in 0..entries {
                    let Some(entry) = reader.next(TestEvent::words) else {
                        break;
                    };
                    let got = match entry {
                        Next::Lost(lost) => Got::Lost(lost),
                        Next::Event(event) => Got::Event(
                            event.time,
                            TestEvent::decode(event.id, event.payload).unwrap(),
                        ),
                    };
                    take(got, &recorded);
                }
            }
        }
    }
    for got in drain(&mut reader) {
        take(got, &recorded);
    }
    assert_eq!(next, recorded.len(), "{} {mode:?}", type_name::<L>());
}

proptest! {
    #[test]
    fn every_event_is_returned_or_counted_as_lost(steps in steps()) {
        for mode in [Mode::Overwrite, Mode::Discard] {
            check::<Clock19>(mode, &steps, 512);
            check::<Clock27>(mode, &steps, 1);
            check::<Clock32>(mode, &steps, 1);
            check::<Clock64>(mode, &steps, 1);
            check::<Clock64Aligned>(mode, &steps, 1);
        }
    }
}
