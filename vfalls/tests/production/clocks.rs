//! Tests how the hypervisor compares the machine's clocks, and how it keeps the guests' time of day.

use perfctr_service::mailbox::Step;
use platform::memory_map::start::{CLOCKS, TIME};
use simulator::execute::Limits;
use simulator::machine::clocks::{Change, Clock, Drift};
use xtask::qemu::build::Production;

use super::lists::{Entry, REPEAT_LIST, fast};
use super::{Booted, Guest, strand};

/// [`CPU_YIELD`] waits for an interrupt. [`TOD_GET`] reads the time of day, and [`TOD_SET`] sets
/// it.
const CPU_YIELD: Entry = fast(0x12, 0, 0);
const TOD_GET: Entry = fast(0x50, 0, 9);
const TOD_SET: u64 = 0x51;

const EINVAL: u64 = 6;

/// The time at which the machine is switched on, in seconds since 1970.
const ON: u64 = 1_790_000_000;

/// The period of the checks in nanoseconds. [`CYCLES`] is the same period in T5440 cycles.
const PERIOD: u64 = 10_000_000;
const CYCLES: u64 = 11_653_793;

const STICK: Clock = Clock::Stick(None);
const TICK: Clock = Clock::Tick(None);

/// Returns a booted machine. Its hypervisor compares the clocks if `compares` is `true`. Guest 0
/// has strands 0 and 8, and guest 1 has strand 64. All strands wait for interrupts. After each
/// interrupt, strand 64 reads the time of day.
fn machine(compares: bool) -> Booted {
    let guests = [Guest::with_lists(&[0, 8], "strand"), Guest::with_lists(&[64], "strand")];
    let mut booted = Booted::new(Production::Shipped, &guests);
    booted.0.load(TIME, &ON.to_be_bytes()).unwrap();
    if compares {
        booted.0.load(CLOCKS, &(PERIOD / 1000).to_be_bytes()).unwrap();
    }
    booted.list(0, 0, &[CPU_YIELD, REPEAT_LIST]);
    booted.list(0, 1, &[CPU_YIELD, REPEAT_LIST]);
    booted.list(1, 0, &[TOD_GET, CPU_YIELD, REPEAT_LIST]);
    booted
}

/// Returns a [machine] that has compared the clocks five times.
fn compared() -> Booted {
    let mut booted = machine(true);
    pass(&mut booted, 5);
    booted
}

/// Runs the machine for this number of check periods.
fn pass(booted: &mut Booted, periods: u64) {
    let until = booted.0.now() + periods * CYCLES;
    booted.0.run(Limits { cycles: until, ..Limits::NONE });
}

const fn is_no_longer_trusted(clock: Clock) -> &'static str {
    match clock {
        Clock::Stick(_) => "the clock %stick is not trusted any more",
        Clock::Tick(_) => "the clock %tick is not trusted any more",
        Clock::Ptimer => "the clock PTIMER is not trusted any more",
    }
}

/// Two clocks go wrong one after the other, in every order and with faults of every kind. Within two periods after the first fault, the log
/// names the bad clock and says that it is no longer trusted. After the second fault, the log says that the time is in doubt.
#[test]
#[ignore = "builds images"]
fn a_clock_that_goes_wrong_is_named() {
    let drift = |ppm| Change::Drift(Drift::new(ppm).unwrap());
    let kinds = [
        (drift(500), ["is too fast"; 2]),
        (drift(-500), ["is too slow"; 2]),
        (Change::Stop, ["stands still"; 2]),
        (Change::Jump(300_000_000), ["is too fast"; 2]),
        (Change::Jump(-300_000_000), ["went back"; 2]),
        // The clock stands still while it loses time. If a check comes in this phase, it finds that
        // the clock stands still; a later check finds that the clock is too slow.
        (Change::Lose(5_000_000), ["is too slow", "stands still"]),
    ];
    let mut ready = machine(true);
    pass(&mut ready, 40);
    assert_eq!(ready.log(), [""; 0]);
    let orders = [
        [STICK, TICK],
        [STICK, Clock::Ptimer],
        [TICK, STICK],
        [TICK, Clock::Ptimer],
        [Clock::Ptimer, STICK],
        [Clock::Ptimer, TICK],
    ];
    for (number, (kind, faults)) in kinds.into_iter().enumerate() {
        for (order, [first, second]) in orders.into_iter().enumerate() {
            let mut booted = Booted(ready.0.clone());
            booted.0.change_clock(first, kind);
            pass(&mut booted, 2);
            let log = booted.log();
            let named = is_no_longer_trusted(first);
            let is_named = |line: &String| {
                line.contains(named) && faults.iter().any(|fault| line.contains(fault))
            };
            assert!(log.iter().any(is_named), "{first:?} {kind:?}: {log:?}");
            assert_eq!(log.len(), 1, "{first:?} {kind:?}: {log:?}");
            let (next, _) = kinds[(number + order) % kinds.len()];
            booted.0.change_clock(second, next);
            pass(&mut booted, 3);
            let log = booted.log();
            assert!(
                log.iter().any(|line| line.ends_with("the time is in doubt")),
                "{second:?} {next:?}: {log:?}"
            );
        }
    }
}

/// One strand's %stick stops. This strand's watchdog finds the fault.
#[test]
#[ignore = "builds images"]
fn a_clock_of_one_strand_that_goes_wrong_is_named() {
    for number in [0, 8, 64] {
        let mut booted = compared();
        booted.0.change_clock(Clock::Stick(Some(strand(number))), Change::Stop);
        pass(&mut booted, 4);
        let said = format!(
            "warning: the clock %stick is not trusted any more: it stands still, on strand {number}; the time comes from %tick"
        );
        assert_eq!(booted.log(), [said]);
    }
}

/// Dead strands do not stop the checks of other strands.
#[test]
#[ignore = "builds images"]
fn the_checks_go_on_without_dead_strands() {
    let mut booted = compared();
    booted.0.park(strand(0));
    booted.0.park(strand(8));
    pass(&mut booted, 5);
    booted.0.change_clock(STICK, Change::Stop);
    pass(&mut booted, 4);
    let log = booted.log();
    assert!(log[0].contains("it stands still, on strand 64"), "{log:?}");
}

/// If a strand's own timer fails, other strands interrupt the strand, even if one of them is dead.
#[test]
#[ignore = "builds images"]
fn a_dead_strand_keeps_no_other_from_its_checks() {
    for (dead, number) in [(8, 64), (64, 0), (0, 8)] {
        let mut booted = compared();
        booted.0.park(strand(dead));
        pass(&mut booted, 5);
        booted.0.change_clock(Clock::Stick(Some(strand(number))), Change::Stop);
        pass(&mut booted, 5);
        let log = booted.log();
        assert!(log[0].contains(&format!("it stands still, on strand {number}")), "{log:?}");
    }
}

/// %stick has stopped on all strands, so only the PTIMER's alarm triggers checks. If the alarm is set for a strand that dies, the strand
/// that performs the operator's step continues the checks.
#[test]
#[ignore = "builds images"]
fn the_alarm_does_not_die_with_its_strand() {
    for alive in [0, 8, 64] {
        let mut booted = compared();
        booted.0.change_clock(STICK, Change::Stop);
        pass(&mut booted, 4);
        assert!(booted.log()[0].contains("the clock %stick is not trusted any more"));
        for dead in [0, 8, 64].into_iter().filter(|strand| *strand != alive) {
            booted.0.park(strand(dead));
            booted.operate(alive, &Step::Died(strand(dead)), 1_000_000);
        }
        pass(&mut booted, 4);
        booted.log();
        booted.0.change_clock(TICK, Change::Jump(-1_000_000_000));
        pass(&mut booted, 4);
        let log = booted.log();
        let named = "the clock %tick is not trusted any more: it went back";
        assert!(log.iter().any(|line| line.contains(named)), "{alive}: {log:?}");
    }
}

/// %stick jumps by five seconds. If the hypervisor compares the clocks, the guest's time of day
/// does not jump.
#[test]
#[ignore = "builds images"]
fn a_jump_does_not_stay_in_the_time_of_day() {
    for (compares, shown) in [(true, ON), (false, ON + 5)] {
        let mut booted = machine(compares);
        pass(&mut booted, 5);
        booted.0.change_clock(STICK, Change::Jump(5_000_000_000));
        pass(&mut booted, 2);
        booted.list(1, 0, &[TOD_GET, CPU_YIELD, REPEAT_LIST]);
        booted.0.heartbeat(strand(64));
        pass(&mut booted, 1);
        assert_eq!(booted.entry(1, 0, 0)[1..3], [0, shown]);
        assert_eq!(booted.log().len(), usize::from(compares));
    }
}

/// A guest that sets its time of day does not change another guest's time of day.
#[test]
#[ignore = "builds images"]
fn a_guest_sets_its_own_time_of_day() {
    for compares in [false, true] {
        let mut booted = machine(compares);
        let list = [
            (TOD_GET, 0, ON),
            (fast(TOD_SET, 1_000_000_000, 9), 0, 9),
            (TOD_GET, 0, 1_000_000_000),
            (fast(TOD_SET, 0, 9), EINVAL, 9),
            (fast(TOD_SET, u64::MAX, 9), EINVAL, 9),
            (TOD_GET, 0, 1_000_000_000),
        ];
        booted.list(0, 0, &list.map(|(entry, ..)| entry));
        booted.0.run(Limits::instructions(3_000_000));
        for (number, (entry, status, value)) in (0..).zip(list) {
            assert_eq!(booted.entry(0, 0, number)[1..3], [status, value], "{number}: {entry:x?}");
        }
        assert_eq!(booted.entry(1, 0, 0)[1..3], [0, ON]);
    }
}
