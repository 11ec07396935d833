//! The interface through which the hypervisor and its services record events.

use guest_abi::{Clock, StrandId};
use static_assertions::assert_impl_all;

use super::event::TraceEvent;
use super::layout::{Clock27, Layout};
use super::remote::MAGIC;
use super::ring::Ring;
use crate::sync::plain::{AtomicBool, AtomicU64, Ordering};

/// Returns `ended - started` in ticks, at most `u32::MAX`, as a field of an event. (A strand's time [never goes back](Clocks::ticks).)
pub fn duration(started: u64, ended: u64) -> u32 {
    u32::try_from(ended.wrapping_sub(started)).unwrap_or(u32::MAX)
}

/// Records events while tracing is on. In all functions, `strand` is the strand that executes the function.
pub trait Trace {
    /// `false` if the tracer is never on.
    const CAN_RECORD: bool = true;

    /// The ring that holds a strand's events; `()` for a tracer without [`ring`](Self::ring)s.
    type Ring;

    /// Returns `true` if tracing is on. The operator may switch tracing at any time.
    fn is_on(&self) -> bool;

    /// Returns a flag that is `true` while tracing may be on. Trap entries need the flag if they handle some hypercalls without
    /// calling Rust code. The default is a flag that is always `true`.
    #[inline(always)]
    fn on_flag(&self) -> &AtomicBool {
        static ALWAYS: AtomicBool = AtomicBool::new(true);
        &ALWAYS
    }

    /// Returns the time in ticks on this strand; `None` if tracing is off.
    fn time(&self, strand: StrandId) -> Option<u64>;

    /// Runs `call`, and measures its duration for an event. Returns the time before the call, its result, and the time after it. Times are in
    /// ticks. By default, both times are the same if tracing is switched on or off during the call.
    #[inline(always)]
    fn timed<R>(&self, strand: StrandId, call: impl FnOnce() -> R) -> (u64, R, u64) {
        let started = self.time(strand);
        let result = call();
        let ended = self.time(strand).or(started).unwrap_or(0);
        (started.unwrap_or(ended), result, ended)
    }

    /// Records an event at a time that [`time`](Self::time) returned on this strand.
    fn record<E: TraceEvent>(&self, strand: StrandId, time: u64, event: E);

    /// Returns the ring of a strand. Every call returns the same ring. The default is `None`.
    #[inline(always)]
    #[allow(unused_variables)]
    fn ring(&self, strand: StrandId) -> Option<&Self::Ring> {
        None
    }

    /// [Records](Self::record) an event in the strand's [`ring`](Self::ring) if that takes few instructions. Returns `false` if the
    /// event was not recorded. The default always returns `false`.
    #[inline(always)]
    #[allow(unused_variables)]
    fn try_record<E: TraceEvent>(ring: &Self::Ring, time: u64, event: impl FnOnce() -> E) -> bool {
        false
    }
}

impl<T: Trace + ?Sized> Trace for &T {
    const CAN_RECORD: bool = T::CAN_RECORD;

    type Ring = T::Ring;

    #[inline(always)]
    fn is_on(&self) -> bool {
        (**self).is_on()
    }

    #[inline(always)]
    fn on_flag(&self) -> &AtomicBool {
        (**self).on_flag()
    }

    #[inline(always)]
    fn time(&self, strand: StrandId) -> Option<u64> {
        (**self).time(strand)
    }

    #[inline(always)]
    fn timed<R>(&self, strand: StrandId, call: impl FnOnce() -> R) -> (u64, R, u64) {
        (**self).timed(strand, call)
    }

    #[inline(always)]
    fn record<E: TraceEvent>(&self, strand: StrandId, time: u64, event: E) {
        (**self).record(strand, time, event);
    }

    #[inline(always)]
    fn ring(&self, strand: StrandId) -> Option<&T::Ring> {
        (**self).ring(strand)
    }

    #[inline(always)]
    fn try_record<E: TraceEvent>(ring: &T::Ring, time: u64, event: impl FnOnce() -> E) -> bool {
        T::try_record(ring, time, event)
    }
}

/// Tracing that is always off: the compiler removes the code that would record events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
    const CAN_RECORD: bool = false;

    type Ring = ();

    #[inline(always)]
    fn is_on(&self) -> bool {
        false
    }

    #[inline(always)]
    fn on_flag(&self) -> &AtomicBool {
        static NEVER: AtomicBool = AtomicBool::new(false);
        &NEVER
    }

    #[inline(always)]
    fn time(&self, _: StrandId) -> Option<u64> {
        None
    }

    #[inline(always)]
    fn record<E: TraceEvent>(&self, _: StrandId, _: u64, _: E) {}
}

/// The clocks of all strands: one [`Clock`] that all strands share, or one clock for each strand ([`PerStrand`]).
pub trait Clocks {
    /// Returns the time in ticks on `strand`, which is the strand that executes this function. The time never goes back.
    fn ticks(&self, strand: StrandId) -> u64;
}

impl<C: Clock> Clocks for C {
    #[inline(always)]
    fn ticks(&self, _: StrandId) -> u64 {
        Clock::ticks(self)
    }
}

/// One clock for each strand, indexed by strand, for example [`StrandClock`](crate::time::StrandClock)s. For a strand without a
/// clock, the time is 0.
#[derive(Clone, Copy, Debug)]
pub struct PerStrand<'a, C>(pub &'a [C]);

impl<C: Clock> Clocks for PerStrand<'_, C> {
    #[inline(always)]
    fn ticks(&self, strand: StrandId) -> u64 {
        self.0.get(strand.index()).map_or(0, Clock::ticks)
    }
}

/// Records each strand's events in the strand's ring, with times from the strand's clock. [`remote`](super::remote) describes the first
/// words, from `magic` to `missed`.
#[derive(Debug)]
#[repr(C)]
#[allow(dead_code, reason = "another machine reads the first words")]
pub struct Tracer<'a, C, L, const PACKETS: usize, const WORDS: usize> {
    magic: u64,
    before_on: [u8; 7],
    on: AtomicBool,
    number: u64,
    first: Option<&'a Ring<L, PACKETS, WORDS>>,
    stride: u64,
    packets: u64,
    words: u64,
    shape: u64,
    missed: AtomicU64,
    rings: &'a [Ring<L, PACKETS, WORDS>],
    clocks: C,
}

assert_impl_all!(Tracer<'_, (), Clock27, 2, 4>: Send, Sync);

impl<'a, C, L: Layout, const PACKETS: usize, const WORDS: usize> Tracer<'a, C, L, PACKETS, WORDS> {
    /// Returns a tracer that is off. A strand's number is the index of its ring in `rings`.
    pub const fn new(clocks: C, rings: &'a [Ring<L, PACKETS, WORDS>]) -> Self {
        Self {
            magic: MAGIC,
            before_on: [0; 7],
            on: AtomicBool::new(false),
            number: rings.len() as u64,
            first: rings.first(),
            stride: size_of::<Ring<L, PACKETS, WORDS>>() as u64,
            packets: PACKETS as u64,
            words: WORDS as u64,
            shape: L::SHAPE.into_bits(),
            missed: AtomicU64::new(0),
            rings,
            clocks,
        }
    }
}

impl<'a, C, L, const PACKETS: usize, const WORDS: usize> Tracer<'a, C, L, PACKETS, WORDS> {
    /// Switches tracing on or off. A call in progress may still follow the old setting.
    ///
    /// Some services must be notified of the switch, as their documentation says.
    pub fn set_on(&self, on: bool) {
        self.on.store(on, Ordering::SeqCst);
    }

    /// Returns the ring of a strand; `None` if the strand has no ring.
    pub fn ring(&self, strand: StrandId) -> Option<&'a Ring<L, PACKETS, WORDS>> {
        self.rings.get(strand.index())
    }

    /// Returns the number of events that were lost because their strand has no ring.
    pub fn missed(&self) -> u64 {
        // A relaxed load is enough, because the count publishes no other memory.
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
    type Ring = Ring<L, PACKETS, WORDS>;

    #[inline(always)]
    fn is_on(&self) -> bool {
        self.on.load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn on_flag(&self) -> &AtomicBool {
        &self.on
    }

    #[inline(always)]
    fn time(&self, strand: StrandId) -> Option<u64> {
        // A relaxed load is enough: if tracing is switched on or off during a call, the call may or may not be recorded.
        if self.on.load(Ordering::Relaxed) { Some(self.clocks.ticks(strand)) } else { None }
    }

    #[inline(always)]
    fn timed<R>(&self, strand: StrandId, call: impl FnOnce() -> R) -> (u64, R, u64) {
        let started = self.clocks.ticks(strand);
        let result = call();
        (started, result, self.clocks.ticks(strand))
    }

    #[inline(always)]
    fn record<E: TraceEvent>(&self, strand: StrandId, time: u64, event: E) {
        match self.ring(strand) {
            Some(ring) => ring.record(time, event),
            None => self.miss(),
        }
    }

    #[inline(always)]
    fn ring(&self, strand: StrandId) -> Option<&Self::Ring> {
        self.rings.get(strand.index())
    }

    #[inline(always)]
    fn try_record<E: TraceEvent>(ring: &Self::Ring, time: u64, event: impl FnOnce() -> E) -> bool {
        ring.try_record(time, event)
    }
}
