//! Tests that a reader returns all 64 bits of each time, however far apart the events are.

use std::any::type_name;

use hv_core::trace::{
    Clock19, Clock26Cut6, Clock27, Clock27Typed, Clock32, Clock64, Layout, Mode, Reader, Ring,
    TraceEvent,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{Empty, Got, Rare, Small, TestEvent, drain, record};

/// Records an event at each time, and asserts that a reader returns all of these events.
fn check<L: Layout>(resolution: u64, times: &[u64]) {
    let ring = Ring::<L, 64, 64>::new(Mode::Discard);
    let recorded = (0..).zip(times).map(|(number, time)| {
        let kind = [3, 2, 1, 1, 1][number as usize % 5];
        let event = record(&ring, *time, kind, number);
        Got::Event(*time / resolution * resolution, event)
    });
    let recorded: Vec<_> = recorded.collect();
    assert_eq!(drain(&mut Reader::new(&ring)), recorded, "{}", type_name::<L>());
}

fn check_all(times: &[u64]) {
    for_each_layout!(check(times));
}

/// Returns the time `first`, followed by one time per gap. A gap is the distance from the previous time. Times stop growing at `u64::MAX`.
fn apart(first: u64, gaps: &[u64]) -> Vec<u64> {
    let mut time = first;
    let later = gaps.iter().map(|gap| {
        time = time.saturating_add(*gap);
        time
    });
    [first].into_iter().chain(later).collect()
}

/// Asserts that kinds with small numbers have short headers, and all other kinds full headers. Each layout has its own limit for small
/// numbers. In most layouts, the MSB of the header is the type bit, which is 1 in a short header. Lines 82 and 83 of the seed document,
/// compact_trace_events.txt, ask for such a bit: "Create a "compact" facility which reserves the facility IDs with the MSB at 1. - or
/// better : select mapping for events".
#[test]
fn kinds_with_small_numbers_have_short_headers() {
    /// Returns the size in words of an event that is not the first in its packet.
    fn room<L: Layout, E: TraceEvent + Copy>(event: E) -> usize {
        const WORDS: usize = 128;
        let ring = Ring::<L, 2, WORDS>::new(Mode::Discard);
        // The first event in a packet has a full header, whatever its kind.
        ring.record(512, Empty {});
        let mut events = 0;
        while ring.discarded() == 0 && events < WORDS {
            ring.record(512, event);
            events += 1;
        }
        // There are two packets. The second packet begins with a full header too.
        (2 * WORDS - L::FULL_WORDS) / (events - 1)
    }
    /// Returns the sizes, in words, of two events with one payload word each. Their kinds are 9 and 31.
    fn rooms<L: Layout>() -> (usize, usize) {
        let number = 1;
        (room::<L, _>(Small { number }), room::<L, _>(Rare { number }))
    }
    // Number 9 has a short header in every layout. Number 31 has none in Clock27Typed (limit 16) and Clock27 (limit 31).
    assert_eq!(rooms::<Clock27Typed>(), (2, 4));
    assert_eq!(rooms::<Clock27>(), (2, 5));
    assert_eq!(rooms::<Clock26Cut6>(), (2, 2));
    assert_eq!(rooms::<Clock19>(), (2, 2));
    assert_eq!(rooms::<Clock32>(), (3, 3));
    assert_eq!(rooms::<Clock64>(), (4, 4));
}

#[test]
fn exact_wraps() {
    // The clocks of the layouts wrap after 2^27, 2^28 (19 + 9 bits) and 2^32 ticks.
    for bits in [9, 19, 27, 28, 32, 33, 63] {
        let wrap = 1u64 << bits;
        let near = [wrap - 512, wrap - 1, wrap, wrap + 1, wrap + 512];
        for gap in near.into_iter().chain([2 * (wrap - 1), wrap / 2]) {
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
    let times = [(511, 0), (512, 512), (1023, 512), (1024 + (1 << 40), 1024 + (1 << 40))];
    times.iter().for_each(|(time, _)| ring.record(*time, Empty {}));
    let rounded = times.map(|(_, time)| Got::Event(time, TestEvent::Empty(Empty {})));
    assert_eq!(drain(&mut Reader::new(&ring)), rounded);
}

/// Generates gaps of all magnitudes, and gaps near the wraps of the layouts' clocks.
fn gaps() -> impl Strategy<Value = Vec<u64>> {
    let any = (0..64u32, any::<u64>()).prop_map(|(bits, gap)| gap >> bits);
    let bits = prop_oneof![Just(27u32), Just(28), Just(32), 0..40u32];
    let wrap = (bits, 0..3u64).prop_map(|(bits, more)| (1u64 << bits) + more - 1);
    vec(prop_oneof![3 => any, 2 => wrap, 1 => 0..2000u64], 0..120)
}

proptest! {
    #[test]
    fn random_gaps(first in any::<u64>(), shift in 0..64u32, gaps in gaps()) {
        check_all(&apart(first >> shift, &gaps));
    }
}
