//! Tests the R10000's counters with the suite for all units and with tests of their own.

use guest_abi::Counter::{Pic0, Pic1};
use guest_abi::sampling::{CounterSet, CounterUnit};
use platform::models::R10000;
use platform::models::r10000::{
    Branch, Control, Cycle, Ksu, Operation, R10000Event as Event, R10000Mode as Mode, Status,
};

use crate::counter_units::conformance::Machine;

impl Machine for R10000 {
    const OVERFLOW_COUNT: u64 = 1 << 31;

    fn reset() -> Self {
        Self::new()
    }

    fn happen(&mut self, mode: Mode, events: &[(Event, u32)]) {
        let cycle = events.iter().fold(Cycle::new(), |cycle, (event, n)| cycle.with(*event, *n));
        self.step(mode.into(), &cycle);
    }

    /// A step of the R10000 is always one cycle.
    fn counted(event: Event, happened: &[(Event, u32)]) -> u32 {
        let of_step = u32::from(matches!(event, Event::Cycles0 | Event::Cycles1));
        let same = happened.iter().filter(|(other, _)| *other == event);
        of_step + same.map(|(_, n)| n).sum::<u32>()
    }

    fn interrupted(&self) -> bool {
        self.ip7()
    }
}

const USER: Status = Status { ksu: Ksu::User, exl: false, erl: false };

/// Returns a unit that counts in user mode. Counter 0 counts `event0`, counter 1 counts `event1`, and both interrupt.
fn counting(event0: u32, event1: u32) -> R10000 {
    let mut unit = R10000::new();
    unit.set_control(Pic0, Control::written(event0 << 5 | 0x18));
    unit.set_control(Pic1, Control::written(event1 << 5 | 0x18));
    unit
}

/// Returns what both counters count in one cycle when they are set to the events with these numbers.
fn counts(event0: u32, event1: u32, cycle: &Cycle) -> (u32, u32) {
    let mut unit = counting(event0, event1);
    unit.step(USER, cycle);
    (unit.read(Pic0), unit.read(Pic1))
}

#[test]
fn events_have_the_numbers_of_the_manual() {
    assert_eq!(Event::ALL.len(), 32);
    for (number, event) in Event::ALL.iter().enumerate() {
        assert_eq!(*event as usize, number);
        let counter = if number < 16 { Pic0 } else { Pic1 };
        assert_eq!((event.counter(), usize::from(event.number())), (counter, number % 16));
        assert_eq!(Event::from_number(counter, number as u8 % 16), Some(*event));
        assert!(Event::named(event.name()).any(|named| named == *event));
    }
    assert_eq!(Event::from_number(Pic0, 16), None);
}

#[test]
fn events_have_the_names_of_perfex() {
    for (name, numbers) in [
        ("Cycles", &[0, 16][..]),
        ("Issued instructions", &[1]),
        ("Quadwords written back from scache", &[7]),
        ("Primary instruction cache misses", &[9]),
        ("Graduated instructions", &[15, 17]),
        ("graduated-loads", &[18]),
        ("TLB misses", &[23]),
        ("primary_data_cache_misses", &[25]),
        ("Secondary data cache misses", &[26]),
        ("Store/prefetch exclusive to shared block in scache", &[31]),
        ("cycle", &[]),
        ("", &[]),
    ] {
        let found: Vec<usize> = Event::named(name).map(|event| event as usize).collect();
        assert_eq!(found, numbers, "{name}");
    }
}

#[test]
fn a_multiply_or_divide_graduates_as_two() {
    let cycle = Cycle::new().graduate(Operation::MultiplyDivide);
    assert_eq!(counts(15, 1, &cycle), (2, 2));
    let cycle = cycle.graduate(Operation::Other).graduate(Operation::Load);
    assert_eq!(counts(15, 1, &cycle), (4, 4));
    let cycle = Cycle::new().issue(Operation::MultiplyDivide);
    assert_eq!(counts(1, 1, &cycle), (1, 0), "it is issued once");
}

#[test]
fn instructions_that_set_the_fp_status_graduate_as_floating_point() {
    let cycle = Cycle::new()
        .graduate(Operation::FloatingPoint)
        .graduate(Operation::FloatingPoint)
        .graduate(Operation::Other);
    assert_eq!(counts(15, 5, &cycle), (3, 2));
}

/// Five branches are decoded, and the second is mispredicted. The later branches are nullified, so they are not counted as
/// mispredicted.
#[test]
fn nullified_branches_are_not_mispredicted() {
    let mut unit = counting(6, 8);
    let decoded = (0..5).fold(Cycle::new(), |cycle, _| cycle.decode_branch());
    unit.step(USER, &decoded);
    use Branch::{Mispredicted, Nullified, Predicted};
    for branch in [Predicted, Mispredicted, Nullified, Nullified, Nullified] {
        unit.step(USER, &Cycle::new().resolve_branch(branch));
    }
    assert_eq!((unit.read(Pic0), unit.read(Pic1)), (5, 1));
}

/// A miss in the program is counted in the mode that it interrupts. A miss in the handler is counted at exception level.
#[test]
fn tlb_refills_count_within_the_handler_too() {
    let handler = Status { exl: true, ..USER };
    for (modes, expected) in [(0x8, 1), (0x1, 2), (0x9, 3), (0x6, 0)] {
        let mut unit = R10000::new();
        unit.set_control(Pic1, Control::written(7 << 5 | modes));
        unit.step(USER, &Cycle::new().refill_tlb());
        unit.step(handler, &Cycle::new().refill_tlb().refill_tlb());
        assert_eq!(unit.read(Pic1), expected, "modes {modes:#x}");
    }
}

#[test]
fn loads_and_stores_issue_and_graduate() {
    let all = [
        Operation::Load,
        Operation::Load,
        Operation::Store,
        Operation::StoreConditional { stored: true },
        Operation::StoreConditional { stored: false },
        Operation::Other,
    ];
    let issued = all.iter().fold(Cycle::new(), |cycle, operation| cycle.issue(*operation));
    for (event, expected) in [(1, 6), (2, 2), (3, 3), (4, 2), (5, 0), (15, 0)] {
        assert_eq!(counts(event, 1, &issued), (expected, 0), "event {event}");
    }
    let graduated = all.iter().fold(Cycle::new(), |cycle, operation| cycle.graduate(*operation));
    for (event, expected) in [(1, 6), (2, 2), (3, 3), (4, 2), (5, 0)] {
        assert_eq!(counts(5, event, &graduated), (1, expected), "event {event}");
    }
}

#[test]
fn a_cycle_is_a_cycle() {
    assert_eq!(counts(0, 0, &Cycle::new()), (1, 1));
    assert_eq!(counts(0, 0, &Cycle::default()), (1, 1));
    let busy = Cycle::new().graduate(Operation::Load).with(Event::L2DataMisses, 3);
    assert_eq!(counts(0, 0, &busy), (1, 1));
    assert_eq!(busy.count(Event::L2DataMisses), 3);
}

/// Four instructions graduate in the cycle that sets bit 31, so the counter passes the overflow by up to three.
#[test]
fn several_events_in_one_cycle_overshoot() {
    for missing in 1..=4_u32 {
        let mut unit = counting(15, 0);
        unit.write(Pic0, 0x8000_0000 - missing);
        let four = (0..4).fold(Cycle::new(), |cycle, _| cycle.graduate(Operation::Other));
        unit.step(USER, &four);
        assert_eq!(unit.read(Pic0), 0x8000_0000 + 4 - missing);
        assert!(unit.ip7());
    }
}

/// Checks IP[7] for every combination of bit 31, IE and Compare.
#[test]
fn ip7_is_compare_or_an_enabled_counter_with_bit_31() {
    for case in 0..32_u32 {
        let bit = |n: u32| case >> n & 1 != 0;
        let mut unit = R10000::new();
        for (counter, top, enabled) in [(Pic0, bit(0), bit(1)), (Pic1, bit(2), bit(3))] {
            unit.set_control(counter, Control::written(u32::from(enabled) << 4));
            unit.write(counter, if top { 0x8000_0000 } else { 0x7fff_ffff });
        }
        if bit(4) {
            unit.match_compare();
        }
        let asks = [bit(0) && bit(1), bit(2) && bit(3)];
        assert_eq!(unit.ip7(), asks[0] || asks[1] || bit(4), "case {case:#b}");
        assert_eq!(unit.timer_pending(), bit(4));
        let set = CounterSet::new(asks[0], asks[1]);
        assert_eq!(unit.overflowed(), set);
    }
}

#[test]
fn ip7_stays_up_until_bit_31_is_cleared() {
    let mut unit = counting(0, 0);
    unit.write(Pic0, 0x7fff_ffff);
    unit.step(USER, &Cycle::new());
    unit.match_compare();
    unit.write_compare();
    assert!(unit.ip7(), "a write of Compare clears only its own part");
    unit.set_control(Pic0, Control::written(0x08));
    assert!(!unit.ip7(), "IE 0 ends it");
    unit.set_control(Pic0, Control::written(0x18));
    assert!(unit.ip7(), "bit 31 is still set");
    unit.write(Pic0, 0x8000_0000);
    assert!(unit.ip7());
    unit.write(Pic0, 0xffff_ffff);
    unit.step(USER, &Cycle::new());
    let after = (unit.read(Pic0), unit.ip7());
    assert_eq!(after, (0, false), "2^31 events later");
}
