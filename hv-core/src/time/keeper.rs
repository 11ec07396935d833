//! Computes the time from the chosen source. When another source is chosen, the time continues from its current value.

use core::fmt;

use guest_abi::StrandId;
use guest_abi::clock::{Clock, ClockSource, Scope};
use static_assertions::assert_impl_all;

use super::safety::{Environment, Reason, Verdict, choose, max_poll_interval};
use super::source::{Candidate, Tracked, Trust};
use crate::sync::OwnedLock;
use crate::sync::plain::{AtomicU32, AtomicU64, Ordering};

/// The error of [`Timekeeper::new`] if no source is usable, and of [`Timekeeper::demote`] if it cannot retire the source.
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
/// The index of a source is its position in the list of candidates.
///
/// # Change of source
/// An epoch is the period between two changes of source. A change first writes the new epoch, and then publishes its number. No
/// strand waits. If a reader is so slow that its epoch is overwritten meanwhile, the reader reads again.
#[derive(Debug)]
pub struct Timekeeper<S, const N: usize> {
    sources: [Option<Tracked<S>>; N],
    /// The latest epochs. Epoch n is in slot n modulo [`EPOCHS`].
    epochs: [Epoch; EPOCHS],
    epoch: AtomicU32,
    /// The lock that a strand holds while it changes the source.
    change_lock: OwnedLock,
    /// The latest time that any [`StrandClock`] has shown.
    shown: AtomicU64,
}

/// The number of epochs that a timekeeper keeps.
const EPOCHS: usize = 8;

/// The maximum number of attempts that a reader makes. An attempt fails if the epoch is overwritten while the reader reads it.
const MAX_TRIES: usize = 3;

assert_impl_all!(Timekeeper<(), 1>: Send, Sync);

/// The start of an epoch: the source that is chosen from then on, the count of this source, and the time.
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

    /// Writes an epoch over an old one. The stores have release ordering, so that a reader that loads one of the new values also sees the
    /// previous epoch's number.
    fn begin(&self, source: usize, ticks: u64, time: u64) {
        self.source.store(source as u32, Ordering::Release);
        self.ticks.store(ticks, Ordering::Release);
        self.time.store(time, Ordering::Release);
    }

    #[inline]
    fn source(&self) -> usize {
        self.source.load(Ordering::Acquire) as usize
    }
}

impl<S: ClockSource, const N: usize> Timekeeper<S, N> {
    /// Chooses the best candidate that this strand can read, and that is safe on the machine or forced by the operator. Fails if no
    /// candidate qualifies.
    pub fn new(
        candidates: [Candidate<S>; N],
        environment: &Environment,
        strand: StrandId,
    ) -> Result<Self, NoUsableClock> {
        let keeper = Self {
            sources: candidates.map(|candidate| Tracked::new(candidate, environment, strand)),
            epochs: [const { Epoch::new() }; EPOCHS],
            epoch: AtomicU32::new(0),
            change_lock: OwnedLock::new(),
            shown: AtomicU64::new(0),
        };
        let (source, ticks) = keeper.best_readable(strand).ok_or(NoUsableClock)?;
        keeper.slot(0).begin(source, ticks, 0);
        Ok(keeper)
    }

    /// Returns a clock that shows the timekeeper's time on a strand.
    pub const fn clock(&self, strand: StrandId) -> StrandClock<'_, S, N> {
        StrandClock { keeper: self, strand }
    }

    /// Returns the time in nanoseconds; `None` if the source cannot be read. `strand` is the strand that makes the call.
    ///
    /// This time is the best estimate. It goes back if the source goes back, or if a source that was ahead is replaced. The time
    /// of a [`clock`](Self::clock) never goes back.
    #[inline]
    pub fn time(&self, strand: StrandId) -> Option<u64> {
        self.with_epoch(|epoch, source| Some(Self::time_of(epoch, source, source.ticks(strand)?)))
    }

    /// Returns the index of the chosen source in the list of candidates.
    pub fn chosen(&self) -> usize {
        self.slot(self.epoch.load(Ordering::Acquire)).source()
    }

    /// Returns the verdict on a source, and the timekeeper's trust in it, or `None` if the source was never usable.
    pub fn verdict(&self, source: usize) -> Option<(Verdict, Trust)> {
        let source = self.tracked(source)?;
        Some((source.verdict, source.trust()))
    }

    /// Reads all sources, so that no wrap goes unnoticed. Call this method at least once per [`max_poll_interval`](Self::max_poll_interval).
    pub fn poll(&self, strand: StrandId) {
        for source in self.sources.iter().flatten() {
            source.ticks(strand);
        }
    }

    /// Returns the longest safe time between two polls, in nanoseconds.
    pub fn max_poll_interval(&self) -> u64 {
        let sources = self.sources.iter().flatten();
        sources.map(|source| max_poll_interval(&source.description)).min().unwrap_or(u64::MAX)
    }

    /// Retires a source. If it is the chosen source, the best of the other sources replaces it, and the time continues from its current
    /// value. Returns the index of the chosen source after the change.
    ///
    /// Fails if the source was never usable, is already retired, or is the last source, which then stays in use. Also fails if another
    /// strand is changing the source.
    pub fn demote(&self, source: usize, strand: StrandId) -> Result<usize, NoUsableClock> {
        self.demote_to(source, strand, |_, _| None)
    }

    /// Retires a source as [`demote`](Self::demote) does. If another source replaces the retired source, calls `time` with the new
    /// source and its count. The time continues from the result of the call, or from the current time if this result is `None`.
    pub(super) fn demote_to(
        &self,
        source: usize,
        strand: StrandId,
        time: impl FnOnce(usize, u64) -> Option<u64>,
    ) -> Result<usize, NoUsableClock> {
        let tracked = self.tracked(source).ok_or(NoUsableClock)?;
        let _changing = self.change_lock.lock(strand, 1).ok_or(NoUsableClock)?;
        let trust = tracked.trust();
        tracked.set_trust(Trust::None);
        let changed =
            trust != Trust::None && (source != self.chosen() || self.begin_epoch(strand, time));
        match changed {
            true => tracked.mark_wrong(self.time(strand).unwrap_or(0)),
            false => tracked.set_trust(trust),
        }
        if changed { Ok(self.chosen()) } else { Err(NoUsableClock) }
    }

    /// Trusts a retired source again. The chosen source stays chosen. Returns `false` if the source is not retired, or if another
    /// strand is changing the source.
    pub(super) fn restore(&self, source: usize, strand: StrandId) -> bool {
        let Some(tracked) = self.tracked(source) else {
            return false;
        };
        let Some(_changing) = self.change_lock.lock(strand, 1) else {
            return false;
        };
        let is_retired = tracked.trust() == Trust::None;
        if is_retired {
            tracked.set_trust(match tracked.description.scope {
                Scope::Machine => Trust::Full,
                Scope::Strand | Scope::StrandUnsynchronised => Trust::Witness,
            });
        }
        is_retired
    }

    /// Drops the change of source that the strand `dead` was making, if any, so that other strands can change the source. Call this method
    /// when a strand has died.
    pub fn abandon(&self, dead: StrandId) {
        if self.change_lock.abandon(dead)
            && let Some(chosen) = self.tracked(self.chosen())
            && chosen.trust() == Trust::None
        {
            chosen.set_trust(Trust::Witness);
        }
    }

    /// Begins an epoch with the best source. Returns `false` if no source is left. Only the owner of `change_lock` may begin an epoch.
    fn begin_epoch(&self, strand: StrandId, time: impl FnOnce(usize, u64) -> Option<u64>) -> bool {
        // Reads the new source before the old one, so the time may step forward by the duration between the two reads, but not back.
        let Some((source, ticks)) = self.best_readable(strand) else {
            return false;
        };
        // A relaxed load is enough, because only the strand that owns `change_lock` writes the number of the epoch.
        let number = self.epoch.load(Ordering::Relaxed);
        let begun = || self.slot(number).time.load(Ordering::Relaxed);
        let time = time(source, ticks).or_else(|| self.time(strand)).unwrap_or_else(begun);
        let next = number.wrapping_add(1);
        self.slot(next).begin(source, ticks, time);
        self.epoch.store(next, Ordering::Release);
        true
    }

    /// Returns the best source that can be read, and its count. Retires the sources that cannot be read.
    fn best_readable(&self, strand: StrandId) -> Option<(usize, u64)> {
        for _ in 0..N {
            let index = self.best_except(None)?;
            let source = self.tracked(index)?;
            match source.ticks(strand) {
                Some(ticks) => return Some((index, ticks)),
                None => source.set_trust(Trust::None),
            }
        }
        None
    }

    /// Returns the index of the best trusted source except `other`. Any source with full trust is better than any witness.
    pub(super) fn best_except(&self, other: Option<usize>) -> Option<usize> {
        let best = |trust| {
            choose(self.sources.iter().enumerate().map(|(index, source)| match source {
                Some(source) if source.trust() == trust && Some(index) != other => {
                    (source.verdict, source.description.rating)
                }
                _ => (Verdict::Unsafe(Reason::Absent), 0),
            }))
        };
        best(Trust::Full).or_else(|| best(Trust::Witness))
    }

    /// Reads a source. Returns its count, extended to 64 bits.
    pub(super) fn ticks(&self, source: usize, strand: StrandId) -> Option<u64> {
        self.tracked(source)?.ticks(strand)
    }

    /// Returns the nanoseconds between two counts of a source, or 0 if `to` is not later.
    pub(super) fn between(&self, source: usize, from: u64, to: u64) -> u64 {
        self.tracked(source).map_or(0, |source| source.between(from, to))
    }

    /// Returns a source's step: the largest amount by which it advances at a time, in nanoseconds.
    pub(super) fn step(&self, source: usize) -> u64 {
        self.tracked(source).map_or(0, Tracked::step)
    }

    /// Returns the time at which a source had the count `ticks`; `None` if this source is not chosen.
    pub(super) fn time_at(&self, source: usize, ticks: u64) -> Option<u64> {
        self.with_epoch(|epoch, tracked| {
            (epoch.source() == source).then(|| Self::time_of(epoch, tracked, ticks))
        })
    }

    #[inline]
    fn time_of(epoch: &Epoch, source: &Tracked<S>, ticks: u64) -> u64 {
        let passed = source.between(epoch.ticks.load(Ordering::Acquire), ticks);
        epoch.time.load(Ordering::Acquire).saturating_add(passed)
    }

    /// Calls `read` with the epoch and its source. Reads again if the epoch has been overwritten meanwhile.
    #[inline]
    fn with_epoch(&self, read: impl Fn(&Epoch, &Tracked<S>) -> Option<u64>) -> Option<u64> {
        for _ in 0..MAX_TRIES {
            let number = self.epoch.load(Ordering::Acquire);
            let epoch = self.slot(number);
            let value = read(epoch, self.tracked(epoch.source())?);
            // If `read` loaded a value that a later epoch n has written, this load returns at least n - 1.
            if self.epoch.load(Ordering::Relaxed).wrapping_sub(number) < EPOCHS as u32 - 1 {
                return value;
            }
        }
        None
    }

    #[inline]
    fn slot(&self, number: u32) -> &Epoch {
        &self.epochs[number as usize % EPOCHS]
    }

    #[inline]
    pub(super) fn tracked(&self, source: usize) -> Option<&Tracked<S>> {
        self.sources.get(source)?.as_ref()
    }
}

/// The clock of a strand, in nanoseconds since the creation of the [`Timekeeper`].
///
/// Once a clock of a timekeeper has shown a time, no clock of this timekeeper shows an earlier time, on any strand. The clocks stand still
/// while the timekeeper's time is earlier than the latest time that any of them has shown. They also stand still while the source cannot be
/// read.
#[derive(Debug)]
pub struct StrandClock<'a, S, const N: usize> {
    keeper: &'a Timekeeper<S, N>,
    strand: StrandId,
}

impl<S: ClockSource, const N: usize> Clock for StrandClock<'_, S, N> {
    /// Returns the time in nanoseconds. Only the clock's own strand may call this method.
    #[inline]
    fn ticks(&self) -> u64 {
        let shown = &self.keeper.shown;
        match self.keeper.time(self.strand) {
            // Relaxed accesses are enough, because all strands see the changes of a single word in the same order.
            Some(time) => shown.fetch_max(time, Ordering::Relaxed).max(time),
            None => shown.load(Ordering::Relaxed),
        }
    }
}
