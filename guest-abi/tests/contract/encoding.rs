//! Checks that for every event, counter and previous PCR value, the new PCR equals busstat's `(pcr & clear) | event << shift`.

use std::fmt::Debug;

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use guest_abi::layout::{
    AsuPcr, DramPcr, DramPic, EventSelect, GpdPcr, L2Control, LpuPcr, PerfConfig, SparcPcr,
    SparcPic,
};
use guest_abi::{Counter, CounterSet};
use proptest::prelude::*;

/// Checks a PCR whose select fields have `width` bits. The select of counter 0 begins at bit `shifts[0]`, and the select of
/// counter 1 at bit `shifts[1]`.
fn encodes<P>(shifts: [u32; 2], width: u32, events: &[(P::Event, u64)], before: u64)
where
    P: EventSelect,
    P::Event: Debug + PartialEq,
{
    for (counter, shift) in [Counter::Pic0, Counter::Pic1].into_iter().zip(shifts) {
        let ones = (1 << width) - 1;
        let clear = !(ones << shift);
        let masks = (P::field(counter), P::clearing_mask(counter));
        assert_eq!(masks, (!clear, clear));
        for (event, code) in events {
            let after = P::from(before).with_event(counter, *event);
            let expected = (before & clear) | code << shift;
            let case = format_args!("{event:?} as {counter:?} over {before:#x}");
            assert_eq!(after.into(), expected, "{case}");
            assert_eq!(after.event(counter), Ok(*event));
        }
        let code = before >> shift & ones;
        let expected = events.iter().find(|(_, known)| *known == code);
        match P::from(before).event(counter) {
            Ok(event) => assert_eq!(Some(event), expected.map(|(event, _)| *event)),
            Err(reserved) => {
                assert_eq!(u64::from(reserved.0), code);
                assert!(expected.is_none(), "{code:#x} is an event");
            }
        }
    }
}

fn all(before: u64) {
    macro_rules! coded {
        ($Event:ty) => {
            &<$Event>::ALL.iter().map(|event| (*event, event.code().into())).collect::<Vec<_>>()
        };
    }
    encodes::<DramPcr>([4, 0], 4, coded!(DramEvent), before);
    encodes::<LpuPcr>([0, 8], 8, coded!(LpuEvent), before);
    encodes::<GpdPcr>([0, 8], 4, coded!(GpdEvent), before);
    encodes::<AsuPcr>([0, 8], 4, coded!(AsuEvent), before);
    encodes::<SparcPcr>([6, 19], 12, coded!(SparcEvent), before);
}

#[test]
fn over_nothing_everything_and_every_code() {
    all(0);
    all(u64::MAX);
    for code in 0..0x1000 {
        all(code << 19 | code << 6);
        all(code);
    }
}

#[test]
fn writable_bits() {
    assert_eq!(DramPcr::WRITABLE, 0xff);
    assert_eq!(LpuPcr::WRITABLE, 0xffff);
    assert_eq!((GpdPcr::WRITABLE, AsuPcr::WRITABLE), (0xf0f, 0xf0f));
    assert_eq!(SparcPcr::WRITABLE, 0xc000_0000_ffff_ffff);
}

/// A DRAM counter has 31 bits. A larger count is an error, and changes no other bit.
#[test]
fn a_count_that_does_not_fit_is_an_error() {
    let pic = DramPic::from(0x8000_0001_0000_0002);
    let with = |counter, value| pic.with_counter(counter, value).map(u64::from);
    assert_eq!(with(Counter::Pic0, 0x7fff_ffff), Ok(0xffff_ffff_0000_0002));
    assert_eq!(with(Counter::Pic1, 0x7fff_ffff), Ok(0x8000_0001_7fff_ffff));
    for counter in [Counter::Pic0, Counter::Pic1] {
        let text = "count of a DRAM counter 2147483648: expected 0 to 2147483647";
        assert_eq!(with(counter, 0x8000_0000).unwrap_err().to_string(), text);
        assert!(with(counter, u32::MAX).is_err());
    }
}

proptest! {
    #[test]
    fn over_any_value(before: u64) {
        all(before);
    }

    #[test]
    fn the_other_counter_keeps_its_event(
        first in prop::sample::select(LpuEvent::ALL),
        second in prop::sample::select(LpuEvent::ALL),
    ) {
        let pcr = LpuPcr::new().with_event(Counter::Pic0, first).with_event(Counter::Pic1, second);
        prop_assert_eq!(u64::from(pcr), u64::from(first.code()) | u64::from(second.code()) << 8);
        prop_assert_eq!(pcr.event(Counter::Pic0), Ok(first));
        prop_assert_eq!(pcr.event(Counter::Pic1), Ok(second));
    }

    #[test]
    fn sparc_bits_are_where_the_manual_has_them(value: u64) {
        let pcr = SparcPcr::from(value);
        let modes = [pcr.privileged(), pcr.system(), pcr.user(), pcr.hypervisor()];
        let both = |set: CounterSet| [Counter::Pic0, Counter::Pic1].map(|counter| set.contains(counter));
        let [traps, overflows, holds] = [pcr.traps(), pcr.overflows(), pcr.holds()].map(both);
        let bits = [0, 1, 2, 3, 4, 5, 18, 31, 62, 63].map(|at| value >> at & 1 == 1);
        prop_assert_eq!([&modes[..], &traps, &overflows, &holds].concat(), bits);
        let codes = [Counter::Pic0, Counter::Pic1].map(|counter| u64::from(pcr.code(counter)));
        prop_assert_eq!(codes, [value >> 6 & 0xfff, value >> 19 & 0xfff]);
        let selects = [Counter::Pic0, Counter::Pic1].map(|counter| pcr.select(counter));
        prop_assert_eq!(selects.map(|select| u64::from(select.class()) << 8 | u64::from(select.mask())), codes);
        prop_assert_eq!(u64::from(pcr), value);
    }

    #[test]
    fn counters_are_where_the_manual_has_them(value: u64) {
        let dram = DramPic::from(value);
        prop_assert_eq!(u64::from(dram.counter(Counter::Pic0)), value >> 32 & 0x7fff_ffff);
        prop_assert_eq!(u64::from(dram.counter(Counter::Pic1)), value & 0x7fff_ffff);
        let wrapped = [Counter::Pic0, Counter::Pic1].map(|counter| dram.wrapped().contains(counter));
        prop_assert_eq!(wrapped, [value >> 63 == 1, value >> 31 & 1 == 1]);
        let raw = [Counter::Pic0, Counter::Pic1].map(|counter| dram.reading(counter).raw());
        prop_assert_eq!(raw, [value >> 32, value & 0xffff_ffff]);
        prop_assert_eq!(u64::from(dram), value);
        let sparc = SparcPic::from(value);
        prop_assert_eq!(u64::from(sparc.counter(Counter::Pic0)), value & 0xffff_ffff);
        prop_assert_eq!(u64::from(sparc.counter(Counter::Pic1)), value >> 32);
    }

    #[test]
    fn perf_config_is_bits_37_and_36(value: u64) {
        let config = L2Control::from(value).perf_config();
        prop_assert_eq!(config.value(), value >> 36 & 3);
        prop_assert_eq!(PerfConfig::from_value(value).value(), value & 3);
        use PerfConfig::{All, CacheToCache, Local, Remote};
        for (config, code) in [(All, 0_u64), (Local, 1), (Remote, 2), (CacheToCache, 3)] {
            let changed = L2Control::from(value).with_perf_config(config);
            prop_assert_eq!(u64::from(changed), value & !(3 << 36) | code << 36);
        }
    }
}
