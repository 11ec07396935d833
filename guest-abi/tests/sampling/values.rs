//! Tests event sets, periods, assignments, and the bits of the PCR that sampling writes.

use guest_abi::Counter::{Pic0, Pic1};
use guest_abi::event::SparcEvent;
use guest_abi::layout::SparcPcr;
use guest_abi::sampling::{
    Assignment, CounterSet, CounterUnit, ModeSet, Period, Program, SparcMode, UnitEvent, UnitMode,
};

use crate::fake::{FakeEvent, Mode, Topmost, Wrapping, period};

#[test]
fn sets_of_counters() {
    let (none, both) = (CounterSet::NONE, CounterSet::BOTH);
    let (zero, one) = (CounterSet::only(Pic0), CounterSet::only(Pic1));
    assert_eq!([zero | one, both.without(zero), zero.intersection(one)], [both, one, none]);
    let sets = [(false, false), (true, false), (false, true), (true, true)];
    let sets = sets.map(|(pic0, pic1)| CounterSet::new(pic0, pic1));
    assert_eq!(sets, [none, zero, one, both]);
    assert!(both.iter().eq([Pic0, Pic1]));
    assert_eq!(one.iter().collect::<CounterSet>(), one);
    assert_eq!(sets.map(CounterSet::len), [0, 1, 1, 2]);
    assert!(one.contains(Pic1) && !one.contains(Pic0) && !one.is_empty());
    assert!(none.is_empty());
    assert_eq!(format!("{both:?}"), "{Pic0, Pic1}");
}

#[test]
fn sets_of_modes() {
    let every: Vec<_> = ModeSet::<Mode>::subsets().collect();
    let (user, kernel) = (ModeSet::from(Mode::User), ModeSet::from(Mode::Kernel));
    assert_eq!(every, [ModeSet::NONE, user, kernel, ModeSet::ALL]);
    assert_eq!(user | kernel, ModeSet::ALL);
    assert!(every.into_iter().map(ModeSet::is_empty).eq([true, false, false, false]));
    assert!(user.contains(Mode::User) && !user.contains(Mode::Kernel));
    let all = format!("{:?}", ModeSet::<SparcMode>::ALL);
    assert_eq!(all, "{User, Privileged, Hyperprivileged}");
    assert!(SparcMode::ALL.iter().map(|mode| mode.index()).eq(0..3));
}

#[test]
fn periods_are_1_to_2_to_the_31() {
    assert_eq!((Period::new(0), Period::new(0x8000_0001)), (None, None));
    assert_eq!(Period::new(1), Some(Period::MIN));
    assert_eq!(Period::new(0x8000_0000), Some(Period::MAX));
    let nearest = [0, 1, 77, 0x8000_0000, 0x8000_0001, u64::MAX].map(Period::nearest);
    let events = nearest.map(Period::events);
    assert_eq!(events, [1, 1, 77, 0x8000_0000, 0x8000_0000, 0x8000_0000]);
    let (mut wrapping, mut topmost) = (Wrapping::default(), Topmost::default());
    wrapping.preload(Pic0, period(1000));
    topmost.preload(Pic0, period(1000));
    topmost.preload(Pic1, Period::MAX);
    assert_eq!(wrapping.written, [(Pic0, 0xffff_fc18)]);
    assert_eq!(topmost.written, [(Pic0, 0x7fff_fc18), (Pic1, 0)]);
}

#[test]
fn assignments_fit_the_counters() {
    let (any, zero, one) = (FakeEvent(0), FakeEvent(10), FakeEvent(20));
    assert_eq!(Assignment::new(Some(one), None), None);
    assert_eq!(Assignment::new(None, Some(zero)), None);
    assert_eq!(Assignment::two(zero, FakeEvent(11)), None);
    let events = |assignment: Assignment<FakeEvent>| [Pic0, Pic1].map(|pic| assignment.event(pic));
    for (first, second, on_zero) in [(one, zero, zero), (any, one, any), (one, any, any)] {
        let assigned = Assignment::two(first, second).map(events);
        assert_eq!(assigned, Some([Some(on_zero), Some(one)]));
    }
    assert_eq!(Assignment::one(one).map(events), Some([None, Some(one)]));
    assert_eq!(Assignment::one(one).unwrap().counters(), CounterSet::only(Pic1));
    assert_eq!(Assignment::<FakeEvent>::NONE.counters(), CounterSet::NONE);
    assert!(any.can_use(Pic0) && any.can_use(Pic1) && !zero.can_use(Pic1));
}

/// OV1 is bit 31, OV0 bit 18, TOE1 bit 5, TOE0 bit 4, HOLDOV1 bit 63, HOLDOV0 bit 62.
#[test]
fn overflow_bits_of_the_pcr() {
    let pcr = |bits: u64| SparcPcr::from_bits(bits);
    for (set, ov, toe, hold) in [
        (CounterSet::NONE, 0, 0, 0),
        (CounterSet::only(Pic0), 1 << 18, 1 << 4, 1 << 62),
        (CounterSet::only(Pic1), 1 << 31, 1 << 5, 1 << 63),
        (CounterSet::BOTH, 1 << 18 | 1 << 31, 0x30, 3 << 62),
    ] {
        assert_eq!(pcr(ov).overflows(), set);
        assert_eq!(pcr(0).with_overflows(set), pcr(ov));
        assert_eq!(pcr(hold).holds(), set);
        assert_eq!(pcr(toe).traps(), set);
        assert_eq!(pcr(0).with_traps(set), pcr(toe));
        assert_eq!(pcr(ov | 0x30).trapping(), set);
        assert_eq!(pcr(0x8004_0000 | toe).trapping(), set);
        let rest = 0x1230_0006;
        let acknowledged = pcr(0x8004_0000 | rest).acknowledging(set);
        let expected = 0x8004_0000 & !ov | rest | 3 << 62 & !hold;
        assert_eq!(acknowledged, pcr(expected), "{set:?}");
    }
}

/// SL0 and MASK0 begin at bit 6, SL1 and MASK1 at bit 19. UT is bit 2, ST bit 1, HT bit 3. PRIV and the OV
/// bits do not change. A counter without an event selects SL 2 and MASK 0, because SL 0 counts idle clocks.
#[test]
fn programs_of_the_pcr() {
    let expected = [0, 4, 2, 6, 8, 12, 10, 14];
    for (modes, bits) in ModeSet::subsets().zip(expected) {
        let program = Program {
            events: Assignment::new(Some(SparcEvent::Loads.into()), None).unwrap(),
            modes,
            interrupts: CounterSet::only(Pic0),
        };
        let ov0_and_priv = 1 << 18 | 1;
        let before = SparcPcr::from_bits(0x7ff8_002e | ov0_and_priv);
        let programmed = 3 << 62 | ov0_and_priv | 0x208 << 6 | 0x200 << 19 | 1 << 4 | bits;
        assert_eq!(u64::from(program.applied_to(before)), programmed);
        assert_eq!(u64::from(before.stopped()), 3 << 62 | 0x7ff8_0020 | ov0_and_priv);
    }
}

/// A counter that is off does not trap. It selects SL 2 with MASK 0, because SL 0 counts idle clocks.
#[test]
fn counters_that_are_off() {
    assert_eq!(SparcPcr::OFF, SparcPcr::from_bits(0x200 << 6 | 0x200 << 19));
    for (counter, select, trap) in [(Pic0, 6, 4), (Pic1, 19, 5)] {
        let without = SparcPcr::from_bits(0xffff_ffff).without(counter);
        let expected = 0xffff_ffff & !(0xfff << select | 1 << trap) | 0x200 << select;
        assert_eq!(without, SparcPcr::from_bits(expected));
    }
}
