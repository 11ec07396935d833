//! Reads a ring, on any strand, while the writer writes.

use core::ops::Range;

use super::layout::{Header, Layout, Stamp, size};
use super::ring::Ring;

/// The maximum number of packets that one call reads, if the writer overtakes the reader repeatedly.
const TRIES: usize = 16;

/// An event, as a [`Reader`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingEvent<'a> {
    /// The time in ticks, rounded down to a multiple of `1 << DROPPED` of the [`Layout`].
    pub time: u64,
    /// The number of the kind of event.
    pub id: u16,
    /// The 32-bit words of the payload, still packed.
    pub payload: &'a [u32],
}

/// The result of [`Reader::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// The next event in the ring.
    Event(RingEvent<'a>),
    /// The number of lost events, at least 1: they were discarded, or overwritten before the reader reached them.
    Lost(u64),
}

/// Reads a ring from its oldest event on. Holds a copy of the present packet.
#[derive(Debug)]
pub struct Reader<'a, L, const PACKETS: usize, const WORDS: usize> {
    ring: &'a Ring<L, PACKETS, WORDS>,
    /// The number of the packet in the copy.
    number: u64,
    copy: [u32; WORDS],
    /// The number of words in the copy.
    copied: usize,
    /// The number of decoded words in the copy.
    at: usize,
    /// The last full time, in units of `1 << DROPPED` ticks.
    base: u64,
    /// The number of events that the reader has returned or counted as lost.
    passed: u64,
    /// The number of events offered to the ring up to the end of the copy, including lost events.
    offered: u64,
    /// The number of events that were discarded up to the end of the copy.
    discarded: u64,
}

enum Look {
    /// There are more words. `first` events were offered to the ring before this packet.
    More { first: u64 },
    /// The packet is read to its end, or overwritten. The reader has moved to another packet.
    Over,
    /// There is nothing new to read.
    Nothing,
}

impl<'a, L: Layout, const PACKETS: usize, const WORDS: usize> Reader<'a, L, PACKETS, WORDS> {
    /// Returns a reader that begins with the oldest event in the ring.
    pub fn new(ring: &'a Ring<L, PACKETS, WORDS>) -> Self {
        Self {
            ring,
            number: 1,
            copy: [0; WORDS],
            copied: 0,
            at: 0,
            base: 0,
            passed: 0,
            offered: 0,
            discarded: 0,
        }
    }

    /// Returns the next event, or the number of lost events before it; `None` if there is nothing to read now. Each event that the
    /// writer offers to the ring is either returned once or counted once as [lost](Next::Lost).
    ///
    /// `words` returns the number of words of the payload of a kind of event, or `None` if the kind is unknown. An event of
    /// an unknown kind, and the rest of its packet, count as lost.
    pub fn next(&mut self, words: impl Fn(u16) -> Option<usize>) -> Option<Next<'_>> {
        for _ in 0..TRIES {
            if let Some((time, id, payload)) = self.event(&words) {
                let payload = self.copy.get(payload).unwrap_or(&[]);
                return Some(Next::Event(RingEvent { time, id, payload }));
            }
            if self.passed < self.offered {
                return self.lost(self.offered);
            }
            match self.look() {
                Look::More { first } if self.passed < first => return self.lost(first),
                Look::More { .. } | Look::Over => {}
                Look::Nothing => {
                    let all = self.offered_at_last();
                    return self.lost(all);
                }
            }
        }
        None
    }

    /// Counts as lost all events up to `number` that the reader has not returned.
    fn lost(&mut self, number: u64) -> Option<Next<'_>> {
        let lost = number.saturating_sub(self.passed);
        self.passed += lost;
        (lost > 0).then_some(Next::Lost(lost))
    }

    /// Decodes the next event of the copy. Returns its time, its kind, and the range of its payload. If there is no event, or if it
    /// cannot be decoded, returns `None` and skips the rest of the copy.
    fn event(&mut self, words: impl Fn(u16) -> Option<usize>) -> Option<(u64, u16, Range<usize>)> {
        let rest = self.copy.get(self.at..self.copied)?;
        let known = L::read(rest)
            .and_then(|header| Some((header, header.payload.or_else(|| words(header.id))?)));
        let Some((header, payload)) = known else {
            self.at = self.copied;
            return None;
        };
        let from = self.at + header.words;
        self.at += size::<L>(header.words, payload);
        self.passed += 1;
        let time = self.units(header) << L::DROPPED;
        Some((time, header.id, from..from + payload))
    }

    /// Returns an event's time in units of `1 << DROPPED` ticks: the first time from the base on that has the header's lower bits.
    fn units(&mut self, header: Header) -> u64 {
        match header.stamp {
            Stamp::Full(units) => {
                self.base = units;
                units
            }
            Stamp::Low(low) => {
                let distance = u64::from(low).wrapping_sub(self.base) & L::REACH;
                self.base.wrapping_add(distance)
            }
        }
    }

    /// Copies the words that are new in the packet, or moves to another packet.
    fn look(&mut self) -> Look {
        // Loaded before the packet: if there is a newer packet already, the copy of this packet is complete.
        let newest = self.ring.newest();
        let packet = self.ring.packet(self.number);
        match packet.read(self.number, self.copied, &mut self.copy) {
            Some((start, fill)) if fill.words() > self.copied => {
                if self.copied == 0 {
                    (self.base, self.discarded) = (start.base, start.discarded);
                }
                self.copied = fill.words();
                self.offered = start.first + fill.events();
                Look::More { first: start.first }
            }
            Some(_) if newest > self.number => {
                self.go_to(self.number + 1);
                Look::Over
            }
            Some(_) => Look::Nothing,
            None => {
                let oldest = (self.ring.newest() + 1).saturating_sub(PACKETS as u64);
                if oldest <= self.number {
                    return Look::Nothing;
                }
                self.go_to(oldest);
                Look::Over
            }
        }
    }

    fn go_to(&mut self, number: u64) {
        self.number = number;
        (self.copied, self.at) = (0, 0);
        self.ring.release(number);
    }

    /// Returns the number of events offered to the ring, including events discarded after the last packet. Call it when there is
    /// nothing more to read.
    fn offered_at_last(&mut self) -> u64 {
        let discarded = self.ring.discarded();
        let newest = self.ring.newest();
        // If this packet is no longer the last one, the reader must return the events of the newer packet first.
        if newest == self.number && self.copied > 0 || newest == 0 {
            self.offered += discarded.saturating_sub(self.discarded);
            self.discarded = discarded;
        }
        self.offered
    }
}
