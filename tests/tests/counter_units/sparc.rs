//! The counters of a SPARC strand: their machine for the suite, and tests of them alone.

use guest_abi::Counter::{Pic0, Pic1};
use guest_abi::event::SparcEvent;
use guest_abi::layout::SparcSelect;
use guest_abi::sampling::{
    Assignment, CounterSet, CounterUnit, ModeSet, Program, SparcMode, UnitMode,
};
use platform::models::{Early, NoHtRight, SparcUnit, StrandUnit};

use crate::conformance::Machine;

/// The unit, which owns its strand.
pub(crate) type Strand = SparcUnit<Box<StrandUnit>>;

/// Makes events happen. For an event with several MASK bits, the event of the lowest bit happens.
pub(crate) fn happen(strand: &mut StrandUnit, mode: SparcMode, events: &[(SparcSelect, u32)]) {
    let single = |select: SparcSelect| {
        let code = select.code();
        let lowest = code & (code & 0xff).wrapping_neg() & 0xff;
        SparcEvent::from_code(code & 0xf00 | lowest)
    };
    let events: Vec<_> = events
        .iter()
        .filter_map(|(select, n)| Some((single(*select)?, *n)))
        .collect();
    SparcUnit::new(strand).step(mode, &events);
}

impl Machine for Strand {
    const TOP: u64 = 1 << 32;

    fn reset() -> Self {
        let mut unit = Self::new(Box::new(StrandUnit::new()));
        unit.grant_ht(true);
        unit
    }

    fn happen(&mut self, mode: SparcMode, events: &[(SparcSelect, u32)]) {
        happen(self.strand_mut(), mode, events);
    }

    fn counted(event: SparcSelect, happened: &[(SparcSelect, u32)]) -> u32 {
        let lowest = |mask: u8| mask & mask.wrapping_neg();
        happened
            .iter()
            .filter(|(other, _)| other.class() == event.class())
            .filter(|(other, _)| event.mask() & lowest(other.mask()) != 0)
            .map(|(_, n)| n)
            .sum()
    }

    fn interrupted(&self) -> bool {
        self.strand().trap_pending()
    }
}

/// Returns a program that counts loads on counter 0.
pub(crate) fn loads(
    modes: ModeSet<SparcMode>,
    interrupts: CounterSet,
) -> Program<SparcSelect, SparcMode> {
    let events = Assignment::one(SparcEvent::Loads.into()).unwrap();
    Program {
        events,
        modes,
        interrupts,
    }
}

const OV0: u64 = 1 << 18;
const OV1: u64 = 1 << 31;
const HOLDOV0: u64 = 1 << 62;
const HOLDOV1: u64 = 1 << 63;
const TOE0: u64 = 1 << 4;
const TOE1: u64 = 1 << 5;
const HT: u64 = 1 << 3;
const UT: u64 = 1 << 2;
const LOADS: u64 = 0x208 << 6 | 0x208 << 19;

fn strand(pcr: u64, pic: u64) -> StrandUnit {
    let mut strand = StrandUnit::new();
    strand.set_pcr(pcr);
    strand.set_pic(pic);
    strand
}

/// The trap is set to come 0 to 16 events early. The counter goes to its wrap, and past it.
#[test]
fn the_trap_comes_up_to_16_events_early() {
    for events in 0..=16 {
        let mut strand = strand(LOADS | UT | TOE0, 0xffff_ffe0);
        strand.set_early(Early::new(events).unwrap());
        for pic in 0xffff_ffe1..=0x1_0000_0002_u64 {
            strand.count(SparcEvent::Loads, 1);
            assert_eq!(strand.pic() & 0xffff_ffff, pic & 0xffff_ffff);
            let due = pic >= 0x1_0000_0000 - u64::from(events);
            assert_eq!(strand.pcr() & OV0 != 0, due, "{events} early, at {pic:#x}");
            assert_eq!(strand.trap_pending(), due);
        }
        assert_eq!(strand.pcr() & OV1, 0);
    }
    assert_eq!((Early::new(17), Early::new(16)), (None, Some(Early::MOST)));
}

#[test]
fn without_toe_nothing_is_early_and_nothing_traps() {
    let mut strand = strand(LOADS | UT | TOE1, 0x0000_0000_ffff_fff0);
    strand.set_early(Early::MOST);
    strand.count(SparcEvent::Loads, 15);
    assert_eq!(strand.pcr() & (OV0 | OV1), 0);
    strand.count(SparcEvent::Loads, 1);
    assert_eq!(strand.pcr() & (OV0 | OV1), OV0);
    assert!(!strand.trap_pending());
}

/// An early trap that is acknowledged without a write of PIC comes again at the next event.
#[test]
fn an_early_trap_that_is_only_acknowledged_comes_again() {
    let mut strand = strand(LOADS | UT | TOE0, 0xffff_fff8);
    strand.set_early(Early::MOST);
    strand.count(SparcEvent::Loads, 1);
    assert!(strand.trap_pending());
    strand.set_pcr(LOADS | UT | TOE0);
    assert!(!strand.trap_pending());
    strand.count(SparcEvent::Loads, 1);
    assert!(strand.trap_pending());
}

#[test]
fn a_counter_near_its_wrap_traps_only_when_it_counts() {
    let mut strand = strand(
        0x208 << 6 | 0x210 << 19 | UT | TOE0 | TOE1,
        0xffff_ffff_0000_0000,
    );
    strand.set_early(Early::MOST);
    strand.count(SparcEvent::Loads, 1);
    assert!(!strand.trap_pending());
    strand.count(SparcEvent::Stores, 0);
    strand.set_mode(SparcMode::Privileged);
    strand.count(SparcEvent::Stores, 1);
    assert!(!strand.trap_pending());
}

/// The counters set both OV bits. Then every combination of HOLDOV and OV is written.
#[test]
fn holdov_keeps_what_the_counter_has_set() {
    for holds in [0, HOLDOV0, HOLDOV1, HOLDOV0 | HOLDOV1] {
        for overflows in [0, OV0, OV1, OV0 | OV1] {
            let mut strand = strand(LOADS | UT, u64::MAX);
            strand.count(SparcEvent::Loads, 1);
            assert_eq!(strand.pcr() & (OV0 | OV1), OV0 | OV1);
            strand.set_pcr(LOADS | holds | overflows);
            let kept = (if holds & HOLDOV0 != 0 { OV0 } else { 0 })
                | (if holds & HOLDOV1 != 0 { OV1 } else { 0 });
            assert_eq!(strand.pcr(), LOADS | holds | overflows | kept);
            strand.set_pcr(LOADS);
            assert_eq!(strand.pcr(), LOADS, "without HOLDOV they are cleared");
        }
    }
}

/// HOLDOV keeps the overflow of counter 1 that happens between a handler's read and its write of the PCR.
#[test]
fn holdov_saves_the_other_counters_overflow() {
    let mut strand = strand(0x208 << 6 | 0x210 << 19 | UT | TOE0 | TOE1, u64::MAX);
    strand.count(SparcEvent::Loads, 1);
    let read = strand.pcr();
    assert_eq!(read & (OV0 | OV1), OV0);
    strand.count(SparcEvent::Stores, 1);
    strand.set_pcr(read & !OV0 | HOLDOV1);
    assert_eq!(strand.pcr() & (OV0 | OV1), OV1);
    assert!(strand.trap_pending());
}

/// Section 2.1 of the contract: without an overflow in between, all bits read back as written.
#[test]
fn reads_back_as_written() {
    let mut strand = StrandUnit::new();
    let mut value = 1_u64;
    for _ in 0..1000 {
        value = value.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        strand.set_pcr(value);
        assert_eq!(strand.pcr(), value & 0xc000_0000_ffff_ffff);
    }
}

#[test]
fn only_the_hypervisor_changes_ht() {
    let mut strand = strand(LOADS | HT, 0);
    strand.set_pcr_privileged(LOADS | UT);
    assert_eq!(strand.pcr(), LOADS | UT | HT, "not cleared");
    strand.set_pcr(LOADS);
    strand.set_pcr_privileged(LOADS | HT);
    assert_eq!(strand.pcr(), LOADS, "not set");
}

/// Every set of modes, with and without the right.
#[test]
fn hyperprivileged_events_need_the_right() {
    for granted in [false, true] {
        for modes in ModeSet::<SparcMode>::every() {
            let mut unit = Strand::new(Box::new(StrandUnit::new()));
            unit.grant_ht(granted);
            let program = loads(modes, CounterSet::NONE);
            let refused = modes.contains(SparcMode::Hyperprivileged) && !granted;
            let answer = unit.start(&program);
            assert_eq!(answer, if refused { Err(NoHtRight) } else { Ok(()) });
            for &mode in SparcMode::ALL {
                let before = unit.read(Pic0);
                unit.step(mode, &[(SparcEvent::Loads, 1)]);
                let counts = !refused && modes.contains(mode);
                assert_eq!(unit.read(Pic0) - before, u32::from(counts), "{modes:?}");
            }
        }
    }
}

#[test]
fn a_refused_program_stops_the_unit() {
    let mut unit = Strand::new(Box::new(StrandUnit::new()));
    let mut program = loads(SparcMode::User.into(), CounterSet::NONE);
    unit.start(&program).unwrap();
    program.modes = ModeSet::ALL;
    assert_eq!(unit.start(&program), Err(NoHtRight));
    unit.step(SparcMode::User, &[(SparcEvent::Loads, 1)]);
    assert_eq!(unit.read(Pic0), 0);
}

#[test]
fn without_the_right_hyperprivileged_events_are_counted_no_more() {
    let mut unit = Strand::reset();
    unit.start(&loads(ModeSet::ALL, CounterSet::BOTH)).unwrap();
    unit.write(Pic0, u32::MAX);
    unit.step(SparcMode::Hyperprivileged, &[(SparcEvent::Loads, 1)]);
    assert_eq!(unit.overflowed(), CounterSet::only(Pic0));
    unit.grant_ht(false);
    unit.step(SparcMode::Hyperprivileged, &[(SparcEvent::Loads, 1)]);
    assert_eq!((unit.read(Pic0), unit.strand().pcr() & HT), (0, 0));
    assert_eq!(
        unit.overflowed(),
        CounterSet::only(Pic0),
        "the overflow stays"
    );
    unit.step(SparcMode::User, &[(SparcEvent::Loads, 1)]);
    assert_eq!(unit.read(Pic0), 1, "it counts in the other modes");
}

#[test]
fn stopping_clears_ht_without_the_right() {
    let mut strand = StrandUnit::new();
    strand.set_pcr(LOADS | HT | UT);
    let mut unit = SparcUnit::new(&mut strand);
    unit.stop();
    assert_eq!(unit.strand().pcr() & (HT | UT), 0);
}

/// The events of several MASK bits add up, on both counters: all 256 masks of class 2.
#[test]
fn mask_bits_add_up() {
    let events = [
        (SparcEvent::BranchesCompleted, 1),
        (SparcEvent::BranchesTaken, 2),
        (SparcEvent::FguArithmetic, 4),
        (SparcEvent::Loads, 8),
        (SparcEvent::Stores, 16),
        (SparcEvent::SoftwareCounts, 32),
        (SparcEvent::OtherInstructions, 64),
        (SparcEvent::AtomicOperations, 128),
        (SparcEvent::DataCacheMisses, 1000),
    ];
    for mask in 0..=255_u8 {
        let mut unit = Strand::reset();
        let select = SparcSelect::new(2, mask);
        unit.start(&Program {
            events: Assignment::new(select, select).unwrap(),
            modes: ModeSet::ALL,
            interrupts: CounterSet::NONE,
        })
        .unwrap();
        unit.step(SparcMode::User, &events);
        let both = (unit.read(Pic0), unit.read(Pic1));
        assert_eq!(both, (mask.into(), mask.into()));
    }
}
