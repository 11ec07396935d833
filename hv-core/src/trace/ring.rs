//! A strand's ring.

use core::marker::PhantomData;

use super::event::Event;
use super::layout::{Layout, size};
use super::packet::{Packet, Start};
use super::reader::Reader;
use crate::sync::plain::{AtomicU64, Ordering};

/// What becomes of events when the ring is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The oldest packet is overwritten, read or not: the ring holds the last events.
    Overwrite,
    /// New events are discarded until a reader has read a packet to its end: the ring holds the first events.
    Discard,
}

/// A ring of `PACKETS` packets, a power of two from 2 on, of `WORDS` words of 32 bits each.
///
/// One strand writes, at one moment in one place; any number may read. (A ring that two strands write to holds events
/// that mean nothing, and does no other harm.)
///
/// A packet begins with a time in 64 bits, so one that is left can be read without those before it; and with how
/// many events there were before it, so that what is lost is known exactly.
///
/// An event is recorded fastest if a packet takes a power of two in memory: if `WORDS` is nine less than one.
#[derive(Debug)]
#[repr(C)]
pub struct Ring<L, const PACKETS: usize, const WORDS: usize> {
    // In front, so that a packet is reached without an addition.
    packets: [Packet<WORDS>; PACKETS],
    /// The number of the packet that is written now. At first there is none, and in its place a packet that is full.
    number: AtomicU64,
    /// The last time, in units, that a short header reaches from the last full time.
    reach: AtomicU64,
    /// How many events were discarded.
    discarded: AtomicU64,
    /// The first packet that was not read to its end.
    unread: AtomicU64,
    mode: Mode,
    layout: PhantomData<fn() -> L>,
}

impl<L, const PACKETS: usize, const WORDS: usize> Ring<L, PACKETS, WORDS> {
    /// An empty ring.
    pub const fn new(mode: Mode) -> Self {
        const { assert!(PACKETS >= 2 && PACKETS.is_power_of_two()) };
        Self {
            packets: [const { Packet::new() }; PACKETS],
            number: AtomicU64::new(0),
            reach: AtomicU64::new(0),
            discarded: AtomicU64::new(0),
            unread: AtomicU64::new(1),
            mode,
            layout: PhantomData,
        }
    }

    /// The packet with this number, or what is in its place.
    #[inline(always)]
    pub(super) fn packet(&self, number: u64) -> &Packet<WORDS> {
        &self.packets[number as usize % PACKETS]
    }

    /// For a reader: the number of the packet that is written now. Those before it are complete.
    pub(super) fn newest(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    /// How many events were discarded because there was no room, ever.
    pub fn discarded(&self) -> u64 {
        self.discarded.load(Ordering::Acquire)
    }

    /// For a reader: packets before this one are not needed any more.
    pub(super) fn release(&self, unread: u64) {
        self.unread.fetch_max(unread, Ordering::Release);
    }
}

impl<L: Layout, const PACKETS: usize, const WORDS: usize> Ring<L, PACKETS, WORDS> {
    /// Records an event at a time, in ticks. Times do not go back: those of a [`Clock`](guest_abi::Clock) do not.
    #[inline(always)]
    pub fn record<E: Event>(&self, time: u64, event: E) {
        const { assert!(E::ID > 0 && E::ID < 1 << 15) };
        let payload = event.payload();
        let size = size::<L>(L::SHORT_WORDS, E::WORDS);
        let units = time >> L::DROPPED;
        let packet = self.packet(self.number.load(Ordering::Relaxed));
        let fill = packet.fill();
        if E::ID < L::SHORT_IDS
            && units <= self.reach.load(Ordering::Relaxed)
            && let Some(room) = packet.room(fill, size)
            && let Some((header, rest)) = room.split_at_checked(L::SHORT_WORDS)
        {
            L::short(header, E::ID, E::WORDS, units);
            for (cell, word) in rest.iter().zip(payload.as_ref()) {
                cell.store(*word, Ordering::Relaxed);
            }
            packet.commit(fill, size);
        } else {
            self.record_late(units, event);
        }
    }

    /// The payload is made here once more, so that in the common case it is not made in memory. One call deep: register
    /// windows are few.
    #[cold]
    #[inline(never)]
    fn record_late<E: Event>(&self, units: u64, event: E) {
        self.record_in_full(units, E::ID, event.payload().as_ref());
    }

    /// An event that needs a full header, or a new packet.
    #[inline(always)]
    fn record_in_full(&self, units: u64, id: u16, payload: &[u32]) {
        let size = size::<L>(L::FULL_WORDS, payload.len());
        let number = self.number.load(Ordering::Relaxed);
        let mut packet = self.packet(number);
        if packet.room(packet.fill(), size).is_none() {
            let full = self.mode == Mode::Discard
                && (number + 1).wrapping_sub(self.unread()) >= PACKETS as u64;
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
            self.base_at(units);
            packet.commit(fill, size);
        }
    }

    fn begin(&self, number: u64, units: u64) -> &Packet<WORDS> {
        let before = self.packet(number - 1);
        let discarded = self.discarded.load(Ordering::Relaxed);
        let start = Start {
            base: units,
            first: before.offered() + (discarded - before.discarded_before()),
            discarded,
        };
        // The one before is complete from now on.
        self.number.store(number, Ordering::Release);
        let packet = self.packet(number);
        packet.begin(number, start);
        self.base_at(units);
        packet
    }

    /// A full time is written.
    fn base_at(&self, units: u64) {
        let reach = units.saturating_add(L::REACH);
        self.reach.store(reach, Ordering::Relaxed);
    }

    fn unread(&self) -> u64 {
        self.unread.load(Ordering::Acquire)
    }

    /// A reader, which begins with the oldest event that is left.
    pub fn reader(&self) -> Reader<'_, L, PACKETS, WORDS> {
        Reader::new(self)
    }
}
