//! Reading a ring, from any strand, while it is written.

use core::ops::Range;

use super::layout::{Header, Layout, Stamp, size};
use super::ring::Ring;

/// How many packets a reader looks at in one go, if the writer overtakes it again and again.
const TRIES: usize = 16;

/// An event as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded<'a> {
    /// When, in ticks: exactly, or the last multiple of `1 << DROPPED` in a [`Layout`] that leaves out lower bits.
    pub time: u64,
    /// The number of its kind.
    pub id: u16,
    /// What it holds.
    pub payload: &'a [u32],
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// An event.
    Event(Recorded<'a>),
    /// So many events, at least one, were overwritten before they were read, or discarded.
    Lost(u64),
}

/// Reads a ring from its oldest event on. Holds a copy of the packet that it reads.
#[derive(Debug)]
pub struct Reader<'a, L, const PACKETS: usize, const WORDS: usize> {
    ring: &'a Ring<L, PACKETS, WORDS>,
    /// The packet that is read.
    number: u64,
    copy: [u32; WORDS],
    /// How many words of the packet are in the copy.
    copied: usize,
    /// How many of those were read.
    at: usize,
    /// The last full time, in units.
    base: u64,
    /// How many events were read, or are known to be lost.
    passed: u64,
    /// How many events there were up to the end of the copy, lost ones included.
    offered: u64,
    /// How many events were discarded up to there.
    discarded: u64,
}

/// What there was in the packet.
enum Look {
    /// More than before. So many events were offered before the packet.
    More { first: u64 },
    /// Nothing more, ever: it is read, or overwritten. Now it is the turn of another packet.
    Over,
    /// Nothing, as yet.
    Nothing,
}

impl<'a, L: Layout, const PACKETS: usize, const WORDS: usize> Reader<'a, L, PACKETS, WORDS> {
    pub(super) fn new(ring: &'a Ring<L, PACKETS, WORDS>) -> Self {
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

    /// What comes next; `None` if there is nothing now. Every event that was ever offered to the ring comes once, as
    /// itself or among the [lost](Next::Lost) ones.
    ///
    /// `words` gives the words in the payload of a kind of event. The rest of a packet in which there is an unknown kind
    /// counts as lost.
    pub fn next(&mut self, words: impl Fn(u16) -> Option<usize>) -> Option<Next<'_>> {
        for _ in 0..TRIES {
            if let Some((time, id, payload)) = self.event(&words) {
                let payload = self.copy.get(payload).unwrap_or(&[]);
                return Some(Next::Event(Recorded { time, id, payload }));
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

    /// The events up to this number are lost, if any are.
    fn lost(&mut self, number: u64) -> Option<Next<'_>> {
        let lost = number.saturating_sub(self.passed);
        self.passed += lost;
        (lost > 0).then_some(Next::Lost(lost))
    }

    /// Takes the next event out of the copy: its time, its kind, and where its payload is. At the end of the copy, and where
    /// nothing can be understood, nothing is left in the copy.
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

    /// The time of an event, in units: the first from the base on that ends in the bits of the header.
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

    /// Copies what is new.
    fn look(&mut self) -> Look {
        // Asked before the packet is read: if it is complete now, all of it is.
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

    /// How many events there were, when there is nothing more to read: those that were discarded behind the last one count.
    fn offered_at_last(&mut self) -> u64 {
        let discarded = self.ring.discarded();
        let newest = self.ring.newest();
        // Only if this packet was, and is, the last; otherwise they may be behind events that are to be read first.
        if newest == self.number && self.copied > 0 || newest == 0 {
            self.offered += discarded.saturating_sub(self.discarded);
            self.discarded = discarded;
        }
        self.offered
    }
}
