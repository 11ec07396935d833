//! Tests how a guest negotiates a version, and which counters the granted version gives it.

use guest_abi::guest::NegotiateError;
use guest_abi::{HvError, PerfCounters, Version};

use crate::script::{JUNK, Script, Step, core, get, granted, not_granted};

fn refused(steps: &[Step], wanted: Version) -> Option<NegotiateError> {
    PerfCounters::negotiate(Script::new(steps.to_vec()), wanted).err()
}

#[test]
fn keeps_what_was_granted() {
    for (wanted, step, version) in [
        (Version::V1_0, granted(1, 0, 0), Version::V1_0),
        (Version::V1_1, granted(1, 1, 1), Version::V1_1),
        (Version::V1_1, granted(1, 1, 0), Version::V1_0),
        (Version::new(1, 9), granted(1, 9, 1), Version::V1_1),
    ] {
        let counters = PerfCounters::negotiate(Script::new([step]), wanted).unwrap();
        assert_eq!(counters.version(), version, "{wanted}");
    }
}

#[test]
fn refusals() {
    for (status, error) in
        [(6, HvError::Invalid), (7, HvError::BadTrap), (13, HvError::NotSupported)]
    {
        let found = refused(&[not_granted(2, 0, status)], Version::new(2, 0));
        assert_eq!(found, Some(NegotiateError::Refused(error)));
    }
}

#[test]
fn major_zero_is_not_a_version() {
    assert_eq!(refused(&[], Version::new(0, 1)), Some(NegotiateError::MajorZero));
}

#[test]
fn more_than_asked_is_given_back() {
    let too_much = NegotiateError::MinorTooHigh(Version::V1_1);
    let busy = NegotiateError::Refused(HvError::Busy);
    for (release, error) in [(granted(0, 0, 0), too_much), (not_granted(0, 0, 17), busy)] {
        let found = refused(&[granted(1, 0, 1), release], Version::V1_0);
        assert_eq!(found, Some(error));
    }
}

#[test]
fn best_takes_what_there_is() {
    let best = |steps: &[_]| {
        PerfCounters::negotiate_best(Script::new(steps.to_vec())).map(|counters| counters.version())
    };
    let refused = not_granted(1, 1, 13);
    let invalid = NegotiateError::Refused(HvError::Invalid);
    let too_much = NegotiateError::MinorTooHigh(Version::new(1, 2));
    for (steps, version) in [
        (&[granted(1, 1, 1)][..], Ok(Version::V1_1)),
        (&[granted(1, 1, 0)], Ok(Version::V1_0)),
        (&[refused, granted(1, 0, 0)], Ok(Version::V1_0)),
        (&[refused, not_granted(1, 0, 6)], Err(invalid)),
        (&[granted(1, 1, 2), granted(0, 0, 0)], Err(too_much)),
    ] {
        assert_eq!(best(steps), version);
    }
}

#[test]
fn a_strand_joins_what_another_negotiated() {
    let join = |after, steps: &[Step]| {
        let get_version = core([0x205, 0, 0, 0, 0, 3], after);
        PerfCounters::join(Script::new([&[get_version], steps].concat()))
    };
    let counters = join([0, 1, 1, JUNK, JUNK, JUNK], &[get(2, 5)]).unwrap().unwrap();
    assert_eq!(counters.version(), Version::V1_1);
    assert_eq!(counters.get("NODE0_MCU0_PCR".parse().unwrap()), Ok(5));
    assert!(join([0, 0, 0, JUNK, JUNK, JUNK], &[]).unwrap().is_none());
    assert_eq!(join([6, 0, 0, 0, 0, 3], &[]).err(), Some(HvError::Invalid));
}

#[test]
fn release_asks_for_major_zero() {
    assert_eq!(Script::counters([granted(0, 0, 0)]).release(), Ok(()));
    assert_eq!(Script::counters([not_granted(0, 0, 6)]).release(), Err(HvError::Invalid));
}
