//! What the hypervisor and its services record to.

use guest_abi::{Clock, StrandId};

use super::event::Event;
use super::layout::Layout;
use super::ring::Ring;
use crate::sync::plain::{AtomicBool, AtomicU64, Ordering, spin_loop};

/// Who records an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A strand, in a trap.
    Strand(StrandId),
    /// The operator of the machine, from outside.
    Operator,
}

/// How long something took, for an event: `u32::MAX` ticks for any more.
pub fn duration(started: u64, ended: u64) -> u32 {
    u32::try_from(ended.saturating_sub(started)).unwrap_or(u32::MAX)
}

/// Takes events, or not.
pub trait Trace {
    /// Whether events are recorded now.
    fn is_on(&self) -> bool;

    /// The time in ticks, if events are recorded now.
    fn time(&self) -> Option<u64>;

    /// Records an event at a time that [`time`](Self::time) gave. One place at a time does so for a strand.
    fn record<E: Event>(&self, source: Source, time: u64, event: E);
}

impl<T: Trace + ?Sized> Trace for &T {
    #[inline(always)]
    fn is_on(&self) -> bool {
        (**self).is_on()
    }

    #[inline(always)]
    fn time(&self) -> Option<u64> {
        (**self).time()
    }

    #[inline(always)]
    fn record<E: Event>(&self, source: Source, time: u64, event: E) {
        (**self).record(source, time, event);
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
    fn time(&self) -> Option<u64> {
        None
    }

    #[inline(always)]
    fn record<E: Event>(&self, _: Source, _: u64, _: E) {}
}

/// How often an event of the operator tries to get its ring before it is missed.
const LOCK_TRIES: usize = 1000;

/// A clock, a ring for every strand, and one for the operator.
#[derive(Debug)]
pub struct Tracer<'a, C, L, const PACKETS: usize, const WORDS: usize> {
    on: AtomicBool,
    clock: C,
    strands: &'a [Ring<L, PACKETS, WORDS>],
    operator: &'a Ring<L, PACKETS, WORDS>,
    operator_taken: AtomicBool,
    missed: AtomicU64,
}

impl<'a, C: Clock, L: Layout, const PACKETS: usize, const WORDS: usize>
    Tracer<'a, C, L, PACKETS, WORDS>
{
    /// A tracer that is off. `strands` are the rings of strands 0, 1, ...; the clock is the same on all of them.
    pub const fn new(
        clock: C,
        strands: &'a [Ring<L, PACKETS, WORDS>],
        operator: &'a Ring<L, PACKETS, WORDS>,
    ) -> Self {
        Self {
            on: AtomicBool::new(false),
            clock,
            strands,
            operator,
            operator_taken: AtomicBool::new(false),
            missed: AtomicU64::new(0),
        }
    }

    /// Records events from now on, or does not. A call in flight may be recorded or not.
    ///
    /// A service may have to be told that it was turned; see there.
    pub fn set_on(&self, on: bool) {
        self.on.store(on, Ordering::SeqCst);
    }

    /// The ring that a source records to; `None` for a strand without a ring.
    pub fn ring(&self, source: Source) -> Option<&'a Ring<L, PACKETS, WORDS>> {
        match source {
            Source::Strand(strand) => self.strands.get(strand.index()),
            Source::Operator => Some(self.operator),
        }
    }

    /// How many events were offered and are in no ring and in no ring's count: those of strands without a ring, and those
    /// of an operator while another held the ring.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    #[cold]
    fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Operators may be at work on several strands, so their ring is taken.
    fn record_of_operator<E: Event>(&self, event: E) {
        for _ in 0..LOCK_TRIES {
            if self
                .operator_taken
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                // Whoever had the ring before recorded an earlier time.
                self.operator.record(self.clock.ticks(), event);
                self.operator_taken.store(false, Ordering::Release);
                return;
            }
            spin_loop();
        }
        self.miss();
    }
}

impl<C: Clock, L: Layout, const PACKETS: usize, const WORDS: usize> Trace
    for Tracer<'_, C, L, PACKETS, WORDS>
{
    #[inline(always)]
    fn is_on(&self) -> bool {
        self.on.load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn time(&self) -> Option<u64> {
        if self.on.load(Ordering::Relaxed) {
            Some(self.clock.ticks())
        } else {
            None
        }
    }

    #[inline(always)]
    fn record<E: Event>(&self, source: Source, time: u64, event: E) {
        match source {
            Source::Strand(strand) => match self.strands.get(strand.index()) {
                Some(ring) => ring.record(time, event),
                None => self.miss(),
            },
            Source::Operator => self.record_of_operator(event),
        }
    }
}
