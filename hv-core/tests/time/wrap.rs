//! Tests of counters with fewer than 64 bits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use guest_abi::clock::Width;
use hv_core::time::WrapExtender;
use proptest::prelude::*;

fn width(bits: u8) -> Width {
    Width::new(bits).unwrap()
}

/// Returns what a counter of this width shows at `count`, with some bits set above the width.
fn shown(bits: u8, count: u64) -> u64 {
    match bits {
        64 => count,
        _ => (count % (1 << bits)) | (0xa5a5_a5a5_a5a5_a5a5 << bits),
    }
}

#[test]
fn a_quarter_of_the_wrap_between_two_reads_is_safe() {
    for bits in 8..=63 {
        let quarter = 1 << (bits - 2);
        assert_eq!(WrapExtender::longest_interval(width(bits)), quarter);
        for start in [0, 1, quarter - 1, 3 * quarter, 4 * quarter - 1] {
            let wrap = WrapExtender::new(width(bits), shown(bits, start));
            let mut count = start;
            // The first step is just less than a quarter of the range, so `WrapExtender` does not store it.
            for less in [1, 0, 0, 1, 0, quarter - 1, 0, 0, 0] {
                let Some(sum) = count.checked_add(quarter - less) else { break };
                count = sum;
                assert_eq!(wrap.extend(shown(bits, count)), count, "{bits} bits from {start:#x}");
            }
        }
    }
    assert_eq!(WrapExtender::longest_interval(Width::WORD), 1 << 62);
}

#[test]
fn half_a_wrap_between_two_reads_is_not_safe() {
    let wrap = WrapExtender::new(width(24), 0);
    assert_ne!(wrap.extend(shown(24, 1 << 23)), 1 << 23);
}

#[test]
fn npt_is_not_part_of_a_count() {
    let wrap = WrapExtender::new(Width::TICK, 1 << 63 | 5);
    assert_eq!(wrap.extend(6), 6);
    assert_eq!(wrap.extend(1 << 63 | 7), 7);
    // Here, the 63-bit count wraps to 0.
    let wrap = WrapExtender::new(Width::TICK, (1 << 63) - 1);
    assert_eq!(wrap.extend(1 << 63), 1 << 63);
}

#[test]
fn an_earlier_value_gives_an_earlier_count() {
    let wrap = WrapExtender::new(width(16), 0xfff0);
    let counts = [0x4010, 0xfff5, 0x4011].map(|value| wrap.extend(value));
    assert_eq!(counts, [0x1_4010, 0xfff5, 0x1_4011]);
}

proptest! {
    #[test]
    fn follows_the_count(
        bits in 8..=63_u8,
        start: u64,
        steps in prop::collection::vec((any::<u64>(), any::<u64>()), 1..100),
    ) {
        let quarter = 1 << (bits - 2);
        let mut count = start % (1 << bits);
        let wrap = WrapExtender::new(width(bits), shown(bits, count));
        for (step, late) in steps {
            let Some(sum) = count.checked_add(step % (quarter + 1)) else { break };
            count = sum;
            prop_assert_eq!(wrap.extend(shown(bits, count)), count);
            // A late value, from a strand that was delayed after it had read the counter.
            let late = late % quarter;
            if late <= count {
                prop_assert_eq!(wrap.extend(shown(bits, count - late)), count - late);
            }
        }
    }
}

#[test]
fn threads_share_it() {
    const WIDTH: u8 = 10;
    let wrap = WrapExtender::new(width(WIDTH), 0);
    let count = AtomicU64::new(0);
    // The barrier ensures that no thread is more than one step ahead of another.
    let barrier = std::sync::Barrier::new(4);
    let wrong = AtomicU64::new(0);
    thread::scope(|scope| {
        for number in 0..4_u64 {
            let (wrap, count, barrier, wrong) = (&wrap, &count, &barrier, &wrong);
            scope.spawn(move || {
                for _ in 0..500 {
                    let now = count.fetch_add(number, Ordering::Relaxed) + number;
                    let right = wrap.extend(shown(WIDTH, now)) == now;
                    wrong.fetch_add((!right).into(), Ordering::Relaxed);
                    barrier.wait();
                }
            });
        }
    });
    assert_eq!((count.into_inner(), wrong.into_inner()), (3_000, 0));
}
