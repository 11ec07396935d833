//! Tests a PC's clocks, as windows_high_resolution_timer.txt describes them.

use guest_abi::clock::Description;
use hv_core::time::{
    Candidate, Environment, Fault, Finding, Limits,
    OperatorSetting::{self, Default, Disable, Force},
    Reason, Timekeeper, Verdict, Watchdog, pc,
};

use crate::world::{Counter, MILLISECOND, SECOND, World, description, strand};

const GHZ: u64 = 1_000_000_000;

/// Returns a PC on which a thread reads the clocks every second.
fn environment(cpu_hz: u64, cpus: usize, speed_step: bool) -> Environment {
    Environment {
        strands: cpus,
        idle_stops_counters: true,
        rate_changes: speed_step,
        cpu_hz,
        poll_interval: SECOND,
    }
}

/// The performance counters, each with its own group of columns in [`outcomes`]: no counter, the interval timer, the power management
/// timer, another timer, and the cycle counter under another name.
const PERFORMANCE_COUNTERS: [Option<u64>; 5] =
    [None, Some(1_193_182), Some(3_579_545), Some(14_318_180), Some(GHZ)];

/// Returns the results of `choose_impl` in windows_high_resolution_timer.txt, obtained by compiling and executing the document's own code:
/// `T` is the cycle counter, `Q` the performance counter, `G` the tick counter. Each performance counter has three columns, for the
/// operator's settings default, disable and force.
fn outcomes(
    has_tsc: bool,
    environment: &Environment,
    tsc_setting: OperatorSetting,
) -> &'static str {
    let Environment { strands: cpus, rate_changes: speed_step, cpu_hz, .. } = *environment;
    match (has_tsc && cpu_hz > 0, cpus, speed_step, tsc_setting) {
        (true, _, _, Force) | (true, 1, false, Default) => "TTT TTT TTT TTT TTT",
        _ if cpu_hz > 0 => "GGG QGQ QGQ QGQ GGQ",
        _ => "GGG QGQ QGQ GGQ GGQ",
    }
}

#[test]
fn every_combination_of_conditions_has_the_outcome_of_the_document() {
    const SETTINGS: [OperatorSetting; 3] = [Default, Disable, Force];
    let mut combinations = 0;
    for number in 0..16 {
        let is_set = |bit: u32| number & 1 << bit != 0;
        let (cpu_hz, cpus) = (if is_set(1) { GHZ } else { 0 }, if is_set(2) { 2 } else { 1 });
        let environment = environment(cpu_hz, cpus, is_set(3));
        for tsc_setting in SETTINGS {
            let outcomes = outcomes(is_set(0), &environment, tsc_setting).split(' ');
            for (counter_hz, outcomes) in PERFORMANCE_COUNTERS.into_iter().zip(outcomes) {
                for (setting, outcome) in SETTINGS.into_iter().zip(outcomes.chars()) {
                    let world = World::default();
                    let counter = |description| Counter::described(&world, description);
                    let tsc = is_set(0).then(|| counter(pc::tsc(cpu_hz)));
                    let qpc = counter_hz.map(|hz| counter(pc::performance_counter(hz)));
                    let ticks = counter(pc::tick_counter(1));
                    let candidate = |source, operator| Candidate { source, operator };
                    let candidates = [
                        candidate(tsc.as_ref(), tsc_setting),
                        candidate(qpc.as_ref(), setting),
                        Candidate::new(&ticks),
                    ];
                    let keeper = Timekeeper::new(candidates, &environment, strand(0)).unwrap();
                    let chosen = ['T', 'Q', 'G'][keeper.chosen()];
                    let case = (is_set(0), tsc_setting, counter_hz, setting);
                    assert_eq!(chosen, outcome, "{case:?}, {environment:?}");
                    combinations += 1;
                }
            }
        }
    }
    assert_eq!(combinations, 48 * 15);
}

/// windows_high_resolution_timer.txt says "safe if freqs not within 5% (i.e. it doesn't use TSC)". Its own code treats exactly 5% as safe.
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
        // windows_high_resolution_timer.txt says "PIT and PMT are safe", whatever the CPU's rate. A rate that is off by 1 Hz is not
        // recognised.
        (1_193_182, 1_193_182, true),
        (3_579_545, 3_579_545, true),
        (1_193_182, 0, true),
        (3_579_545, 0, true),
        (1_193_183, 1_193_182, false),
        // The document says "can't decide yet - assume unsafe".
        (3_579_544, 0, false),
        (14_318_180, 0, false),
    ] {
        let counter = pc::performance_counter(hz);
        let verdict = Verdict::assess(Some(&counter), &environment(cpu_hz, 1, false), Default);
        let expected = match (safe, cpu_hz) {
            (true, _) => Verdict::Safe,
            (false, 0) => Verdict::Unsafe(Reason::CpuClockUnknown),
            (false, _) => Verdict::Unsafe(Reason::CpuClock(hz, cpu_hz)),
        };
        assert_eq!(verdict, expected, "{hz} Hz, CPU {cpu_hz} Hz");
    }
}

/// Tests the rate, the step and the width of all sources in windows_high_resolution_timer.txt, which says: "These are hardware
/// counters", "a variable incremented every clock interrupt", "32 KHz oscillator; ... programmable 2^n divisor".
#[test]
fn the_sources_of_a_pc() {
    for (source, hz, step, width) in [
        (pc::tsc(GHZ), GHZ, 1, 64),
        (pc::performance_counter(1_193_182), 1_193_182, 1, 64),
        (pc::performance_counter(3_579_545), 3_579_545, 1, 24),
        (pc::tick_counter(1), 1000, 1, 32),
        (pc::tick_counter(15), 1000, 15, 32),
        (pc::rtc(0), 32_768, 1, 64),
        (pc::rtc(5), 1024, 1, 64),
        (pc::rtc(15), 1, 1, 64),
    ] {
        let facts = (source.hz, source.step, source.width.bits());
        assert_eq!(facts, (hz, step, width), "{}", source.name);
    }
    assert_eq!(pc::rtc(16).hz, 0);
    // windows_high_resolution_timer.txt gives this "order of preference (due to resolution and speed)". The sources that the document
    // does not rank come last.
    let ranking = [
        pc::tsc(GHZ),
        pc::performance_counter(3_579_545),
        pc::tick_counter(1),
        pc::tick_counter(10),
        pc::rtc(0),
    ]
    .map(|of| (of.name, of.rating));
    let names = ["TSC", "QPC", "tick counter", "tick counter", "RTC"];
    assert!(ranking.into_iter().eq(names.into_iter().zip([300, 200, 50, 25, 10])));
}

/// Slow sources, such as tick counters and real-time clocks of 1 Hz to 32,768 Hz, work as well as other sources.
#[test]
fn slow_sources_keep_the_time() {
    let tick_counters = [1, 10, 15].map(pc::tick_counter);
    for description in tick_counters.into_iter().chain([0, 5, 15].map(pc::rtc)) {
        let world = World::default();
        let counter = Counter::described(&world, description);
        counter.cost.set(0);
        let environment = environment(0, 64, true);
        let keeper = Timekeeper::new([Candidate::new(&counter)], &environment, strand(0)).unwrap();
        let step = description.step * SECOND / description.hz;
        for _ in 0..1000 {
            world.pass(86_399_700 * MILLISECOND);
            let time = keeper.time(strand(0)).unwrap();
            assert!(world.now() - time <= step, "{description:?}");
        }
    }
}

/// windows_high_resolution_timer.txt says: "TGT falls behind over time due to delayed or lost clock interrupts". A tick counter can lose
/// time but not gain time. If it is behind another source, the tick counter is therefore wrong, whichever source is chosen.
#[test]
fn a_tick_counter_that_loses_interrupts_is_replaced() {
    for other in [Description { rating: 300, ..perfect() }, Description { rating: 1, ..perfect() }]
    {
        let world = World::default();
        let counters =
            [pc::tick_counter(1), other].map(|description| Counter::described(&world, description));
        let candidates = counters.each_ref().map(Candidate::new);
        let keeper = Timekeeper::new(candidates, &environment(0, 1, false), strand(0)).unwrap();
        let mut watchdog = Watchdog::new(Limits::default());
        assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Begun);
        for _ in 0..100 {
            world.pass(SECOND);
            assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Agrees);
        }
        // The tick counter loses 5 ms once.
        counters[0].jump(-5);
        world.pass(SECOND);
        let demoted = Finding::Demoted { source: 0, fault: Fault::Slow, chosen: 1 };
        assert_eq!(watchdog.check(&keeper, strand(0)), demoted);
        assert!(keeper.time(strand(0)).unwrap().abs_diff(world.now()) < 2 * MILLISECOND);
        // After a minute without an error, the tick counter is trusted again.
        for _ in 0..59 {
            world.pass(SECOND);
            assert_eq!(watchdog.check(&keeper, strand(0)), Finding::NoReference);
        }
        world.pass(2 * SECOND);
        assert_eq!(watchdog.check(&keeper, strand(0)), Finding::Restored { source: 0 });
    }
}

fn perfect() -> Description {
    description(63, GHZ, 1)
}
