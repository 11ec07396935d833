//! Layouts of event headers. A header holds the event's kind number and some bits of the clock.
//!
//! A *full* header holds the whole time. This time is the *base* of the following events. A *short* header holds only the lower bits of the
//! time. An event has a short header only if its time is near enough to the base for the lower bits to determine it.
//!
//! Times are in units of `1 << DROPPED_BITS` ticks. If a layout omits the lowest bits of the clock, it omits them in full headers too, so the
//! times in a ring never go back.

use bitfield_struct::bitfield;

use super::event::{Class, join};
use crate::sync::plain::{AtomicU32, Ordering};

/// The time in a header, in units of `1 << DROPPED_BITS` ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The lower bits of the time.
    Low(u32),
    /// The whole time.
    Full(u64),
}

/// A header that [`Layout::read`] has decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The event's kind number.
    pub id: u16,
    /// The length of the header in words.
    pub words: usize,
    /// The length of the payload in words; `None` if the header does not hold it.
    pub payload: Option<usize>,
    /// The time of the event: all its bits, or only the lower ones.
    pub stamp: Stamp,
}

impl Header {
    fn new(id: u32, words: usize, stamp: Stamp) -> Self {
        Self { id: id as u16, words, payload: None, stamp }
    }
}

/// The format in which the headers of events are stored.
pub trait Layout {
    /// The number of low bits of the clock that a header omits.
    const DROPPED_BITS: u32 = 0;
    /// The number of bits that distinguish a short header from a full header.
    const TYPE_BITS: u32 = 1;
    /// The number of bits for the kind's number in a short header: at most 15.
    const ID_BITS: u32 = 15;
    /// The number of bits for the payload's size in a short header.
    const SIZE_BITS: u32 = 16;
    /// The number of clock bits in a short header.
    const CLOCK_BITS: u32;
    /// Kinds with this number or a higher number always need a full header.
    const SHORT_ID_LIMIT: u16 = 1 << Self::ID_BITS;
    /// The length of the short header in 32-bit words.
    const SHORT_WORDS: usize;
    /// The length of the full header in 32-bit words.
    const FULL_WORDS: usize = 3;
    /// Each event begins at a multiple of this number of words.
    const ALIGNMENT: usize = 1;

    /// The numbers that determine how a header is stored, and so identify the layout.
    const SHAPE: Shape = Shape([
        Self::TYPE_BITS as u8,
        Self::ID_BITS as u8,
        Self::SIZE_BITS as u8,
        Self::CLOCK_BITS as u8,
        Self::DROPPED_BITS as u8,
        Self::SHORT_WORDS as u8,
        Self::FULL_WORDS as u8,
        Self::ALIGNMENT as u8,
    ]);

    /// The longest time since the base that a short header can express, in units of `1 << DROPPED_BITS` ticks.
    const MAX_DELTA: u64 = u64::MAX >> (64 - Self::CLOCK_BITS);

    /// Writes a short header of [`SHORT_WORDS`](Self::SHORT_WORDS) words, for a payload of `payload` words.
    fn short(into: &[AtomicU32], id: u16, payload: usize, units: u64);

    /// Writes a full header of [`FULL_WORDS`](Self::FULL_WORDS) words: by default the full header of [`Clock64`].
    fn full(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        store_large(into, id, payload, units);
    }

    /// Decodes the header at the beginning of `words`. Returns `None` if no more events follow.
    fn read(words: &[u32]) -> Option<Header>;
}

/// The numbers that identify a [`Layout`], one byte each, in this order: `TYPE_BITS`, `ID_BITS`, `SIZE_BITS`, `CLOCK_BITS`, `DROPPED_BITS`,
/// `SHORT_WORDS`, `FULL_WORDS` and `ALIGNMENT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape([u8; 8]);

impl Shape {
    /// Returns the shape that `bits` encodes. The first number is in the most significant byte.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits.to_be_bytes())
    }

    /// Returns the number that encodes this shape. [`from_bits`](Self::from_bits) decodes it.
    #[must_use]
    pub const fn into_bits(self) -> u64 {
        u64::from_be_bytes(self.0)
    }
}

/// Panics if a kind's number does not fit into layout `L`'s short header. Each event of such a kind would need a full header. In a
/// constant, the panic makes the build fail:
///
/// ```
/// use hv_core::trace::{Clock19, HypervisorEvent, assert_all_short};
///
/// const _: () = assert_all_short::<Clock19>(HypervisorEvent::CLASSES);
/// ```
///
/// A short header of this layout has 4 bits for the number:
///
/// ```compile_fail
/// use hv_core::trace::{Clock27Typed, assert_all_short, events};
///
/// events! {
///     pub enum Lamps {
///         16 Lit "lamp_lit" {}
///     }
/// }
/// const _: () = assert_all_short::<Clock27Typed>(Lamps::CLASSES);
/// ```
pub const fn assert_all_short<L: Layout>(classes: &[Class]) {
    let mut index = 0;
    while index < classes.len() {
        let id = classes[index].id;
        assert!(
            id < L::SHORT_ID_LIMIT,
            "the number of a kind does not fit into the layout's short header"
        );
        index += 1;
    }
}

/// Returns the length of an event in words; `header` and `payload` are the lengths of its parts.
#[inline(always)]
pub(super) const fn size<L: Layout>(header: usize, payload: usize) -> usize {
    (header + payload).next_multiple_of(L::ALIGNMENT)
}

#[inline(always)]
fn store<const N: usize>(into: &[AtomicU32], words: [u32; N]) {
    for (cell, word) in into.iter().zip(words) {
        // A relaxed store is enough, because the ring publishes the words with the event.
        cell.store(word, Ordering::Relaxed);
    }
}

const fn upper(value: u64) -> u32 {
    (value >> 32) as u32
}

/// The first word of a header whose layout has a field for the size of the payload.
#[bitfield(u32)]
struct Large {
    /// The size of the payload in bytes.
    size: u16,
    #[bits(15)]
    id: u16,
    short: bool,
}

/// Returns the first word of a header that states the payload's size, which is `payload` words.
const fn large(short: bool, id: u16, payload: usize) -> u32 {
    let first = Large::new().with_short(short).with_id(id & 0x7fff);
    first.with_size((payload * 4) as u16).into_bits()
}

impl Large {
    fn header(self, words: usize, stamp: Stamp) -> Header {
        Header {
            payload: Some(self.size() as usize / 4),
            ..Header::new(self.id().into(), words, stamp)
        }
    }
}

/// Returns a word with an event's kind number above the bits of the clock.
#[inline(always)]
fn short<L: Layout>(id: u16, units: u64) -> u32 {
    u32::from(id) << L::CLOCK_BITS | (units & L::MAX_DELTA) as u32
}

/// Writes the header of [`Clock64`].
#[inline(always)]
fn store_large(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
    let first = large(false, id, payload);
    store(into, [first, upper(units), units as u32]);
}

/// Decodes the header of [`Clock64`].
fn read_large(words: &[u32]) -> Option<Header> {
    let [first, high, low, ..] = *words else {
        return None;
    };
    let first = Large::from_bits(first);
    (first.id() != 0).then(|| first.header(3, Stamp::Full(join(high, low))))
}

const TYPE: u32 = 1 << 31;

/// A short header of one word: a type bit, `ID_BITS` bits of the kind's number, and the bits of the clock without the lowest `DROPPED_BITS`
/// bits. The full header is the same as in [`Clock64`]. Times are rounded down to multiples of `1 << DROPPED_BITS` ticks.
#[derive(Clone, Copy, Debug)]
pub enum Compact<const ID_BITS: u32, const DROPPED_BITS: u32> {}

/// A type bit, 4 bits of the kind's number, and 27 bits of the clock: exact to the tick.
pub type Clock27Typed = Compact<4, 0>;

/// A type bit, 4 bits of the kind's number, and 27 bits of the clock without its lowest 5 bits: exact to 32 ticks.
pub type Clock27Cut5 = Compact<4, 5>;

/// A type bit, 5 bits of the kind's number, and 26 bits of the clock without its lowest 6 bits: exact to 64 ticks.
pub type Clock26Cut6 = Compact<5, 6>;

/// A type bit, 6 bits of the kind's number, and 25 bits of the clock without its lowest 7 bits: exact to 128 ticks.
pub type Clock25Cut7 = Compact<6, 7>;

/// A type bit, 12 bits of the kind's number, and 19 bits of the clock without its lowest 9 bits: exact to 512 ticks.
pub type Clock19 = Compact<12, 9>;

impl<const ID_BITS: u32, const DROPPED_BITS: u32> Layout for Compact<ID_BITS, DROPPED_BITS> {
    const DROPPED_BITS: u32 = DROPPED_BITS;
    const ID_BITS: u32 = ID_BITS;
    const CLOCK_BITS: u32 = {
        assert!(ID_BITS > 0 && ID_BITS <= 15);
        31 - ID_BITS
    };
    const SIZE_BITS: u32 = 0;
    const SHORT_WORDS: usize = 1;

    #[inline(always)]
    fn short(into: &[AtomicU32], id: u16, _: usize, units: u64) {
        store(into, [TYPE | short::<Self>(id, units)]);
    }

    fn read(words: &[u32]) -> Option<Header> {
        let first = *words.first()?;
        if first & TYPE == 0 {
            return read_large(words);
        }
        let stamp = Stamp::Low(first & Self::MAX_DELTA as u32);
        Some(Header::new((first & !TYPE) >> Self::CLOCK_BITS, 1, stamp))
    }
}

/// The short header has one word: 5 bits of the kind's number, and 27 bits of the clock. The full header has four words. The first
/// word has 31 in place of the kind's number, the second word holds the kind's number, and the last two words hold the clock.
#[derive(Clone, Copy, Debug)]
pub enum Clock27 {}

/// In a full header, the 5 bits of the kind's number have this value.
const EXTENDED: u32 = 31;

impl Layout for Clock27 {
    const TYPE_BITS: u32 = 0;
    const ID_BITS: u32 = 5;
    const SIZE_BITS: u32 = 0;
    const CLOCK_BITS: u32 = 27;
    const SHORT_ID_LIMIT: u16 = EXTENDED as u16;
    const SHORT_WORDS: usize = 1;
    const FULL_WORDS: usize = 4;

    #[inline(always)]
    fn short(into: &[AtomicU32], id: u16, _: usize, units: u64) {
        store(into, [short::<Self>(id, units)]);
    }

    fn full(into: &[AtomicU32], id: u16, _: usize, units: u64) {
        let first = EXTENDED << 27;
        store(into, [first, id.into(), upper(units), units as u32]);
    }

    fn read(words: &[u32]) -> Option<Header> {
        let first = *words.first()?;
        match (first >> 27, words) {
            (EXTENDED, [_, id, high, low, ..]) => {
                Some(Header::new(*id, 4, Stamp::Full(join(*high, *low))))
            }
            (0 | EXTENDED, _) => None,
            (id, _) => Some(Header::new(id, 1, Stamp::Low(first & 0x7ff_ffff))),
        }
    }
}

/// The short header has two words. The first holds a type bit, 15 bits of the kind's number and 16 bits of the payload's size; the
/// second holds 32 bits of the clock. The full header is the same as in [`Clock64`].
#[derive(Clone, Copy, Debug)]
pub enum Clock32 {}

impl Layout for Clock32 {
    const CLOCK_BITS: u32 = 32;
    const SHORT_WORDS: usize = 2;

    #[inline(always)]
    fn short(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        store(into, [large(true, id, payload), units as u32]);
    }

    fn read(words: &[u32]) -> Option<Header> {
        match *words {
            [first, low, ..] if first & TYPE != 0 => {
                Some(Large::from_bits(first).header(2, Stamp::Low(low)))
            }
            _ => read_large(words),
        }
    }
}

/// Each header holds all 64 bits of the clock. Events begin at multiples of `ALIGNMENT` words (1 or 2).
#[derive(Clone, Copy, Debug)]
pub enum FullClock<const ALIGNMENT: usize> {}

/// Three words: the first holds a type bit (0), 15 bits of the kind's number and 16 bits of the payload's size; the others hold
/// the clock.
pub type Clock64 = FullClock<1>;

/// The header of [`Clock64`], for machines that need the clock at a multiple of 64 bits. The header has four words, because a free word
/// precedes the clock. If a payload has an odd number of words, another free word follows it.
pub type Clock64Aligned = FullClock<2>;

impl<const ALIGNMENT: usize> Layout for FullClock<ALIGNMENT> {
    const CLOCK_BITS: u32 = 64;
    const SHORT_WORDS: usize = {
        assert!(ALIGNMENT == 1 || ALIGNMENT == 2);
        2 + ALIGNMENT
    };
    const FULL_WORDS: usize = Self::SHORT_WORDS;
    const ALIGNMENT: usize = ALIGNMENT;

    #[inline(always)]
    fn short(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        if ALIGNMENT == 1 {
            return store_large(into, id, payload, units);
        }
        let first = large(false, id, payload);
        store(into, [first, 0, upper(units), units as u32]);
    }

    fn full(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        Self::short(into, id, payload, units);
    }

    fn read(words: &[u32]) -> Option<Header> {
        match *words {
            _ if ALIGNMENT == 1 => read_large(words),
            [first, _, high, low, ..] => {
                Some(Header { words: 4, ..read_large(&[first, high, low])? })
            }
            _ => None,
        }
    }
}
