//! What the recorder's callbacks write down, one word each.

use super::super::{Kind, Order};
use super::bytes::sign_extended;

/// A block begins to execute: its number.
const BLOCK: u64 = 0;
/// Data is accessed: in bits 47:0 the address, in bits 61:48 the [`Place`].
const ACCESS: u64 = 1;
const SIGNAL: u64 = 2;
const WAIT: u64 = 3;

const TAG_SHIFT: u32 = 62;
const PLACE_SHIFT: u32 = 48;
const ADDRESS: u64 = (1 << PLACE_SHIFT) - 1;

/// A log asks to be encoded when it has this many words (1 MiB).
const FULL: usize = 1 << 17;

/// What one thread did since its log was encoded last. The recorder's callbacks write it, one word for each.
#[derive(Debug)]
pub struct Log {
    pub(super) words: Vec<u64>,
}

impl Default for Log {
    fn default() -> Self {
        Self::new()
    }
}

impl Log {
    /// Returns an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self {
            words: Vec::with_capacity(FULL + FULL / 16),
        }
    }

    /// A block begins to execute: its number, as [`Definitions::block`](super::Definitions::block) returned it.
    #[inline(always)]
    pub fn block(&mut self, block: u32) {
        self.words.push(BLOCK << TAG_SHIFT | u64::from(block));
    }

    /// An instruction of the block that executes accesses data: the number of the instruction in its block (below
    /// [`MOST_INSTRUCTIONS`](super::MOST_INSTRUCTIONS)), whether it stores, the binary logarithm of the size in bytes (0 to
    /// 7), the address. Addresses have 48 bits and a sign: bits 63:48 are taken for copies of bit 47.
    #[inline(always)]
    pub fn access(&mut self, instruction: u16, store: bool, size_log2: u8, address: u64) {
        let place = Place::new(instruction, store, size_log2);
        let address = address & ADDRESS;
        self.words
            .push(ACCESS << TAG_SHIFT | u64::from(place.0) << PLACE_SHIFT | address);
    }

    /// Something orders this thread among the others, after the block that executes. Numbers of signals have 62 bits.
    pub fn order(&mut self, order: Order) {
        let (tag, number) = match order {
            Order::Signal(number) => (SIGNAL, number),
            Order::Wait(number) => (WAIT, number),
        };
        self.words
            .push(tag << TAG_SHIFT | number & ((1 << TAG_SHIFT) - 1));
    }

    /// Returns `true` if the log should be [encoded](super::Encoder::encode) before the next block. It takes more, at the
    /// cost of memory.
    #[inline(always)]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.words.len() >= FULL
    }
}

/// One word of a log.
pub(super) enum Word {
    Block(u32),
    Access(Place, u64),
    Order(Order),
}

impl Word {
    #[inline(always)]
    pub(super) fn new(word: u64) -> Self {
        let value = word & ((1 << TAG_SHIFT) - 1);
        match word >> TAG_SHIFT {
            BLOCK => Self::Block(value as u32),
            ACCESS => Self::Access(Place((value >> PLACE_SHIFT) as u16), sign_extended(value)),
            SIGNAL => Self::Order(Order::Signal(value)),
            _ => Self::Order(Order::Wait(value)),
        }
    }
}

/// An access but for its address: in bits 2:0 the binary logarithm of the size, in bit 3 that it stores, in bits 13:4 the
/// number of the instruction in its block, in bit 14 that it loads and stores in one place (never in a log).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(pub(super) u16);

impl Place {
    pub(super) const STORE: u16 = 1 << 3;
    pub(super) const MODIFY: u16 = 1 << 14;

    #[inline(always)]
    fn new(instruction: u16, store: bool, size_log2: u8) -> Self {
        let store = if store { Self::STORE } else { 0 };
        Self((instruction & 0x3ff) << 4 | store | u16::from(size_log2 & 7))
    }

    pub(super) fn instruction(self) -> u16 {
        self.0 >> 4 & 0x3ff
    }

    /// Returns the size in bytes.
    pub(super) fn size(self) -> u16 {
        1 << (self.0 & 7)
    }

    pub(super) fn kind(self) -> Kind {
        match (self.0 & Self::MODIFY != 0, self.0 & Self::STORE != 0) {
            (true, _) => Kind::Modify,
            (false, true) => Kind::Store,
            (false, false) => Kind::Load,
        }
    }
}
