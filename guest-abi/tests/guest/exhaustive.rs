//! Compares widened counts with a counter that counts one event at a time. The tests try all counts in a range, for counters of
//! different widths.

use guest_abi::guest::{Reading, Widened};

/// A `bits`-bit counter that counts one event at a time. A wrap sets its flag.
#[derive(Clone, Copy)]
struct Counter {
    bits: u32,
    value: u64,
    flag: bool,
}

impl Counter {
    fn count(&mut self, events: u64) {
        for _ in 0..events {
            self.value += 1;
            if self.value == 1 << self.bits {
                (self.value, self.flag) = (0, true);
            }
        }
    }

    fn shows<const BITS: u32, const FLAG: bool>(self) -> Reading<BITS, FLAG> {
        assert_eq!(self.bits, BITS);
        Reading::new(self.value | u64::from(self.flag) << self.bits)
    }
}

/// Tries all sequences of `steps` reads of a counter, with 0 to `most` events before each read, starting from every value. With a flag,
/// also tries all ways in which the guest clears or keeps the flag after a read. Compares each count with the number of events. Returns the
/// number of reads.
fn all_counts<const BITS: u32, const FLAG: bool>(most: u64, steps: u32) -> u64 {
    let mut reads = 0;
    for value in 0..1 << BITS {
        for flag in [false, true] {
            let counter = Counter { bits: BITS, value, flag };
            let count = Widened::<BITS, FLAG>::new(counter.shows());
            assert_eq!((count.events(), count.valid_up_to()), (0, (1 << BITS) - 1));
            reads += next_counts(counter, count, 0, (most, steps));
        }
    }
    reads
}

fn next_counts<const BITS: u32, const FLAG: bool>(
    before: Counter,
    count: Widened<BITS, FLAG>,
    events: u64,
    (most, steps): (u64, u32),
) -> u64 {
    if steps == 0 {
        return 0;
    }
    let wrap = 1 << BITS;
    let mut reads = 0;
    for more in 0..=most {
        let (mut counter, mut count) = (before, count);
        counter.count(more);
        // There are three cases: the flag proves that there was no wrap, the flag proves at least one wrap, or the flag proves
        // nothing.
        let valid_up_to = match (FLAG && !before.flag, counter.flag) {
            (true, false) => u64::MAX,
            (true, true) => wrap - before.value + wrap - 1,
            (false, _) => wrap - 1,
        };
        let counted = count.update(counter.shows());
        let step = (before.value, before.flag, more);
        assert_eq!((count.valid_up_to(), count.events()), (valid_up_to, counted), "{step:?}");
        let truth = events + more;
        if more <= valid_up_to {
            assert_eq!(counted, truth, "{step:?}");
        } else {
            assert!(counted < truth && (truth - counted).is_multiple_of(wrap), "{step:?}");
        }
        reads += 1 + next_counts(counter, count, counted, (most, steps - 1));
        if FLAG && counter.flag {
            counter.flag = false;
            count.rebase(counter.shows());
            assert_eq!(count.events(), counted);
            reads += next_counts(counter, count, counted, (most, steps - 1));
        }
    }
    reads
}

/// Tests counters of 1 to 4 bits, with and without a flag: all start values, and all sequences of three reads. Between two reads, the
/// counter counts at most three times its range, plus one event. Tests 5-bit counters with all sequences of two such reads.
#[test]
fn every_count_of_up_to_five_bits() {
    let reads = [
        all_counts::<1, false>(7, 3) + all_counts::<1, true>(7, 3),
        all_counts::<2, false>(13, 3) + all_counts::<2, true>(13, 3),
        all_counts::<3, false>(25, 3) + all_counts::<3, true>(25, 3),
        all_counts::<4, false>(49, 3) + all_counts::<4, true>(49, 3),
        all_counts::<5, false>(97, 2) + all_counts::<5, true>(97, 2),
    ];
    assert!(reads.iter().all(|reads| *reads > 5000), "{reads:?}");
}

/// Tests the widths of the machine's counters: 31 bits with a flag, and 32 bits without a flag. A counter shows three values, one after the
/// other. The test tries all combinations of the 16 values around 0 and the 16 values around the middle of the range. Between two values,
/// the counter wraps at most once. If only the flag can show the wrap, the test tries both: one wrap, and no wrap.
#[test]
fn every_three_values_around_the_wraps_of_the_real_counters() {
    three_values::<31, true>();
    three_values::<32, false>();
}

fn three_values<const BITS: u32, const FLAG: bool>() {
    let wrap = 1_u64 << BITS;
    let values: Vec<u64> =
        (0..8).flat_map(|at| [at, wrap - 1 - at, wrap / 2 + at, wrap / 2 - 1 - at]).collect();
    // Returns the possible numbers of events from one value to the next. The first is the smallest possible number. The second includes one
    // more wrap, and exists only if there is a flag and the value does not decrease.
    let steps = |from: u64, to: u64| {
        let least = if to < from { wrap + to - from } else { to - from };
        [Some(least), (FLAG && to >= from).then_some(least + wrap)].into_iter().flatten()
    };
    let mut counts = 0;
    for first in &values {
        for second in &values {
            for third in &values {
                for one in steps(*first, *second) {
                    for two in steps(*second, *third) {
                        let shows = |value: u64, wrapped: bool| {
                            Reading::<BITS, FLAG>::new(value | u64::from(wrapped) << BITS)
                        };
                        let mut count = Widened::new(shows(*first, false));
                        let found = count.update(shows(*second, first + one >= wrap));
                        assert_eq!(found, one, "{first:#x} {second:#x}");
                        // The guest clears the flag between the reads.
                        count.rebase(shows(*second, false));
                        let found = count.update(shows(*third, second + two >= wrap));
                        assert_eq!(found, one + two, "{first:#x} {second:#x} {third:#x}");
                        counts += 1;
                    }
                }
            }
        }
    }
    assert!(counts >= 32 * 32 * 32, "{counts}");
}
