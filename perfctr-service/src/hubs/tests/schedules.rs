//! The strands ask a hub's gate one after the other. `turns` states the two bounds on progress:
//!
//! - b: a refused strand that continues to ask is served after at most N - 1 accesses of others.
//! - r: a strand that no longer asks causes at most 2w refusals of others, and only once, where w is the number of remembered strands.

use std::collections::{BTreeMap, BTreeSet};
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::super::gate::Gate;
use super::{Release, ask, call, strand};

/// A model of the gate as its documentation describes it, for one ask at a time. The model checks the bounds b and r.
#[derive(Default)]
struct Model {
    holder: Option<usize>,
    remembered: BTreeSet<usize>,
    turn: Option<usize>,
    refusals: usize,
    last: Option<usize>,
    /// What has happened to each refused strand.
    waiting: BTreeMap<usize, Waiting>,
    /// The strands that were waiting when the access in flight was granted.
    passed_over: Vec<usize>,
}

/// What has happened since a strand was refused.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// How many accesses the gate has granted to others.
    accesses_of_others: usize,
    /// How often others have asked since the strand last asked.
    asks_of_others: usize,
    /// The smallest number of remembered strands since the strand last asked.
    fewest: usize,
    /// Whether the strand has always asked again within r = 2w asks of the others.
    keeps_asking: bool,
}

impl Waiting {
    fn new(remembered: usize) -> Self {
        Self { accesses_of_others: 0, asks_of_others: 0, fewest: remembered, keeps_asking: true }
    }
}

impl Model {
    /// Asks as a strand. Returns `true` if the model grants the access.
    fn ask(&mut self, strand: usize) -> bool {
        let granted = self.is_granted(strand);
        self.account(strand, granted);
        granted
    }

    fn is_granted(&mut self, strand: usize) -> bool {
        if self.holder.is_some() {
            self.remembered.insert(strand);
            return false;
        }
        if self.remembered.is_empty() {
            self.holder = Some(strand);
            return true;
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
            return true;
        }
        self.refusals += 1;
        false
    }

    /// Returns the first remembered strand after the strand of the last turn, in cyclic order of strand numbers.
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

    /// Ends an access that was granted on the slow path: the next remembered strand has the turn.
    fn pass_turn(&mut self) {
        if !self.remembered.is_empty() {
            self.turn = self.turn.or_else(|| Some(self.next()));
        }
    }

    fn release_and_keep_turn(&mut self) -> usize {
        let strand = self.release();
        self.remembered.insert(strand);
        (self.turn, self.refusals) = (Some(strand), 0);
        // The busy chip refused this access, so the access is not counted.
        for other in &self.passed_over {
            if let Some(waiting) = self.waiting.get_mut(other) {
                waiting.accesses_of_others -= 1;
            }
        }
        self.waiting.insert(strand, Waiting::new(self.remembered.len().max(2)));
        strand
    }

    fn account(&mut self, strand: usize, granted: bool) {
        let w = self.remembered.len().max(2);
        for (other, waiting) in &mut self.waiting {
            if *other == strand {
                waiting.asks_of_others = 0;
                waiting.fewest = w;
            } else {
                waiting.accesses_of_others += usize::from(granted);
                waiting.asks_of_others += 1;
                waiting.fewest = waiting.fewest.min(w);
                waiting.keeps_asking &= waiting.asks_of_others <= 2 * waiting.fewest;
            }
        }
        if granted {
            self.waiting.remove(&strand);
            self.passed_over = self.waiting.keys().copied().collect();
        } else {
            self.waiting.entry(strand).or_insert(Waiting::new(w));
        }
    }

    /// Checks the bound b = N - 1, where N is `strands`: a strand that keeps asking waits for at most b accesses of others.
    fn check_b(&self, strands: usize, case: &dyn core::fmt::Debug) {
        for (strand, waiting) in &self.waiting {
            assert!(
                !waiting.keeps_asking || waiting.accesses_of_others < strands,
                "strand {strand} waits: {waiting:?} of {strands} strands, after {case:?}"
            );
        }
    }
}

/// A gate and its model. A test passes each ask to both.
struct GateAndModel {
    gate: Gate,
    model: Model,
    /// The value that ends the latest access.
    release: Option<Release>,
}

impl GateAndModel {
    fn new() -> Self {
        Self { gate: Gate::new(), model: Model::default(), release: None }
    }

    /// Asks the gate and the model as a strand. Returns `true` if the access is granted.
    fn ask(&mut self, number: usize, case: &dyn core::fmt::Debug) -> bool {
        let free = self.model.holder.is_none();
        let nobody_waits = self.model.waiting.keys().all(|other| *other == number);
        let expected = self.model.ask(number);
        let asked = ask(&self.gate, number).ok();
        let granted = asked.is_some();
        self.release = asked.or(self.release);
        assert_eq!(granted, expected, "{case:?}");
        assert!(free || !granted, "a second access in flight: {case:?}");
        // While the hub is free, a strand is refused only if another strand waits.
        assert!(!(free && nobody_waits) || granted, "{case:?}");
        granted
    }

    fn release(&mut self) {
        self.model.release();
        let release = self.release.unwrap();
        if release == Release::Slow {
            self.model.pass_turn();
        }
        release.end(&self.gate);
    }

    fn release_and_keep_turn(&mut self) {
        self.gate.release_and_keep_turn(strand(self.model.release_and_keep_turn()));
    }

    /// Lets only this strand ask, after all others have gone. This strand may be refused at most r times for each of them, and never again
    /// after that.
    fn alone(&mut self, number: usize, case: &dyn core::fmt::Debug) {
        if self.model.holder.is_some() {
            self.release();
        }
        let remembered = self.model.remembered.iter();
        let gone = remembered.filter(|other| **other != number).count();
        // For g gone strands, w = g + 1 strands are remembered at first. Each forgotten strand reduces w by one.
        let most: usize = (2..=gone + 1).map(|w| 2 * w).sum();
        let mut refusals = 0;
        for _ in 0..most + 20 {
            if self.ask(number, case) { self.release() } else { refusals += 1 }
        }
        assert!(refusals <= most, "{refusals}, not {most}: {case:?}");
        for _ in 0..3 {
            let open = self.gate.try_take_fast(strand(number));
            assert!(open, "not forgotten: {case:?}");
            self.gate.release_fast();
        }
    }
}

/// Plays a schedule of asks. Each granted access remains in flight during the next `length` asks, or until its own strand asks again.
fn play(schedule: &[usize], length: usize, strands: usize) -> GateAndModel {
    let mut both = GateAndModel::new();
    let mut left = 0_usize;
    for number in schedule {
        if both.model.holder.is_some() && (left == 0 || both.model.holder == Some(*number)) {
            both.release();
        }
        left = left.saturating_sub(1);
        if both.ask(*number, &schedule) {
            left = length;
        }
        both.model.check_b(strands, &schedule);
    }
    both
}

/// Calls `each` for every schedule of `asks` asks by strands 0 to `strands - 1`. Returns the number of schedules.
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
#[cfg_attr(
    target_arch = "sparc64",
    ignore = "takes minutes on an emulated processor, and its result does not depend on the processor"
)]
fn every_small_schedule() {
    let mut count = 0;
    for (strands, asks, lengths) in [(2, 12, [1, 2]), (3, 10, [1, 2]), (4, 8, [1, 3])] {
        for length in lengths {
            count += every_schedule(strands, asks, |schedule| {
                let mut both = play(schedule, length, strands);
                both.alone(schedule[0], &schedule);
            });
        }
    }
    assert!(count >= 200_000);
}

/// Each step is an ask: a strand, and `+` for granted or `-` for refused. `.` ends the access, and `!` ends it because the chip is busy.
#[test]
fn written_schedules() {
    for schedule in [
        // A strand that is alone is never refused.
        "7+ . 7+ . 7+ . 255+ . 0+ .",
        // Strand 5 is served in its turn, and gives the turn to 9 when its access ends. Strand 7 comes later, and is behind 9.
        "4+ 5- 9- . 5+ 9- . 7- 9+ . 7+ .",
        // A refused strand is next. Strand 2 comes back immediately, and is refused during the turn of strand 1.
        "2+ 1- . 2- 2- 1+ . 2+ . 1+ .",
        // Turns go round in the order of the strand numbers.
        "9+ 200- 3- 64- . 9- 200- 64- 3+ . 3- 64- 9+ . 200- 64+ . 200+ . 3+ .",
        // Two strands are remembered, so a strand that asks again within r = 4 asks is served.
        "2+ 1- . 2- 2- 2- 2- 1+ .",
        // A strand that has gone costs r refusals once.
        "2+ 1- . 2- 2- 2- 2- 2+ . 2+ . 2+ . 1+ . 2+ .",
        // The gate forgets strands that have gone, one by one: the first after r = 6 refusals, the
        // second after 4 more.
        "3+ 1- 2- . 3- 3- 3- 3- 3- 3- 3- 3- 3- 3- 3+ . 3+ .",
        // Two strands share the refusals for a strand that has gone.
        "3+ 1- 4- . 3- 4- 3- 4- 3- 4- 3+ . 4+ . 3+ .",
        // A strand that found the chip busy has the next turn. Other strands are refused up to r times in this turn.
        "5+ ! 1- 1- 5+ . 1+ .",
        "5+ ! 5+ ! 5+ . 5+ .",
        "5+ ! 1- 1- 1- 1- 1+ . 1+ . 5+ .",
    ] {
        let gate = Gate::new();
        let mut holder: Option<(usize, Release)> = None;
        for (number, step) in schedule.split(' ').enumerate() {
            match step {
                "." => holder.take().unwrap().1.end(&gate),
                "!" => gate.release_and_keep_turn(strand(holder.take().unwrap().0)),
                _ => {
                    let (asks, answer) = step.split_at(step.len() - 1);
                    let asks = asks.parse().unwrap();
                    let asked = ask(&gate, asks).ok();
                    let granted = asked.is_some();
                    assert_eq!(granted, answer == "+", "step {number} of {schedule}");
                    holder = asked.map(|release| (asks, release)).or(holder);
                }
            }
        }
    }
}

/// All strands of the largest machine spin. Each strand is served once in every round of 256 accesses.
#[test]
fn a_full_machine_is_served_round_robin() {
    let gate = Gate::new();
    let release = ask(&gate, 0).unwrap();
    for number in 1..256 {
        assert!(ask(&gate, number).is_err());
    }
    release.end(&gate);
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

    /// Strands chosen at random from 256 ask, accesses have random lengths, and chips are sometimes busy.
    #[test]
    fn random_schedules(
        strands in prop::collection::btree_set(0_usize..256, 2..9),
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..10), 1..300),
    ) {
        let strands: Vec<usize> = strands.into_iter().collect();
        let mut both = GateAndModel::new();
        for (index, what) in &steps {
            let number = strands[index.index(strands.len())];
            match (both.model.holder, what) {
                (Some(_), 0..=3) => both.release(),
                (Some(_), 4) => both.release_and_keep_turn(),
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
