//! Tests the phase in which the counters are updated.

use std::collections::BTreeSet;

use super::super::{Options, Register::*, Strand};
use super::{OV0, STORES, TOE0, clock, read, store, strand, write};

/// Lets idle clocks pass until no event is waiting. Returns %pic.
fn settled(strand: &mut Strand) -> u64 {
    for _ in 0..8 {
        strand.clock(&clock(&[]), false);
    }
    read(strand, Pic)
}

#[test]
fn with_a_phase_up_to_8_events_are_late_or_lost() {
    let [mut late, mut after_write, mut lost, mut lost_with_sl] = [(); 4].map(|()| BTreeSet::new());
    for (phase, stores) in (0..8).flat_map(|phase| (8..16).map(move |stores| (phase, stores))) {
        let mut strand = strand(Options { skid: 15, phase: Some(phase) }, STORES, 0);
        for _ in 0..stores {
            strand.clock(&store(), false);
        }
        late.insert(stores - read(&strand, Pic));
        assert_eq!(settled(&mut strand.clone()), stores);

        let mut written = strand.clone();
        write(&mut written, Pic, 100);
        after_write.insert(settled(&mut written) - 100);

        let mut stopped = strand.clone();
        write(&mut stopped, Pcr, STORES & !4);
        lost.insert(stores - settled(&mut stopped));

        write(&mut strand, Pcr, STORES | 3 << 14);
        lost_with_sl.insert(stores - settled(&mut strand));
    }
    assert_eq!(late, BTreeSet::from([1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(after_write, BTreeSet::from([0, 1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(lost, late);
    assert_eq!(lost_with_sl, late);
}

#[test]
fn with_a_phase_ov_is_set_by_the_event_that_finds_pic_near_its_wrap() {
    let mut pics = BTreeSet::new();
    for (phase, first) in (0..8).flat_map(|phase| (0..16).map(move |first| (phase, first))) {
        let options = Options { skid: 15, phase: Some(phase) };
        let mut strand = strand(options, STORES | TOE0, 0xffff_ff00 + first);
        while read(&strand, Pcr) & OV0 == 0 {
            strand.clock(&store(), false);
        }
        pics.insert(settled(&mut strand));
    }
    // The event at -16, and up to 7 events that wait together with it, leave PIC at -15 to -8.
    assert_eq!(pics, (0xffff_fff1..=0xffff_fff8).collect());
}
