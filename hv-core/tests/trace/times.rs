//! Times: a reader returns all 64 bits, however far apart the events are.

use std::any::type_name;

use hv_core::trace::{
    Clock19, Clock25Cut7, Clock26Cut6, Clock27, Clock27Cut5, Clock27Typed, Clock32, Clock64,
    Clock64Aligned, Event, Layout, Mode, Ring,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{Empty, Got, Large, Rare, Small, TestEvent, drain};

/// Records an event at each time, and asserts that a reader returns all of them.
fn check<L: Layout>(times: &[u64], resolution: u64) {
    const PACKETS: usize = 64;
    let ring = Ring::<L, PACKETS, 64>::new(Mode::Discard);
    let mut expected = Vec::new();
    for (number, time) in (0..).zip(times) {
        let event = match number % 5 {
            0 => {
                let event = Large {
                    number,
                    value: u64::MAX - u64::from(number),
                };
                ring.record(*time, event);
                TestEvent::Large(event)
            }
            1 => {
                ring.record(*time, Rare { number });
                TestEvent::Rare(Rare { number })
            }
            _ => {
                ring.record(*time, Small { number });
                TestEvent::Small(Small { number })
            }
        };
        expected.push(Got::Event(*time / resolution * resolution, event));
    }
    assert_eq!(drain(&mut ring.reader()), expected, "{}", type_name::<L>());
}

fn check_all(times: &[u64]) {
    check::<Clock19>(times, 512);
    check::<Clock25Cut7>(times, 128);
    check::<Clock26Cut6>(times, 64);
    check::<Clock27Cut5>(times, 32);
    check::<Clock27Typed>(times, 1);
    check::<Clock27>(times, 1);
    check::<Clock32>(times, 1);
    check::<Clock64>(times, 1);
    check::<Clock64Aligned>(times, 1);
}

/// Returns times with these gaps, from `first` on, saturating at the largest time.
fn apart(first: u64, gaps: &[u64]) -> Vec<u64> {
    let mut time = first;
    let later = gaps.iter().map(|gap| {
        time = time.saturating_add(*gap);
        time
    });
    [first].into_iter().chain(later).collect()
}

/// Lines 82 and 83 of the seed document, compact_trace_events.txt: "Create a "compact" facility which reserves the facility IDs
/// with the MSB at 1. - or better : select mapping for events". Here the type bit is that MSB, and kinds with small numbers
/// are the ones that are mapped: the others take the full header.
#[test]
fn kinds_with_small_numbers_have_short_headers() {
    /// Returns how many words an event without further events in its packet takes.
    fn room<L: Layout, E: Event + Copy>(event: E) -> usize {
        const WORDS: usize = 128;
        let ring = Ring::<L, 2, WORDS>::new(Mode::Discard);
        // The first event in a packet has a full header, whatever its kind.
        ring.record(512, Empty {});
        let before = L::FULL_WORDS;
        let mut events = 0;
        while ring.discarded() == 0 && events < WORDS {
            ring.record(512, event);
            events += 1;
        }
        // Two packets, of which the second begins with a full header too.
        (2 * WORDS - before) / (events - 1)
    }
    // An event with one word of payload: 9 is less than 16, 31 less than 64 and no less than 16, 31 and 32.
    let small = Small { number: 1 };
    let rare = Rare { number: 1 };
    assert_eq!(
        (
            room::<Clock27Typed, _>(small),
            room::<Clock27Typed, _>(rare)
        ),
        (2, 4)
    );
    assert_eq!(
        (room::<Clock27, _>(small), room::<Clock27, _>(rare)),
        (2, 5)
    );
    assert_eq!(
        (room::<Clock26Cut6, _>(small), room::<Clock26Cut6, _>(rare)),
        (2, 2)
    );
    assert_eq!(
        (room::<Clock19, _>(small), room::<Clock19, _>(rare)),
        (2, 2)
    );
    assert_eq!(
        (room::<Clock32, _>(small), room::<Clock32, _>(rare)),
        (3, 3)
    );
    assert_eq!(
        (room::<Clock64, _>(small), room::<Clock64, _>(rare)),
        (4, 4)
    );
}

#[test]
fn exact_wraps() {
    // Around the wrap of each layout's clock, in ticks: 19 + 9, 27 and 32 bits.
    for bits in [9, 19, 27, 28, 32, 33, 63] {
        let wrap = 1u64 << bits;
        for gap in [
            wrap - 1,
            wrap,
            wrap + 1,
            wrap - 512,
            wrap + 512,
            2 * (wrap - 1),
            wrap / 2,
        ] {
            for first in [0, 1, 511, 512, wrap - 1, wrap, 0x1234_5678_9abc_def0] {
                check_all(&apart(first, &[gap; 3]));
                check_all(&apart(first, &[gap, 0, 1, gap.saturating_sub(1), 1, gap]));
            }
        }
    }
}

#[test]
fn clock19_rounds_down_to_512_ticks() {
    let ring = Ring::<Clock19, 2, 64>::new(Mode::Overwrite);
    for (number, time) in [(0, 511), (1, 512), (2, 1023), (3, 1024 + (1 << 40))] {
        ring.record(time, Small { number });
    }
    let times = drain(&mut ring.reader()).into_iter().map(|got| match got {
        Got::Event(time, _) => time,
        Got::Lost(_) => panic!("nothing is lost"),
    });
    assert_eq!(times.collect::<Vec<_>>(), [0, 512, 512, 1024 + (1 << 40)]);
}

/// Gaps of all magnitudes, and gaps around the wraps of the layouts' clocks.
fn gaps() -> impl Strategy<Value = Vec<u64>> {
    let any = (0..64u32, any::<u64>()).prop_map(|(bits, gap)| gap >> bits);
    let wrap = (
        prop_oneof![Just(27u32), Just(28), Just(32), 0..40u32],
        0..3u64,
    )
        .prop_map(|(bits, more)| (1u64 << bits) + more - 1);
    vec(prop_oneof![3 => any, 2 => wrap, 1 => 0..2000u64], 0..120)
}

proptest! {
    #[test]
    fn random_gaps(first in any::<u64>(), shift in 0..64u32, gaps in gaps()) {
        check_all(&apart(first >> shift, &gaps));
    }
}
