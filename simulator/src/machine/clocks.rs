//! Clocks that a scenario can make wrong.
//!
//! The machine has a true time. A clock's value depends on the true time and on the changes that a scenario has made to the clock. All
//! numbers are integers. A clock counts in millionths of a cycle, so a drift in parts per million is exact.

use std::fmt;

use guest_abi::StrandId;

use super::clock::HZ;

/// A clock that a scenario can change: a register of one strand, the same register of all strands (`None`), or the crystal and counter of
/// the PTIMER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Clock {
    Tick(Option<StrandId>),
    Stick(Option<StrandId>),
    Ptimer,
}

impl Clock {
    /// Returns whether a change to this clock also changes the other clock.
    fn includes(self, other: Self) -> bool {
        let whole = match other {
            Self::Tick(_) => Self::Tick(None),
            Self::Stick(_) => Self::Stick(None),
            Self::Ptimer => Self::Ptimer,
        };
        self == other || self == whole
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, strand) = match self {
            Self::Tick(strand) => ("%tick", strand),
            Self::Stick(strand) => ("%stick", strand),
            Self::Ptimer => return f.write_str("PTIMER"),
        };
        match strand {
            Some(strand) => write!(f, "{name} of strand {strand}"),
            None => write!(f, "{name} of all strands"),
        }
    }
}

/// How far a clock's rate deviates from its true rate, in parts per million; positive if the clock is fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift(i32);

impl Drift {
    /// The maximum deviation in either direction, in parts per million.
    pub const MAX_PPM: i64 = 999_999;

    /// Returns a deviation; `None` if it is greater than [`MAX_PPM`](Self::MAX_PPM) in either direction.
    #[must_use]
    pub const fn new(ppm: i64) -> Option<Self> {
        if ppm.unsigned_abs() <= Self::MAX_PPM as u64 { Some(Self(ppm as i32)) } else { None }
    }
}

/// A change to a clock. Times are in nanoseconds. [`Lose`](Self::Lose) rounds its time down to whole cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// From now on, the clock's rate deviates by this amount. A stopped clock runs again.
    Drift(Drift),
    /// The clock stands still until a later change gives it a rate.
    Stop,
    /// The clock steps forward or, if the number is negative, back.
    Jump(i64),
    /// The clock stands still until this amount of true time has passed. Then it continues at its rate.
    Lose(u64),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drift(Drift(0)) => f.write_str("has its true rate"),
            Self::Drift(Drift(ppm)) => write!(f, "drifts by {ppm} ppm"),
            Self::Stop => f.write_str("stops"),
            Self::Jump(nanoseconds) => write!(f, "jumps by {nanoseconds} ns"),
            Self::Lose(nanoseconds) => write!(f, "loses {nanoseconds} ns"),
        }
    }
}

/// The number of parts in a cycle. A part is a clock's smallest step.
const PARTS: u64 = 1_000_000;

/// How a clock has differed from the machine's true time since the clock's latest change. True times are in cycles since the machine
/// started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skew {
    /// The time from which the clock counts at `rate`: the time of the latest change or, if a [loss](Change::Lose) ends later, the end of
    /// the loss.
    from: u64,
    /// The time of the latest change.
    changed: u64,
    /// The parts of cycles that the clock had counted at `from`.
    counted: u128,
    /// The sum of all jumps, in parts of cycles.
    jumped: i128,
    /// The number of parts that the clock counts in a cycle of true time.
    rate: u64,
}

impl Skew {
    /// The skew of a clock that shows the true time.
    pub(crate) const NONE: Self = Self { from: 0, changed: 0, counted: 0, jumped: 0, rate: PARTS };

    pub(crate) fn change(&mut self, change: Change, now: u64) {
        self.counted = self.counted(now);
        (self.from, self.changed) = (self.from.max(now), now);
        match change {
            Change::Drift(Drift(ppm)) => self.rate = PARTS.saturating_add_signed(ppm.into()),
            Change::Stop => self.rate = 0,
            Change::Jump(nanoseconds) => {
                self.jumped += (i128::from(nanoseconds) * i128::from(HZ)).div_euclid(1000);
            }
            Change::Lose(nanoseconds) => {
                let cycles = u128::from(nanoseconds) * u128::from(HZ) / 1_000_000_000;
                self.from = self.from.saturating_add(cycles.try_into().unwrap_or(u64::MAX));
            }
        }
    }

    /// Returns the parts of cycles that the clock has counted, without its jumps.
    fn counted(&self, now: u64) -> u128 {
        self.counted + u128::from(now.saturating_sub(self.from)) * u128::from(self.rate)
    }

    fn time_of_counted(&self, counted: u128) -> Option<u64> {
        match (counted.saturating_sub(self.counted), u128::from(self.rate)) {
            (0, _) => Some(self.changed),
            (_, 0) => None,
            (missing, rate) => self.from.checked_add(missing.div_ceil(rate).try_into().ok()?),
        }
    }

    /// Returns the number that the clock shows, in cycles modulo 2^64.
    pub(crate) fn cycles(&self, now: u64) -> u64 {
        (self.counted(now) as i128 + self.jumped).div_euclid(PARTS.into()) as u64
    }

    /// Returns the time at which the clock reaches this number of cycles, or the time of the latest change if that change took the clock to
    /// this number or beyond. Returns `None` if the clock stops before it reaches the number.
    pub(crate) fn time_of_cycles(&self, cycles: u64) -> Option<u64> {
        let counted = i128::from(cycles) * i128::from(PARTS) - self.jumped;
        self.time_of_counted(counted.try_into().unwrap_or(0))
    }

    /// Returns the nanoseconds that the clock has counted. Jumps do not change this number.
    pub(crate) fn nanoseconds(&self, now: u64) -> u64 {
        (self.counted(now) * 1000 / u128::from(HZ)) as u64
    }

    /// Returns the first time at which the clock has counted this number of nanoseconds, or the time of the latest change if the clock had
    /// already counted them by then. Returns `None` if the clock stops before it reaches the number.
    pub(crate) fn time_of_nanoseconds(&self, nanoseconds: u64) -> Option<u64> {
        self.time_of_counted((u128::from(nanoseconds) * u128::from(HZ)).div_ceil(1000))
    }

    /// Returns how many nanoseconds the clock is ahead of the true time, rounded down; negative if the clock is behind.
    fn ahead(&self, now: u64) -> i64 {
        let truth = i128::from(now) * i128::from(PARTS);
        let parts = self.counted(now) as i128 + self.jumped - truth;
        (parts * 1000).div_euclid(HZ.into()) as i64
    }
}

/// The changes to an execution's clocks so far, each with its time in cycles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(Vec<(u64, Clock, Change)>);

impl Changes {
    pub(crate) fn note(&mut self, now: u64, clock: Clock, change: Change) {
        self.0.push((now, clock, change));
    }

    /// Returns the changed clocks, in the order in which they were first changed.
    pub(crate) fn clocks(&self) -> Vec<Clock> {
        let mut clocks = Vec::new();
        for (_, clock, _) in &self.0 {
            if !clocks.contains(clock) {
                clocks.push(*clock);
            }
        }
        clocks
    }

    /// Returns a clock's changes, each with its time in cycles.
    pub(crate) fn of(&self, clock: Clock) -> impl Iterator<Item = (u64, Change)> {
        let own = self.0.iter().filter(move |(_, changed, _)| changed.includes(clock));
        own.map(|(at, _, change)| (*at, *change))
    }

    /// Returns how many nanoseconds a clock was ahead of the true time, at each of these times. The times must ascend.
    pub(crate) fn ahead(&self, clock: Clock, times: impl Iterator<Item = u64>) -> Vec<(u64, i64)> {
        let (mut skew, mut changes) = (Skew::NONE, self.of(clock).peekable());
        let ahead = times.map(|time| {
            while let Some((at, change)) = changes.next_if(|(at, _)| *at <= time) {
                skew.change(change, at);
            }
            (time, skew.ahead(time))
        });
        ahead.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift(ppm: i64) -> Change {
        Change::Drift(Drift::new(ppm).unwrap())
    }

    fn changed(changes: &[(u64, Change)]) -> Skew {
        let mut skew = Skew::NONE;
        changes.iter().for_each(|(at, change)| skew.change(*change, *at));
        skew
    }

    #[test]
    fn a_clock_without_changes_shows_the_truth() {
        for now in [0, 1, 1_165_379_275, u64::MAX] {
            assert_eq!((Skew::NONE.cycles(now), Skew::NONE.ahead(now)), (now, 0));
            assert_eq!(Skew::NONE.time_of_cycles(now), Some(now));
        }
        // A second has 1,165,379,275 cycles.
        assert_eq!(Skew::NONE.nanoseconds(1_165_379_275), 1_000_000_000);
        assert_eq!(Skew::NONE.nanoseconds(1), 0);
        assert_eq!(Skew::NONE.nanoseconds(2), 1);
        assert_eq!(Skew::NONE.time_of_nanoseconds(1), Some(2));
        assert_eq!(Skew::NONE.time_of_nanoseconds(1_000_000_000), Some(1_165_379_275));
    }

    /// A second has 1,165,379,275 cycles. A drift of 500 ppm is 500 us in a second, or 582,689.6375 cycles.
    #[test]
    fn drift_for_a_second() {
        let fast = changed(&[(0, drift(500))]);
        assert_eq!(fast.cycles(1_165_379_275), 1_165_961_964);
        assert_eq!(fast.ahead(1_165_379_275), 500_000);
        assert_eq!(fast.nanoseconds(1_165_379_275), 1_000_500_000);
        let slow = changed(&[(0, drift(-500))]);
        assert_eq!(slow.cycles(1_165_379_275), 1_164_796_585);
        assert_eq!(slow.ahead(1_165_379_275), -500_000);
        // After 2000 cycles the fast clock is ahead by one cycle.
        assert_eq!([1999, 2000].map(|now| fast.cycles(now)), [1999, 2001]);
        assert_eq!([2000, 2001].map(|count| fast.time_of_cycles(count)), [Some(2000); 2]);
        // After the drift ends, the clock keeps its lead.
        let right = changed(&[(0, drift(500)), (1_165_379_275, drift(0))]);
        assert_eq!(right.ahead(9 * 1_165_379_275), 500_000);
    }

    #[test]
    fn a_fraction_of_a_cycle_is_not_lost_at_a_change() {
        let changes: Vec<_> = (0..2000).map(|now| (now, drift(500))).collect();
        assert_eq!(changed(&changes).cycles(2000), 2001);
    }

    #[test]
    fn stops() {
        let stopped = changed(&[(1000, Change::Stop)]);
        assert_eq!([1000, 5000].map(|now| stopped.cycles(now)), [1000, 1000]);
        assert_eq!(stopped.time_of_cycles(1000), Some(1000));
        assert_eq!(stopped.time_of_cycles(1001), None);
        let again = changed(&[(1000, Change::Stop), (5000, drift(0))]);
        assert_eq!([5000, 5001].map(|now| again.cycles(now)), [1000, 1001]);
        assert_eq!(again.time_of_cycles(1001), Some(5001));
        // 4000 cycles are 3432.35 ns.
        assert_eq!(again.ahead(6000), -3433);
    }

    /// A jump of 1 s is a jump of 1,165,379,275 cycles. A jump does not change the nanoseconds that the clock has counted.
    #[test]
    fn jumps() {
        let forward = changed(&[(100, Change::Jump(1_000_000_000))]);
        assert_eq!(forward.cycles(100), 1_165_379_375);
        assert_eq!((forward.ahead(100), forward.nanoseconds(100)), (1_000_000_000, 85));
        assert_eq!(forward.time_of_cycles(1_165_379_376), Some(101));
        assert_eq!(forward.time_of_cycles(300), Some(100), "it has jumped over this number");
        let back = changed(&[(2_330_758_550, Change::Jump(-1_000_000_000))]);
        assert_eq!(back.cycles(2_330_758_550), 1_165_379_275);
        assert_eq!(back.time_of_cycles(2_330_758_550), Some(3_496_137_825), "it comes again");
        let below = changed(&[(10, Change::Jump(-1000))]);
        // 1000 ns are 1165.379275 cycles.
        assert_eq!(below.cycles(10) as i64, -1156);
        assert_eq!(below.time_of_cycles(1), Some(1167));
    }

    /// 5 ms are 5,826,896.375 cycles.
    #[test]
    fn loses_ticks() {
        let lost = changed(&[(1000, Change::Lose(5_000_000))]);
        assert_eq!([1000, 5_827_896, 5_827_897].map(|now| lost.cycles(now)), [1000, 1000, 1001]);
        assert_eq!(lost.time_of_cycles(1001), Some(5_827_897));
        // The clock showed these numbers before the loss, and none of them after it.
        assert_eq!([1, 500, 1000].map(|count| lost.time_of_cycles(count)), [Some(1000); 3]);
        assert_eq!(lost.ahead(1_165_379_275), -5_000_000);
        // A second change before a loss ends does not shorten the loss.
        let twice = changed(&[(1000, Change::Lose(5_000_000)), (2000, Change::Lose(5_000_000))]);
        assert_eq!([11_654_792, 11_654_793].map(|now| twice.cycles(now)), [1000, 1001]);
        let drifting = changed(&[(1000, Change::Lose(5_000_000)), (2000, drift(500))]);
        assert_eq!([5_827_896, 5_829_896].map(|now| drifting.cycles(now)), [1000, 3001]);
        let forever = changed(&[(1000, Change::Lose(u64::MAX))]);
        assert_eq!(forever.cycles(u64::MAX), 1000);
    }

    #[test]
    fn changes_of_all_strands_are_changes_of_each() {
        let [one, other] = [1, 2].map(StrandId::new);
        let mut changes = Changes::default();
        changes.note(0, Clock::Stick(None), Change::Jump(1000));
        changes.note(50, Clock::Stick(one), Change::Jump(-300));
        changes.note(60, Clock::Ptimer, Change::Jump(7000));
        assert_eq!(changes.clocks(), [Clock::Stick(None), Clock::Stick(one), Clock::Ptimer]);
        let ahead = |clock| {
            let points = changes.ahead(clock, [0, 50, 100].into_iter()).into_iter();
            points.map(|(_, ahead)| ahead).collect::<Vec<_>>()
        };
        // A jump is rounded down to a millionth of a cycle, and the difference is rounded down to a nanosecond. So 700 becomes 699.
        assert_eq!(ahead(Clock::Stick(None)), [1000, 1000, 1000]);
        assert_eq!(ahead(Clock::Stick(one)), [1000, 699, 699]);
        assert_eq!(ahead(Clock::Stick(other)), [1000, 1000, 1000]);
        assert_eq!(ahead(Clock::Ptimer), [0, 0, 7000]);
        assert_eq!(ahead(Clock::Tick(None)), [0, 0, 0]);
    }
}
