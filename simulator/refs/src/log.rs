//! The log of a thread. Each callback of the recorder writes one word.

use super::bytes::sign_extended;

/// Marks a word that records the start of a block. The block's number is in the low bits.
const BLOCK: u64 = 0;
/// Marks a word that records an access to data. The address is in bits 47:0, and the [`BlockAccess`] in bits 61:48.
const ACCESS: u64 = 1;
const SIGNAL: u64 = 2;
const WAIT: u64 = 3;

const TAG_SHIFT: u32 = 62;
const PLACE_SHIFT: u32 = 48;
const ADDRESS: u64 = (1 << PLACE_SHIFT) - 1;

/// The number of words (1 MiB) at which a log should be encoded.
const FULL: usize = 1 << 17;

/// The actions of one thread since its log was last encoded.
#[derive(Debug)]
pub struct Log {
    pub(crate) words: Vec<u64>,
}

impl Default for Log {
    fn default() -> Self {
        Self { words: Vec::with_capacity(FULL + FULL / 16) }
    }
}

impl Log {
    /// Logs the start of a block. `block` is the number that [`Definitions::block`](super::Definitions::block) returned.
    #[inline(always)]
    pub fn block(&mut self, block: u32) {
        self.words.push(BLOCK << TAG_SHIFT | u64::from(block));
    }

    /// Logs an access of the current block. `instruction` is the number of the instruction in its block, below
    /// [`MOST_INSTRUCTIONS`](super::MOST_INSTRUCTIONS). `size_log2` is the binary logarithm of the number of bytes, 0 to 7. Bits
    /// 63:48 of the address are not logged: readers copy bit 47 into them.
    #[inline(always)]
    pub fn access(&mut self, instruction: u16, store: bool, size_log2: u8, address: u64) {
        let place = BlockAccess::new(instruction, store, size_log2);
        let address = address & ADDRESS;
        self.words.push(ACCESS << TAG_SHIFT | u64::from(place.0) << PLACE_SHIFT | address);
    }

    /// Logs an order after the current block. Signal numbers have at most 62 bits.
    pub fn order(&mut self, order: Order) {
        let (tag, number) = match order {
            Order::Signal(number) => (SIGNAL, number),
            Order::Wait(number) => (WAIT, number),
        };
        self.words.push(tag << TAG_SHIFT | number & ((1 << TAG_SHIFT) - 1));
    }

    /// Returns `true` if the log should be [encoded](super::Encoder::encode) before the next block. A full log still accepts words,
    /// but uses more memory.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.words.len() >= FULL
    }
}

/// An order between threads: one thread waits until another has signalled.
///
/// A signal has a number. It is made once, by one thread, and any number of threads may wait for it. In the recorded execution each wait
/// came after its signal, so waits never form a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// A thread starts or wakes another thread, or ends. Its references so far come before all references that follow a wait for
    /// this number.
    Signal(u64),
    /// A thread waits: its further references come after the signal with this number.
    Wait(u64),
}

pub(crate) enum Word {
    Block(u32),
    Access(BlockAccess, u64),
    Order(Order),
}

impl Word {
    #[inline(always)]
    pub(crate) fn new(word: u64) -> Self {
        let value = word & ((1 << TAG_SHIFT) - 1);
        match word >> TAG_SHIFT {
            BLOCK => Self::Block(value as u32),
            ACCESS => {
                Self::Access(BlockAccess((value >> PLACE_SHIFT) as u16), sign_extended(value))
            }
            SIGNAL => Self::Order(Order::Signal(value)),
            _ => Self::Order(Order::Wait(value)),
        }
    }
}

/// An access without its address. Bits 2:0 are the binary logarithm of the size, and bit 3 marks a store. Bits 13:4 are the number of
/// the instruction in its block. Bit 14 marks a load and store of one place (never set in a log).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockAccess(
    /// The bits, as they are stored.
    pub u16,
);

impl BlockAccess {
    pub(crate) const STORE: u16 = 1 << 3;
    pub(crate) const MODIFY: u16 = 1 << 14;

    #[inline(always)]
    fn new(instruction: u16, store: bool, size_log2: u8) -> Self {
        let store = if store { Self::STORE } else { 0 };
        Self((instruction & 0x3ff) << 4 | store | u16::from(size_log2 & 7))
    }

    /// Returns the number of the instruction in its block.
    pub fn instruction(self) -> u16 {
        self.0 >> 4 & 0x3ff
    }

    /// Returns the size in bytes.
    pub fn size(self) -> u16 {
        1 << (self.0 & 7)
    }

    /// Returns `true` if the access stores, alone or after a load of the same place.
    pub fn is_store(self) -> bool {
        self.0 & Self::STORE != 0
    }

    /// Returns `true` if the access loads and stores one place.
    pub fn is_modify(self) -> bool {
        self.0 & Self::MODIFY != 0
    }
}
