//! A strand dies, or stops, at each step of a gate, and another strand acts at each step before that.

extern crate std;

use std::rc::Rc;

use hv_core::sync::steps;

use super::super::gate::{Gate, Refused};
use super::{ask, call, strand};

const DIES: usize = 70;
const OTHER: usize = 7;
const GONE: usize = 200;

/// The same, but the chip is busy.
fn call_of_busy_chip(gate: &Gate, number: usize) {
    if ask(gate, number).is_ok() {
        gate.give_back(strand(number));
    }
}

type Act = fn(&Gate);

/// What happened before: nothing; the strand that dies was refused and waits for its turn, or the other does, or both; or
/// a third does, which has gone.
const BEFORE: [Act; 6] = [
    |_| (),
    |gate| {
        let release = ask(gate, OTHER).unwrap();
        assert!(!call(gate, DIES));
        release(gate);
    },
    |gate| {
        let release = ask(gate, DIES).unwrap();
        assert!(!call(gate, OTHER));
        release(gate);
    },
    |gate| {
        let release = ask(gate, GONE).unwrap();
        assert!(!call(gate, OTHER) && !call(gate, DIES));
        release(gate);
    },
    |gate| {
        let release = ask(gate, OTHER).unwrap();
        assert!(!call(gate, GONE));
        release(gate);
    },
    |gate| call_of_busy_chip(gate, DIES),
];

/// What the strand does that dies: a call, or a call that finds the chip busy.
const DYING: [Act; 2] = [
    |gate| {
        call(gate, DIES);
    },
    |gate| call_of_busy_chip(gate, DIES),
];

/// The strand is dead, and that is known. The other is served, and not refused but for r = 2w = 4 times on behalf of a strand that has
/// gone. Nobody is left behind, and both bounds hold for the strand when it is back.
fn goes_on(gate: &Gate, gone: bool, told: &dyn core::fmt::Debug) {
    let most = if gone { 4 } else { 0 };
    let refused = (0..8).filter(|_| !call(gate, OTHER)).count();
    assert!(refused <= most, "{refused} refusals: {told:?}");
    assert!(gate.take_free(strand(OTHER)), "closed: {told:?}");
    assert!(!call(gate, DIES), "{told:?}");
    gate.release_free();
    // In r = 4 asks of the other, at most b = 1 access is its own; then it is the turn of the strand that is back.
    let accesses = (0..4).filter(|_| call(gate, OTHER)).count();
    assert!(accesses <= 1, "{accesses} accesses: {told:?}");
    assert!(call(gate, DIES) && call(gate, OTHER), "{told:?}");
    assert!(gate.take_free(strand(OTHER)), "closed: {told:?}");
}

#[test]
fn at_each_step_of_a_gate() {
    let mut deaths = 0;
    for (number, before) in BEFORE.into_iter().enumerate() {
        for (dying, dies) in DYING.into_iter().enumerate() {
            // The other makes a call before the step `meets`, and the strand dies before the step `step` of its own.
            for step in 0.. {
                let mut died = false;
                for meets in 0..=step {
                    let gate = Rc::new(Gate::new());
                    before(&gate);
                    let other = Rc::clone(&gate);
                    let acts = move || {
                        call(&other, OTHER);
                    };
                    let lived = steps::die_at(step, || steps::before(meets, acts, || dies(&gate)));
                    died |= lived.is_none();
                    gate.abandon(strand(DIES));
                    goes_on(&gate, number == 4, &(number, dying, step, meets));
                    deaths += usize::from(lived.is_none());
                }
                if !died {
                    break;
                }
            }
        }
    }
    assert!(deaths > 1_000, "{deaths}");
}

/// A strand has died at some step of its ask, and two strands report that: one of them at any step of the other's report, and then
/// it takes the hub, which stays its own.
#[test]
fn a_death_that_is_reported_twice() {
    let mut reports = 0;
    for dies in 0.. {
        let mut died = false;
        for step in 0.. {
            let gate = Rc::new(Gate::new());
            BEFORE[1](&gate);
            died = steps::die_at(dies, || ask(&gate, DIES)).is_none();
            let other = Rc::clone(&gate);
            let reports_and_asks = move || {
                other.abandon(strand(DIES));
                assert!(ask(&other, OTHER).is_ok());
            };
            let second = || gate.abandon(strand(DIES));
            if !died || !steps::before(step, reports_and_asks, second).1 {
                break;
            }
            reports += 1;
            let third = ask(&gate, GONE).err();
            assert_eq!(third, Some(Refused::Taken), "dies {dies}, step {step}");
        }
        if !died {
            break;
        }
    }
    assert!(reports > 100, "{reports}");
}

/// A strand has died with the lock. Another that asks is refused at once, and remembered: its ask takes no more than 30 operations.
#[test]
fn a_strand_that_dies_in_the_lock() {
    let mut deaths = 0;
    for step in 0.. {
        let gate = Rc::new(Gate::new());
        BEFORE[1](&gate);
        if steps::die_at(step, || ask(&gate, DIES)).is_some() {
            break;
        }
        if gate.is_kept_by(strand(DIES)) && !gate.is_held_by(strand(DIES)) {
            let asked = steps::die_at(30, || ask(&gate, OTHER).err());
            assert_eq!(asked, Some(Some(Refused::Locked)), "step {step}");
            gate.abandon(strand(DIES));
            assert!(!gate.take_free(strand(GONE)), "the other is remembered");
            goes_on(&gate, false, &step);
            deaths += 1;
        }
    }
    assert!(deaths > 5, "{deaths}");
}

/// A strand has died with the lock before it closed the fast path, and another has the hub. A third that asks does not try for the lock:
/// it is refused because of the access.
#[test]
fn a_strand_that_finds_the_hub_taken() {
    let gate = Rc::new(Gate::new());
    let dies = steps::die_at(2, || gate.ask(strand(DIES), || ()));
    assert!(dies.is_none() && gate.is_kept_by(strand(DIES)));
    let end = ask(&gate, OTHER).unwrap();
    assert_eq!(ask(&gate, GONE).err(), Some(Refused::Taken));
    end(&gate);
}

/// While a strand is refused on behalf of another, at each step of that all turns go round, and the same strand's turn comes with as
/// many refusals. Whoever was refused is remembered all the same.
#[test]
fn a_refusal_that_a_round_of_turns_overtakes() {
    const ASKS: usize = 3;
    const TURN: usize = 50;
    const OTHER: usize = 90;
    /// The turn is that of `TURN`, and `OTHER` has been refused once on its behalf.
    fn turn(gate: &Gate) {
        if let Ok(release) = ask(gate, OTHER) {
            call(gate, TURN);
            release(gate);
            call(gate, OTHER);
        }
    }
    for step in 0.. {
        let gate = Rc::new(Gate::new());
        turn(&gate);
        let round = {
            let gate = Rc::clone(&gate);
            move || {
                // Both are served, `ASKS` is forgotten after r = 4 refusals, and `OTHER` is served again.
                call(&gate, TURN);
                for _ in 0..6 {
                    call(&gate, OTHER);
                }
                turn(&gate);
            }
        };
        let (asked, came) = steps::before(step, round, || ask(&gate, ASKS));
        assert!(asked.is_err(), "step {step}");
        call(&gate, TURN);
        call(&gate, OTHER);
        assert!(!gate.take_free(strand(OTHER)), "forgotten, step {step}");
        if !came {
            assert!(step >= 10, "{step}");
            break;
        }
    }
}
