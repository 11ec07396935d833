//! Tests of the unit alone.

use super::*;

const UT: u64 = 1 << 2;
const OV0: u64 = 1 << 18;
const OV1: u64 = 1 << 31;

/// Returns a PCR that counts these codes (`SL << 8 | MASK`) in user mode.
fn counting(code0: u64, code1: u64) -> u64 {
    UT | code0 << 6 | code1 << 19
}

/// Returns a strand in user mode that counts these codes.
fn strand(code0: u64, code1: u64) -> StrandUnit {
    let mut unit = StrandUnit::new();
    unit.set_pcr(counting(code0, code1));
    unit
}

#[test]
fn keeps_its_bits() {
    let mut unit = StrandUnit::new();
    assert_eq!((unit.pcr(), unit.pic()), (0, 0));
    unit.set_pcr(u64::MAX);
    assert_eq!(unit.pcr(), 0xc000_0000_ffff_ffff);
    unit.set_pic(0x1234_5678_9abc_def0);
    assert_eq!(unit.pic(), 0x1234_5678_9abc_def0);
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

#[test]
fn mask_bits_of_a_class_add_up() {
    let mut unit = strand(0x2fd, 0x218);
    unit.count(SparcEvent::Loads, 1);
    unit.count(SparcEvent::Stores, 2);
    unit.count(SparcEvent::OtherInstructions, 4);
    unit.count(SparcEvent::AtomicOperations, 8);
    unit.count(SparcEvent::BranchesTaken, 16);
    unit.count(SparcEvent::SoftwareCounts, 32);
    assert_eq!(unit.pic(), 0x0000_0003_0000_002f);
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
    for code in [0x000, 0x200, 0x1ff, 0x8ff, 0xfff] {
        let pcr = counting(code, code);
        unit.set_pcr(pcr);
        for event in SparcEvent::ALL {
            unit.count(*event, 1);
        }
        assert_eq!(unit.pic(), 0, "{code:#x}");
        assert_eq!(unit.pcr(), pcr, "{code:#x}");
    }
}
