//! The packets of a ring. A packet is the part that the writer overwrites as a whole.

use crate::sync::plain::{AtomicU32, AtomicU64, Ordering, fence};

/// The value of `number` while this memory holds no packet, because none has begun here yet or the writer is preparing one. The first
/// packet's number is 1.
const NONE: u64 = 0;

/// The data that the writer stores at the beginning of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    /// The time that the packet's times are relative to, in units of `1 << DROPPED_BITS` ticks.
    pub(super) base: u64,
    /// The number of events offered to the ring before the packet, whether recorded or discarded.
    pub(super) first: u64,
    /// The number of events discarded before the packet.
    pub(super) discarded: u64,
}

/// The number of words and the number of events that the writer has written in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fill(u32);

impl Fill {
    pub(super) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    #[inline(always)]
    pub(super) const fn words(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    pub(super) const fn events(self) -> u64 {
        (self.0 >> 16) as u64
    }

    /// Returns the fill after one more event of `words` words.
    #[inline(always)]
    const fn with_event(self, words: usize) -> Self {
        Self(self.0.wrapping_add(1 << 16).wrapping_add(words as u32))
    }
}

/// A ring as a reader sees it, in the memory of this program or of another machine.
pub(super) trait PacketSource {
    /// Returns the number of packets that the ring has room for.
    fn packets(&self) -> u64;

    /// Returns the packet that the writer fills, by its number. All earlier packets are complete.
    fn newest(&self) -> u64;

    /// Returns the total number of events that were discarded because the ring had no room.
    fn discarded(&self) -> u64;

    /// Permits the writer to overwrite packets 1 to `packets`.
    fn finish(&self, packets: u64);

    /// Copies the written words of a packet, except the first `from` words. Returns `None` if the packet with this number is not stored in
    /// the ring, if it was overwritten during the copy, or if it has more words than `copy`. After `None`, the contents of `copy` are
    /// invalid.
    fn read(&self, number: u64, from: usize, copy: &mut [u32]) -> Option<(Start, Fill)>;
}

/// The words of a packet, with a sequence lock. A reader notices that the writer has overwritten the packet, because `number` has changed.
/// All bytes of a new packet are 0. [`remote`](super::remote) reads packets by the offsets of these fields.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Packet<const WORDS: usize> {
    /// The packet that this memory holds, by its number; [`NONE`] if it holds none.
    pub(super) number: AtomicU64,
    pub(super) base: AtomicU64,
    pub(super) first: AtomicU64,
    pub(super) discarded: AtomicU64,
    /// A [`Fill`]. The writer stores the fill last, after the words that it covers.
    pub(super) fill: AtomicU32,
    pub(super) words: [AtomicU32; WORDS],
}

impl<const WORDS: usize> Packet<WORDS> {
    pub(super) const fn new() -> Self {
        // The largest full header has 4 words. `Fill` has 16 bits for the number of words.
        const { assert!(WORDS >= 4 && WORDS < 0xffff) };
        Self {
            number: AtomicU64::new(NONE),
            base: AtomicU64::new(0),
            first: AtomicU64::new(0),
            discarded: AtomicU64::new(0),
            fill: AtomicU32::new(0),
            words: [const { AtomicU32::new(0) }; WORDS],
        }
    }

    /// Removes the packet from this memory. The words keep their values. Only the writer calls this function, before its first event.
    pub(super) fn clear(&self) {
        self.begin(NONE, Start::default());
    }

    /// Begins a packet in this memory. Readers of the overwritten packet see that the number has changed. Only the writer calls this
    /// function.
    pub(super) fn begin(&self, number: u64, start: Start) {
        self.number.store(NONE, Ordering::Release);
        fence(Ordering::Release);
        // Relaxed stores are enough after this fence: a reader that loads one of the new values also finds that the number has changed.
        self.base.store(start.base, Ordering::Relaxed);
        self.first.store(start.first, Ordering::Relaxed);
        self.discarded.store(start.discarded, Ordering::Relaxed);
        self.fill.store(0, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
    }

    /// Returns the current fill. Only the writer calls this function.
    #[inline(always)]
    pub(super) fn fill(&self) -> Fill {
        // Relaxed loads are enough here, in `offered` and in `discarded_before`, because no other strand writes these words.
        Fill(self.fill.load(Ordering::Relaxed))
    }

    /// Returns the number of events that were offered to the ring before the end of this packet. Only the writer calls this function.
    pub(super) fn offered(&self) -> u64 {
        self.first.load(Ordering::Relaxed) + self.fill().events()
    }

    /// Returns the number of events that were discarded before the packet began. Only the writer calls this function.
    pub(super) fn discarded_before(&self) -> u64 {
        self.discarded.load(Ordering::Relaxed)
    }

    /// Returns the next `size` free words; `None` if there is no room. Only the writer calls this function.
    #[inline(always)]
    pub(super) fn room(&self, fill: Fill, size: usize) -> Option<&[AtomicU32]> {
        let at = fill.words();
        self.words.get(at..at + size)
    }

    /// Publishes the event in the next `size` words. Only the writer calls this function.
    #[inline(always)]
    pub(super) fn commit(&self, fill: Fill, size: usize) {
        self.fill.store(fill.with_event(size).0, Ordering::Release);
    }

    /// Gives up the free words, so that no smaller event follows. The writer calls this function after an event did not fit.
    pub(super) fn close(&self) {
        let fill = self.fill();
        if let Some(end) = self.words.get(fill.words()) {
            // No layout has an event whose first word is 0. A relaxed store is enough, because the fill publishes the word.
            end.store(0, Ordering::Relaxed);
            let events = fill.0 & 0xffff << 16;
            self.fill.store(events | WORDS as u32, Ordering::Release);
        }
    }

    /// Copies the words of the packet for a reader: see [`PacketSource::read`].
    pub(super) fn read(&self, number: u64, from: usize, copy: &mut [u32]) -> Option<(Start, Fill)> {
        if self.number.load(Ordering::Acquire) != number {
            return None;
        }
        let fill = Fill(self.fill.load(Ordering::Acquire));
        // Relaxed loads are enough here and below: the load of the number after the fence shows whether the packet has been overwritten.
        let start = Start {
            base: self.base.load(Ordering::Relaxed),
            first: self.first.load(Ordering::Relaxed),
            discarded: self.discarded.load(Ordering::Relaxed),
        };
        let until = fill.words().min(copy.len()).min(WORDS);
        if let (Some(copy), Some(words)) = (copy.get_mut(from..until), self.words.get(from..until))
        {
            for (copy, word) in copy.iter_mut().zip(words) {
                *copy = word.load(Ordering::Relaxed);
            }
        }
        fence(Ordering::Acquire);
        (self.number.load(Ordering::Relaxed) == number).then_some((start, fill))
    }
}
