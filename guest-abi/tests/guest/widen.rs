//! 64-bit counts from 31-bit and 32-bit hardware counters.

use guest_abi::guest::{DramCount, HubCount, Rate, Reading, StrandCount, Widened};
use proptest::prelude::*;

/// Returns the reading of a counter and its flag, made from the lowest bits of `raw`.
fn shows<const BITS: u32, const FLAG: bool>(raw: impl Into<u64>) -> Reading<BITS, FLAG> {
    Reading::new(raw.into())
}

/// Updates a count with raw values, and asserts each resulting count.
fn check<const BITS: u32, const FLAG: bool>(
    count: &mut Widened<BITS, FLAG>,
    updates: &[(u64, u64)],
) {
    for (raw, expected) in updates {
        assert_eq!(count.update(shows(*raw)), *expected, "{raw:#x}");
    }
}

#[test]
fn one_wrap_between_reads() {
    let mut count = DramCount::new(shows(0x7fff_fff0u32));
    let updates = [(0x7fff_ffff, 0xf), (0, 0x10), (0, 0x10), (0x7fff_ffff, 0x8000_000f)];
    check(&mut count, &updates);
    check(&mut count, &[(0x7fff_fffe, 0x1_0000_000e)]);

    let mut count = StrandCount::new(shows(0xffff_fff0u32));
    check(&mut count, &[(0xffff_ffff, 0xf), (0, 0x10), (0xffff_ffff, 0x1_0000_000f)]);
    assert_eq!(count.events(), 0x1_0000_000f);
}

#[test]
fn counters_of_64_bits_count_differences() {
    let mut count = HubCount::new(shows(u64::MAX - 1));
    check(&mut count, &[(3, 5)]);
    count.rebase(shows(0u64));
    check(&mut count, &[(u64::MAX - 5, u64::MAX), (u64::MAX - 4, 0)]);
}

#[test]
fn bits_beyond_the_counter_are_ignored() {
    let mut count = Widened::<31>::new(shows(0x8000_0005u32));
    check(&mut count, &[(6, 1), (0x8000_0007, 2), (0xffff_ffff_0000_0008, 3)]);
    count.rebase(shows(0xffff_ffffu32));
    check(&mut count, &[(0, 4)]);
    let mut count = DramCount::new(shows(0xffff_ffff_0000_0005u64));
    check(&mut count, &[(0xaaaa_aaaa_0000_0006, 1)]);
}

/// Bit 31 is the flag of a DRAM counter. A wrap is visible in the counter's value, or only in the flag, or in neither.
#[test]
fn the_flag_shows_a_wrap_that_the_counter_does_not() {
    let mut count = DramCount::new(shows(100u32));
    assert_eq!(count.valid_up_to(), 0x7fff_ffff);
    assert_eq!(count.update(shows(130u32)), 30);
    // The flag is clear, so the counter has not wrapped. The count is right however much time has passed.
    assert_eq!(count.valid_up_to(), u64::MAX);
    // The counter has counted 2^31 + 20 more events since its value was 130. Only after 2^32 - 130 events would it have wrapped
    // twice.
    assert_eq!(count.update(shows(0x8000_0096u32)), 0x8000_0032);
    assert_eq!(count.valid_up_to(), 0xffff_ff7d);
    // The flag was already set, so it shows no new wrap.
    assert_eq!(count.update(shows(0x8000_0097u32)), 0x8000_0033);
    assert_eq!(count.valid_up_to(), 0x7fff_ffff);
    assert_eq!(count.update(shows(0x8000_0096u32)), 0x1_0000_0032);
    // The guest clears the flag. The counter and the flag then both show the next wrap.
    count.rebase(shows(0x7fff_fffeu32));
    assert_eq!(count.update(shows(0x8000_0001u32)), 0x1_0000_0035);
    assert_eq!(count.valid_up_to(), 0x8000_0001);
}

#[test]
fn a_write_is_not_an_event() {
    let mut count = DramCount::new(shows(100u32));
    check(&mut count, &[(130, 30)]);
    count.rebase(shows(0u32));
    assert_eq!(count.events(), 30);
    check(&mut count, &[(5, 35)]);
    count.rebase(shows(0x7fff_ffffu32));
    check(&mut count, &[(1, 37)]);
}

#[test]
fn longest_intervals() {
    let rate = |events, ticks| Rate::new(events, ticks).unwrap();
    assert_eq!(DramCount::longest_interval(Rate::ONE_PER_TICK), 0x7fff_ffff);
    assert_eq!(StrandCount::longest_interval(Rate::ONE_PER_TICK), 0xffff_ffff);
    let eight = Rate::per_tick(8).unwrap();
    assert_eq!(DramCount::longest_interval(eight), 0x0fff_ffff);
    // The longest interval is 715,827,882 times two ticks. Two more ticks add 3 events, which makes 2^31 + 1 events: too many.
    assert_eq!(DramCount::longest_interval(rate(3, 2)), 1_431_655_764);
    assert_eq!(DramCount::longest_interval(rate(u32::MAX, 1)), 0);
    assert_eq!(StrandCount::longest_interval(rate(1, u32::MAX)), 0xffff_fffe_0000_0001);
    assert_eq!(HubCount::longest_interval(Rate::ONE_PER_TICK), u64::MAX);
    assert_eq!(HubCount::longest_interval(rate(1, 2)), u64::MAX);
    assert_eq!(Widened::<1>::longest_interval(Rate::ONE_PER_TICK), 1);
    assert_eq!([Rate::new(0, 1), Rate::new(1, 0), Rate::per_tick(0)], [None; 3]);
}

/// Events come once per tick. With a flag, an interval is too long if the counter can wrap twice in it. Without a flag, an interval is too
/// long if the counter can wrap once.
#[test]
fn the_flag_makes_longer_intervals_safe() {
    let right = |last: u32, raw: u32, interval| {
        let mut count = DramCount::new(shows(last));
        count.update(shows(raw));
        Rate::ONE_PER_TICK.is_within(count.valid_up_to(), interval)
    };
    assert!(right(0x7fff_0000, 0x7fff_0005, u64::MAX), "no wrap");
    assert!(Rate::per_tick(8).unwrap().is_within(u64::MAX, u64::MAX), "no wrap at any rate");
    assert!(right(0x7fff_0000, 0x8000_0000, 0x8000_ffff));
    assert!(!right(0x7fff_0000, 0x8000_0000, 0x8001_0000));
    assert!(right(0x8000_0000, 0xffff_ffff, 0x7fff_ffff), "the flag was set");
    assert!(!right(0x8000_0000, 0xffff_ffff, 0x8000_0000));
    // A clock that goes backwards looks like a very long interval.
    let mut count = StrandCount::new(0_u32);
    count.update(1_u32);
    assert!(!Rate::ONE_PER_TICK.is_within(count.valid_up_to(), 49_u64.wrapping_sub(50)));
}

/// Adds events to a `WIDTH`-bit counter, and checks the count after each item of `more`. The upper `WIDTH` bits of an item are the number
/// of events to add.
fn safe_increments<const WIDTH: u32>(start: u32, more: &[u32]) {
    let start = u64::from(start >> (32 - WIDTH));
    let mut truth = start;
    let mut count = Widened::<WIDTH>::new(shows(start));
    for more in more {
        truth += u64::from(more >> (32 - WIDTH));
        assert_eq!(count.update(shows(truth % (1 << WIDTH))), truth - start);
    }
}

proptest! {
    #[test]
    fn any_safe_increments(start: u32, more in prop::collection::vec(any::<u32>(), 0..200)) {
        safe_increments::<31>(start, &more);
        safe_increments::<32>(start, &more);
    }

    /// A count is right for up to `valid_up_to` events. After more events, the count is too low by a multiple of 2^31. The guest
    /// sometimes clears the flag.
    #[test]
    fn a_count_knows_how_far_it_is_right(
        start in 0u64..1 << 31,
        steps in prop::collection::vec((0u64..1 << 33, 0u32..33, any::<bool>()), 0..50),
    ) {
        let (mut counter, mut flag, mut truth) = (start, 0, 0);
        let mut count = DramCount::new(shows(start));
        for (more, shift, clear) in steps {
            let more = more >> shift;
            truth += more;
            if counter + more >= 1 << 31 {
                flag = 1 << 31;
            }
            counter = (counter + more) % (1 << 31);
            let counted = count.update(shows(counter | flag));
            if more <= count.valid_up_to() {
                prop_assert_eq!(counted, truth);
            } else {
                prop_assert!(counted < truth && (truth - counted).is_multiple_of(1 << 31));
                truth = counted;
            }
            if clear {
                flag = 0;
                count.rebase(shows(counter));
            }
        }
    }

    /// Events come as fast as the rate allows. If an interval is accepted, its count is right. If an interval is refused, its count could be
    /// wrong.
    #[test]
    fn no_accepted_interval_is_wrong(
        (events, shift) in (1u32..=u32::MAX, 0u32..31),
        ticks in prop_oneof![1u32..1000, 1u32..=u32::MAX],
        intervals in prop::collection::vec((any::<u64>(), 1u32..64), 1..20),
    ) {
        let events = (events >> shift).max(1);
        let rate = Rate::new(events, ticks).unwrap();
        let (mut truth, mut unseen) = (0u128, 0u128);
        let mut count = Widened::<31>::new(shows(0u32));
        for (interval, shift) in intervals {
            let interval = interval >> shift;
            let more = u128::from(interval.div_ceil(ticks.into())) * u128::from(events);
            truth += more;
            let counted = u128::from(count.update(shows((truth % (1 << 31)) as u32)));
            prop_assert_eq!(rate.is_within(count.valid_up_to(), interval), more < 1 << 31);
            if more < 1 << 31 {
                prop_assert_eq!(counted, truth - unseen);
            }
            unseen = truth - counted;
            prop_assert_eq!(unseen % (1 << 31), 0);
        }
    }
}
