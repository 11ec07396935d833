//! The sources of a timekeeper.

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description};

use super::safety::{Environment, Operator, Verdict};
use super::scale::Scale;
use super::wrap::Wrap;
use crate::sync::plain::{AtomicBool, Ordering};

/// A source that a [`Timekeeper`](super::Timekeeper) may choose.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<S> {
    /// The source; `None` if the machine does not have it.
    pub source: Option<S>,
    /// The operator's setting for the source.
    pub operator: Operator,
}

impl<S> Candidate<S> {
    /// Returns a candidate with the operator's default setting: the source is used if it is safe.
    pub const fn new(source: S) -> Self {
        Self { source: Some(source), operator: Operator::Default }
    }
}

/// A source that was usable when the timekeeper was created.
#[derive(Debug)]
pub(super) struct Tracked<S> {
    source: S,
    pub(super) description: Description,
    pub(super) verdict: Verdict,
    scale: Scale,
    wrap: Wrap,
    retired: AtomicBool,
}

impl<S: ClockSource> Tracked<S> {
    /// Returns `None` if the source is not usable, or if this strand cannot read it.
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
            wrap: Wrap::new(description.width, source.read(strand)?),
            retired: AtomicBool::new(false),
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

    /// Returns the nanoseconds from one count to another; 0 if `to` is not later.
    #[inline]
    pub(super) fn between(&self, from: u64, to: u64) -> u64 {
        let ticks = to.wrapping_sub(from).cast_signed();
        self.scale.nanoseconds(ticks.max(0).cast_unsigned())
    }

    /// Returns the largest amount, in nanoseconds, by which the source advances at once.
    pub(super) fn step(&self) -> u64 {
        let step = self.scale.nanoseconds(self.description.step);
        step.saturating_add(1)
    }

    pub(super) fn is_retired(&self) -> bool {
        // Relaxed: the flag only affects the choice of a source, and `Timekeeper::changing` orders the choices.
        self.retired.load(Ordering::Relaxed)
    }

    pub(super) fn set_retired(&self, retired: bool) {
        self.retired.store(retired, Ordering::Relaxed);
    }
}
