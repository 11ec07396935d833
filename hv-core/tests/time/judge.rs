//! A judge of clocks, for a watchdog that compares two to four independent clocks once per period.
//!
//! A *world* is a set of clocks that agree with each other, and that the judge assumes to be right. If these clocks are right, every other
//! clock has lost or gained time. The judge keeps the likeliest worlds, by these rules:
//!
//! 1. **Proof.** A clock is wrong if it is unreadable or steps back. A clock that stands still is wrong if it differs from all clocks that
//!    move. No error of another clock explains these faults. This rule precedes the count, because two stopped clocks would otherwise
//!    outvote a running one.
//! 2. **Count.** The judge keeps the worlds with the fewest wrong clocks: one fault is likelier than two, and independent clocks do not
//!    make the same error. This rule precedes the abilities, because any clock can break: an ability says which clock to suspect first, not
//!    which clock is right.
//! 3. **Abilities.** An ability is an error that a clock is known to make. Any other error of a clock is a *surprise*. World A is
//!    dropped if another world, B, has fewer surprises, and every surprise of B is also a surprise of A. Thus, if two clocks differ
//!    and only one of them has the ability that explains the difference, that clock is wrong. The rule never compares the surprise
//!    of one clock with the surprise of another.
//! 4. **Verdict.** A clock is right if it agrees with every world that is left, and wrong if it agrees with none. Otherwise the
//!    clock is undecidable.
//!
//! A wrong clock is demoted immediately, and a demoted clock that has been right for some periods in a row is restored. An undecidable
//! clock keeps its trusted or demoted state, but its probation restarts.
//!
//! Demoted clocks do not vote. The judge compares them with the worlds of the trusted clocks. If only one clock is trusted, demoted clocks
//! can confirm this clock, or cast doubt on it. A doubted clock is undecidable: demoted clocks never make the trusted clock wrong. If no
//! clock can be compared with the single trusted clock, that clock is undecidable too, except in the period in which another trusted clock
//! is proved wrong. If no clock is trusted, all clocks vote, because otherwise no clock could ever be trusted again.
//!
//! The judge does not notice an error within the bounds, even if such errors add up over many periods.

/// The errors that a clock is known to make. A clock that is known to make neither error can still break.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ability {
    /// The clock can show more time than has passed.
    pub(crate) may_gain: bool,
    /// The clock can show less time than has passed, for example because it loses interrupts.
    pub(crate) may_lose: bool,
}

/// The duration of a period according to one clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// The time since the previous check, in ns; `None` if the clock could not be read.
    pub(crate) passed: Option<i64>,
    /// The largest error that `passed` can have if the clock is right, in ns. The clock's step and the duration of the read cause this
    /// error.
    pub(crate) uncertainty: u64,
}

/// The judge's decision about a clock for one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The clock agrees with every world that the judge still considers.
    Right,
    /// The clock has a proven fault, or agrees with no world that the judge still considers.
    Wrong,
    /// The readings do not show whether the clock is right or wrong.
    Undecidable,
}

/// A set of clocks: bit `i` stands for clock `i`.
type Set = u32;

fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..8).filter(move |i| set >> i & 1 == 1)
}

fn set_of(clocks: impl Iterator<Item = usize>) -> Set {
    clocks.map(|i| 1 << i).sum()
}

/// Judges clocks, and records which of them are trusted. At first, all clocks are.
pub(crate) struct Judge {
    abilities: Vec<Ability>,
    tolerance_ppm: u64,
    probation: u32,
    trusted: Vec<bool>,
    right_for: Vec<u32>,
}

impl Judge {
    /// Returns a judge. Each item of `abilities` describes one clock. Two clocks can agree if their rates differ by at most
    /// `tolerance_ppm`. A demoted clock is trusted again when it has been right for `probation` periods in a row.
    pub(crate) fn new(abilities: Vec<Ability>, tolerance_ppm: u64, probation: u32) -> Self {
        let clocks = abilities.len();
        assert!((1..=8).contains(&clocks), "1 to 8 clocks, not {clocks}");
        Judge {
            abilities,
            tolerance_ppm,
            probation,
            trusted: vec![true; clocks],
            right_for: vec![0; clocks],
        }
    }

    /// Returns the judgement on each clock for one period, regardless of earlier periods, and updates the trust. The period must
    /// be longer than each clock's step. Panics if there is not exactly one reading for each clock.
    pub(crate) fn judge(&mut self, readings: &[Reading]) -> Vec<Judgement> {
        assert_eq!(readings.len(), self.trusted.len(), "one reading per clock");
        let clocks = 0..readings.len();
        let sound = set_of(clocks.clone().filter(|&i| !self.is_proved(readings, i)));
        let trusted = set_of(clocks.clone().filter(|&i| self.trusted[i]));
        let voters = if trusted == 0 { sound } else { sound & trusted };
        let alone = voters.count_ones() == 1;
        let doubted = alone && sound != voters;
        let mut worlds = self.worlds(readings, if doubted { sound } else { voters });
        let convicted = doubted && worlds.iter().all(|world| world & voters == 0);
        let decided =
            trusted & !sound != 0 && members(voters).all(|i| readings[i].passed > Some(0));
        if convicted || alone && !doubted && !decided {
            worlds.clear();
        }
        let judge_one = |i| {
            let agrees = |j| self.agree(readings[i], readings[j]);
            let fits = worlds.iter().filter(|&&set| members(set).all(agrees));
            match fits.count() {
                _ if sound >> i & 1 == 0 => Judgement::Wrong,
                0 if !worlds.is_empty() => Judgement::Wrong,
                count if count > 0 && count == worlds.len() => Judgement::Right,
                _ => Judgement::Undecidable,
            }
        };
        let judgements: Vec<_> = clocks.map(judge_one).collect();
        for (i, &judgement) in judgements.iter().enumerate() {
            let on_probation = !self.trusted[i] && judgement == Judgement::Right;
            self.right_for[i] = (self.right_for[i] + 1) * u32::from(on_probation);
            self.trusted[i] |= on_probation && self.right_for[i] >= self.probation;
            self.trusted[i] &= judgement != Judgement::Wrong;
        }
        judgements
    }

    /// Returns, for each clock, whether it is trusted after the periods so far.
    pub(crate) fn trusted(&self) -> &[bool] {
        &self.trusted
    }

    /// Returns `true` if two readings differ at most by their uncertainties and the tolerance. The tolerance is relative to the
    /// longer reading.
    fn agree(&self, a: Reading, b: Reading) -> bool {
        let uncertainty = u128::from(a.uncertainty) + u128::from(b.uncertainty);
        a.passed.zip(b.passed).is_some_and(|(x, y)| {
            let longer = u128::from(x.unsigned_abs().max(y.unsigned_abs()));
            let bound = uncertainty * 1_000_000 + longer * u128::from(self.tolerance_ppm);
            u128::from(x.abs_diff(y)) * 1_000_000 <= bound
        })
    }

    /// Rule 1: returns `true` if the clock is unreadable, steps back, or stands still and differs from all clocks that have
    /// moved.
    fn is_proved(&self, readings: &[Reading], i: usize) -> bool {
        let mut moved = readings.iter().filter(|r| r.passed > Some(0)).peekable();
        match readings[i].passed {
            Some(0) => moved.peek().is_some() && moved.all(|&r| !self.agree(readings[i], r)),
            passed => passed < Some(0),
        }
    }

    /// Rules 2 and 3: returns the subsets of `clocks` that may be right.
    fn worlds(&self, readings: &[Reading], clocks: Set) -> Vec<Set> {
        let agree = |i: usize, j: usize| self.agree(readings[i], readings[j]);
        let united = |&set: &Set| members(set).all(|i| members(set).all(|j| agree(i, j)));
        let mut sets: Vec<Set> = (1..=clocks).filter(|set| set & !clocks == 0).collect();
        sets.retain(united);
        let most = sets.iter().map(|set| set.count_ones()).max();
        sets.retain(|set| Some(set.count_ones()) == most);
        let surprising = |i: usize, j: usize| {
            let lost = readings[i].passed < readings[j].passed;
            let Ability { may_gain, may_lose } = self.abilities[i];
            !agree(i, j) && !(if lost { may_lose } else { may_gain })
        };
        let surprises = |&world: &Set| {
            set_of(members(clocks).filter(|&i| members(world).any(|j| surprising(i, j))))
        };
        let needed: Vec<Set> = sets.iter().map(surprises).collect();
        let kept = |&i: &usize| !needed.iter().any(|&n| n != needed[i] && n & !needed[i] == 0);
        (0..sets.len()).filter(kept).map(|i| sets[i]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each case has one letter per clock for its abilities (I: none, L: may lose, G: may gain, B: both), and then periods of 0.5 ms. Each
    /// period lists, for each clock, the time that it shows in ns (`x` if it is unreadable; an uncertainty other than 1 follows a `~`),
    /// then the judgement on it, and then whether it is trusted afterwards.
    const CASES: &str = "\
II: 500000 500000 RR TT, 500000 499748 RR TT, 500000 499747 ?? TT, 500000 499000~1000 RR TT
IL: 500000 495000 RW T-, 500000 500000 RR T-, 500000 495000 RW T-, 500000 500000 RR T-, 500000 500000 RR TT; IL: 495000 500000 ?? TT; LL: 500000 495000 RW T-; GI: 500000 495000 WR -T; GL: 500000 495000 ?? TT; BB: 500000 495000 ?? TT; BI: 500000 495000 WR -T
II: 500000 -1 RW T-, 500000 x ?W T-, 500000 400000 ?? T-, 500000 500000 RR T-, 0 500000 W? --, 500000 500000 RR --
II: 500000 0 RW T-; II: 0~1000 900 RR TT; II: 0 x ?W T-; II: 0 0 RR TT; II: x x WW --, 500000 500000 RR --, 500000 500000 RR TT
III: 500000 500000 800000 RRW TT-, 500000 600000 500000 ??? TT-, 500000 600000 700000 ??W TT-
III: 500000 500000 800000 RRW TT-, 500000 500000 500000 RRR TT-, 500000 600000 500000 ??? TT-, 500000 500000 500000 RRR TT-, 500000 500000 500000 RRR TTT
III: 0 0 500000 WWR --T, 500000 600000 500000 RWR --T, 800000 800000 500000 ??? --T; ILL: 500000 495000 495000 WRR -TT; III: 500000 400000 300000 ??? TTT
ILG: 500000 495000 505000 RWW T--; IIL: 500000 400000 300000 ??W TT-; GLI: 600000 500000 400000 ??? TTT; ILI: 600000 500000 400000 ?W? T-T; III: 500000 500200 499800 R?? TTT; IIL: 500000 500200 499800 RRW TT-; IIII: 500000 500000 600000 600000 ???? TTTT; LLII: 500000 500000 600000 600000 WWRR --TT
LIII: 500000 500000 600000 600000 ???? TTTT; IIII: 500000 500000 600000 700000 RRWW TT--";

    #[test]
    fn each_period_is_judged_as_written() {
        for case in CASES.split(['\n', ';']) {
            let (kinds, periods) = case.trim().split_once(": ").unwrap();
            let able = |kind| ("GB".contains(kind), "LB".contains(kind));
            let ability = |(may_gain, may_lose)| Ability { may_gain, may_lose };
            let abilities = kinds.chars().map(able).map(ability).collect();
            let mut judge = Judge::new(abilities, 500, 2);
            for period in periods.split(", ") {
                let words: Vec<_> = period.split(' ').collect();
                let (shown, expected) = words.split_at(kinds.len());
                let read = |word: &&str| {
                    let (passed, uncertainty) = word.split_once('~').unwrap_or((word, "1"));
                    Reading {
                        passed: passed.parse().ok(),
                        uncertainty: uncertainty.parse().unwrap(),
                    }
                };
                let shown: Vec<_> = shown.iter().map(read).collect();
                let letter = |said| ['R', 'W', '?'][said as usize];
                let said: String = judge.judge(&shown).into_iter().map(letter).collect();
                let trusted = judge.trusted().iter();
                let trusted: String = trusted.map(|&yes| if yes { 'T' } else { '-' }).collect();
                assert_eq!([said, trusted], expected, "{case}: at {period}");
            }
        }
    }
}
