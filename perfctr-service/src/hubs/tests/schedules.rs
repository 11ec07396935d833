//! Who has a hub next: the gate of a hub, one ask at a time, and the two bounds on progress that
//! `gate` states.
//!
//! - b: a refused strand that goes on asking is served after at most N - 1 accesses of others.
//! - r: a strand that has gone after it was refused costs the others at most 2w refusals, once, w being the number of
//!   strands remembered.

extern crate std;

use std::collections::{BTreeMap, BTreeSet};
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::super::gate::Gate;
use super::{Release, ask, call, strand};

/// What a strand's ask came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The access is in flight.
    Granted,
    /// Another one is.
    Taken,
    /// The hub is free, but it is another strand's turn.
    Turn,
}

/// The gate as its documentation has it, for one ask at a time, and the accounts of both bounds.
#[derive(Default)]
struct Model {
    holder: Option<usize>,
    remembered: BTreeSet<usize>,
    turn: Option<usize>,
    refusals: usize,
    last: Option<usize>,
    /// Per refused strand: what has happened since.
    waiting: BTreeMap<usize, Waiting>,
    /// Who was waiting when the access in flight was granted.
    passed_over: Vec<usize>,
}

/// Since a strand was refused.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Accesses that others were granted.
    accesses_of_others: usize,
    /// Asks of others since it last asked itself.
    asks_of_others: usize,
    /// The fewest strands that were remembered since it last asked.
    fewest: usize,
    /// It has always asked again within r = 2w asks of the others.
    keeps_asking: bool,
}

impl Waiting {
    fn new(remembered: usize) -> Self {
        Self {
            accesses_of_others: 0,
            asks_of_others: 0,
            fewest: remembered,
            keeps_asking: true,
        }
    }
}

impl Model {
    fn ask(&mut self, strand: usize) -> Answer {
        let answer = self.answer(strand);
        self.account(strand, answer);
        answer
    }

    fn answer(&mut self, strand: usize) -> Answer {
        if self.holder.is_some() {
            self.remembered.insert(strand);
            return Answer::Taken;
        }
        if self.remembered.is_empty() {
            self.holder = Some(strand);
            return Answer::Granted;
        }
        self.remembered.insert(strand);
        let mut turn = self.turn.unwrap_or_else(|| self.next());
        if turn != strand && self.refusals == 2 * self.remembered.len() {
            self.end_turn(turn);
            turn = self.next();
        }
        self.turn = Some(turn);
        if turn == strand {
            self.end_turn(strand);
            self.holder = Some(strand);
            return Answer::Granted;
        }
        self.refusals += 1;
        Answer::Turn
    }

    /// The first remembered strand behind the last turn, cyclically.
    fn next(&self) -> usize {
        let behind = |strand: &&usize| self.last.is_none_or(|last| **strand > last);
        let first = self.remembered.iter().find(behind);
        *first.or(self.remembered.first()).unwrap()
    }

    fn end_turn(&mut self, strand: usize) {
        self.remembered.remove(&strand);
        (self.turn, self.last, self.refusals) = (None, Some(strand), 0);
    }

    fn release(&mut self) -> usize {
        self.holder.take().unwrap()
    }

    fn give_back(&mut self) -> usize {
        let strand = self.release();
        self.remembered.insert(strand);
        (self.turn, self.refusals) = (Some(strand), 0);
        // There was no access after all.
        for other in &self.passed_over {
            if let Some(waiting) = self.waiting.get_mut(other) {
                waiting.accesses_of_others -= 1;
            }
        }
        self.waiting
            .insert(strand, Waiting::new(self.remembered.len().max(2)));
        strand
    }

    fn account(&mut self, strand: usize, answer: Answer) {
        let w = self.remembered.len().max(2);
        for (other, waiting) in &mut self.waiting {
            if *other == strand {
                waiting.asks_of_others = 0;
                waiting.fewest = w;
            } else {
                waiting.accesses_of_others += usize::from(answer == Answer::Granted);
                waiting.asks_of_others += 1;
                waiting.fewest = waiting.fewest.min(w);
                waiting.keeps_asking &= waiting.asks_of_others <= 2 * waiting.fewest;
            }
        }
        if answer == Answer::Granted {
            self.waiting.remove(&strand);
            self.passed_over = self.waiting.keys().copied().collect();
        } else {
            self.waiting.entry(strand).or_insert(Waiting::new(w));
        }
    }

    /// The first bound, for a gate that `strands` strands use.
    fn check_b(&self, strands: usize, told: &dyn core::fmt::Debug) {
        for (strand, waiting) in &self.waiting {
            assert!(
                !waiting.keeps_asking || waiting.accesses_of_others < strands,
                "strand {strand} waits: {waiting:?} of {strands} strands, after {told:?}"
            );
        }
    }
}

/// A gate and the model, asked the same.
struct Both {
    gate: Gate,
    model: Model,
    /// How the last access ends.
    release: Option<Release>,
}

impl Both {
    fn new() -> Self {
        Self {
            gate: Gate::new(),
            model: Model::default(),
            release: None,
        }
    }

    fn ask(&mut self, number: usize, told: &dyn core::fmt::Debug) -> Answer {
        let free = self.model.holder.is_none();
        let nobody_waits = self.model.waiting.keys().all(|other| *other == number);
        let expected = self.model.ask(number);
        let asked = ask(&self.gate, number).ok();
        let granted = asked.is_some();
        self.release = asked.or(self.release);
        assert_eq!(granted, expected == Answer::Granted, "{told:?}");
        assert!(free || !granted, "a second access in flight: {told:?}");
        // Whoever is refused at a free hub is refused on behalf of a strand that waits.
        assert!(!(free && nobody_waits) || granted, "{told:?}");
        expected
    }

    fn release(&mut self) {
        self.model.release();
        self.release.unwrap()(&self.gate);
    }

    fn give_back(&mut self) {
        self.gate.give_back(strand(self.model.give_back()));
    }

    /// Every strand but this one has gone. It is refused for each of them at most r times, then never again.
    fn alone(&mut self, number: usize, told: &dyn core::fmt::Debug) {
        if self.model.holder.is_some() {
            self.release();
        }
        let gone = self
            .model
            .remembered
            .iter()
            .filter(|other| **other != number);
        // When it is refused for the first of g gone strands, w = g + 1 are remembered, and then one less each.
        let most: usize = (2..=gone.count() + 1).map(|w| 2 * w).sum();
        let mut refusals = 0;
        for _ in 0..most + 20 {
            match self.ask(number, told) {
                Answer::Granted => self.release(),
                _ => refusals += 1,
            }
        }
        assert!(
            refusals <= most,
            "{refusals} refusals, not {most}: {told:?}"
        );
        for _ in 0..3 {
            assert!(
                self.gate.take_free(strand(number)),
                "not forgotten: {told:?}"
            );
            self.gate.release_free();
        }
    }
}

/// Plays asks; each granted access is in flight while the next `length` asks come, or until its own strand asks again.
fn play(schedule: &[usize], length: usize, strands: usize) -> Both {
    let mut both = Both::new();
    let mut left = 0_usize;
    for number in schedule {
        if both.model.holder.is_some() && (left == 0 || both.model.holder == Some(*number)) {
            both.release();
        }
        left = left.saturating_sub(1);
        if both.ask(*number, &schedule) == Answer::Granted {
            left = length;
        }
        both.model.check_b(strands, &schedule);
    }
    both
}

/// Calls `each` for every schedule of so many asks of strands 0 to `strands`.
fn every_schedule(strands: usize, asks: u32, mut each: impl FnMut(&[usize])) -> u64 {
    let mut schedule = vec![0; asks as usize];
    let count = (strands as u64).pow(asks);
    for number in 0..count {
        let mut rest = number as usize;
        for place in &mut schedule {
            (*place, rest) = (rest % strands, rest / strands);
        }
        each(&schedule);
    }
    count
}

#[test]
fn every_small_schedule() {
    let mut count = 0;
    for (strands, asks, length) in [
        (2, 12, 1),
        (2, 12, 2),
        (3, 10, 1),
        (3, 10, 2),
        (4, 8, 1),
        (4, 8, 3),
    ] {
        count += every_schedule(strands, asks, |schedule| {
            let mut both = play(schedule, length, strands);
            both.alone(schedule[0], &schedule);
        });
    }
    assert!(count >= 200_000);
}

/// Asks and answers, written out: `+` granted, `-` refused. Each ask is `strand answer`; `.` ends the access in flight,
/// `!` ends it because the chip was busy.
fn written_out(lines: &str) {
    let gate = Gate::new();
    let mut holder: Option<(usize, Release)> = None;
    for (number, step) in lines.split_whitespace().enumerate() {
        match step {
            "." => holder.take().unwrap().1(&gate),
            "!" => gate.give_back(strand(holder.take().unwrap().0)),
            _ => {
                let (asks, answer) = step.split_at(step.len() - 1);
                let asks = asks.parse().unwrap();
                let asked = ask(&gate, asks).ok();
                let granted = asked.is_some();
                assert_eq!(granted, answer == "+", "step {number}: {step} of {lines}");
                holder = asked.map(|release| (asks, release)).or(holder);
            }
        }
    }
}

#[test]
fn one_strand_is_never_refused() {
    written_out("7+ . 7+ . 7+ . 255+ . 0+ .");
}

#[test]
fn a_refused_strand_is_next() {
    // 2 holds, 1 is refused. 2 comes back at once, and is refused on behalf of 1, the first in order.
    written_out("2+ 1- . 2- 2- 1+ . 2+ . 1+ .");
}

#[test]
fn turns_go_round_by_strand_number() {
    written_out("9+ 200- 3- 64- . 9- 200- 64- 3+ . 3- 64- 9+ . 200- 64+ . 200+ . 3+ .");
}

/// Two strands remembered: r = 4.
#[test]
fn a_strand_that_asks_within_r_is_served() {
    written_out("2+ 1- . 2- 2- 2- 2- 1+ .");
}

#[test]
fn a_strand_that_has_gone_costs_r_refusals_once() {
    written_out("2+ 1- . 2- 2- 2- 2- 2+ . 2+ . 2+ . 1+ . 2+ .");
}

/// Three strands remembered: r = 6, shared by the two that are refused. The second gone strand costs 4.
#[test]
fn strands_that_have_gone_are_forgotten_one_by_one() {
    written_out("3+ 1- 2- . 3- 3- 3- 3- 3- 3- 3- 3- 3- 3- 3+ . 3+ .");
    written_out("3+ 1- 4- . 3- 4- 3- 4- 3- 4- 3+ . 4+ . 3+ .");
}

/// The chip was busy after all: the strand keeps its turn, and others wait r refusals for it.
#[test]
fn a_busy_chip_keeps_the_turn() {
    written_out("5+ ! 1- 1- 5+ . 1+ .");
    written_out("5+ ! 5+ ! 5+ . 5+ .");
    written_out("5+ ! 1- 1- 1- 1- 1+ . 1+ . 5+ .");
}

/// All strands of the largest machine spin in turn: each is served once in every round of 256 accesses.
#[test]
fn a_full_machine_is_served_round_robin() {
    let gate = Gate::new();
    let release = ask(&gate, 0).unwrap();
    for number in 1..256 {
        assert!(ask(&gate, number).is_err());
    }
    release(&gate);
    let mut served = Vec::new();
    while served.len() < 3 * 256 {
        for number in 0..256 {
            if call(&gate, number) {
                served.push(number);
            }
        }
    }
    for round in served.chunks(256) {
        let all: BTreeSet<usize> = round.iter().copied().collect();
        assert_eq!(all.len(), 256, "some strand twice before another once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random strands of all 256, accesses of random length, chips that are busy now and then.
    #[test]
    fn random_schedules(
        strands in prop::collection::btree_set(0_usize..256, 2..9),
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..10), 1..300),
    ) {
        let strands: Vec<usize> = strands.into_iter().collect();
        let mut both = Both::new();
        for (index, what) in &steps {
            let number = strands[index.index(strands.len())];
            match (both.model.holder, what) {
                (Some(_), 0..=3) => both.release(),
                (Some(_), 4) => both.give_back(),
                (Some(holder), _) if holder == number => both.release(),
                _ => {
                    both.ask(number, &"a random schedule");
                }
            }
            both.model.check_b(strands.len(), &"a random schedule");
        }
        both.alone(strands[0], &"a random schedule");
    }
}
