//! Verdicts on sources, and the choice of the best.

use guest_abi::clock::{Description, Hazards, Scope, Width};
use hv_core::time::{Environment, Operator, Reason, Verdict, choose, longest_poll};

const SAFE: Description = Description {
    name: "a source",
    width: Width::TICK,
    hz: 1_000_000_000,
    step: 1,
    rating: 100,
    scope: Scope::Machine,
    hazards: Hazards {
        stops_when_idle: false,
        rate_varies: false,
        tears: false,
        may_be_cpu_clock: false,
    },
};

/// A machine with every property that makes a source unsafe.
const BAD: Environment =
    Environment { strands: 256, idles: true, rate_changes: true, cpu_hz: 0, poll: 1_000_000_000 };

const GOOD: Environment = Environment {
    strands: 1,
    idles: false,
    rate_changes: false,
    cpu_hz: 2_000_000_000,
    poll: 1_000_000_000,
};

fn judge(source: Description, environment: Environment) -> Verdict {
    Verdict::assess(Some(&source), &environment, Operator::Default)
}

#[test]
fn each_hazard_on_a_good_and_a_bad_machine() {
    use Verdict::{Safe, Unsafe};
    let with = |change: &dyn Fn(&mut Description)| {
        let mut source = SAFE;
        change(&mut source);
        [GOOD, BAD].map(|environment| judge(source, environment))
    };
    assert_eq!(with(&|_| {}), [Safe, Safe]);
    assert_eq!(with(&|source| source.scope = Scope::Strand), [Safe, Safe]);
    let apart = with(&|source| source.scope = Scope::StrandUnsynchronised);
    assert_eq!(apart, [Safe, Unsafe(Reason::Unsynchronised(256))]);
    let stops = with(&|source| source.hazards.stops_when_idle = true);
    assert_eq!(stops, [Safe, Unsafe(Reason::StopsWhenIdle)]);
    let varies = with(&|source| source.hazards.rate_varies = true);
    assert_eq!(varies, [Safe, Unsafe(Reason::RateVaries)]);
    let tears = with(&|source| source.hazards.tears = true);
    assert_eq!(tears, [Unsafe(Reason::Tears); 2]);
    let hidden = with(&|source| source.hazards.may_be_cpu_clock = true);
    assert_eq!(hidden, [Safe, Unsafe(Reason::CpuClockUnknown)]);
    for hz in [0, 10_000_000_001] {
        let beyond = with(&|source| source.hz = hz);
        assert_eq!(beyond, [Unsafe(Reason::Frequency(hz)); 2]);
    }
}

#[test]
fn a_hazard_needs_the_property_of_the_machine() {
    let all = Description {
        scope: Scope::StrandUnsynchronised,
        hazards: Hazards {
            stops_when_idle: true,
            rate_varies: true,
            may_be_cpu_clock: true,
            ..SAFE.hazards
        },
        ..SAFE
    };
    assert_eq!(judge(all, GOOD), Verdict::Safe);
    let reason_of = |change: fn(&mut Environment)| {
        let mut environment = GOOD;
        change(&mut environment);
        match judge(all, environment) {
            Verdict::Unsafe(reason) => reason,
            verdict => panic!("{verdict:?}"),
        }
    };
    assert_eq!(reason_of(|on| on.strands = 2), Reason::Unsynchronised(2));
    assert_eq!(reason_of(|on| on.idles = true), Reason::StopsWhenIdle);
    assert_eq!(reason_of(|on| on.rate_changes = true), Reason::RateVaries);
    assert_eq!(reason_of(|on| on.cpu_hz = 0), Reason::CpuClockUnknown);
    let near = Reason::CpuClock(1_000_000_000, 999_000_000);
    assert_eq!(reason_of(|on| on.cpu_hz = 999_000_000), near);
}

#[test]
fn a_narrow_counter_must_be_polled_often_enough() {
    // The 24 bits of the ACPI timer wrap after 4.687 s; a quarter is 1.1717 s.
    let timer = Description { width: Width::new(24).unwrap(), hz: 3_579_545, ..SAFE };
    let poll = longest_poll(&timer);
    assert!((1_171_742_217..=1_171_742_218).contains(&poll), "{poll}");
    assert_eq!(judge(timer, Environment { poll, ..GOOD }), Verdict::Safe);
    let unseen = Verdict::Unsafe(Reason::WrapsUnseen(poll));
    let poll = poll + 1;
    assert_eq!(judge(timer, Environment { poll, ..GOOD }), unseen);
    assert_eq!(longest_poll(&Description { hz: 0, ..SAFE }), 0);
}

#[test]
fn the_operator_overrides_the_verdict() {
    let bad = Description { scope: Scope::StrandUnsynchronised, ..SAFE };
    let assess = |source: Option<&Description>, operator| Verdict::assess(source, &BAD, operator);
    let reason = Reason::Unsynchronised(256);
    assert_eq!(assess(Some(&bad), Operator::Force), Verdict::Forced(reason));
    assert_eq!(assess(Some(&SAFE), Operator::Force), Verdict::Safe);
    for source in [&bad, &SAFE] {
        let disabled = assess(Some(source), Operator::Disable);
        assert_eq!(disabled, Verdict::Unsafe(Reason::Disabled));
    }
    for operator in [Operator::Default, Operator::Disable, Operator::Force] {
        let unknown = Description { hz: 0, ..SAFE };
        let absent = Verdict::Unsafe(Reason::Absent);
        assert_eq!(assess(None, operator), absent, "{operator:?}");
        let frequency = Verdict::Unsafe(Reason::Frequency(0));
        assert_eq!(assess(Some(&unknown), operator), frequency, "{operator:?}");
    }
}

#[test]
fn the_best_is_chosen() {
    use Verdict::{Forced, Safe};
    let no = Verdict::Unsafe(Reason::Tears);
    let forced = Forced(Reason::Tears);
    for (sources, chosen) in [
        (&[][..], None),
        (&[(no, 9)], None),
        (&[(Safe, 0)], Some(0)),
        (&[(Safe, 1), (no, 9), (Safe, 3), (Safe, 2)], Some(2)),
        (&[(Safe, 1), (forced, 2)], Some(1)),
        (&[(Safe, 2), (forced, 1)], Some(0)),
        (&[(no, 5), (Safe, 5), (Safe, 5)], Some(1)),
    ] {
        assert_eq!(choose(sources.iter().copied()), chosen, "{sources:?}");
    }
}

#[test]
fn reasons_are_readable() {
    let text = |reason: Reason| reason.to_string();
    assert_eq!(text(Reason::Absent), "not there");
    assert_eq!(text(Reason::Frequency(0)), "frequency unknown");
    let beyond = text(Reason::Frequency(u64::MAX));
    assert_eq!(beyond, "18446744073709551615 Hz, not 1 Hz to 10 GHz");
    let near = text(Reason::CpuClock(1_000_000_000, 1_010_000_000));
    let expected = "may be the CPU's clock: 1000000000 Hz is within 5% of its 1010000000 Hz";
    assert_eq!(near, expected);
    assert_eq!(text(Reason::Disabled), "disabled by the operator");
    let differing = text(Reason::Unsynchronised(8));
    assert_eq!(differing, "not the same on all 8 strands");
    let unseen = text(Reason::WrapsUnseen(7));
    assert_eq!(unseen, "wraps unseen, unless polled every 7 ns");
}
