//! A packet: a part of a ring that is written, read, and overwritten as a whole.

use crate::sync::plain::{AtomicU32, AtomicU64, Ordering, fence};

/// Nothing, or a packet that is being set up. The numbers of packets begin with 1.
const NONE: u64 = 0;

/// What a packet begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    /// The first base, in units.
    pub(super) base: u64,
    /// How many events were offered to the ring before it, recorded or discarded.
    pub(super) first: u64,
    /// How many of them were discarded.
    pub(super) discarded: u64,
}

/// How far a packet is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fill(u32);

impl Fill {
    /// No event, and no room for one.
    const FULL: Self = Self(0xffff);

    #[inline(always)]
    pub(super) const fn words(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    pub(super) const fn events(self) -> u64 {
        (self.0 >> 16) as u64
    }

    /// One more event of so many words.
    #[inline(always)]
    const fn and(self, words: usize) -> Self {
        Self(self.0.wrapping_add(1 << 16 | words as u32))
    }
}

/// Words, and how to tell whether they were overwritten while they were read.
#[derive(Debug)]
pub(super) struct Packet<const WORDS: usize> {
    /// The number of the packet that is here.
    number: AtomicU64,
    base: AtomicU64,
    first: AtomicU64,
    discarded: AtomicU64,
    /// [`Fill`], stored last: what it covers is written.
    fill: AtomicU32,
    words: [AtomicU32; WORDS],
}

impl<const WORDS: usize> Packet<WORDS> {
    pub(super) const fn new() -> Self {
        // A full header of the largest layout has 4 words. `Fill` has 16 bits for words, and no event has none.
        const { assert!(WORDS >= 4 && WORDS < 0xffff) };
        Self {
            number: AtomicU64::new(NONE),
            base: AtomicU64::new(0),
            first: AtomicU64::new(0),
            discarded: AtomicU64::new(0),
            fill: AtomicU32::new(Fill::FULL.0),
            words: [const { AtomicU32::new(0) }; WORDS],
        }
    }

    /// For the writer: begins a packet here. Whoever reads the one before finds that its number is gone.
    pub(super) fn begin(&self, number: u64, start: Start) {
        self.number.store(NONE, Ordering::Release);
        fence(Ordering::Release);
        self.base.store(start.base, Ordering::Relaxed);
        self.first.store(start.first, Ordering::Relaxed);
        self.discarded.store(start.discarded, Ordering::Relaxed);
        self.fill.store(0, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
    }

    /// For the writer.
    #[inline(always)]
    pub(super) fn fill(&self) -> Fill {
        Fill(self.fill.load(Ordering::Relaxed))
    }

    /// For the writer: how many events were offered to the ring up to the last one here.
    pub(super) fn offered(&self) -> u64 {
        self.first.load(Ordering::Relaxed) + self.fill().events()
    }

    /// For the writer: as it was begun.
    pub(super) fn discarded_before(&self) -> u64 {
        self.discarded.load(Ordering::Relaxed)
    }

    /// For the writer: room for `size` words behind what is written.
    #[inline(always)]
    pub(super) fn room(&self, fill: Fill, size: usize) -> Option<&[AtomicU32]> {
        let at = fill.words();
        self.words.get(at..at + size)
    }

    /// For the writer: the event in the room of `size` words is written.
    #[inline(always)]
    pub(super) fn commit(&self, fill: Fill, size: usize) {
        self.fill.store(fill.and(size).0, Ordering::Release);
    }

    /// For the writer: leaves what is free unused, so that no smaller event comes after one that found no room.
    pub(super) fn close(&self) {
        let fill = self.fill();
        if let Some(end) = self.words.get(fill.words()) {
            // No event has this header.
            end.store(0, Ordering::Relaxed);
            let events = fill.0 & 0xffff << 16;
            self.fill.store(events | WORDS as u32, Ordering::Release);
        }
    }

    /// For a reader: copies what was written since `from` words were. `None` if the packet with this number is not here, or
    /// was overwritten meanwhile; what is in `copy` is then worthless.
    pub(super) fn read(
        &self,
        number: u64,
        from: usize,
        copy: &mut [u32; WORDS],
    ) -> Option<(Start, Fill)> {
        if self.number.load(Ordering::Acquire) != number {
            return None;
        }
        let fill = Fill(self.fill.load(Ordering::Acquire));
        let start = Start {
            base: self.base.load(Ordering::Relaxed),
            first: self.first.load(Ordering::Relaxed),
            discarded: self.discarded.load(Ordering::Relaxed),
        };
        let new = copy.iter_mut().zip(&self.words);
        for (copy, word) in new.take(fill.words()).skip(from) {
            *copy = word.load(Ordering::Relaxed);
        }
        fence(Ordering::Acquire);
        (self.number.load(Ordering::Relaxed) == number).then_some((start, fill))
    }
}
