//! Tests the PTIMER and its alarm, and clocks that go wrong.

#[rustfmt::skip]
mod programs;

use guest_abi::StrandId;
use simulator::machine::clocks::{Change, Clock, Drift};

use self::programs::*;
use super::*;

/// The cycles per second.
const HZ: u128 = 1_165_379_275;

fn drift(ppm: i64) -> Change {
    Change::Drift(Drift::new(ppm).unwrap())
}

fn until(cycles: u64) -> Limits {
    Limits { cycles, ..Limits::NONE }
}

/// Returns the first cycle at which at least this many nanoseconds have passed.
fn cycle_of(nanoseconds: u128) -> u64 {
    (nanoseconds * HZ).div_ceil(1_000_000_000) as u64
}

/// Returns a machine that executes [`ALARM`] with changes. Each item of `values` has an index in [`VALUES_OF_ALARM`], and the instruction
/// to put at that place of the program.
fn alarm(values: &[(usize, u32)]) -> Execution {
    let mut program = ALARM.to_vec();
    values.iter().for_each(|(value, word)| program[VALUES_OF_ALARM[*value]] = *word);
    machine(None, &[TRAPS, NUMBER, PTIMER, &program], &[])
}

/// What a strand stores when it wakes up in [`ALARM`].
#[derive(Debug, PartialEq)]
struct Woken {
    at: u64,
    vector: u64,
    strand: u64,
    /// The register INTR before and after the acknowledgement.
    intr: [u64; 2],
}

/// Executes until the counter has started. Returns the counter's start time in nanoseconds.
fn started(execution: &mut Execution) -> u128 {
    loop {
        assert_eq!(execution.run(Limits::instructions(1)), Stop::Limit);
        let [_, after] = left(execution);
        if after != 0 {
            // The store to the register DENOMINATOR completed in the previous cycle.
            break u128::from(after - 1) * 1_000_000_000 / HZ;
        }
    }
}

fn woken(execution: &mut Execution) -> Woken {
    let [_, _, at, vector, strand, before, after] = left(execution);
    Woken { at, vector, strand, intr: [before, after] }
}

/// The crystal runs at 27 MHz, so 50 counts take 1,851.9 ns. After another 2^27 counts, the comparator matches again.
#[test]
fn the_alarm_interrupts_in_its_cycle() {
    let mut execution = alarm(&[]);
    let start = started(&mut execution);
    assert_eq!(execution.run(until(10_000)), Stop::Limit);
    let at = cycle_of(start + 1852);
    assert_eq!(woken(&mut execution), Woken { at, vector: 5, strand: 1, intr: [1, 0] });
    for wrap in 1..3 {
        let counts: u128 = 50 + (wrap << 27);
        let at = cycle_of(start + (counts * 1000).div_ceil(27));
        assert_eq!(execution.run(until(at + 1000)), Stop::Limit);
        assert_eq!(woken(&mut execution), Woken { at, vector: 5, strand: 1, intr: [1, 0] });
    }
}

#[test]
fn the_alarm_interrupts_its_target_only_if_it_may() {
    let [enabled, target, acknowledged] = [0, 1, 2];
    let mut execution = alarm(&[(target, ZERO)]);
    let at = cycle_of(started(&mut execution) + 1852);
    execution.run(until(10_000));
    assert_eq!(woken(&mut execution), Woken { at, vector: 5, strand: 0, intr: [1, 0] });
    // An interrupt wakes no strand if the interrupt is masked, or if the machine does not have the interrupt's target.
    for value in [(target, TWO_HUNDRED), (enabled, ZERO)] {
        let mut execution = alarm(&[value]);
        assert_eq!(execution.run(Limits::NONE), Stop::Ended);
        assert_eq!(woken(&mut execution), Woken { at: 0, vector: 0, strand: 0, intr: [0, 0] });
    }
    // An interrupt that is not acknowledged is not sent again.
    let mut execution = alarm(&[(acknowledged, ZERO)]);
    let at = cycle_of(started(&mut execution) + 1852);
    assert_eq!(execution.run(until(1 << 34)), Stop::Ended);
    assert_eq!(woken(&mut execution), Woken { at, vector: 5, strand: 1, intr: [1, 1] });
}

/// All PTIMER registers have 32 bits, except the interrupt target, which has 64. An access of any other size fails as it does at an address
/// without a device.
#[test]
fn the_ptimer_answers_accesses_of_its_size() {
    let handlers = [(0x07, STORE_ERROR), (0x32, DATA_ERROR)];
    let at = ACCESS.iter().position(|word| *word == 0x0100_0000).unwrap();
    let here = PROGRAM + 4 * (TRAPS.len() + PTIMER.len() + at) as u64;
    // `failed` holds the addresses that the handlers of store_error and data_access_error store.
    for (accesses, failed) in [(ANSWERED, [0, 0]), (LOADS, [0, here]), (STORES, [here + 4, 0])] {
        for access in accesses {
            let mut program = ACCESS.to_vec();
            program[at] = *access;
            let mut execution = machine(None, &[TRAPS, PTIMER, &program], &handlers);
            assert_eq!(execution.run(CYCLES), Stop::Ended);
            let [store, _, _, load, _] = left(&mut execution);
            assert_eq!([store, load], failed, "{access:#x}");
            let log = execution.log().entries();
            assert_eq!(log.len(), usize::from(load != 0), "{access:#x}: {log:?}");
        }
    }
    let mut execution =
        machine(None, &[TRAPS, PTIMER, &ACCESS[..at], &ANSWERED[..1], &ACCESS[at + 1..]], &[]);
    execution.run(CYCLES);
    let words: [u64; 5] = left(&mut execution);
    assert_eq!(words[4], 0xffff_ffe0, "ALARM_0 after reset");
}

#[test]
fn a_guest_does_not_reach_the_ptimer() {
    let handlers = [(0x3f, NOTE), (0x40, NOTE2), (0x3e, LAST)];
    let mut execution = machine(None, &[TRAPS, GUEST_START], &handlers);
    put(&mut execution, GUEST, AT_PTIMER);
    assert_eq!(execution.run(CYCLES), Stop::Ended);
    let words: [u64; 4] = left(&mut execution);
    assert_eq!(words[..2], [16, 0x1f_1100_8000], "a miss, and the page of the fetch that missed");
    assert_eq!(words[2..], [0x3f, 0x1f_1100_8000]);
}

/// The interrupt comes when the counter reaches the alarm, even if the crystal's rate changes or the counter jumps.
#[test]
fn the_alarm_follows_a_ptimer_that_goes_wrong() {
    let changed = |change: Option<Change>| {
        let mut execution = alarm(&[]);
        let start = started(&mut execution);
        let now = execution.now();
        change.iter().for_each(|change| execution.change_clock(Clock::Ptimer, *change));
        let stop = execution.run(until(20_000));
        (woken(&mut execution).at, start, now, stop)
    };
    let (right, start, now, _) = changed(None);
    // 1000 ns are 27 counts, or 1165 whole cycles.
    assert_eq!(changed(Some(Change::Jump(1000))).0, cycle_of(start + 852));
    assert_eq!(changed(Some(Change::Jump(-1000))).0, cycle_of(start + 2852));
    assert_eq!(changed(Some(Change::Lose(1000))).0, right + 1165);
    // At half the rate, the remaining time doubles. The alarm's nanosecond, 1852, ends less than a cycle before the interrupt.
    let (late, ..) = changed(Some(drift(-500_000)));
    assert!((now + 2 * (right - now - 1)..=now + 2 * (right - now)).contains(&late), "{late}");
    let (at, .., stop) = changed(Some(Change::Stop));
    assert_eq!((at, stop), (0, Stop::Ended));
    assert_eq!(changed(Some(Change::Jump(5000))).0, 0, "it jumps over the alarm");
}

/// A strand halts until its own %stick reaches 1000. The clock changes either in cycle 48, before the strand halts, or in cycle 500, during
/// the halt.
#[test]
fn timers_follow_a_clock_that_goes_wrong() {
    // Returns the time at which the strand wakes up and reads %stick, and the value that it reads.
    let woken = |parts: &[&[u32]], at, clock: Clock, change: Change| {
        let mut execution = machine(None, parts, &[]);
        let stored = Rc::new(RefCell::new(None));
        let heard = Rc::clone(&stored);
        execution.observe(Some(Box::new(move |access| {
            if access.kind == Kind::Store {
                heard.borrow_mut().get_or_insert((access.time - 1, access.value));
            }
        })));
        assert_eq!(execution.run(until(at)), Stop::Limit);
        assert!(execution.now() >= at);
        execution.change_clock(clock, change);
        execution.run(CYCLES);
        stored.take()
    };
    let alone = &[TRAPS, TIMER];
    let beside = &[NUMBER, BESIDE, TRAPS, TIMER];
    let stick = |number| Clock::Stick(StrandId::new(number));
    for clock in [stick(1), Clock::Tick(None), Clock::Ptimer] {
        let woken = woken(alone, 48, clock, Change::Stop);
        assert_eq!(woken, Some((1000, 1000)), "it is another clock");
    }
    for clock in [stick(0), Clock::Stick(None)] {
        // 1000 ns are 1165.379 cycles.
        for (change, expected) in [
            (drift(0), Some((1000, 1000))),
            (drift(-500_000), Some((48 + 2 * 952, 1000))),
            // After 634 cycles, the fast clock has counted only 951, so %stick reaches 1000 in the next cycle.
            (drift(500_000), Some((48 + 635, 1000))),
            (Change::Stop, None),
            (Change::Jump(500), Some((418, 1000))),
            (Change::Jump(1000), None),
            (Change::Jump(-1000), Some((2166, 1000))),
            (Change::Lose(1000), Some((2165, 1000))),
        ] {
            assert_eq!(woken(alone, 48, clock, change), expected, "{clock}: {change:?}");
        }
    }
    for (change, expected) in [
        (Change::Stop, None),
        (Change::Jump(100), Some((884, 1000))),
        (Change::Jump(-100), Some((1117, 1000))),
    ] {
        assert_eq!(woken(alone, 500, stick(0), change), expected, "alone: {change:?}");
        assert_eq!(woken(beside, 500, stick(4), change), expected, "beside: {change:?}");
    }
}

#[test]
fn stick_and_tick_are_set_separately() {
    let mut execution = machine(None, &[SET_CLOCKS], &[]);
    assert_eq!(execution.run(CYCLES), Stop::Ended);
    // %stick is read three cycles after it is set, and %tick two cycles after it is set.
    assert_eq!(left(&mut execution), [1003, 102]);
}
