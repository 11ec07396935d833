//! A timekeeper's sources.

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description};

use super::safety::{Environment, OperatorSetting, Verdict};
use super::scale::Scale;
use super::wrap::WrapExtender;
use crate::sync::plain::{AtomicU8, AtomicU64, Ordering};

/// A source that a [`Timekeeper`](super::Timekeeper) may choose.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<S> {
    /// The source; `None` if the machine does not have it.
    pub source: Option<S>,
    /// The operator's setting for the source.
    pub operator: OperatorSetting,
}

impl<S> Candidate<S> {
    /// Returns a candidate with the operator's default setting: the source is used if it is safe.
    pub const fn new(source: S) -> Self {
        Self { source: Some(source), operator: OperatorSetting::Default }
    }
}

/// The level of trust in a source. The first level is the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Trust {
    /// The source may be chosen. Either it was never wrong, or it has been right again for a while and is one counter for all
    /// strands.
    Full,
    /// The source was wrong and has been right again for a while. But it has one counter per strand, and these counters may differ by now.
    /// The watchdog compares the source with other sources. The source is chosen only if no source has full trust.
    Witness,
    /// The source was wrong or could not be read, and is retired.
    None,
}

/// A source that was usable when the timekeeper was created.
#[derive(Debug)]
pub(super) struct Tracked<S> {
    source: S,
    pub(super) description: Description,
    pub(super) verdict: Verdict,
    scale: Scale,
    wrap: WrapExtender,
    trust: AtomicU8,
    /// The time at which the source was last found wrong.
    wrong_at: AtomicU64,
}

impl<S: ClockSource> Tracked<S> {
    /// Returns the source with full trust; `None` if it is not usable, or if this strand cannot read it.
    pub(super) fn new(
        candidate: Candidate<S>,
        environment: &Environment,
        strand: StrandId,
    ) -> Option<Self> {
        let source = candidate.source?;
        let description = source.describe();
        let verdict = Verdict::assess(Some(&description), environment, candidate.operator);
        if !verdict.is_usable() {
            return None;
        }
        Some(Self {
            scale: Scale::new(description.hz)?,
            wrap: WrapExtender::new(description.width, source.read(strand)?),
            trust: AtomicU8::new(Trust::Full as u8),
            wrong_at: AtomicU64::new(0),
            source,
            description,
            verdict,
        })
    }

    /// Reads the source. Returns its count, extended to 64 bits.
    #[inline]
    pub(super) fn ticks(&self, strand: StrandId) -> Option<u64> {
        Some(self.wrap.extend(self.source.read(strand)?))
    }

    /// Returns the nanoseconds between two counts, or 0 if `to` is not later.
    #[inline]
    pub(super) fn between(&self, from: u64, to: u64) -> u64 {
        let ticks = to.wrapping_sub(from).cast_signed();
        self.scale.nanoseconds(ticks.max(0).cast_unsigned())
    }

    /// Returns the source's step: the largest amount by which it advances at a time, in nanoseconds.
    pub(super) fn step(&self) -> u64 {
        let step = self.scale.nanoseconds(self.description.step);
        step.saturating_add(1)
    }

    /// Returns `true` if the source may show less time than has passed. A source that is safe on this machine is free of the hazards that
    /// depend on the machine, so only a forced source is checked for those hazards.
    pub(super) const fn can_lose(&self) -> bool {
        let hazards = self.description.hazards;
        let varies = hazards.stops_when_idle || hazards.rate_varies || hazards.may_be_cpu_clock;
        hazards.may_lose || self.is_forced() && varies
    }

    /// Returns `true` if the source may show more time than has passed.
    pub(super) const fn can_gain(&self) -> bool {
        let hazards = self.description.hazards;
        let varies = hazards.rate_varies || hazards.may_be_cpu_clock;
        hazards.may_gain || self.is_forced() && varies
    }

    const fn is_forced(&self) -> bool {
        matches!(self.verdict, Verdict::Forced(_))
    }

    // Relaxed accesses are enough for these atomics: they affect only the choice of a source, which `Timekeeper::change_lock` orders.
    pub(super) fn trust(&self) -> Trust {
        match self.trust.load(Ordering::Relaxed) {
            trust if trust == Trust::Full as u8 => Trust::Full,
            trust if trust == Trust::Witness as u8 => Trust::Witness,
            _ => Trust::None,
        }
    }

    pub(super) fn set_trust(&self, trust: Trust) {
        self.trust.store(trust as u8, Ordering::Relaxed);
    }

    pub(super) fn mark_wrong(&self, time: u64) {
        self.wrong_at.fetch_max(time, Ordering::Relaxed);
    }

    /// Returns how long the source had been right at `time`, in nanoseconds.
    pub(super) fn right_for(&self, time: u64) -> u64 {
        // `wrong_at` may be later than `time`: the timekeeper's time may have been ahead when the source was found wrong.
        time - self.wrong_at.fetch_min(time, Ordering::Relaxed).min(time)
    }
}
