//! The time from the chosen source, across a change of source.

use core::fmt;

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description};

use super::{Machine, Operator, Scale, StrandClock, Verdict, Wrap, choose, longest_poll};
use crate::sync::plain::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A source that may be used.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<S> {
    /// The source, if it is there.
    pub source: Option<S>,
    /// What the operator wants of it.
    pub operator: Operator,
}

impl<S> Candidate<S> {
    /// A source that the operator says nothing about.
    pub const fn new(source: S) -> Self {
        Self {
            source: Some(source),
            operator: Operator::Default,
        }
    }
}

/// No source is safe, or the last one that is cannot go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoUsableClock;

impl fmt::Display for NoUsableClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no other clock can be used")
    }
}

impl core::error::Error for NoUsableClock {}

/// The time in nanoseconds since it was made, from the best of up to `N` sources.
///
/// Sources are known by their place in the list of candidates. One that has been put out of use stays so.
///
/// # Change of source
/// From one change to the next is an epoch: its source, what that showed at its beginning, and what the time was. A change
/// writes the next epoch and then its number; what readers read does not change under them, and nobody waits. Each change puts
/// a source out of use, so that there are at most `N` epochs.
#[derive(Debug)]
pub struct Timekeeper<S, const N: usize> {
    sources: [Option<Tracked<S>>; N],
    epochs: [Epoch; N],
    epoch: AtomicU32,
    changing: AtomicBool,
}

/// A source that was usable at the beginning.
#[derive(Debug)]
struct Tracked<S> {
    source: S,
    description: Description,
    verdict: Verdict,
    scale: Scale,
    wrap: Wrap,
    retired: AtomicBool,
}

#[derive(Debug)]
struct Epoch {
    source: AtomicU32,
    ticks: AtomicU64,
    time: AtomicU64,
}

impl<S: ClockSource> Tracked<S> {
    fn new(candidate: Candidate<S>, machine: &Machine, strand: StrandId) -> Option<Self> {
        let source = candidate.source?;
        let description = source.describe();
        let verdict = Verdict::of(Some(&description), machine, candidate.operator);
        if !verdict.is_usable() {
            return None;
        }
        Some(Self {
            scale: Scale::new(description.hz)?,
            wrap: Wrap::new(description.width, source.read(strand)?),
            retired: AtomicBool::new(false),
            source,
            description,
            verdict,
        })
    }

    #[inline]
    fn ticks(&self, strand: StrandId) -> Option<u64> {
        Some(self.wrap.extend(self.source.read(strand)?))
    }

    /// From one number of ticks to another; 0 if that is not later.
    #[inline]
    fn between(&self, from: u64, to: u64) -> u64 {
        let ticks = to.wrapping_sub(from).cast_signed();
        self.scale.nanoseconds(ticks.max(0).cast_unsigned())
    }

    fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }
}

impl Epoch {
    const fn new() -> Self {
        Self {
            source: AtomicU32::new(0),
            ticks: AtomicU64::new(0),
            time: AtomicU64::new(0),
        }
    }

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
    /// Chooses the best of these candidates that is safe on the machine, or forced, and that can be read on this strand.
    ///
    /// # Errors
    /// There is none.
    pub fn new(
        candidates: [Candidate<S>; N],
        machine: &Machine,
        strand: StrandId,
    ) -> Result<Self, NoUsableClock> {
        let keeper = Self {
            sources: candidates.map(|candidate| Tracked::new(candidate, machine, strand)),
            epochs: [const { Epoch::new() }; N],
            epoch: AtomicU32::new(0),
            changing: AtomicBool::new(false),
        };
        let (source, ticks) = keeper.next(strand).ok_or(NoUsableClock)?;
        keeper
            .epochs
            .first()
            .ok_or(NoUsableClock)?
            .begin(source, ticks, 0);
        Ok(keeper)
    }

    /// The clock of a strand. A strand needs no more than one, and its time goes back only from one to another.
    pub fn clock(&self, strand: StrandId) -> StrandClock<'_, S, N> {
        StrandClock::new(self, strand)
    }

    /// The time on the strand that executes the call; `None` if the source cannot be read.
    ///
    /// It may go back at a change of source, and where the source itself does: see [`clock`](Self::clock).
    #[inline]
    pub fn time(&self, strand: StrandId) -> Option<u64> {
        let epoch = self.current()?;
        let source = self.tracked(epoch.source())?;
        Some(Self::time_of(epoch, source, source.ticks(strand)?))
    }

    /// The chosen source.
    pub fn chosen(&self) -> usize {
        self.current().map_or(0, Epoch::source)
    }

    /// What was judged of a source, and whether it is in use still; `None` if it was not usable in the first place.
    pub fn verdict(&self, source: usize) -> Option<(Verdict, bool)> {
        let source = self.tracked(source)?;
        Some((source.verdict, !source.is_retired()))
    }

    /// Reads all sources, so that no wrap of theirs goes unseen. Do so at least once in
    /// [`longest_poll`](Self::longest_poll).
    pub fn poll(&self, strand: StrandId) {
        for source in self.sources.iter().flatten() {
            source.ticks(strand);
        }
    }

    /// The longest time between two polls that is safe, in nanoseconds.
    pub fn longest_poll(&self) -> u64 {
        let sources = self.sources.iter().flatten();
        let polls = sources.map(|source| longest_poll(&source.description));
        polls.min().unwrap_or(u64::MAX)
    }

    /// Puts a source out of use. If it is the chosen one, the best of the others takes its place, with no step back of the
    /// time: the time goes on from what it is, and not before `at_least`.
    ///
    /// Returns the source that is chosen then.
    ///
    /// # Errors
    /// It is the last one, and stays in use; or another strand is changing the source.
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
        tracked.retired.store(true, Ordering::Relaxed);
        let changed = source != self.chosen() || self.change(strand, at_least);
        if !changed {
            tracked.retired.store(false, Ordering::Relaxed);
        }
        self.changing.store(false, Ordering::Release);
        match changed {
            true => Ok(self.chosen()),
            false => Err(NoUsableClock),
        }
    }

    /// Begins an epoch with the best source that is left. Only with `changing`.
    fn change(&self, strand: StrandId, at_least: u64) -> bool {
        // The new source first: the time that passes until the old one is read is in the new epoch then.
        let Some((source, ticks)) = self.next(strand) else {
            return false;
        };
        let begun = self
            .current()
            .map_or(0, |epoch| epoch.time.load(Ordering::Relaxed));
        let time = self.time(strand).unwrap_or(begun).max(at_least);
        let number = self.epoch.load(Ordering::Relaxed) + 1;
        let Some(epoch) = self.epochs.get(number as usize) else {
            return false;
        };
        epoch.begin(source, ticks, time);
        self.epoch.store(number, Ordering::Release);
        true
    }

    /// The best source that is left and can be read, and what it shows.
    fn next(&self, strand: StrandId) -> Option<(usize, u64)> {
        for _ in 0..N {
            let place = self.best_but([None; 2])?;
            let source = self.tracked(place)?;
            match source.ticks(strand) {
                Some(ticks) => return Some((place, ticks)),
                None => source.retired.store(true, Ordering::Relaxed),
            }
        }
        None
    }

    /// The best source that is left, but for these.
    pub(super) fn best_but(&self, others: [Option<usize>; 2]) -> Option<usize> {
        choose(self.sources.iter().enumerate().map(|(place, source)| {
            let source = source
                .as_ref()
                .filter(|source| !source.is_retired() && !others.contains(&Some(place)));
            match source {
                Some(source) => (source.verdict, source.description.rating),
                None => (Verdict::Unsafe(super::Reason::Absent), 0),
            }
        }))
    }

    /// What a source shows, in 64 bits.
    pub(super) fn ticks(&self, source: usize, strand: StrandId) -> Option<u64> {
        self.tracked(source)?.ticks(strand)
    }

    /// How long it is from one number of ticks of a source to another, in nanoseconds; 0 if that is not later.
    pub(super) fn between(&self, source: usize, from: u64, to: u64) -> u64 {
        self.tracked(source)
            .map_or(0, |source| source.between(from, to))
    }

    /// By how many nanoseconds a source goes on at once, at most.
    pub(super) fn step(&self, source: usize) -> u64 {
        self.tracked(source).map_or(0, |source| {
            let step = source.scale.nanoseconds(source.description.step);
            step.saturating_add(1)
        })
    }

    /// The time when the chosen source showed so many ticks.
    pub(super) fn time_at(&self, ticks: u64) -> u64 {
        let at = || {
            let epoch = self.current()?;
            let source = self.tracked(epoch.source())?;
            Some(Self::time_of(epoch, source, ticks))
        };
        at().unwrap_or(0)
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
    fn tracked(&self, source: usize) -> Option<&Tracked<S>> {
        self.sources.get(source)?.as_ref()
    }
}
