//! What the hypervisor and its services record to.

use guest_abi::{Clock, StrandId};

use super::event::Event;
use super::layout::Layout;
use super::ring::Ring;
use crate::sync::plain::{AtomicBool, AtomicU64, Ordering};

/// How long something took, for an event: `u32::MAX` ticks for any more.
pub fn duration(started: u64, ended: u64) -> u32 {
    u32::try_from(ended.saturating_sub(started)).unwrap_or(u32::MAX)
}

/// Takes events, or not.
pub trait Trace {
    /// Whether events are recorded now.
    fn is_on(&self) -> bool;

    /// The time in ticks on this strand, which executes this, if events are recorded now.
    fn time(&self, strand: StrandId) -> Option<u64>;

    /// Records an event at a time that [`time`](Self::time) gave on this strand, which executes this.
    fn record<E: Event>(&self, strand: StrandId, time: u64, event: E);
}

impl<T: Trace + ?Sized> Trace for &T {
    #[inline(always)]
    fn is_on(&self) -> bool {
        (**self).is_on()
    }

    #[inline(always)]
    fn time(&self, strand: StrandId) -> Option<u64> {
        (**self).time(strand)
    }

    #[inline(always)]
    fn record<E: Event>(&self, strand: StrandId, time: u64, event: E) {
        (**self).record(strand, time, event);
    }
}

/// No events, ever. What would record them is not compiled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Trace for Off {
    #[inline(always)]
    fn is_on(&self) -> bool {
        false
    }

    #[inline(always)]
    fn time(&self, _: StrandId) -> Option<u64> {
        None
    }

    #[inline(always)]
    fn record<E: Event>(&self, _: StrandId, _: u64, _: E) {}
}

/// What tells the time on all strands: a [`Clock`] that is the same on all of them, or one for [`Each`].
pub trait Clocks {
    /// Ticks on this strand, which executes this. They do not go back.
    fn ticks(&self, strand: StrandId) -> u64;
}

impl<C: Clock> Clocks for C {
    #[inline(always)]
    fn ticks(&self, _: StrandId) -> u64 {
        Clock::ticks(self)
    }
}

/// Clocks of strands 0, 1, ..., such as [`StrandClock`](crate::time::StrandClock). For a strand without a clock it is
/// always 0.
#[derive(Clone, Copy, Debug)]
pub struct Each<'a, C>(pub &'a [C]);

impl<C: Clock> Clocks for Each<'_, C> {
    #[inline(always)]
    fn ticks(&self, strand: StrandId) -> u64 {
        self.0.get(strand.index()).map_or(0, Clock::ticks)
    }
}

/// Clocks, and a ring for every strand.
#[derive(Debug)]
pub struct Tracer<'a, C, L, const PACKETS: usize, const WORDS: usize> {
    on: AtomicBool,
    clocks: C,
    rings: &'a [Ring<L, PACKETS, WORDS>],
    missed: AtomicU64,
}

impl<'a, C, L, const PACKETS: usize, const WORDS: usize> Tracer<'a, C, L, PACKETS, WORDS> {
    /// A tracer that is off. `rings` are those of strands 0, 1, ....
    pub const fn new(clocks: C, rings: &'a [Ring<L, PACKETS, WORDS>]) -> Self {
        Self {
            on: AtomicBool::new(false),
            clocks,
            rings,
            missed: AtomicU64::new(0),
        }
    }

    /// Records events from now on, or does not. A call in flight may be recorded or not.
    ///
    /// A service may have to be told that it was turned; see there.
    pub fn set_on(&self, on: bool) {
        self.on.store(on, Ordering::SeqCst);
    }

    /// The ring of a strand; `None` if it has none.
    pub fn ring(&self, strand: StrandId) -> Option<&'a Ring<L, PACKETS, WORDS>> {
        self.rings.get(strand.index())
    }

    /// How many events strands without a ring had.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    #[cold]
    fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }
}

impl<C: Clocks, L: Layout, const PACKETS: usize, const WORDS: usize> Trace
    for Tracer<'_, C, L, PACKETS, WORDS>
{
    #[inline(always)]
    fn is_on(&self) -> bool {
        self.on.load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn time(&self, strand: StrandId) -> Option<u64> {
        if self.on.load(Ordering::Relaxed) {
            Some(self.clocks.ticks(strand))
        } else {
            None
        }
    }

    #[inline(always)]
    fn record<E: Event>(&self, strand: StrandId, time: u64, event: E) {
        match self.ring(strand) {
            Some(ring) => ring.record(time, event),
            None => self.miss(),
        }
    }
}
