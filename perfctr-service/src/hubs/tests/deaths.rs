//! A strand dies or stops at each step of a call that asks for a hub, and another strand acts at each earlier step.

use std::rc::Rc;

use hv_core::sync::steps;

use super::super::gate::{Gate, Refused};
use super::{ask, call, strand};

const DIES: usize = 70;
const OTHER: usize = 7;
const GONE: usize = 200;

fn call_of_busy_chip(gate: &Gate, number: usize) {
    if ask(gate, number).is_ok() {
        gate.release_and_keep_turn(strand(number));
    }
}

/// Strand `served` performs an access. Meanwhile the gate refuses the strands in `refused`.
fn refuse(gate: &Gate, served: usize, refused: &[usize]) {
    let release = ask(gate, served).unwrap();
    assert!(refused.iter().all(|number| !call(gate, *number)));
    release.end(gate);
}

type Act = fn(&Gate);

/// The events before the call, in six cases: no event; a refusal of the dying strand; a refusal of the other strand; refusals of both
/// strands; a refusal of a third strand, which does not ask again; a busy chip.
const BEFORE: [Act; 6] = [
    |_| (),
    |gate| refuse(gate, OTHER, &[DIES]),
    |gate| refuse(gate, DIES, &[OTHER]),
    |gate| refuse(gate, GONE, &[OTHER, DIES]),
    |gate| refuse(gate, OTHER, &[GONE]),
    |gate| call_of_busy_chip(gate, DIES),
];

const DYING: [Act; 2] = [|gate| _ = call(gate, DIES), |gate| call_of_busy_chip(gate, DIES)];

/// Checks that, once the death is reported, every strand is served within the two bounds that `turns` states. If `gone`, a third strand was
/// refused and never asks again. That strand's turn then lasts for r = 2w = 4 refusals of others, because w = 2 strands are remembered.
fn check_recovery(gate: &Gate, gone: bool, case: &dyn core::fmt::Debug) {
    let most = if gone { 4 } else { 0 };
    let refused = (0..8).filter(|_| !call(gate, OTHER)).count();
    assert!(refused <= most, "{refused} refusals: {case:?}");
    assert!(gate.try_take_fast(strand(OTHER)), "closed: {case:?}");
    assert!(!call(gate, DIES), "{case:?}");
    gate.release_fast();
    // In its next r = 4 asks, the other strand is served at most b = 1 times. Then the strand that has come back has its turn.
    let accesses = (0..4).filter(|_| call(gate, OTHER)).count();
    assert!(accesses <= 1, "{accesses} accesses: {case:?}");
    assert!(call(gate, DIES) && call(gate, OTHER), "{case:?}");
    assert!(gate.try_take_fast(strand(OTHER)), "closed: {case:?}");
}

#[test]
fn at_each_step_of_a_gate() {
    let mut deaths = 0;
    for (number, before) in BEFORE.into_iter().enumerate() {
        for (dying, dies) in DYING.into_iter().enumerate() {
            // The other strand makes a call before the dying strand's step `meets`. The dying strand dies before its step `step`.
            for step in 0.. {
                let mut died = false;
                for meets in 0..=step {
                    let gate = Rc::new(Gate::new());
                    before(&gate);
                    let other = Rc::clone(&gate);
                    let acts = move || _ = call(&other, OTHER);
                    let lived =
                        steps::die_at(step, || steps::interleave_at(meets, acts, || dies(&gate)));
                    died |= lived.is_none();
                    gate.abandon(strand(DIES));
                    check_recovery(&gate, number == 4, &(number, dying, step, meets));
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

/// Two strands report the same death. At each step of the first strand's report, the second strand makes its whole report and takes the
/// hub. The rest of the first report must not release the hub.
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
            if !died || !steps::interleave_at(step, reports_and_asks, second).1 {
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

/// A strand has died while it owned the lock. Another strand that asks is refused within 30 operations, and is remembered.
#[test]
fn a_strand_that_dies_in_the_lock() {
    let mut deaths = 0;
    for step in 0.. {
        let gate = Rc::new(Gate::new());
        BEFORE[1](&gate);
        if steps::die_at(step, || ask(&gate, DIES)).is_some() {
            break;
        }
        if gate.is_blocked_by(strand(DIES)) && !gate.is_held_by(strand(DIES)) {
            let asked = steps::die_at(30, || ask(&gate, OTHER).err());
            assert_eq!(asked, Some(Some(Refused::Locked)), "step {step}");
            gate.abandon(strand(DIES));
            assert!(!gate.try_take_fast(strand(GONE)), "the other is remembered");
            check_recovery(&gate, false, &step);
            deaths += 1;
        }
    }
    assert!(deaths > 5, "{deaths}");
}

/// A strand has died while it owned the lock, before it closed the fast path. A second strand has the hub. A third strand asks, and does
/// not try the lock.
#[test]
fn a_strand_that_finds_the_hub_taken() {
    let gate = Rc::new(Gate::new());
    let dies = steps::die_at(2, || gate.ask(strand(DIES), || ()));
    assert!(dies.is_none() && gate.is_blocked_by(strand(DIES)));
    let end = ask(&gate, OTHER).unwrap();
    assert_eq!(ask(&gate, GONE).err(), Some(Refused::Taken));
    end.end(&gate);
}

/// At one step of a refusal, all strands get turns until the strand that had the turn has it again, with the same number of refusals.
/// Afterwards, the gate must still remember the refused strand. The test does this at each step.
#[test]
fn a_refusal_that_a_round_of_turns_overtakes() {
    const ASKS: usize = 3;
    const TURN: usize = 50;
    const OTHER: usize = 90;
    /// Begins the turn of strand `TURN`, and refuses `OTHER` once.
    fn turn(gate: &Gate) {
        if let Ok(release) = ask(gate, OTHER) {
            call(gate, TURN);
            release.end(gate);
            call(gate, OTHER);
        }
    }
    for step in 0.. {
        let gate = Rc::new(Gate::new());
        turn(&gate);
        let round = {
            let gate = Rc::clone(&gate);
            move || {
                // `TURN` and then `OTHER` are served. The gate forgets `ASKS` after r = 4 refusals, and serves `OTHER` again.
                call(&gate, TURN);
                for _ in 0..6 {
                    call(&gate, OTHER);
                }
                turn(&gate);
            }
        };
        let (asked, came) = steps::interleave_at(step, round, || ask(&gate, ASKS));
        assert!(asked.is_err(), "step {step}");
        call(&gate, TURN);
        call(&gate, OTHER);
        assert!(!gate.try_take_fast(strand(OTHER)), "forgotten, step {step}");
        if !came {
            assert!(step >= 10, "{step}");
            break;
        }
    }
}
