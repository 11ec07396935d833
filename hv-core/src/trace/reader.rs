//! Reads a ring, on any strand, while the writer writes.

use core::marker::PhantomData;
use core::ops::Range;

use super::layout::{Header, Layout, Stamp, size};
use super::packet::PacketSource;
use super::ring::Ring;

/// The maximum number of packets that one call reads while the writer keeps overtaking the reader.
const MAX_PACKETS_PER_CALL: usize = 16;

/// An event from a ring, with its full time and its packed payload. A [`Reader`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingEvent<'a> {
    /// The time in ticks, rounded down to a multiple of the [`Layout`]'s `1 << DROPPED_BITS`.
    pub time: u64,
    /// The event's kind number.
    pub id: u16,
    /// The 32-bit words of the payload, still packed.
    pub payload: &'a [u32],
}

/// The next item that a [`Reader`] finds in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingItem<'a> {
    /// The next event in the ring.
    Event(RingEvent<'a>),
    /// The number of lost events, at least 1. These events were discarded, or overwritten before the reader reached them.
    Lost(u64),
}

/// Reads a ring from its oldest event on.
#[derive(Debug)]
pub struct Reader<'a, L, const PACKETS: usize, const WORDS: usize> {
    ring: &'a Ring<L, PACKETS, WORDS>,
    cursor: Cursor<L, [u32; WORDS]>,
}

impl<'a, L: Layout, const PACKETS: usize, const WORDS: usize> Reader<'a, L, PACKETS, WORDS> {
    /// Returns a reader that begins with the oldest event in the ring.
    pub fn new(ring: &'a Ring<L, PACKETS, WORDS>) -> Self {
        Self { ring, cursor: Cursor::new([0; WORDS]) }
    }

    /// Returns the next event, or the number of lost events before it; `None` if there is nothing to read now. Each event that the
    /// writer offers to the ring is either returned once or counted once as [lost](RingItem::Lost).
    ///
    /// `words` returns the payload size of a kind of event, in words, or `None` if the kind is unknown. If the kind of an event is
    /// unknown, the event and the rest of its packet are counted as lost.
    pub fn next(&mut self, words: impl Fn(u16) -> Option<usize>) -> Option<RingItem<'_>> {
        self.cursor.next(self.ring, words)
    }
}

/// A reader's position in a ring, with a copy of the current packet.
#[derive(Debug)]
pub(super) struct Cursor<L, C> {
    layout: PhantomData<fn() -> L>,
    /// The packet in the copy, by its number.
    number: u64,
    copy: C,
    /// The number of words in the copy.
    copied: usize,
    /// The number of decoded words in the copy.
    at: usize,
    /// The last full time, in units of `1 << DROPPED_BITS` ticks.
    base: u64,
    /// The number of events that the reader has returned or counted as lost.
    passed: u64,
    /// The number of events offered to the ring up to the end of the copy, including lost events.
    offered: u64,
    /// The number of events that were discarded up to the end of the copy.
    discarded: u64,
}

enum Progress {
    /// There are more words. `first` events were offered to the ring before this packet.
    More { first: u64 },
    /// The packet was read to its end, or was overwritten. The reader has moved to another packet.
    Moved,
    /// There is nothing new to read.
    Nothing,
}

impl<L: Layout, C: AsRef<[u32]> + AsMut<[u32]>> Cursor<L, C> {
    /// Returns the position of the oldest event. `copy` has room for the words of a packet.
    pub(super) const fn new(copy: C) -> Self {
        Self {
            layout: PhantomData,
            number: 1,
            copy,
            copied: 0,
            at: 0,
            base: 0,
            passed: 0,
            offered: 0,
            discarded: 0,
        }
    }

    /// See [`Reader::next`].
    pub(super) fn next(
        &mut self,
        ring: &impl PacketSource,
        words: impl Fn(u16) -> Option<usize>,
    ) -> Option<RingItem<'_>> {
        for _ in 0..MAX_PACKETS_PER_CALL {
            if let Some((time, id, payload)) = self.event(&words) {
                let payload = self.copy.as_ref().get(payload).unwrap_or(&[]);
                return Some(RingItem::Event(RingEvent { time, id, payload }));
            }
            if self.passed < self.offered {
                return self.lost(self.offered);
            }
            match self.fetch(ring) {
                Progress::More { first } if self.passed < first => return self.lost(first),
                Progress::More { .. } | Progress::Moved => {}
                Progress::Nothing => {
                    let all = self.total_offered(ring);
                    return self.lost(all);
                }
            }
        }
        None
    }

    /// Returns the number of packets that have been read, whether or not all their events have been returned.
    pub(super) const fn finished(&self) -> u64 {
        self.number - 1
    }

    /// Counts the events up to `number` that were not returned or counted before, and returns them as [lost](RingItem::Lost).
    fn lost(&mut self, number: u64) -> Option<RingItem<'_>> {
        let lost = number.saturating_sub(self.passed);
        self.passed += lost;
        (lost > 0).then_some(RingItem::Lost(lost))
    }

    /// Decodes the next event of the copy. Returns its time, its kind, and the range of its payload. If there is no event, or if it
    /// cannot be decoded, returns `None` and skips the rest of the copy.
    fn event(&mut self, words: impl Fn(u16) -> Option<usize>) -> Option<(u64, u16, Range<usize>)> {
        let rest = self.copy.as_ref().get(self.at..self.copied)?;
        let known = L::read(rest).and_then(|header| {
            let payload = words(header.id)?;
            let fits = header.payload.is_none_or(|own| own == payload)
                && payload <= rest.len().saturating_sub(header.words);
            fits.then_some((header, payload))
        });
        let Some((header, payload)) = known else {
            self.at = self.copied;
            return None;
        };
        let from = self.at + header.words;
        self.at += size::<L>(header.words, payload);
        self.passed = self.passed.saturating_add(1);
        let time = self.units(header) << L::DROPPED_BITS;
        Some((time, header.id, from..from + payload))
    }

    /// Returns an event's time in units of `1 << DROPPED_BITS` ticks: the earliest time that is not before the base and has the header's bits.
    fn units(&mut self, header: Header) -> u64 {
        match header.stamp {
            Stamp::Full(units) => {
                self.base = units;
                units
            }
            Stamp::Low(low) => {
                let distance = u64::from(low).wrapping_sub(self.base) & L::MAX_DELTA;
                self.base.wrapping_add(distance)
            }
        }
    }

    /// Copies the words that are new in the packet, or moves to another packet.
    fn fetch(&mut self, ring: &impl PacketSource) -> Progress {
        // This load must come before the copy: if a newer packet exists by then, the copied packet is complete.
        let newest = ring.newest();
        match ring.read(self.number, self.copied, self.copy.as_mut()) {
            Some((start, fill)) if fill.words() > self.copied => {
                if self.copied == 0 {
                    (self.base, self.discarded) = (start.base, start.discarded);
                }
                self.copied = fill.words();
                self.offered = start.first.saturating_add(fill.events());
                Progress::More { first: start.first }
            }
            Some(_) if newest > self.number => {
                self.move_to(ring, self.number + 1);
                Progress::Moved
            }
            Some(_) => Progress::Nothing,
            None => {
                let oldest = ring.newest().saturating_add(1).saturating_sub(ring.packets());
                if oldest <= self.number {
                    return Progress::Nothing;
                }
                self.move_to(ring, oldest);
                Progress::Moved
            }
        }
    }

    fn move_to(&mut self, ring: &impl PacketSource, number: u64) {
        self.number = number;
        (self.copied, self.at) = (0, 0);
        ring.finish(number - 1);
    }

    /// Returns the number of events offered to the ring, including events discarded after the last packet. Call this method when
    /// there is nothing more to read.
    fn total_offered(&mut self, ring: &impl PacketSource) -> u64 {
        let discarded = ring.discarded();
        let newest = ring.newest();
        // If there is a newer packet than this one, the reader must return the events of the newer packet first.
        if newest == self.number && self.copied > 0 || newest == 0 {
            let more = discarded.saturating_sub(self.discarded);
            self.offered = self.offered.saturating_add(more);
            self.discarded = discarded;
        }
        self.offered
    }
}
