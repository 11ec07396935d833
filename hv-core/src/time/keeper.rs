//! The time from the chosen source. The time continues when the source changes.

use core::fmt;

use guest_abi::StrandId;
use guest_abi::clock::{Clock, ClockSource};
use static_assertions::assert_impl_all;

use super::safety::{Environment, Reason, Verdict, choose, longest_poll};
use super::source::{Candidate, Tracked};
use crate::sync::plain::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The error if there is no usable source, or none except the chosen one, or if another strand is
/// changing the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoUsableClock;

impl fmt::Display for NoUsableClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no usable clock")
    }
}

impl core::error::Error for NoUsableClock {}

/// Measures the time in nanoseconds since its creation, with the best of up to `N` sources.
///
/// The index of a source is its position in the list of candidates. A retired source is never used again.
///
/// # Change of source
/// An epoch is the period between two changes of source. A change first writes the next epoch, and then publishes its number. So
/// the epoch that a reader uses never changes, and no strand waits. Each change retires a source, so there are at most `N` epochs.
#[derive(Debug)]
pub struct Timekeeper<S, const N: usize> {
    sources: [Option<Tracked<S>>; N],
    epochs: [Epoch; N],
    epoch: AtomicU32,
    changing: AtomicBool,
}

assert_impl_all!(Timekeeper<(), 1>: Send, Sync);

/// An epoch: its source, and the source's count and the time at the start of the epoch.
#[derive(Debug)]
struct Epoch {
    source: AtomicU32,
    ticks: AtomicU64,
    time: AtomicU64,
}

impl Epoch {
    const fn new() -> Self {
        Self { source: AtomicU32::new(0), ticks: AtomicU64::new(0), time: AtomicU64::new(0) }
    }

    /// Writes an epoch that is not in use yet. Relaxed: the number of the epoch publishes the epoch.
    fn begin(&self, source: usize, ticks: u64, time: u64) {
        self.source.store(source as u32, Ordering::Relaxed);
        self.ticks.store(ticks, Ordering::Relaxed);
        self.time.store(time, Ordering::Relaxed);
    }

    #[inline]
    fn source(&self) -> usize {
        self.source.load(Ordering::Relaxed) as usize
    }
}

impl<S: ClockSource, const N: usize> Timekeeper<S, N> {
    /// Chooses the best candidate that this strand can read, and that is safe on the machine or forced by the operator. Fails if there is
    /// none.
    pub fn new(
        candidates: [Candidate<S>; N],
        environment: &Environment,
        strand: StrandId,
    ) -> Result<Self, NoUsableClock> {
        let keeper = Self {
            sources: candidates.map(|candidate| Tracked::new(candidate, environment, strand)),
            epochs: [const { Epoch::new() }; N],
            epoch: AtomicU32::new(0),
            changing: AtomicBool::new(false),
        };
        let (source, ticks) = keeper.best_readable(strand).ok_or(NoUsableClock)?;
        let first = keeper.epochs.first().ok_or(NoUsableClock)?;
        first.begin(source, ticks, 0);
        Ok(keeper)
    }

    /// Returns a clock for a strand. Create only one clock per strand: two clocks of a strand may differ.
    pub fn clock(&self, strand: StrandId) -> StrandClock<'_, S, N> {
        StrandClock { keeper: self, strand, last: AtomicU64::new(0) }
    }

    /// Returns the time in nanoseconds on the strand that executes the call; `None` if the source cannot be read.
    ///
    /// This time may go back at a change of source, or if the source goes back. A [`clock`](Self::clock) never goes back.
    #[inline]
    pub fn time(&self, strand: StrandId) -> Option<u64> {
        let epoch = self.current()?;
        let source = self.tracked(epoch.source())?;
        Some(Self::time_of(epoch, source, source.ticks(strand)?))
    }

    /// Returns the index of the chosen source in the list of candidates.
    pub fn chosen(&self) -> usize {
        self.current().map_or(0, Epoch::source)
    }

    /// Returns the verdict on a source, and `true` while the source is in use; `None` if the source was never usable.
    pub fn verdict(&self, source: usize) -> Option<(Verdict, bool)> {
        let source = self.tracked(source)?;
        Some((source.verdict, !source.is_retired()))
    }

    /// Reads all sources, so that no wrap goes unnoticed. Call it at least once in every [`longest_poll`](Self::longest_poll).
    pub fn poll(&self, strand: StrandId) {
        for source in self.sources.iter().flatten() {
            source.ticks(strand);
        }
    }

    /// Returns the longest safe time between two polls, in nanoseconds.
    pub fn longest_poll(&self) -> u64 {
        let sources = self.sources.iter().flatten();
        sources.map(|source| longest_poll(&source.description)).min().unwrap_or(u64::MAX)
    }

    /// Retires a source. If it is the chosen source, the best of the other sources replaces it. The time then continues from
    /// its present value or from `at_least`, whichever is later. Returns the index of the source that is then chosen.
    ///
    /// Fails if the source was never usable, if it is the last source (which stays in use), or if another strand is changing the source.
    pub fn demote(
        &self,
        source: usize,
        strand: StrandId,
        at_least: u64,
    ) -> Result<usize, NoUsableClock> {
        let tracked = self.tracked(source).ok_or(NoUsableClock)?;
        if self.changing.swap(true, Ordering::Acquire) {
            return Err(NoUsableClock);
        }
        tracked.set_retired(true);
        let changed = source != self.chosen() || self.begin_epoch(strand, at_least);
        tracked.set_retired(changed);
        self.changing.store(false, Ordering::Release);
        if changed { Ok(self.chosen()) } else { Err(NoUsableClock) }
    }

    /// Begins an epoch with the best source. Returns `false` if no source is left. Only the strand that has set `changing` may call it.
    fn begin_epoch(&self, strand: StrandId, at_least: u64) -> bool {
        // Reads the new source before the old one, so that the new epoch includes the time between the two reads.
        let Some((source, ticks)) = self.best_readable(strand) else {
            return false;
        };
        let begun = self.current().map_or(0, |epoch| epoch.time.load(Ordering::Relaxed));
        let time = self.time(strand).unwrap_or(begun).max(at_least);
        // Relaxed: only the strand that has set `changing` writes the number.
        let number = self.epoch.load(Ordering::Relaxed) + 1;
        let Some(epoch) = self.epochs.get(number as usize) else {
            return false;
        };
        epoch.begin(source, ticks, time);
        self.epoch.store(number, Ordering::Release);
        true
    }

    /// Returns the best source that can be read, and its count. Retires the sources that cannot be read.
    fn best_readable(&self, strand: StrandId) -> Option<(usize, u64)> {
        for _ in 0..N {
            let index = self.best_except([None; 2])?;
            let source = self.tracked(index)?;
            match source.ticks(strand) {
                Some(ticks) => return Some((index, ticks)),
                None => source.set_retired(true),
            }
        }
        None
    }

    /// Returns the best source that is not retired and not one of `others`.
    pub(super) fn best_except(&self, others: [Option<usize>; 2]) -> Option<usize> {
        choose(self.sources.iter().enumerate().map(|(index, source)| match source {
            Some(source) if !source.is_retired() && !others.contains(&Some(index)) => {
                (source.verdict, source.description.rating)
            }
            _ => (Verdict::Unsafe(Reason::Absent), 0),
        }))
    }

    /// Reads a source. Returns its count, extended to 64 bits.
    pub(super) fn ticks(&self, source: usize, strand: StrandId) -> Option<u64> {
        self.tracked(source)?.ticks(strand)
    }

    /// Returns the nanoseconds from one count of a source to another; 0 if `to` is not later.
    pub(super) fn between(&self, source: usize, from: u64, to: u64) -> u64 {
        self.tracked(source).map_or(0, |source| source.between(from, to))
    }

    /// Returns the largest amount, in nanoseconds, by which a source advances at once.
    pub(super) fn step(&self, source: usize) -> u64 {
        self.tracked(source).map_or(0, Tracked::step)
    }

    /// Returns the time at which the chosen source had the count `ticks`.
    pub(super) fn time_at(&self, ticks: u64) -> Option<u64> {
        let epoch = self.current()?;
        Some(Self::time_of(epoch, self.tracked(epoch.source())?, ticks))
    }

    #[inline]
    fn time_of(epoch: &Epoch, source: &Tracked<S>, ticks: u64) -> u64 {
        let passed = source.between(epoch.ticks.load(Ordering::Relaxed), ticks);
        epoch.time.load(Ordering::Relaxed).saturating_add(passed)
    }

    #[inline]
    fn current(&self) -> Option<&Epoch> {
        self.epochs.get(self.epoch.load(Ordering::Acquire) as usize)
    }

    #[inline]
    pub(super) fn tracked(&self, source: usize) -> Option<&Tracked<S>> {
        self.sources.get(source)?.as_ref()
    }
}

/// The clock of a strand, in nanoseconds since the creation of the [`Timekeeper`]. A strand's clock never goes back.
///
/// The clock stands still while the time of the timekeeper is behind the clock, and while the source cannot be read.
#[derive(Debug)]
pub struct StrandClock<'a, S, const N: usize> {
    keeper: &'a Timekeeper<S, N>,
    strand: StrandId,
    last: AtomicU64,
}

impl<S: ClockSource, const N: usize> Clock for StrandClock<'_, S, N> {
    /// Returns the time in nanoseconds. Only the clock's own strand may call it.
    #[inline]
    fn ticks(&self) -> u64 {
        match self.keeper.time(self.strand) {
            // Atomic because a trap handler may read the clock in the middle of this function. Relaxed: no other strand uses the clock.
            Some(time) => self.last.fetch_max(time, Ordering::Relaxed).max(time),
            None => self.last.load(Ordering::Relaxed),
        }
    }
}
