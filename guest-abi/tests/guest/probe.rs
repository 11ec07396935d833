//! The probe, call for call as illumos makes it.

use guest_abi::guest::{Presence, UnitSet};
use guest_abi::{PerfReg, Unit};

use crate::script::{Script, Step, get, get_fails};

/// Every PCR, in the order of the boot probe.
const PCRS: [u64; 32] = [
    2, 4, 6, 8, 10, 12, 14, 16, // DRAM
    18, 21, 24, 27, 36, 39, 42, 45, 54, 57, 60, 63, 72, 75, 78, 81, // LPU
    30, 48, 66, 84, // GPD
    33, 51, 69, 87, // ASU
];

fn probe(answer: impl Fn(u64) -> Step) -> guest_abi::guest::Present {
    Script::counters(PCRS.map(answer)).probe()
}

fn unit(pcr: u64) -> Unit {
    let unit = PerfReg::new(pcr).and_then(PerfReg::unit);
    unit.expect("registers from 2 belong to a unit")
}

#[test]
fn all_present() {
    let present = probe(|pcr| get(pcr, 0));
    assert_eq!(present.units().len(), 32);
    assert_eq!(
        present.units().iter().collect::<Vec<_>>(),
        PCRS.map(unit).to_vec()
    );
    for register in PerfReg::all() {
        assert!(present.has(register), "{register}");
    }
}

#[test]
fn two_nodes_without_hubs() {
    let present = probe(|pcr| match pcr {
        2..=8 => get(pcr, 0x12),
        10..=16 => get_fails(pcr, 13),
        _ => get_fails(pcr, 6),
    });
    for id in 0..90 {
        let register = PerfReg::new(id).unwrap();
        assert_eq!(present.has(register), id <= 9, "{register}");
    }
    assert_eq!(present.units().len(), 4);
    assert_eq!(present.presence(unit(8)), Presence::Readable);
    assert_eq!(present.presence(unit(10)), Presence::Absent);
    assert_eq!(present.presence(unit(87)), Presence::Absent);
    assert!(!present.may_use(unit(10)));
}

#[test]
fn only_two_statuses_mean_absent() {
    for status in (1..=23).chain([24, u64::MAX]) {
        let present = probe(|pcr| {
            if pcr == 30 {
                get_fails(pcr, status)
            } else {
                get(pcr, 0)
            }
        });
        let gpd = unit(30);
        let expected = match status {
            6 | 13 => Presence::Absent,
            10 => Presence::Refused,
            9 => Presence::Busy,
            _ => Presence::Unclear,
        };
        assert_eq!(present.presence(gpd), expected, "{status}");
        assert_eq!(present.units().contains(gpd), ![6, 13].contains(&status));
        assert_eq!(present.may_use(gpd), ![6, 10, 13].contains(&status));
        assert_eq!(present.presence(unit(48)), Presence::Readable);
    }
}

#[test]
fn nothing_present() {
    let present = probe(|pcr| get_fails(pcr, 13));
    assert!(present.units().is_empty());
    assert!(present.has(PerfReg::SPARC_PCR) && present.has(PerfReg::L2_PERF_CONFIG));
}

#[test]
fn sets_of_units() {
    let some: UnitSet = [unit(87), unit(2), unit(87)].into_iter().collect();
    assert_eq!(some.len(), 2);
    assert_eq!(some.iter().collect::<Vec<_>>(), [unit(2), unit(87)]);
    assert!(UnitSet::EMPTY.is_empty() && !some.is_empty());
    assert_eq!(UnitSet::EMPTY.with(unit(2)).with(unit(87)), some);
}
