//! Tests a SPARC strand's counters with the suite for all units and with tests of their own.

use guest_abi::Counter::{Pic0, Pic1};
use guest_abi::event::SparcEvent;
use guest_abi::layout::SparcSelect;
use guest_abi::sampling::{
    Assignment, CounterSet, CounterUnit, ModeSet, Program, SparcMode, UnitMode,
};
use platform::models::{Early, NoHtRight, SparcUnit, StrandUnit};

use crate::counter_units::conformance::Machine;

/// A unit that owns its strand.
pub(crate) type Strand = SparcUnit<Box<StrandUnit>>;

/// Makes the events of several selects happen together. The number after each select is the number of clocks in which its events happen.
pub(crate) fn happen(strand: &mut StrandUnit, mode: SparcMode, events: &[(SparcSelect, u32)]) {
    SparcUnit::new(strand).step(mode, events);
}

impl Machine for Strand {
    const OVERFLOW_COUNT: u64 = 1 << 32;

    fn reset() -> Self {
        let mut unit = Self::new(Box::new(StrandUnit::new()));
        unit.grant_ht(true);
        unit
    }

    fn happen(&mut self, mode: SparcMode, events: &[(SparcSelect, u32)]) {
        happen(self.strand_mut(), mode, events);
    }

    fn counted(event: SparcSelect, happened: &[(SparcSelect, u32)]) -> u32 {
        let counts = |other: SparcSelect| {
            // Only classes 8 to 15 count the events of flushed instructions.
            let class = other.class() == event.class() || other.class() + 8 == event.class();
            let idle = matches!(event.class(), 0 | 8);
            class && (idle || event.mask() & other.mask() != 0)
        };
        let happened = happened.iter().filter(|(other, _)| counts(*other));
        happened.map(|(_, n)| n).sum()
    }

    fn interrupted(&self) -> bool {
        self.strand().trap_requested()
    }
}

/// Returns a program that counts loads with counter 0.
pub(crate) fn loads(
    modes: ModeSet<SparcMode>,
    interrupts: CounterSet,
) -> Program<SparcSelect, SparcMode> {
    let events = Assignment::one(SparcEvent::Loads.into()).unwrap();
    Program { events, modes, interrupts }
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

/// For each setting from 0 to 15, the trap comes this number of events early. The counter goes on past its wrap. PIC is never -16 when OV
/// is set.
#[test]
fn the_trap_comes_up_to_15_events_early() {
    for events in 0..=15 {
        let mut strand = strand(LOADS | UT | TOE0, 0xffff_ffe0);
        strand.set_early(Early::new(events).unwrap());
        for pic in 0xffff_ffe1..=0x1_0000_0002_u64 {
            strand.count(SparcEvent::Loads, 1);
            assert_eq!(strand.pic() & 0xffff_ffff, pic & 0xffff_ffff);
            let due = pic >= 0x1_0000_0000 - u64::from(events);
            assert_eq!(strand.pcr() & OV0 != 0, due, "{events} early, at {pic:#x}");
            assert_eq!(strand.trap_requested(), due);
        }
        assert_eq!(strand.pcr() & OV1, 0);
    }
    assert_eq!((Early::new(16), Early::new(15)), (None, Some(Early::MAX)));
}

#[test]
fn without_toe_nothing_is_early_and_nothing_traps() {
    let mut strand = strand(LOADS | UT | TOE1, 0x0000_0000_ffff_fff0);
    strand.set_early(Early::MAX);
    strand.count(SparcEvent::Loads, 15);
    assert_eq!(strand.pcr() & (OV0 | OV1), 0);
    strand.count(SparcEvent::Loads, 1);
    assert_eq!(strand.pcr() & (OV0 | OV1), OV0);
    assert!(!strand.trap_requested());
}

/// If software acknowledges an early trap without writing PIC, the trap comes again at the next event.
#[test]
fn an_early_trap_that_is_only_acknowledged_comes_again() {
    let mut strand = strand(LOADS | UT | TOE0, 0xffff_fff8);
    strand.set_early(Early::MAX);
    strand.count(SparcEvent::Loads, 1);
    assert!(strand.trap_requested());
    strand.set_pcr(LOADS | UT | TOE0);
    assert!(!strand.trap_requested());
    strand.count(SparcEvent::Loads, 1);
    assert!(strand.trap_requested());
}

#[test]
fn a_counter_near_its_wrap_traps_only_when_it_counts() {
    let mut strand = strand(0x208 << 6 | 0x210 << 19 | UT | TOE0 | TOE1, 0xffff_ffff_0000_0000);
    strand.set_early(Early::MAX);
    strand.count(SparcEvent::Loads, 1);
    assert!(!strand.trap_requested());
    strand.count(SparcEvent::Stores, 0);
    strand.set_mode(SparcMode::Privileged);
    strand.count(SparcEvent::Stores, 1);
    assert!(!strand.trap_requested());
}

/// Writes every combination of HOLDOV and OV, both while the OV bits are set (by counters or by a write) and while they are clear.
#[test]
fn holdov_ignores_the_ov_that_is_written() {
    const BOTH: u64 = OV0 | OV1;
    for (how, before) in [("by counters", BOTH), ("by a write", BOTH), ("", 0)] {
        for holds in [0, HOLDOV0, HOLDOV1, HOLDOV0 | HOLDOV1] {
            for written in [0, OV0, OV1, BOTH] {
                let mut strand = strand(LOADS | UT, u64::MAX);
                match how {
                    "by counters" => strand.count(SparcEvent::Loads, 1),
                    "by a write" => strand.set_pcr(LOADS | UT | BOTH),
                    _ => {}
                }
                assert_eq!(strand.pcr() & BOTH, before, "{how}");
                strand.set_pcr(LOADS | holds | written);
                let held = match holds {
                    0 => 0,
                    HOLDOV0 => OV0,
                    HOLDOV1 => OV1,
                    _ => BOTH,
                };
                // HOLDOV reads as 0.
                assert_eq!(strand.pcr(), LOADS | before & held | written & !held, "{how}");
            }
        }
    }
}

/// Counter 1 overflows between a handler's read and write of the PCR. HOLDOV preserves this overflow.
#[test]
fn holdov_saves_the_other_counters_overflow() {
    let mut strand = strand(0x208 << 6 | 0x210 << 19 | UT | TOE0 | TOE1, u64::MAX);
    strand.count(SparcEvent::Loads, 1);
    let read = strand.pcr();
    assert_eq!(read & (OV0 | OV1), OV0);
    strand.count(SparcEvent::Stores, 1);
    strand.set_pcr(read & !OV0 | HOLDOV1);
    assert_eq!(strand.pcr() & (OV0 | OV1), OV1);
    assert!(strand.trap_requested());
}

/// Every request for the trap sets bit 15 of %softint, which stays set until it is cleared.
#[test]
fn softint_is_set_by_the_request() {
    let armed = LOADS | UT | TOE0;
    // An overflow without TOE requests no trap. A later write that sets TOE requests the trap, and so does a write that sets both OV and
    // TOE.
    let mut by_write = strand(LOADS | UT, u64::MAX);
    by_write.count(SparcEvent::Loads, 1);
    assert!(!by_write.softint());
    by_write.set_pcr(armed | HOLDOV0);
    assert!(by_write.softint());
    let mut by_both = strand(LOADS | UT, 0);
    by_both.set_pcr(armed | OV0);
    assert!(by_both.softint());

    // Bit 15 of %softint stays set when OV is cleared. If software clears bit 15 while OV is set, bit 15 is set again.
    by_both.set_pcr(armed);
    assert!(by_both.softint() && !by_both.trap_requested());
    by_both.set_softint(false);
    assert!(!by_both.softint());
    by_write.set_softint(false);
    assert!(by_write.softint(), "OV is still set");

    // The event that sets OV also sets bit 15 of %softint.
    let mut by_event = strand(armed, 0xffff_fffe);
    by_event.count(SparcEvent::Loads, 1);
    assert!(!by_event.softint());
    by_event.count(SparcEvent::Loads, 1);
    assert!(by_event.softint());
}

/// No request sets bit 15 of %softint while PIL is 15, interrupts are off, or the strand is in hyperprivileged mode. The bit is set as soon
/// as the strand can take the trap.
#[test]
fn softint_shows_nothing_while_the_strand_takes_no_interrupts() {
    let overflow = |strand: &mut StrandUnit| strand.set_pcr(LOADS | UT | TOE0 | OV0);
    let mut at_pil_15 = strand(0, 0);
    at_pil_15.set_interruptible(false);
    overflow(&mut at_pil_15);
    assert!(at_pil_15.trap_requested() && !at_pil_15.softint());
    at_pil_15.set_interruptible(true);
    assert!(at_pil_15.softint());

    let mut hyperprivileged = strand(0, 0);
    hyperprivileged.set_mode(SparcMode::Hyperprivileged);
    overflow(&mut hyperprivileged);
    assert!(hyperprivileged.trap_requested() && !hyperprivileged.softint());
    hyperprivileged.set_mode(SparcMode::Privileged);
    assert!(hyperprivileged.softint());
}

/// While the counter is at -16 to -1, an event of a flushed instruction requests the trap for a moment. If bit 3 of SL is clear, the event
/// is not counted and does not set OV.
#[test]
fn a_flushed_instruction_can_request_the_trap_without_ov() {
    let flushed = SparcSelect::new(0xa, 0x08).unwrap();
    let cases = [
        // Each row holds %pcr, %pic, OV0 after the event, and whether the trap is requested.
        (LOADS | UT | TOE0, 0xffff_ffef, 0, false),
        (LOADS | UT | TOE0, 0xffff_fff0, 0, true),
        (LOADS | UT | TOE0, 0xffff_ffff, 0, true),
        (LOADS | UT | TOE0, 0, 0, false),
        (LOADS | UT, 0xffff_ffff, 0, false),
        (LOADS | TOE0, 0xffff_ffff, 0, false),
        (0x210 << 6 | UT | TOE0, 0xffff_ffff, 0, false),
        (0xa08 << 6 | UT | TOE0, 0xffff_fff0, OV0, true),
    ];
    for (pcr, pic, ov, requested) in cases {
        let mut unit = strand(pcr, pic);
        unit.set_early(Early::MAX);
        unit.count(flushed, 1);
        assert_eq!(unit.pcr() & OV0, ov, "{pcr:#x} {pic:#x}");
        assert_eq!(unit.softint(), requested, "{pcr:#x} {pic:#x}");
        assert_eq!(unit.pic() & 0xffff_ffff, pic + u64::from(ov != 0));

        // A pulse is lost if the strand takes no interrupts at that moment.
        let mut late = strand(pcr, pic);
        late.set_early(Early::MAX);
        late.set_interruptible(false);
        late.count(flushed, 1);
        late.set_interruptible(true);
        assert_eq!(late.softint(), ov != 0);
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

/// Checks every set of modes, with and without the right to HT.
#[test]
fn hyperprivileged_events_need_the_right() {
    for granted in [false, true] {
        for modes in ModeSet::<SparcMode>::subsets() {
            let mut unit = Strand::new(Box::new(StrandUnit::new()));
            unit.grant_ht(granted);
            let program = loads(modes, CounterSet::NONE);
            let refused = modes.contains(SparcMode::Hyperprivileged) && !granted;
            let answer = unit.start(&program);
            assert_eq!(answer, if refused { Err(NoHtRight) } else { Ok(()) });
            for &mode in SparcMode::ALL {
                let before = unit.read(Pic0);
                unit.step(mode, &[(SparcEvent::Loads.into(), 1)]);
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
    unit.step(SparcMode::User, &[(SparcEvent::Loads.into(), 1)]);
    assert_eq!(unit.read(Pic0), 0);
}

#[test]
fn without_the_right_hyperprivileged_events_are_counted_no_more() {
    let mut unit = Strand::reset();
    unit.start(&loads(ModeSet::ALL, CounterSet::BOTH)).unwrap();
    unit.write(Pic0, u32::MAX);
    unit.step(SparcMode::Hyperprivileged, &[(SparcEvent::Loads.into(), 1)]);
    assert_eq!(unit.overflowed(), CounterSet::only(Pic0));
    unit.grant_ht(false);
    unit.step(SparcMode::Hyperprivileged, &[(SparcEvent::Loads.into(), 1)]);
    assert_eq!((unit.read(Pic0), unit.strand().pcr() & HT), (0, 0));
    assert_eq!(unit.overflowed(), CounterSet::only(Pic0), "the overflow stays");
    unit.step(SparcMode::User, &[(SparcEvent::Loads.into(), 1)]);
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

/// The events of one instruction are ORed on both counters. All 256 masks of class 2 are checked for an atomic (0x98) in 3 clocks, a taken
/// branch (0x03) in 5 clocks, and an untaken branch (0x01) in 100 clocks.
#[test]
fn mask_bits_are_ored() {
    let together = |mask| SparcSelect::new(2, mask).unwrap();
    let events = [
        (together(0x98), 3),
        (together(0x03), 5),
        (together(0x01), 100),
        (SparcEvent::DataCacheMisses.into(), 1000),
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
        let expected = match mask & 0x03 {
            0x00 => 0,
            0x02 => 5,
            _ => 105,
        } + if mask & 0x98 != 0 { 3 } else { 0 };
        assert_eq!(both, (expected, expected), "{mask:#x}");
    }
}

/// A program for one counter switches the other counter off, so that it does not count idle clocks and causes no trap.
#[test]
fn a_counter_that_is_not_wanted_is_off() {
    let mut unit = Strand::reset();
    unit.write(Pic1, u32::MAX);
    unit.start(&loads(ModeSet::ALL, CounterSet::BOTH)).unwrap();
    assert_eq!(unit.strand().pcr() >> 19 & 0xfff, 0x200, "SL 2, MASK 0");
    let every = SparcEvent::ALL.iter().map(|event| (SparcSelect::from(*event), 1));
    unit.step(SparcMode::User, &every.collect::<Vec<_>>());
    assert_eq!((unit.read(Pic1), unit.overflowed()), (u32::MAX, CounterSet::NONE));
}
