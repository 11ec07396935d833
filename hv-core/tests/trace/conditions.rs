//! Tests the number of clock bits that headers can omit. Line numbers refer to the seed document, compact_trace_events.txt.

use hv_core::trace::Conditions;

/// A clock of 4 GHz, "~200ns, time for logging an event" (line 106), and "100HZ clock : tick each 0.01s" (line 18). Interrupts are off for
/// at most 20 ms, so in the worst case heartbeats come "each 3 timer ticks : 0.03s" (line 124).
const SEED: Conditions =
    Conditions { hz: 4_000_000_000, probe_ns: 200, timer_hz: 100, longest_off_ns: 20_000_000 };

/// Line 122 says "Number of LSB skipped : first_bit(probe_duration_in_cycles)-1". Line 121 says "2^9 = 512 (remove 9 LSB)".
#[test]
fn lowest_bits_by_the_duration_of_a_probe() {
    for (hz, probe_ns, expected) in [
        // A probe takes 800 cycles. (Line 121 swaps this number and the 200 ns.)
        (4_000_000_000, 200, 9),
        // A probe takes 511, 512, 1023 or 1024 cycles.
        (1_000_000_000, 511, 8),
        (1_000_000_000, 512, 9),
        (1_000_000_000, 1023, 9),
        (1_000_000_000, 1024, 10),
        // Line 109 says "Worse case (had NMIs enabled) : 6997 cycles. 1749 ns @4GHz". Line 113 says "~10000cycles, 2500ns@4GHz".
        (4_000_000_000, 1749, 12),
        (4_000_000_000, 2500, 13),
        // A probe takes 233 cycles.
        (1_165_379_275, 200, 7),
        // A probe takes one cycle, or less than a cycle.
        (1_000_000_000, 1, 0),
        (999_999_999, 1, 0),
        (0, 200, 0),
        (u64::MAX, u64::MAX, 98),
    ] {
        let conditions = Conditions { hz, probe_ns, ..SEED };
        assert_eq!(conditions.lowest_cut(), expected, "{conditions:?}");
    }
}

/// Lines 126 to 128 define "Number of MSB to skip". The author corrected the formula to 32 - first_bit((longest time without
/// interrupts + timer interval) * cpu_khz) - 1. Line 131 says "9LSB + 4MSB = 13 bits total. 12 bits for event IDs".
#[test]
fn highest_bits_by_the_longest_time_without_interrupts() {
    for (hz, timer_hz, longest_off_ns, expected) in [
        // The longest time without interrupts plus the timer interval is 120,000,000 cycles, which takes 27 bits.
        (4_000_000_000, 100, 20_000_000, 4),
        // The longest time without interrupts plus the timer interval is 34,961,379 cycles, which takes 26 bits.
        (1_165_379_275, 100, 20_000_000, 5),
        // The longest time without interrupts is 0, and the timer interval is 2^20 cycles (21 bits), or one cycle less (20 bits).
        (1 << 30, 1 << 10, 0, 10),
        ((1 << 30) - (1 << 10), 1 << 10, 0, 11),
        // The timer interval is 10 ms at 1 GHz and at 1 kHz, or 1 ms at 1 GHz.
        (1_000_000_000, 100, 0, 7),
        (1_000, 100, 0, 27),
        (1_000_000_000, 1000, 0, 11),
        // The timer is faster than the clock, so the interval is rounded up to one cycle.
        (100, 1000, 0, 30),
        // Twice 2^31 cycles takes 33 bits, and twice 2^30 cycles takes 32 bits, so no bit can be omitted.
        (1 << 31, 1, 0, 0),
        (1 << 30, 1, 0, 0),
        ((1 << 30) - 1, 1, 0, 1),
        (u64::MAX, 1, u64::MAX, 0),
        // Without a timer there are no heartbeats.
        (1_000_000_000, 0, 0, 0),
    ] {
        let conditions = Conditions { hz, timer_hz, longest_off_ns, ..SEED };
        assert_eq!(conditions.highest_cut(), expected, "{conditions:?}");
    }
}

/// Lines 117 and 118 ask: "What is the minimum wrap-around interval ? (must be safe for timer interrupt miss ...".
#[test]
fn heartbeats_within_a_wrap() {
    // The timer interrupt comes every 40,000,000 cycles. A heartbeat is at most 120,000,000 cycles late.
    for (bits, expected) in [
        // Line 19 says "detect wrap at least each 3 jiffies (dangerous, may miss)". 2^27 cycles are 33.6 ms, which is too short.
        (27, None),
        // Line 125 says "(heartbeat each 100HZ, to be safe)". The value for 2^28 cycles is (268,435,456 - 120,000,000) / 2.
        (28, Some(74_217_728)),
        // Lines 29, 40, 51 and 63 use all 32 bits: "wraps each second".
        (32, Some(2_087_483_648)),
        // Line 75 says "wraps each 146.14 years".
        (64, Some(9_223_372_036_794_775_808)),
    ] {
        assert_eq!(SEED.max_heartbeat_interval(bits), expected, "{bits} bits");
    }
    let without_timer = Conditions { timer_hz: 0, ..SEED };
    assert_eq!(without_timer.max_heartbeat_interval(64), None);
    // (2^10 - 100) / 2 is more than the 100 ticks of a timer interval. (2^8 - 100) / 2 is less.
    let slow = Conditions { hz: 1000, timer_hz: 10, longest_off_ns: 0, probe_ns: 0 };
    let heartbeats = [8, 9, 10].map(|bits| slow.max_heartbeat_interval(bits));
    assert_eq!(heartbeats, [None, Some(206), Some(462)]);
}
