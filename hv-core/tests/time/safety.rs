//! Tests whether a clock source is safe, and which of several sources is chosen.

use guest_abi::clock::{Description, Hazards, Scope, Width};
use hv_core::time::{Environment, OperatorSetting, Reason, Verdict, choose, max_poll_interval, pc};

const SAFE: Description = Description { width: Width::TICK, hz: 1_000_000_000, ..pc::rtc(0) };

/// A machine on which every hazard of a clock source makes the source unsafe.
const BAD: Environment = Environment {
    strands: 256,
    idle_stops_counters: true,
    rate_changes: true,
    cpu_hz: 0,
    poll_interval: 1_000_000_000,
};

const GOOD: Environment = Environment {
    strands: 1,
    idle_stops_counters: false,
    rate_changes: false,
    cpu_hz: 2_000_000_000,
    poll_interval: 1_000_000_000,
};

fn judge(source: Description, environment: Environment) -> Verdict {
    Verdict::assess(Some(&source), &environment, OperatorSetting::Default)
}

#[test]
fn each_hazard_on_a_good_and_a_bad_machine() {
    use Verdict::{Safe, Unsafe};
    let mut all = [SAFE; 8];
    all[1].scope = Scope::Strand;
    all[2].scope = Scope::StrandUnsynchronised;
    all[3].hazards.stops_when_idle = true;
    all[4].hazards.rate_varies = true;
    all[5].hazards.may_be_cpu_clock = true;
    all[6].hazards.tears = true;
    all[7].hz = 10_000_000_001;
    let on_bad = [
        Safe,
        Safe,
        Unsafe(Reason::Unsynchronised(256)),
        Unsafe(Reason::StopsWhenIdle),
        Unsafe(Reason::RateVaries),
        Unsafe(Reason::CpuClockUnknown),
        Unsafe(Reason::Tears),
        Unsafe(Reason::Frequency(10_000_000_001)),
    ];
    assert_eq!(all.map(|source| judge(source, BAD)), on_bad);
    assert_eq!(all.map(|source| judge(source, GOOD))[..6], [Safe; 6]);
    assert_eq!(all.map(|source| judge(source, GOOD))[6..], on_bad[6..]);
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
    assert_eq!(reason_of(|on| on.idle_stops_counters = true), Reason::StopsWhenIdle);
    assert_eq!(reason_of(|on| on.rate_changes = true), Reason::RateVaries);
    assert_eq!(reason_of(|on| on.cpu_hz = 0), Reason::CpuClockUnknown);
    let near = Reason::CpuClock(1_000_000_000, 999_000_000);
    assert_eq!(reason_of(|on| on.cpu_hz = 999_000_000), near);
}

#[test]
fn a_narrow_counter_must_be_polled_often_enough() {
    // The 24 bits of the ACPI timer wrap after 4.687 s; a quarter of that is 1.1717 s.
    // windows_high_resolution_timer.txt says: "incorrect value if not polled every 4.5 seconds".
    let timer = Description { hazards: SAFE.hazards, ..pc::performance_counter(3_579_545) };
    let poll = max_poll_interval(&timer);
    assert!((1_171_742_217..=1_171_742_218).contains(&poll), "{poll}");
    assert_eq!(judge(timer, Environment { poll_interval: poll, ..GOOD }), Verdict::Safe);
    for late in [poll + 1, 4_500_000_000] {
        let verdict = judge(timer, Environment { poll_interval: late, ..GOOD });
        assert_eq!(verdict, Verdict::Unsafe(Reason::WrapsUnseen(poll)));
    }
    assert_eq!(max_poll_interval(&Description { hz: 0, ..SAFE }), 0);
}

#[test]
fn the_operator_overrides_the_verdict() {
    let bad = Description { scope: Scope::StrandUnsynchronised, ..SAFE };
    let assess = |source: Option<&Description>, operator| Verdict::assess(source, &BAD, operator);
    let reason = Reason::Unsynchronised(256);
    assert_eq!(assess(Some(&bad), OperatorSetting::Force), Verdict::Forced(reason));
    assert_eq!(assess(Some(&SAFE), OperatorSetting::Force), Verdict::Safe);
    for source in [&bad, &SAFE] {
        let disabled = assess(Some(source), OperatorSetting::Disable);
        assert_eq!(disabled, Verdict::Unsafe(Reason::Disabled));
    }
    for operator in [OperatorSetting::Default, OperatorSetting::Disable, OperatorSetting::Force] {
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
    let near = "may be the CPU's clock: 1000000000 Hz is within 5% of its 1010000000 Hz";
    for (reason, text) in [
        (Reason::Absent, "not there"),
        (Reason::Frequency(0), "frequency unknown"),
        (Reason::Frequency(u64::MAX), "18446744073709551615 Hz, not 1 Hz to 10 GHz"),
        (Reason::CpuClock(1_000_000_000, 1_010_000_000), near),
        (Reason::Disabled, "disabled by the operator"),
        (Reason::Unsynchronised(8), "not the same on all 8 strands"),
        (Reason::WrapsUnseen(7), "wraps unseen, unless polled every 7 ns"),
    ] {
        assert_eq!(reason.to_string(), text);
    }
}
