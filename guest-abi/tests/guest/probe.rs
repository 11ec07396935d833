//! Checks that the probe makes the same calls as illumos's probe, in the same order.

use guest_abi::guest::{PmuSet, Presence, RetryError, SnapshotError, SnapshotLimits};
use guest_abi::{HvError, PerfReg, Pmu};

use crate::script::{Script, Step, get, get_fails};

/// Every PCR, in the order of illumos's probe at boot.
const PCRS: [u64; 32] = [
    2, 4, 6, 8, 10, 12, 14, 16, // DRAM
    18, 21, 24, 27, 36, 39, 42, 45, 54, 57, 60, 63, 72, 75, 78, 81, // LPU
    30, 48, 66, 84, // GPD
    33, 51, 69, 87, // ASU
];

fn probe(answer: impl Fn(u64) -> Step) -> guest_abi::guest::PresentPmus {
    Script::counters(PCRS.map(answer)).probe().unwrap()
}

fn pmu(pcr: u64) -> Pmu {
    let pmu = PerfReg::new(pcr).and_then(Pmu::from_register);
    pmu.expect("registers from 2 belong to a PMU")
}

#[test]
fn all_present() {
    let present = probe(|pcr| get(pcr, 0));
    assert_eq!(present.pmus().len(), 32);
    assert!(present.pmus().iter().eq(PCRS.map(pmu)));
    assert!(PerfReg::ALL.into_iter().all(|register| present.contains(register)));
}

#[test]
fn two_nodes_without_hubs() {
    let present = probe(|pcr| match pcr {
        2..=8 => get(pcr, 0x12),
        10..=16 => get_fails(pcr, 13),
        _ => get_fails(pcr, 6),
    });
    for register in PerfReg::ALL {
        assert_eq!(present.contains(register), register.id() <= 9, "{register}");
    }
    assert_eq!(present.pmus().len(), 4);
    let found = [8, 10, 87].map(|pcr| present.presence(pmu(pcr)));
    assert_eq!(found, [Presence::Readable, Presence::Absent, Presence::Absent]);
    assert!(!present.usable().contains(pmu(10)));
}

#[test]
fn only_two_statuses_mean_absent() {
    for status in (1..=23).chain([24, u64::MAX]).filter(|status| *status != 7) {
        let present = probe(|pcr| match pcr {
            30 => get_fails(pcr, status),
            _ => get(pcr, 0),
        });
        let gpd = pmu(30);
        let expected = match status {
            6 | 13 => Presence::Absent,
            10 => Presence::Refused,
            9 => Presence::Busy,
            _ => Presence::Unclear,
        };
        assert_eq!(present.presence(gpd), expected, "{status}");
        assert_eq!(present.pmus().contains(gpd), ![6, 13].contains(&status));
        assert_eq!(present.usable().contains(gpd), status == 9);
        assert_eq!(present.presence(pmu(48)), Presence::Readable);
    }
}

/// Another strand releases the group before the first call of a probe, or in the middle of the
/// probe.
#[test]
fn a_group_that_is_not_negotiated_is_an_error() {
    for at in [0, 9, 31] {
        let released = PCRS[..at].iter().map(|pcr| get(*pcr, 0)).chain([get_fails(PCRS[at], 7)]);
        assert_eq!(Script::counters(released).probe(), Err(HvError::BadTrap));
    }
}

/// While hub 1 is out of service, its registers return ENOACCESS, and all others work. When hub 1
/// is back in service, its PMUs become usable.
#[test]
fn enoaccess_is_for_one_register() {
    let of_hub_1 = |pcr: u64| (36..54).contains(&pcr);
    let probed = PCRS.map(|pcr| match of_hub_1(pcr) {
        true => get_fails(pcr, 10),
        false => get(pcr, 0),
    });
    let snapshot = |pcr| [pcr, pcr + 1, pcr + 2, pcr + 1, pcr].map(|id| get(id, 7));
    let refused = [get_fails(36, 10)];
    let steps = [&probed[..], &refused, &snapshot(18), &snapshot(36)].concat();
    let counters = Script::counters(steps);
    let present = counters.probe().unwrap();
    for pcr in PCRS {
        assert!(present.contains(PerfReg::new(pcr).unwrap()), "{pcr}");
        assert_eq!(present.usable().contains(pmu(pcr)), !of_hub_1(pcr), "{pcr}");
    }
    let failed = SnapshotError::Read(pmu(36).pcr(), RetryError::Failed(HvError::NoAccess));
    assert_eq!(counters.snapshot(pmu(36), SnapshotLimits::ONCE), Err(failed));
    for pcr in [18, 36] {
        let read = counters.snapshot(pmu(pcr), SnapshotLimits::ONCE).unwrap();
        assert_eq!((read.pic0, read.pic1), (7, 7), "{pcr}");
    }
}

#[test]
fn nothing_present() {
    let present = probe(|pcr| get_fails(pcr, 13));
    assert!(present.pmus().is_empty());
    assert!(present.contains(PerfReg::SPARC_PCR) && present.contains(PerfReg::L2_PERF_CONFIG));
}

#[test]
fn sets_of_pmus() {
    let some: PmuSet = [pmu(87), pmu(2), pmu(87)].into_iter().collect();
    assert_eq!(some.len(), 2);
    assert_eq!(some.iter().collect::<Vec<_>>(), [pmu(2), pmu(87)]);
    assert!(PmuSet::NONE.is_empty() && !some.is_empty());
    assert_eq!(PmuSet::NONE.with(pmu(2)).with(pmu(87)), some);
}
