//! Tests refusals and deaths that need no decision about the turn. In most tests, strands 1 and 2 wait, and strand 1 has the turn.

use std::rc::Rc;

use hv_core::sync::steps;

use super::super::atomic_turns::AtomicTurns;
use super::super::gate::{Gate, Refused};
use super::super::turns::{Answer, HubEvent};
use super::strand;

/// Returns turns in which strand 1 has the turn, and strand 2 has been refused once in this turn.
fn turns() -> AtomicTurns {
    let turns = AtomicTurns::new();
    turns.remember(strand(1));
    turns.remember(strand(2));
    let answer = turns.decide(HubEvent::AsksFree(strand(2)));
    assert_eq!(answer, Answer::Refused);
    turns
}

/// Returns how many times strand 2 is refused until a refusal needs a decision about the turn.
fn refusals(turns: &AtomicTurns) -> usize {
    (0..100).take_while(|_| turns.refuse(strand(2))).count()
}

/// The limit is r = 2w refusals, where w is the number of waiting strands: 2, or 3 with a new strand.
#[test]
fn strands_are_refused_without_a_decision_until_the_turn_ends() {
    assert!(!AtomicTurns::new().refuse(strand(2)), "nobody waits");
    let turns = turns();
    assert!(!turns.refuse(strand(1)), "it is its turn");
    assert_eq!(refusals(&turns), 4 - 1);
    assert!(turns.refuse(strand(3)), "it is remembered, and so w is 3");
    assert_eq!(refusals(&turns), 6 - 5);
    assert_eq!(turns.decide(HubEvent::AsksFree(strand(2))), Answer::Served);
    assert_eq!(turns.decide(HubEvent::AsksFree(strand(3))), Answer::Served);
    assert!(turns.is_empty());
}

#[test]
fn nobody_is_refused_in_a_decision() {
    let turns = turns();
    let decide = || turns.decide(HubEvent::AsksFree(strand(2)));
    assert!(steps::die_at(1, decide).is_none());
    assert!(!turns.refuse(strand(2)) && !turns.refuse(strand(3)));
}

#[test]
fn refusals_that_cross_are_counted() {
    for step in 0.. {
        let turns = Rc::new(turns());
        let other = Rc::clone(&turns);
        let crosses = move || assert!(other.refuse(strand(4)));
        let (refused, crossed) = steps::interleave_at(step, crosses, || turns.refuse(strand(3)));
        assert!(refused, "{step}");
        let waiting = if crossed { 4 } else { 3 };
        assert_eq!(refusals(&turns), 2 * waiting - (waiting - 1), "{step}");
        if !crossed {
            break;
        }
    }
}

/// A strand that dies and comes back gets a new turn.
#[test]
fn a_death_ends_the_turn() {
    let turns = turns();
    turns.died(strand(1));
    turns.remember(strand(1));
    let answer = turns.decide(HubEvent::AsksFree(strand(2)));
    assert_eq!((answer, refusals(&turns)), (Answer::Refused, 4 - 1));
}

#[test]
fn one_of_two_is_served() {
    for step in 0.. {
        let gate = Rc::new(Gate::new());
        let served = Rc::new(core::cell::Cell::new(false));
        let (other, its) = (Rc::clone(&gate), Rc::clone(&served));
        let crosses = move || its.set(other.ask(strand(7), || ()).is_ok());
        let (asked, crossed) = steps::interleave_at(step, crosses, || gate.ask(strand(3), || ()));
        assert_ne!(asked.is_ok(), served.get(), "{step}");
        assert!(gate.entered() == 1 || asked == Err(Refused::Taken));
        if !crossed {
            break;
        }
    }
    let gate = Gate::new();
    for entered in 0..3 {
        assert_eq!(gate.entered(), entered);
        assert_eq!(gate.ask(strand(3), || ()), Ok(()));
        gate.release();
    }
}
