//! Tests the strand's unit without other devices.

use guest_abi::event::SparcEvent;

use super::*;

const UT: u64 = 1 << 2;
const OV0: u64 = 1 << 18;
const OV1: u64 = 1 << 31;

/// Returns a PCR that counts `code0` and `code1` (`SL << 8 | MASK`) in user mode.
fn counting(code0: u64, code1: u64) -> u64 {
    UT | code0 << 6 | code1 << 19
}

fn strand(code0: u64, code1: u64) -> StrandUnit {
    let mut unit = StrandUnit::new();
    unit.set_pcr(counting(code0, code1));
    unit
}

#[test]
fn keeps_its_bits() {
    let mut unit = StrandUnit::new();
    assert_eq!((unit.pcr(), unit.pic()), (0, 0));
    unit.set_pcr(0x3fff_ffff_ffff_ffff);
    assert_eq!(unit.pcr(), 0xffff_ffff);
    unit.set_pic(0x1234_5678_9abc_def0);
    assert_eq!(unit.pic(), 0x1234_5678_9abc_def0);
}

#[test]
fn no_trap_comes_before_that_number_of_events() {
    const TOE0: u64 = 1 << 4;
    const TOE1: u64 = 1 << 5;
    let mut unit = strand(0x208, 0x302);
    unit.set_pic(0xffff_fff0_ffff_fffe);
    assert_eq!(unit.events_before_trap(), u64::MAX, "without TOE");
    for (toe, early, left) in
        [(TOE0, 0, 1), (TOE1, 0, 15), (TOE0 | TOE1, 0, 1), (TOE1, 15, 0), (TOE1, 5, 10)]
    {
        unit.set_early(Early::new(early).unwrap());
        unit.set_pcr(counting(0x208, 0x302) | toe);
        assert_eq!(unit.events_before_trap(), left, "{toe:#x} {early}");
    }
    unit.set_mode(SparcMode::Privileged);
    assert_eq!(unit.events_before_trap(), u64::MAX, "in another mode");
    let mut unit = strand(0, 0x302);
    unit.set_pcr(counting(0, 0x302) | TOE0);
    assert_eq!(unit.events_before_trap(), 0, "idle clocks");
}

#[test]
fn counts_what_each_counter_selects() {
    let mut unit = strand(0x208, 0x302);
    unit.count(SparcEvent::Loads, 5);
    unit.count(SparcEvent::DataCacheMisses, 3);
    unit.count(SparcEvent::Stores, 100);
    unit.count(SparcEvent::InstructionCacheMisses, 100);
    assert_eq!(unit.pic(), 0x0000_0003_0000_0005);
}

#[test]
fn one_mask_bit_is_not_the_same_bit_of_another_class() {
    let mut unit = strand(0x510, 0x310);
    unit.count(SparcEvent::Stores, 7);
    assert_eq!(unit.pic(), 0);
    unit.count(SparcEvent::CrossbarStores, 1);
    unit.count(SparcEvent::L2InstructionMisses, 2);
    assert_eq!(unit.pic(), 0x0000_0002_0000_0001);
}

/// Events in different clock cycles are all counted. Several events in one cycle are counted once, even if different bits of MASK select
/// them.
#[test]
fn mask_bits_are_ored() {
    let together = |mask| SparcSelect::new(2, mask).unwrap();
    for (mask, apart, at_once) in [(0x03, 2, 1), (0x02, 1, 1), (0xff, 2, 1), (0x04, 0, 0)] {
        let mut unit = strand(0x200 | mask, 0x200 | mask);
        unit.count(SparcEvent::BranchesCompleted, 1);
        unit.count(SparcEvent::BranchesTaken, 1);
        assert_eq!(unit.pic(), apart << 32 | apart, "{mask:#x}");
        unit.set_pic(0);
        unit.count(together(0x03), 1);
        assert_eq!(unit.pic(), at_once << 32 | at_once, "{mask:#x}");
    }
    // An atomic instruction is also a load and a store. Code 0x2fd counts all instructions.
    for code in [0x208, 0x210, 0x280, 0x218, 0x298, 0x2fd] {
        let mut unit = strand(code, 0x244);
        unit.count(together(0x98), 5);
        assert_eq!(unit.pic(), 5, "{code:#x}");
    }
}

#[test]
fn classes_8_to_15_count_flushed_instructions_too() {
    for class in 0..16_u8 {
        for happens in 0..16_u8 {
            let mut unit = strand(u64::from(class) << 8 | 0x0c, 0x200);
            unit.count(SparcSelect::new(happens, 0x04).unwrap(), 3);
            let counts = happens == class || happens + 8 == class;
            assert_eq!(unit.pic(), 3 * u64::from(counts), "{happens} under {class}");
        }
    }
}

/// Class 0 selects no events. With any MASK, the counter counts idle clock cycles and overflows.
#[test]
fn a_select_of_0_counts_idle_clocks() {
    for (code, counts) in [(0x000, 1), (0x0ff, 1), (0x810, 1), (0x200, 0), (0x240, 0)] {
        let mut unit = strand(0x208, code);
        unit.set_pic(0xffff_ffff_0000_0000);
        unit.count(SparcEvent::IdleStrands, 1);
        let expected = (0xffff_ffff + counts) & 0xffff_ffff;
        assert_eq!(unit.pic() >> 32, expected, "{code:#x}");
        assert_eq!(unit.pcr() & OV1 != 0, counts == 1, "{code:#x}");
        unit.set_mode(SparcMode::Privileged);
        unit.count(SparcEvent::IdleStrands, 1);
        assert_eq!(unit.pic() >> 32, expected, "in a mode that does not count");
    }
}

#[test]
fn counts_in_the_modes_that_the_pcr_names() {
    for (mode, bit) in [
        (SparcMode::User, 1 << 2),
        (SparcMode::Privileged, 1 << 1),
        (SparcMode::Hyperprivileged, 1 << 3),
    ] {
        let mut unit = StrandUnit::new();
        unit.set_mode(mode);
        unit.set_pcr(counting(0x208, 0x208) & !UT | !bit & 0xe);
        unit.count(SparcEvent::Loads, 1);
        assert_eq!(unit.pic(), 0, "{mode:?} without its bit");
        unit.set_pcr(counting(0x208, 0x208) & !UT | bit);
        unit.count(SparcEvent::Loads, 1);
        assert_eq!(unit.pic(), 0x0000_0001_0000_0001, "{mode:?}");
        assert_eq!(unit.mode(), mode);
    }
}

#[test]
fn a_change_of_mode_takes_effect_at_once() {
    let mut unit = strand(0x208, 0x208);
    unit.set_mode(SparcMode::Privileged);
    unit.count(SparcEvent::Loads, 1);
    assert_eq!(unit.pic(), 0);
    unit.set_mode(SparcMode::User);
    unit.count(SparcEvent::Loads, 1);
    assert_eq!(unit.pic(), 0x0000_0001_0000_0001);
}

#[test]
fn a_wrap_sets_the_overflow_bit_of_its_counter() {
    let mut unit = StrandUnit::new();
    let pcr = counting(0x208, 0x210);
    unit.set_pcr(pcr);
    unit.set_pic(0xffff_fffe_ffff_ffff);
    unit.count(SparcEvent::Loads, 2);
    assert_eq!(unit.pic(), 0xffff_fffe_0000_0001);
    assert_eq!(unit.pcr(), pcr | OV0);
    unit.count(SparcEvent::Stores, 1);
    assert_eq!(unit.pic(), 0xffff_ffff_0000_0001);
    assert_eq!(unit.pcr(), pcr | OV0);
    unit.count(SparcEvent::Stores, 1);
    assert_eq!(unit.pic(), 0x0000_0000_0000_0001);
    assert_eq!(unit.pcr(), pcr | OV0 | OV1);
    for wraps_again in [SparcEvent::Loads, SparcEvent::Stores] {
        unit.set_pic(u64::MAX);
        unit.count(wraps_again, 1);
        assert_eq!(unit.pcr(), pcr | OV0 | OV1, "OV stays until it is written");
    }
    unit.set_pcr(pcr);
    assert_eq!(unit.pcr(), pcr);
}

#[test]
fn events_and_counters_change_while_it_counts() {
    let mut unit = strand(0x208, 0x208);
    unit.count(SparcEvent::Loads, 10);
    unit.set_pcr(counting(0x210, 0x208));
    unit.count(SparcEvent::Loads, 1);
    unit.count(SparcEvent::Stores, 2);
    assert_eq!(unit.pic(), 0x0000_000b_0000_000c);
    unit.set_pic(0x0000_0100_0000_0200);
    unit.count(SparcEvent::Loads, 1);
    unit.count(SparcEvent::Stores, 2);
    assert_eq!(unit.pic(), 0x0000_0101_0000_0202);
}

#[test]
fn reserved_and_empty_selects_count_nothing() {
    let mut unit = StrandUnit::new();
    for code in [0x200, 0x1ff, 0x9ff, 0xa00] {
        let pcr = counting(code, code);
        unit.set_pcr(pcr);
        for event in SparcEvent::ALL {
            unit.count(*event, 1);
        }
        assert_eq!(unit.pic(), 0, "{code:#x}");
        assert_eq!(unit.pcr(), pcr, "{code:#x}");
    }
}

/// Reads, writes and stops PIC in each phase, with an event in every clock cycle. The first update comes after `ahead` cycles.
#[test]
fn each_phase_of_eight() {
    for ahead in 1..=8_u8 {
        let mut unit = strand(0x208, 0x210);
        unit.set_phase(Phase::new(ahead));
        let mut shown = 0;
        for events in 1..=40_u64 {
            unit.count(SparcEvent::Loads, 1);
            assert_eq!(unit.pic(), shown, "the event waits");
            assert!(events - shown <= 8);

            let waiting = events - shown;
            let due = events % 8 == u64::from(ahead) % 8;
            let mut written = unit.clone();
            written.set_pic(1000);
            written.pass(8);
            let follow = if due { 0 } else { waiting };
            assert_eq!(written.pic(), 1000 + follow, "{waiting} wait at the write");
            assert!(follow <= 7);

            let mut stopped = unit.clone();
            stopped.set_pcr(counting(0x208, 0x210) & !UT);
            stopped.pass(8);
            assert_eq!(stopped.pic(), shown, "{waiting} wait at the stop");

            let mut other = unit.clone();
            other.set_pcr(counting(0x210, 0x208));
            other.pass(8);
            assert_eq!(other.pic(), events, "only MASK differs");

            let mut class = unit.clone();
            class.set_pcr(counting(0x302, 0x210));
            class.pass(8);
            assert_eq!(class.pic(), shown, "SL of counter 0 differs");

            unit.pass(1);
            if due {
                shown = events;
            }
            assert_eq!(unit.pic(), shown);
        }
    }
    assert_eq!((Phase::new(0), Phase::new(9)), (None, None));
}

/// In every phase, an event that finds PIC at -16 to -1 sets OV. After more than 8 clock cycles
/// without events, the handler reads -15 to -6.
#[test]
fn the_trap_in_each_phase() {
    for ahead in 1..=8_u8 {
        for start in -40_i32..-16 {
            let mut unit = strand(0x208, 0x200);
            unit.set_pcr(counting(0x208, 0x200) | 1 << 4);
            unit.set_pic(u64::from(start as u32));
            unit.set_early(Early::MAX);
            unit.set_phase(Phase::new(ahead));
            let found = loop {
                let found = unit.pic() as u32 as i32;
                unit.count(SparcEvent::Loads, 1);
                if unit.softint() {
                    break found;
                }
                unit.pass(1);
            };
            assert!((-16..-8).contains(&found), "{found}");
            unit.pass(8);
            let handled = unit.pic() as u32 as i32;
            assert!((-15..=-6).contains(&handled), "{handled}");
        }
    }
}

/// Without TOE, OV is set when PIC wraps. PIC wraps only when an update adds the waiting events.
#[test]
fn ov_without_toe_comes_with_the_wrap() {
    let mut unit = strand(0x208, 0x200);
    unit.set_pic(0xffff_fffd);
    unit.set_phase(Phase::new(8));
    unit.count(SparcEvent::Loads, 8);
    assert_eq!((unit.pic(), unit.pcr() & OV0), (0xffff_fffd, 0));
    unit.pass(1);
    assert_eq!((unit.pic(), unit.pcr() & OV0), (5, OV0));
}
