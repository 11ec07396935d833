//! Tests which events remain in a full ring, and how many are lost.

use std::any::type_name;
use std::ops::Range;

use hv_core::trace::{Clock27, Clock64, Layout, Mode, Reader, Ring, RingItem};
use proptest::prelude::*;

use crate::{Empty, Got, Large, Small, TestEvent, drain, record};

fn small(number: u32) -> Got {
    Got::Event(number.into(), TestEvent::Small(Small { number }))
}

/// Returns a loss of `lost` events, followed by the events with these numbers.
fn lost_before(lost: u64, numbers: Range<u32>) -> Vec<Got> {
    let events = numbers.map(small);
    [Got::Lost(lost)].into_iter().chain(events).collect()
}

/// Returns the events with these numbers, followed by a loss of `lost` events.
fn lost_behind(numbers: Range<u32>, lost: u64) -> Vec<Got> {
    numbers.map(small).chain([Got::Lost(lost)]).collect()
}

/// Returns a ring of two packets of ten words. In these tests, an event takes two words, except that the first event of a packet takes
/// five, because of its full header. A packet therefore has room for three events.
fn ring(mode: Mode) -> Ring<Clock27, 2, 10> {
    Ring::new(mode)
}

fn record_small(ring: &Ring<Clock27, 2, 10>, numbers: Range<u32>) {
    for number in numbers {
        ring.record(number.into(), Small { number });
    }
}

#[test]
fn an_empty_ring() {
    for mode in [Mode::Overwrite, Mode::Discard] {
        assert_eq!(drain(&mut Reader::new(&ring(mode))), []);
    }
}

#[test]
fn overwriting_keeps_the_last_events() {
    let ring = ring(Mode::Overwrite);
    record_small(&ring, 0..7);
    assert_eq!(drain(&mut Reader::new(&ring)), lost_before(3, 3..7));
    assert_eq!(ring.discarded(), 0);
}

#[test]
fn discarding_keeps_the_first_events() {
    let ring = ring(Mode::Discard);
    record_small(&ring, 0..9);
    let mut reader = Reader::new(&ring);
    assert_eq!(drain(&mut reader), lost_behind(0..6, 3));
    assert_eq!(ring.discarded(), 3);
    // The reader has finished the first packet, which is now free. The second packet is still the newest.
    record_small(&ring, 9..14);
    assert_eq!(drain(&mut reader), lost_behind(9..12, 2));
    record_small(&ring, 14..15);
    assert_eq!(drain(&mut reader), [small(14)]);
}

#[test]
fn a_reader_that_keeps_up_loses_nothing() {
    for mode in [Mode::Overwrite, Mode::Discard] {
        let ring = ring(mode);
        let mut reader = Reader::new(&ring);
        for number in 0..100 {
            record_small(&ring, number..number + 1);
            assert_eq!(drain(&mut reader), [small(number)], "{mode:?}");
        }
    }
}

#[test]
fn a_reader_is_overtaken_in_the_middle_of_a_packet() {
    let ring = ring(Mode::Overwrite);
    let mut reader = Reader::new(&ring);
    record_small(&ring, 0..2);
    assert_eq!(drain(&mut reader), [small(0), small(1)]);
    // Events 6-8 and 9 overwrite the packets of events 0-2 and 3-5.
    record_small(&ring, 2..10);
    assert_eq!(drain(&mut reader), lost_before(4, 6..10));
}

#[test]
fn a_reader_returns_its_copy_of_an_overwritten_packet() {
    let ring = ring(Mode::Overwrite);
    let mut reader = Reader::new(&ring);
    record_small(&ring, 0..3);
    assert!(
        matches!(reader.next(TestEvent::words), Some(RingItem::Event(event)) if event.time == 0)
    );
    record_small(&ring, 3..12);
    assert_eq!(drain(&mut reader), [vec![small(1), small(2)], lost_before(3, 6..12)].concat());
}

#[test]
fn an_event_larger_than_a_packet_is_discarded() {
    let ring = Ring::<Clock27, 2, 6>::new(Mode::Overwrite);
    let mut reader = Reader::new(&ring);
    ring.record(1, Large::default());
    assert_eq!(drain(&mut reader), [Got::Lost(1)]);
    ring.record(2, Small { number: 2 });
    ring.record(3, Large::default());
    ring.record(4, Small { number: 4 });
    assert_eq!(drain(&mut reader), [small(2), Got::Lost(1), small(4)]);
}

#[test]
fn no_smaller_event_comes_after_one_that_was_discarded() {
    // An event with a full header and no payload takes four of seven words.
    let ring = Ring::<Clock27, 2, 7>::new(Mode::Discard);
    for time in 0..2 {
        ring.record(time, Empty {});
        ring.record(time, Large::default());
        ring.record(time, Empty {});
    }
    assert_eq!(
        drain(&mut Reader::new(&ring)),
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
    record_small(&ring, 0..5);
    let mut reader = Reader::new(&ring);
    for expected in [Some(RingItem::Lost(3)), Some(RingItem::Lost(2)), None] {
        assert_eq!(reader.next(|_| None), expected);
    }
}

/// Some headers hold the length of their payload. Even so, the reader counts an event as lost if its kind is unknown, or if its kind has
/// another length.
#[test]
fn a_length_in_a_header_makes_no_kind_known() {
    let ring = Ring::<Clock64, 2, 40>::new(Mode::Overwrite);
    ring.record(5, Small { number: 1 });
    for words in [None, Some(0), Some(2)] {
        let mut reader = Reader::new(&ring);
        assert_eq!(reader.next(|_| words), Some(RingItem::Lost(1)), "{words:?}");
    }
    assert_eq!(
        drain(&mut Reader::new(&ring)),
        [Got::Event(5, TestEvent::Small(Small { number: 1 }))]
    );
}

/// A reader reports a lost event before it returns the next event, even if both events are in the same packet.
#[test]
fn a_loss_comes_before_the_events_behind_it() {
    let ring = ring(Mode::Overwrite);
    ring.record(0, Small { number: 0 });
    ring.record(1, Empty {});
    let mut reader = Reader::new(&ring);
    let no_empty = |id| TestEvent::words(id).filter(|words| *words > 0);
    let mut next = || match reader.next(no_empty) {
        Some(RingItem::Event(event)) => Ok(event.time),
        Some(RingItem::Lost(lost)) => Err(lost),
        None => Err(0),
    };
    assert_eq!(next(), Ok(0));
    ring.record(2, Small { number: 2 });
    assert_eq!([next(), next(), next()], [Err(1), Ok(2), Err(0)]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Records an event. The first value is the number of ticks since the previous event; the second value selects the kind.
    Record(u64, u8),
    /// Reads at most this number of entries.
    Read(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![0..1000u64, Just(1 << 27), Just(1 << 28)];
    let record = (gap, 0..4u8).prop_map(|(gap, kind)| Step::Record(gap, kind));
    let read = (1..40u8).prop_map(Step::Read);
    proptest::collection::vec(prop_oneof![9 => record, 1 => read], 0..400)
}

/// Asserts that each event is either returned once, in order and with its correct time, or counted once as lost.
fn check<L: Layout>(resolution: u64, mode: Mode, steps: &[Step]) {
    let ring = Ring::<L, 4, 20>::new(mode);
    let mut reader = Reader::new(&ring);
    let mut recorded = Vec::new();
    let mut next = 0;
    let mut take = |got: Got, recorded: &[Got]| {
        if let Got::Lost(lost) = got {
            assert!(lost > 0);
            next += lost as usize;
        } else {
            assert_eq!(got, recorded[next], "{} {mode:?}", type_name::<L>());
            next += 1;
        }
        assert!(next <= recorded.len());
    };
    let mut time = 0;
    for (number, step) in (0..).zip(steps) {
        match *step {
            Step::Record(gap, kind) => {
                time += gap;
                let event = record(&ring, time, kind, number);
                recorded.push(Got::Event(time / resolution * resolution, event));
            }
            Step::Read(entries) => {
                for _ in 0..entries {
                    let Some(entry) = reader.next(TestEvent::words) else { break };
                    take(entry.into(), &recorded);
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
            for_each_layout!(check(mode, &steps));
        }
    }
}
