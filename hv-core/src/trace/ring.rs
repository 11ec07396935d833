//! The ring to which a strand writes its events.

use core::marker::PhantomData;

use super::event::TraceEvent;
use super::layout::{Layout, size};
use super::packet::{Fill, Packet, PacketSource, Start};
use crate::sync::plain::{AtomicU64, Ordering};

/// What the writer does when the ring is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The writer overwrites the oldest packet, whether it has been read or not. The ring holds the latest events.
    Overwrite,
    /// The writer discards new events until a reader has finished a packet. The ring holds the oldest unread events.
    Discard,
}

/// A ring of `PACKETS` packets (a power of two, at least 2), each with `WORDS` 32-bit words.
///
/// One strand writes; its trap handlers must not write while they interrupt a write. Any number of strands may read. (If two strands write
/// concurrently, events may be garbled, but nothing else happens.)
///
/// A packet begins with a 64-bit time, so that a reader can decode it without an earlier packet. A packet also holds the number of
/// earlier events, so that the number of lost events is exact.
///
/// A write is fastest if the size of a packet in memory is a power of two: `WORDS` is then nine less than a power of two.
///
/// All bytes of an empty ring in [`Mode::Overwrite`] are 0. The memory of a ring may hold anything before [`clear`](Self::clear).
#[derive(Debug)]
#[repr(C)]
pub struct Ring<L, const PACKETS: usize, const WORDS: usize> {
    // This field comes first, so that finding a packet's address takes no addition.
    packets: [Packet<WORDS>; PACKETS],
    /// The packet that the writer fills, by its number; 0 before the first event, when no packet has begun.
    pub(super) number: AtomicU64,
    /// The earliest time that a short header cannot express with the current base, in units of `1 << DROPPED_BITS` ticks. 0 before the first
    /// event, so that the first event gets a full header.
    limit: AtomicU64,
    pub(super) discarded: AtomicU64,
    /// The number of packets that a reader has finished.
    pub(super) finished: AtomicU64,
    /// 1 in [`Mode::Discard`], else 0. This field is a number, so that memory with any content is a valid ring before
    /// [`clear`](Self::clear).
    discards: AtomicU64,
    layout: PhantomData<fn() -> L>,
}

impl<L, const PACKETS: usize, const WORDS: usize> Ring<L, PACKETS, WORDS> {
    /// Returns an empty ring. `mode` says what the writer does when the ring is full.
    pub const fn new(mode: Mode) -> Self {
        const { assert!(PACKETS >= 2 && PACKETS.is_power_of_two()) };
        Self {
            packets: [const { Packet::new() }; PACKETS],
            number: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            discarded: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            discards: AtomicU64::new(mode as u64),
            layout: PhantomData,
        }
    }

    /// Empties the ring. Only the writer calls this function, before its first event.
    pub fn clear(&self, mode: Mode) {
        self.discards.store(mode as u64, Ordering::Relaxed);
        self.packets.iter().for_each(Packet::clear);
        // Relaxed stores are enough, because there is no reader yet.
        for word in [&self.number, &self.limit, &self.discarded, &self.finished] {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the memory for packet number `number`. By now, a later packet may be stored there.
    #[inline(always)]
    pub(super) fn packet(&self, number: u64) -> &Packet<WORDS> {
        &self.packets[number as usize % PACKETS]
    }

    /// Returns the total number of events that were discarded because the ring had no room.
    pub fn discarded(&self) -> u64 {
        self.discarded.load(Ordering::Acquire)
    }
}

impl<L, const PACKETS: usize, const WORDS: usize> PacketSource for Ring<L, PACKETS, WORDS> {
    fn packets(&self) -> u64 {
        PACKETS as u64
    }

    fn newest(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    fn discarded(&self) -> u64 {
        self.discarded()
    }

    fn finish(&self, packets: u64) {
        self.finished.fetch_max(packets, Ordering::Release);
    }

    fn read(&self, number: u64, from: usize, copy: &mut [u32]) -> Option<(Start, Fill)> {
        self.packet(number).read(number, from, copy)
    }
}

impl<L: Layout, const PACKETS: usize, const WORDS: usize> Ring<L, PACKETS, WORDS> {
    /// Records an event. `time` is in ticks, and must not be earlier than the time of the previous event.
    #[inline(always)]
    pub fn record<E: TraceEvent>(&self, time: u64, event: E) {
        self.record_or(time, || event, || (), |units, event| self.record_slow(units, event()));
    }

    /// Records an event with a short header in the current packet. Returns `false` if the event needs a full header or more room.
    #[inline(always)]
    pub(super) fn try_record<E: TraceEvent>(&self, time: u64, event: impl FnOnce() -> E) -> bool {
        self.record_or(time, event, || true, |_, _| false)
    }

    /// Records an event with a short header in the current packet. If that is impossible, passes the event to `otherwise`.
    #[inline(always)]
    fn record_or<E: TraceEvent, F: FnOnce() -> E, R>(
        &self,
        time: u64,
        event: F,
        done: impl FnOnce() -> R,
        otherwise: impl FnOnce(u64, F) -> R,
    ) -> R {
        const { assert!(E::ID > 0 && E::ID < 1 << 15) };
        let size = size::<L>(L::SHORT_WORDS, E::WORDS);
        let units = time >> L::DROPPED_BITS;
        // Relaxed accesses are enough: no other strand writes these words, and the commit publishes the event.
        let packet = self.packet(self.number.load(Ordering::Relaxed));
        let fill = packet.fill();
        if E::ID < L::SHORT_ID_LIMIT
            && units < self.limit.load(Ordering::Relaxed)
            && let Some(room) = packet.room(fill, size)
            && let Some((header, rest)) = room.split_at_checked(L::SHORT_WORDS)
        {
            L::short(header, E::ID, E::WORDS, units);
            for (cell, word) in rest.iter().zip(event().payload().as_ref()) {
                cell.store(*word, Ordering::Relaxed);
            }
            packet.commit(fill, size);
            done()
        } else {
            otherwise(units, event)
        }
    }

    /// The slow path of [`record`](Self::record). It takes the event instead of the payload, so that the fast path need not store the
    /// payload in memory. All functions that it calls are inlined, because a real call needs a register window.
    #[cold]
    #[inline(never)]
    fn record_slow<E: TraceEvent>(&self, units: u64, event: E) {
        self.record_with_full_header(units, E::ID, event.payload().as_ref());
    }

    /// Records an event with a full header. Begins a new packet if the current packet has no room.
    #[inline(always)]
    fn record_with_full_header(&self, units: u64, id: u16, payload: &[u32]) {
        let size = size::<L>(L::FULL_WORDS, payload.len());
        // Relaxed loads are enough, because no other strand writes these words.
        let number = self.number.load(Ordering::Relaxed);
        let mut packet = self.packet(number);
        if number == 0 || packet.room(packet.fill(), size).is_none() {
            let full = self.discards.load(Ordering::Relaxed) != 0
                && number.wrapping_sub(self.finished.load(Ordering::Acquire)) >= PACKETS as u64;
            if full || size > WORDS {
                packet.close();
                let discarded = self.discarded.load(Ordering::Relaxed);
                self.discarded.store(discarded + 1, Ordering::Release);
                return;
            }
            packet = self.begin(number + 1, units);
        }
        let fill = packet.fill();
        if let Some(room) = packet.room(fill, size)
            && let Some((header, rest)) = room.split_at_checked(L::FULL_WORDS)
        {
            L::full(header, id, payload.len(), units);
            for (cell, word) in rest.iter().zip(payload) {
                cell.store(*word, Ordering::Relaxed);
            }
            self.set_base(units);
            packet.commit(fill, size);
        }
    }

    fn begin(&self, number: u64, units: u64) -> &Packet<WORDS> {
        let before = self.packet(number - 1);
        // A relaxed load is enough, because no other strand writes this number.
        let discarded = self.discarded.load(Ordering::Relaxed);
        let start = Start {
            base: units,
            first: before.offered() + (discarded - before.discarded_before()),
            discarded,
        };
        // From here on, readers treat the previous packet as complete.
        self.number.store(number, Ordering::Release);
        let packet = self.packet(number);
        packet.begin(number, start);
        self.set_base(units);
        packet
    }

    /// Makes `units`, a full time in units of `1 << DROPPED_BITS` ticks, the base of the following events.
    fn set_base(&self, units: u64) {
        let limit = units.saturating_add(L::MAX_DELTA).saturating_add(1);
        // A relaxed store is enough, because no other strand uses this value.
        self.limit.store(limit, Ordering::Relaxed);
    }
}
