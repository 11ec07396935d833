//! Tests the models. Each test checks one fact against expected values that are written out.

mod dram_channel;
mod phase;
mod sequences;

use super::event::{Event, Instruction, Instruction::*};
use super::*;
use {Level::*, Register::*};

/// The hardware's options, without a phase.
const HARDWARE: Options = Options { skid: 15, phase: None };

/// A PCR value that makes counter 0 count stores (SL 2, MASK 0x10) at user level.
const STORES: u64 = 2 << 14 | 0x10 << 6 | 4;
const TOE0: u64 = 1 << 4;
const OV0: u64 = 1 << 18;
const OV1: u64 = 1 << 31;

/// Returns a clock with these events at user level. An interrupt can trap.
fn clock(events: &[Event]) -> StrandClock {
    let (events, flushed) = (events.to_vec(), Vec::new());
    StrandClock { level: User, pil: 0, interrupts: true, events, flushed }
}

/// Returns a clock with these events, which belong to a flushed instruction.
fn flushed(events: &[Event]) -> StrandClock {
    StrandClock { flushed: events.to_vec(), ..clock(&[]) }
}

fn store() -> StrandClock {
    clock(&[Event::Issues(Store)])
}

fn flushed_store() -> StrandClock {
    flushed(&[Event::Issues(Store)])
}

/// Returns a strand whose %pcr and %pic have been written at hyperprivileged level.
fn strand(options: Options, pcr: u64, pic: u64) -> Strand {
    let mut strand = Strand::new(options);
    write(&mut strand, Pcr, pcr);
    write(&mut strand, Pic, pic);
    strand
}

fn write(strand: &mut Strand, register: Register, value: u64) {
    strand.write(register, Hyperprivileged, value).unwrap();
}

fn read(strand: &Strand, register: Register) -> u64 {
    strand.read(register, Hyperprivileged).unwrap()
}

fn store_at(level: Level) -> StrandClock {
    StrandClock { level, ..store() }
}

fn outcome(request: bool, trap: bool) -> Outcome {
    Outcome { request, trap }
}

/// Returns the OV bits of %pcr, in their positions, and %pic.
fn overflow_and_pic(strand: &Strand) -> (u64, u64) {
    (read(strand, Pcr) & (OV1 | OV0), read(strand, Pic))
}

/// Returns a new strand's %pic after this clock.
fn counted(pcr: u64, input: &StrandClock) -> u64 {
    let mut strand = strand(HARDWARE, pcr, 0);
    strand.clock(input, false);
    read(&strand, Pic)
}

#[test]
fn pcr_has_32_bits_and_ht_is_written_at_hyperprivileged_level_alone() {
    let mut strand = strand(HARDWARE, 0x3fff_ffff_7ffb_ffff, 0);
    assert_eq!(read(&strand, Pcr), 0x7ffb_ffff);
    strand.write(Pcr, Privileged, 0).unwrap();
    assert_eq!(read(&strand, Pcr), 0x8);
    write(&mut strand, Pcr, 0);
    strand.write(Pcr, Privileged, 0xffff_ffff).unwrap();
    assert_eq!(read(&strand, Pcr), 0xffff_fff7);
}

#[test]
fn user_level_reaches_pic_unless_priv_is_set() {
    let mut strand = strand(HARDWARE, 0, 0x1111_2222_3333_4444);
    assert_eq!(strand.read(Pic, User), Ok(0x1111_2222_3333_4444));
    assert_eq!(strand.write(Pic, User, 7), Ok(()));
    for register in [Pcr, Softint, Pic] {
        write(&mut strand, Pcr, 1);
        assert_eq!(strand.read(register, User), Err(Trapped));
        assert_eq!(strand.write(register, User, 9), Err(Trapped));
        assert_eq!(strand.read(Pic, Privileged), Ok(7));
    }
}

#[test]
fn each_level_is_counted_by_its_bit_alone() {
    let rows =
        [(0x0, [0, 0, 0]), (0x4, [1, 0, 0]), (0x2, [0, 1, 0]), (0x8, [0, 0, 1]), (0xe, [1, 1, 1])];
    for (bits, counts) in rows {
        let pcr = 2 << 14 | 0x10 << 6 | bits;
        let pics = [User, Privileged, Hyperprivileged].map(|level| counted(pcr, &store_at(level)));
        assert_eq!(pics, counts, "{bits:#x}");
    }
}

#[test]
fn holdov_keeps_ov_for_the_write_that_carries_it_and_reads_0() {
    // Each row has OV before the write, the written value, and OV after the write.
    let rows = [
        (0, 0, 0),
        (OV1 | OV0, 0, 0),
        (0, OV1 | OV0, OV1 | OV0),
        (OV1, OV0, OV0),
        // The write has HOLDOV0.
        (0, 1 << 62 | OV0, 0),
        (OV0, 1 << 62, OV0),
        (OV1 | OV0, 1 << 62, OV0),
        // The write has HOLDOV1.
        (0, 1 << 63 | OV1, 0),
        (OV1, 1 << 63, OV1),
        (OV0, 1 << 63 | OV1, 0),
        // The write has both HOLDOV bits.
        (OV1, 3 << 62 | OV0, OV1),
    ];
    for (before, written, after) in rows {
        let mut strand = strand(HARDWARE, before, 0);
        write(&mut strand, Pcr, written | 0x6);
        assert_eq!(read(&strand, Pcr), after | 0x6, "{written:#x}");
        // HOLDOV does not affect the next write.
        write(&mut strand, Pcr, 0);
        assert_eq!(read(&strand, Pcr), 0);
    }
}

#[test]
fn a_wrap_sets_ov_which_stays_while_counting_goes_on() {
    let mut zero = strand(HARDWARE, STORES, 0x5_ffff_fffe);
    let mut one = strand(HARDWARE, 2 << 27 | 0x10 << 19 | 4, 0xffff_fffe_0000_0005);
    for (count, ov0, ov1) in [(0xffff_ffff, 0, 0), (0, OV0, OV1), (1, OV0, OV1)] {
        assert_eq!(zero.clock(&store(), false), Outcome::default());
        assert_eq!(overflow_and_pic(&zero), (ov0, 0x5_0000_0000 | count));
        assert_eq!(one.clock(&store(), false), Outcome::default());
        assert_eq!(overflow_and_pic(&one), (ov1, count << 32 | 5));
    }
}

#[test]
fn with_toe_the_skid_says_how_far_before_the_wrap_ov_is_set() {
    // Each row has a skid, and the value of PIC when OV is set. The hardware is the first row. With a skid of 0, OV is set exactly at the
    // wrap.
    for (skid, pic) in [(15, 0xffff_fff1), (14, 0xffff_fff2), (1, 0xffff_ffff), (0, 0)] {
        let mut strand = strand(Options { skid, phase: None }, STORES | TOE0, 0xffff_ff00);
        while read(&strand, Pcr) & OV0 == 0 {
            strand.clock(&store(), false);
        }
        assert_eq!(read(&strand, Pic), pic);
    }
}

#[test]
fn an_event_near_the_wrap_pulses_a_request_although_it_is_flushed() {
    let elsewhere = StrandClock { level: Privileged, ..flushed_store() };
    for (pcr, pic, input, request) in [
        (STORES | TOE0, 0xffff_fff0, flushed_store(), true),
        (STORES | TOE0, 0xffff_ffff, flushed_store(), true),
        (STORES | TOE0, 0xffff_ffef, flushed_store(), false),
        (STORES | TOE0, 0, flushed_store(), false),
        (STORES, 0xffff_fff0, flushed_store(), false),
        (STORES | TOE0, 0xffff_fff0, elsewhere, false),
        (STORES | TOE0, 0xffff_fff0, flushed(&[Event::Issues(Load)]), false),
    ] {
        let mut strand = strand(HARDWARE, pcr, pic);
        assert_eq!(strand.clock(&input, false), outcome(request, request));
        // The event is not counted and is not an overflow. The request lasts one clock.
        assert_eq!(overflow_and_pic(&strand), (0, pic));
        assert!(!strand.clock(&clock(&[]), false).request);
    }
}

#[test]
fn ov_with_toe_is_a_request_whoever_set_it_at_any_count() {
    for (pcr, request) in [
        (OV0 | 0x10, true),
        (OV1 | 0x20, true),
        (OV0 | 0x20, false),
        (OV0 | OV1, false),
        (0x30, false),
    ] {
        let mut strand = strand(HARDWARE, pcr, 0);
        for _ in 0..2 {
            assert_eq!(strand.clock(&clock(&[]), false).request, request, "{pcr:#x}");
        }
    }
}

#[test]
fn softint_15_is_set_by_a_request_that_can_trap_and_stays() {
    let mut without_interrupts = store();
    without_interrupts.interrupts = false;
    for (input, trap) in [
        (store(), true),
        (StrandClock { pil: 14, ..store() }, true),
        (store_at(Privileged), true),
        (StrandClock { pil: 15, ..store() }, false),
        (without_interrupts, false),
        (store_at(Hyperprivileged), false),
        (clock(&[]), false),
    ] {
        let mut strand = strand(HARDWARE, OV0 | TOE0, 0);
        assert_eq!(strand.clock(&input, false), outcome(true, trap));
        assert_eq!(read(&strand, Softint), if trap { 0x8000 } else { 0 }, "{input:?}");
    }
    // Software has to clear both OV and the %softint bit.
    let mut strand = strand(HARDWARE, OV0 | TOE0, 0);
    strand.clock(&store(), false);
    write(&mut strand, Pcr, TOE0);
    assert_eq!(strand.clock(&store(), false), outcome(false, true));
    write(&mut strand, Softint, 0);
    assert_eq!(strand.clock(&store(), false), outcome(false, false));
}

#[test]
fn instructions_raise_the_mask_bits_of_sl_2() {
    // 0x203 counts a taken branch once. 0x2fd counts each instruction once.
    let rows: [(u64, &[Instruction]); 10] = [
        (0x01, &[BranchNotTaken, BranchTaken]),
        (0x02, &[BranchTaken]),
        (0x03, &[BranchNotTaken, BranchTaken]),
        (0x04, &[FguArithmetic]),
        (0x08, &[Load, Prefetch, RdAsr, Rdpr, Atomic]),
        (0x10, &[Store, WrAsr, Wrpr, Atomic]),
        (0x20, &[Software]),
        (0x40, &[Other]),
        (0x80, &[Atomic]),
        (0xfd, &Instruction::ALL),
    ];
    for (mask, instructions) in rows {
        for instruction in Instruction::ALL {
            let pic = counted(2 << 14 | mask << 6 | 4, &clock(&[Event::Issues(instruction)]));
            let expected = u64::from(instructions.contains(&instruction));
            assert_eq!(pic, expected, "{instruction:?} under {mask:#x}");
        }
    }
}

#[test]
fn events_of_one_clock_add_one_to_each_counter_that_selects_any() {
    // Counter 1 has code 0x502, and counter 0 has code 0x560.
    let pcr = 5 << 27 | 0x02 << 19 | 5 << 14 | 0x60 << 6 | 4;
    let selected = [Event::Other(5, 0x20), Event::Other(5, 0x40), Event::Other(5, 0x02)];
    assert_eq!(counted(pcr, &clock(&selected)), 0x1_0000_0001);
    let others = [Event::Other(5, 0x04), Event::Other(4, 0x20), Event::Other(7, 0x02)];
    assert_eq!(counted(pcr, &clock(&others)), 0);
}

#[test]
fn sl_bit_3_counts_although_the_instruction_was_flushed() {
    let miss = [Event::Other(3, 0x04)];
    for (sl, of_flushed, of_others) in
        [(3, 0, 1), (0xb, 1, 1), (2, 0, 0), (0xa, 0, 0), (1, 0, 0), (9, 0, 0)]
    {
        let pcr = sl << 14 | 0x0c << 6 | 4;
        assert_eq!(counted(pcr, &flushed(&miss)), of_flushed, "SL {sl}");
        assert_eq!(counted(pcr, &clock(&miss)), of_others, "SL {sl}");
    }
    let mut wraps = strand(HARDWARE, 0xa << 14 | 0x10 << 6 | 4, 0xffff_ffff);
    wraps.clock(&flushed_store(), false);
    assert_eq!(overflow_and_pic(&wraps), (OV0, 0));
}

#[test]
fn sl_0_counts_the_clocks_in_which_no_strand_of_the_core_issues() {
    let idle = || [(); 8].map(|()| clock(&[Event::Other(7, 0x20)]));
    let mut core = Core::new(HARDWARE);
    // Strand 0 selects nothing. Strand 1 has SL 8 with any MASK. Strand 2 does not count at its level.
    let pcrs = [4, 8 << 27 | 0xff << 19 | 8 << 14 | 0xff << 6 | 4, 2];
    for (strand, pcr) in core.strands.iter_mut().zip(pcrs) {
        write(strand, Pcr, pcr);
        write(strand, Pic, 0xffff_ffff);
    }
    for (last_strand, pic) in
        [(store(), 0xffff_ffff), (flushed_store(), 0xffff_ffff), (clock(&[]), 0x1_0000_0000)]
    {
        let mut inputs = Box::new(idle());
        inputs[7] = last_strand;
        core.step(&Step::Clock(inputs));
        let pics = [0, 1, 2].map(|n| read(&core.strands[n], Pic));
        assert_eq!(pics, [pic, pic, 0xffff_ffff]);
    }
    // OV is also set for the counter that selects nothing.
    assert_eq!(read(&core.strands[0], Pcr), 0x4_0004);
}

#[test]
fn an_atomic_that_misses_in_l2_is_no_l2_dmiss_ld() {
    let pcr = 3 << 14 | 0x20 << 6 | 4;
    let [atomic, load] = [Atomic, Load].map(Event::Issues);
    assert_eq!(counted(pcr, &clock(&[atomic, Event::AtomicMissesL2])), 0);
    assert_eq!(counted(pcr, &clock(&[load, Event::Other(3, 0x20)])), 1);
}
