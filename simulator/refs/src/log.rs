//! A thread's log, which the recorder's callbacks write.

use std::collections::VecDeque;

use super::bytes::sign_extended;
use super::order::Order;

/// The tag of a log word that marks the start of a block. Bits 31:0 are the block's number. Bits 61:32 are ignored.
pub(crate) const BLOCK: u64 = 0;
/// The tag of the first of a data access's two log words. Bits 41:32 are the instruction's index, and bits 31:0 describe the access in the
/// form that the recorder's [`Describe`] understands. The second word is the address.
const ACCESS: u64 = 1;
/// The tag of a word that stands for the next entry of [`Log::orders`].
const ORDER: u64 = 2;
/// The tag of the first of a data access's two log words. Bits 15:0 are the [`BlockAccess`]. The second word is the address.
const PLACE: u64 = 3;

pub(crate) const TAG_SHIFT: u32 = 62;
/// The position of the instruction's index in an [`access_word`].
pub const INSTRUCTION_SHIFT: u32 = 32;

/// Returns whether a described access is a store, and the binary logarithm of its number of bytes.
pub type Describe = fn(description: u32) -> (bool, u8);

/// The actions of one thread since its log was last encoded.
#[derive(Debug)]
pub struct Log {
    pub(crate) words: Vec<u64>,
    /// One list of orders for each word with the tag [`ORDER`]. The first list belongs to the first such word. A placeholder's list can be
    /// empty, or have several orders.
    orders: VecDeque<Vec<Order>>,
    /// The number of entries of `orders` that have been encoded.
    encoded: u64,
    describe: Describe,
}

impl Default for Log {
    fn default() -> Self {
        Self::new(|_| (false, 0))
    }
}

/// A position in a [`Log`] where orders can still be [put](Log::put_first).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placeholder(u64);

impl Log {
    /// A log with this many words (2 MiB) or more should be [encoded](super::Encoder::encode) before the next block. A longer log still
    /// accepts words, but takes more memory.
    pub const FULL: usize = 1 << 18;

    /// Returns an empty log. `describe` interprets the recorder's own descriptions of accesses.
    pub fn new(describe: Describe) -> Self {
        let words = Vec::with_capacity(Self::FULL + Self::FULL / 16);
        Self { words, orders: VecDeque::new(), encoded: 0, describe }
    }

    /// Returns the words of this log. A recorder may append a [`block_word`], or an [`access_word`] and an address.
    pub fn words(&mut self) -> &mut Vec<u64> {
        &mut self.words
    }

    /// Logs the start of a block. `block` is the number that [`Definitions::block`](super::Definitions::block) has returned.
    #[inline(always)]
    pub fn block(&mut self, block: u32) {
        self.words.push(block_word(block.into()));
    }

    /// Logs an access of the current block. `instruction` is the instruction's index in its block, below
    /// [`MOST_INSTRUCTIONS`](super::MOST_INSTRUCTIONS). `size_log2` is the binary logarithm of the number of bytes, 0 to 7. Bits 63:48 of
    /// the address are not recorded. Readers set them to copies of bit 47.
    #[inline(always)]
    pub fn access(&mut self, instruction: u16, store: bool, size_log2: u8, address: u64) {
        let place = BlockAccess::new(instruction, store, size_log2);
        self.words.extend([PLACE << TAG_SHIFT | u64::from(place.0), address]);
    }

    /// Logs an order, such as a signal or a lock's release, after the current block.
    pub fn order(&mut self, order: Order) {
        self.log(vec![order]);
    }

    /// Reserves a position after the current block for orders that are not known yet. If no order is [put](Self::put_first)
    /// there, the recording contains nothing for the placeholder.
    pub fn placeholder(&mut self) -> Placeholder {
        let number = self.encoded + self.orders.len() as u64;
        self.log(Vec::new());
        Placeholder(number)
    }

    /// Puts an order into a placeholder, before the orders that are already there. Does nothing if the placeholder has been encoded.
    pub fn put_first(&mut self, place: Placeholder, order: Order) {
        let index = place.0.checked_sub(self.encoded).and_then(|index| usize::try_from(index).ok());
        if let Some(orders) = index.and_then(|index| self.orders.get_mut(index)) {
            orders.insert(0, order);
        }
    }

    fn log(&mut self, orders: Vec<Order>) {
        self.words.push(ORDER << TAG_SHIFT);
        self.orders.push_back(orders);
    }

    /// Takes the orders that belong to the first word with the tag [`ORDER`].
    pub(crate) fn take_orders(&mut self) -> Vec<Order> {
        self.encoded += 1;
        self.orders.pop_front().unwrap_or_default()
    }

    /// Returns the number of words in this log, for comparison with [`FULL`](Self::FULL).
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns `true` if the log has no words, so that there is nothing to encode.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Shortens the log to its first `length` words. Then appends those removed words that stand for orders, so that no order is lost. An
    /// access must not begin before `length` and end after it.
    pub fn truncate(&mut self, length: usize) {
        let removed = items(self.words.get(length..).unwrap_or_default(), self.describe);
        let orders = removed.filter(|item| matches!(item, LogItem::Order)).count();
        self.words.truncate(length);
        self.words.extend(std::iter::repeat_n(ORDER << TAG_SHIFT, orders));
    }

    /// Returns the accesses after the first `from` words.
    pub fn accesses(&self, from: usize) -> impl Iterator<Item = LoggedAccess> {
        let items = items(self.words.get(from..).unwrap_or_default(), self.describe);
        items.filter_map(|item| match item {
            LogItem::Access(place, address) => Some(LoggedAccess { place, address }),
            LogItem::Block(_) | LogItem::Order => None,
        })
    }

    pub(crate) fn describe(&self) -> Describe {
        self.describe
    }
}

/// Returns the word for the start of a block. Bits 31:0 of `facts` are the block's number, bits 61:32 are ignored, and bits 63:62 are
/// 0.
#[inline(always)]
pub const fn block_word(facts: u64) -> u64 {
    BLOCK << TAG_SHIFT | facts
}

/// Returns the first of the two words for an access. It contains the instruction's index. The recorder adds its description of the access
/// in bits 31:0. The second word is the address.
#[inline(always)]
pub const fn access_word(instruction: u16) -> u64 {
    ACCESS << TAG_SHIFT | (instruction as u64 & 0x3ff) << INSTRUCTION_SHIFT
}

/// A data access, as [`Log::accesses`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedAccess {
    /// The access's instruction, size and kind.
    pub place: BlockAccess,
    /// The address of the first byte.
    pub address: u64,
}

/// What one word of a log stands for, or the two words for an access.
pub(crate) enum LogItem {
    Block(u32),
    Access(BlockAccess, u64),
    Order,
}

/// Reads the items of a log.
pub(crate) fn items(words: &[u64], describe: Describe) -> impl Iterator<Item = LogItem> {
    let mut words = words.iter();
    std::iter::from_fn(move || {
        let word = *words.next()?;
        let place = match word >> TAG_SHIFT {
            BLOCK => return Some(LogItem::Block(word as u32)),
            ACCESS => {
                let (store, size_log2) = describe(word as u32);
                BlockAccess::new((word >> INSTRUCTION_SHIFT) as u16, store, size_log2)
            }
            ORDER => return Some(LogItem::Order),
            _ => BlockAccess(word as u16),
        };
        Some(LogItem::Access(place, sign_extended(*words.next()?)))
    })
}

/// Returns `true` if this is the first of the two words for an access.
pub(crate) fn is_access(word: u64) -> bool {
    matches!(word >> TAG_SHIFT, ACCESS | PLACE)
}

/// Returns the number of words before the first block, or of all words if there is no block.
pub(crate) fn before_block(words: &[u64]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match word >> TAG_SHIFT {
            BLOCK => break,
            ORDER => at += 1,
            _ => at += 2,
        }
    }
    at.min(words.len())
}

/// An access's instruction, size and kind, without its address. Bits 2:0 are the binary logarithm of the size, and bit 3 marks a store.
/// Bits 13:4 are the instruction's index in its block. Bit 14 marks an atomic load and store of one location (never set in a log).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockAccess(
    /// The bits, in the layout of [`BlockAccess`].
    pub u16,
);

impl BlockAccess {
    pub(crate) const STORE: u16 = 1 << 3;
    pub(crate) const ATOMIC: u16 = 1 << 14;

    #[inline(always)]
    fn new(instruction: u16, store: bool, size_log2: u8) -> Self {
        let store = if store { Self::STORE } else { 0 };
        Self((instruction & 0x3ff) << 4 | store | u16::from(size_log2 & 7))
    }

    /// Returns the instruction's index in its block.
    pub fn instruction(self) -> u16 {
        self.0 >> 4 & 0x3ff
    }

    /// Returns the number of accessed bytes.
    pub fn size(self) -> u16 {
        1 << (self.0 & 7)
    }

    /// Returns `true` if the access stores, alone or after a load of the same location.
    pub fn is_store(self) -> bool {
        self.0 & Self::STORE != 0
    }

    /// Returns `true` if the access loads and stores one location in one step.
    pub fn is_atomic(self) -> bool {
        self.0 & Self::ATOMIC != 0
    }
}
