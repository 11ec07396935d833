//! The clocks of a PC, against windows_high_resolution_timer.txt.

use guest_abi::clock::{Description, Width};
use hv_core::time::{
    Candidate, Environment, Fault, Finding, Limits,
    Operator::{self, Default, Disable, Force},
    Reason, Skipped, Timekeeper, Verdict, Watchdog, longest_poll, pc,
};

use crate::world::{Counter, MILLISECOND, SECOND, World, strand};

const GHZ: u64 = 1_000_000_000;

/// A PC on which a thread reads the clocks every second.
fn environment(cpu_hz: u64, cpus: usize, speed_step: bool) -> Environment {
    Environment {
        strands: cpus,
        idles: true,
        rate_changes: speed_step,
        cpu_hz,
        poll: SECOND,
    }
}

/// The performance counter, in the order of the columns: absent; the interval timer; the power management timer; another
/// timer; the cycle counter in disguise.
const PERFORMANCE_COUNTERS: [Option<u64>; 5] = [
    None,
    Some(1_193_182),
    Some(3_579_545),
    Some(14_318_180),
    Some(GHZ),
];

/// What `choose_impl` of windows_high_resolution_timer.txt returns for every combination of its conditions: `T`, the cycle
/// counter; `Q`, the performance counter; `G`, the tick counter. The outcomes are those of the document's own code, compiled
/// and executed.
///
/// A row: whether the CPU has a cycle counter, the known rate of the CPU's clock, the number of CPUs, whether the CPU's
/// rate varies, and the operator's setting for the cycle counter. A column: the performance counter; in it, the operator's
/// settings for it, in the order of default, disable and force.
#[rustfmt::skip]
const OUTCOMES: [(bool, u64, usize, bool, Operator, &str); 48] = [
    (false, 0, 1, false, Default, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 1, false, Disable, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 1, false, Force, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 1, true, Default, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 1, true, Disable, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 1, true, Force, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 2, false, Default, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 2, false, Disable, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 2, false, Force, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 2, true, Default, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 2, true, Disable, "GGG QGQ QGQ GGQ GGQ"),
    (false, 0, 2, true, Force, "GGG QGQ QGQ GGQ GGQ"),
    (false, GHZ, 1, false, Default, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 1, false, Disable, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 1, false, Force, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 1, true, Default, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 1, true, Disable, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 1, true, Force, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 2, false, Default, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 2, false, Disable, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 2, false, Force, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 2, true, Default, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 2, true, Disable, "GGG QGQ QGQ QGQ GGQ"),
    (false, GHZ, 2, true, Force, "GGG QGQ QGQ QGQ GGQ"),
    (true, 0, 1, false, Default, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 1, false, Disable, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 1, false, Force, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 1, true, Default, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 1, true, Disable, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 1, true, Force, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 2, false, Default, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 2, false, Disable, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 2, false, Force, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 2, true, Default, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 2, true, Disable, "GGG QGQ QGQ GGQ GGQ"),
    (true, 0, 2, true, Force, "GGG QGQ QGQ GGQ GGQ"),
    (true, GHZ, 1, false, Default, "TTT TTT TTT TTT TTT"),
    (true, GHZ, 1, false, Disable, "GGG QGQ QGQ QGQ GGQ"),
    (true, GHZ, 1, false, Force, "TTT TTT TTT TTT TTT"),
    (true, GHZ, 1, true, Default, "GGG QGQ QGQ QGQ GGQ"),
    (true, GHZ, 1, true, Disable, "GGG QGQ QGQ QGQ GGQ"),
    (true, GHZ, 1, true, Force, "TTT TTT TTT TTT TTT"),
    (true, GHZ, 2, false, Default, "GGG QGQ QGQ QGQ GGQ"),
    (true, GHZ, 2, false, Disable, "GGG QGQ QGQ QGQ GGQ"),
    (true, GHZ, 2, false, Force, "TTT TTT TTT TTT TTT"),
    (true, GHZ, 2, true, Default, "GGG QGQ QGQ QGQ GGQ"),
    (true, GHZ, 2, true, Disable, "GGG QGQ QGQ QGQ GGQ"),
    (true, GHZ, 2, true, Force, "TTT TTT TTT TTT TTT"),
];

#[test]
fn every_combination_of_conditions_has_the_outcome_of_the_document() {
    for (has_tsc, cpu_hz, cpus, speed_step, tsc_setting, outcomes) in OUTCOMES {
        let columns = PERFORMANCE_COUNTERS.iter().zip(outcomes.split(' '));
        for (&counter_hz, outcomes) in columns {
            for (setting, outcome) in [Default, Disable, Force].into_iter().zip(outcomes.chars()) {
                let world = World::default();
                let counter = |description| Counter::described(&world, description);
                let sources = [
                    has_tsc.then(|| counter(pc::tsc(cpu_hz))),
                    counter_hz.map(|hz| counter(pc::performance_counter(hz))),
                    Some(counter(pc::tick_counter(1))),
                ];
                let mut candidates = sources.each_ref().map(|source| Candidate {
                    source: source.as_ref(),
                    operator: Default,
                });
                candidates[0].operator = tsc_setting;
                candidates[1].operator = setting;
                let environment = environment(cpu_hz, cpus, speed_step);
                let keeper = Timekeeper::new(candidates, &environment, strand(0)).unwrap();
                let chosen = ['T', 'Q', 'G'][keeper.chosen()];
                assert_eq!(
                    chosen, outcome,
                    "TSC {has_tsc} {tsc_setting:?}, {environment:?}, QPC {counter_hz:?} {setting:?}"
                );
            }
        }
    }
}

/// "safe if freqs not within 5% (i.e. it doesn't use TSC)": the document's own code finds exactly 5% safe.
#[test]
fn a_counter_at_the_clock_of_the_cpu_is_the_cycle_counter_in_disguise() {
    for (hz, cpu_hz, safe) in [
        (GHZ, 949_999_999, true),
        (GHZ, 950_000_000, true),
        (GHZ, 950_000_001, false),
        (GHZ, GHZ, false),
        (GHZ, 1_049_999_999, false),
        (GHZ, 1_050_000_000, true),
        (900_000_000, GHZ, true),
        (952_380_952, GHZ, true),
        (952_380_953, GHZ, false),
        (999_999_999, GHZ, false),
        (1_052_631_578, GHZ, false),
        (1_052_631_579, GHZ, true),
        (14_318_180, GHZ, true),
        (14_318_180, u64::MAX, true),
        // "PIT and PMT are safe", whatever the rate of the CPU; one Hz off, they are not known.
        (1_193_182, 1_193_182, true),
        (3_579_545, 3_579_545, true),
        (1_193_182, 0, true),
        (3_579_545, 0, true),
        (1_193_183, 1_193_182, false),
        // "can't decide yet - assume unsafe"
        (3_579_544, 0, false),
        (14_318_180, 0, false),
    ] {
        let verdict = Verdict::of(
            Some(&pc::performance_counter(hz)),
            &environment(cpu_hz, 1, false),
            Default,
        );
        let expected = match (safe, cpu_hz) {
            (true, _) => Verdict::Safe,
            (false, 0) => Verdict::Unsafe(Reason::CpuClockUnknown),
            (false, _) => Verdict::Unsafe(Reason::CpuClock(hz, cpu_hz)),
        };
        assert_eq!(verdict, expected, "{hz} Hz, CPU {cpu_hz} Hz");
    }
}

/// "incorrect value if not polled every 4.5 seconds": a wrap of 24 bits at 3,579,545 Hz takes 4.687 s.
#[test]
fn the_power_management_timer_is_polled_in_time() {
    let timer = pc::performance_counter(3_579_545);
    assert!((1_171_742_216..=1_171_742_218).contains(&longest_poll(&timer)));
    let late = Environment {
        poll: 4_500_000_000,
        ..environment(GHZ, 1, false)
    };
    let verdict = Verdict::of(Some(&timer), &late, Default);
    assert_eq!(
        verdict,
        Verdict::Unsafe(Reason::WrapsUnseen(longest_poll(&timer)))
    );
}

/// "These are hardware counters", "a variable incremented every clock interrupt", "32 KHz oscillator; ... programmable 2^n
/// divisor": all of the document's sources, by rate, step and width.
#[test]
fn the_sources_of_a_pc() {
    let facts = |of: Description| (of.hz, of.step, of.width);
    let [short, tick, word] = [24, 32, 64].map(|bits| Width::new(bits).unwrap());
    assert_eq!(facts(pc::tsc(GHZ)), (GHZ, 1, word));
    assert_eq!(
        facts(pc::performance_counter(1_193_182)),
        (1_193_182, 1, word)
    );
    assert_eq!(
        facts(pc::performance_counter(3_579_545)),
        (3_579_545, 1, short)
    );
    assert_eq!(facts(pc::tick_counter(1)), (1000, 1, tick));
    assert_eq!(facts(pc::tick_counter(15)), (1000, 15, tick));
    assert_eq!(facts(pc::rtc(0)), (32_768, 1, word));
    assert_eq!(facts(pc::rtc(5)), (1024, 1, word));
    assert_eq!(facts(pc::rtc(15)), (1, 1, word));
    assert_eq!(pc::rtc(16).hz, 0);
    // "order of preference (due to resolution and speed)", and the rest below them.
    let ranking = [
        pc::tsc(GHZ),
        pc::performance_counter(3_579_545),
        pc::tick_counter(1),
        pc::tick_counter(10),
        pc::rtc(0),
    ]
    .map(|of| (of.name, of.rating));
    let expected = [
        ("TSC", 300),
        ("QPC", 200),
        ("tick counter", 50),
        ("tick counter", 25),
        ("RTC", 10),
    ];
    assert_eq!(ranking, expected);
}

/// A tick counter and the real-time clock, of 1 Hz to 32,768 Hz, keep time as any other source does.
#[test]
fn slow_sources_keep_the_time() {
    for description in [
        pc::tick_counter(1),
        pc::tick_counter(10),
        pc::tick_counter(15),
        pc::rtc(0),
        pc::rtc(5),
        pc::rtc(15),
    ] {
        let world = World::default();
        let counter = Counter::described(&world, description);
        counter.cost.set(0);
        let keeper = Timekeeper::new(
            [Candidate::new(&counter)],
            &environment(0, 64, true),
            strand(0),
        )
        .unwrap();
        let step = description.step * SECOND / description.hz;
        for _ in 0..1000 {
            world.pass(86_399_700 * MILLISECOND);
            let time = keeper.time(strand(0)).unwrap();
            assert!(world.now() - time <= step, "{description:?}");
        }
    }
}

/// "TGT falls behind over time due to delayed or lost clock interrupts". A better source shows it.
#[test]
fn a_tick_counter_that_loses_interrupts_is_replaced() {
    let world = World::default();
    let counters = [pc::tick_counter(1), pc::rtc(0), pc::rtc(5)]
        .map(|description| Counter::described(&world, description));
    let keeper = Timekeeper::new(
        counters.each_ref().map(Candidate::new),
        &environment(0, 1, false),
        strand(0),
    )
    .unwrap();
    let mut watchdog = Watchdog::new(Limits::default());
    assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
    for _ in 0..100 {
        world.pass(SECOND);
        assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Agrees);
    }
    // One interrupt in a hundred is lost.
    counters[0].set_drift(-10_000_000);
    world.pass(SECOND);
    // A source as slow as the reference does not advance during a check: the next one shows that it has not stopped.
    let still = Finding::Skipped(Skipped::ReferenceStill);
    assert_eq!(watchdog.check(&keeper, strand(0)), still);
    world.pass(SECOND);
    let (source, fault, chosen) = (0, Fault::Slow, 1);
    let found = watchdog.check(&keeper, strand(0));
    assert_eq!(
        found,
        Finding::Demoted {
            source,
            fault,
            chosen
        }
    );
}
