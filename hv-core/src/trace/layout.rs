//! How an event begins: its number, and as much of the clock as the layout holds.
//!
//! A *short* header holds the lower bits of the time. It is used for an event so near to its *base*, the last full time in
//! the packet, that these bits stand for one time only. The *full* header, which becomes the next base, is used otherwise.
//!
//! Times are in units of `1 << DROPPED` ticks: a layout that leaves out the lower bits of the clock does so everywhere, so
//! that times of one ring never go back.

use crate::sync::plain::{AtomicU32, Ordering};

/// The time in a header, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Its lower bits.
    Low(u32),
    /// All of it.
    Full(u64),
}

/// A header that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of the kind of event.
    pub id: u16,
    /// Words that the header takes.
    pub words: usize,
    /// Words of the payload, where the header says it.
    pub payload: Option<usize>,
    /// The time.
    pub stamp: Stamp,
}

/// A layout of headers.
pub trait Layout {
    /// Its name.
    const NAME: &'static str;
    /// How many of the lowest bits of the clock are left out.
    const DROPPED: u32;
    /// Bits of the clock in a short header.
    const CLOCK_BITS: u32;
    /// Numbers of events from this on always take the full header.
    const SHORT_IDS: u16;
    /// Words in the short header.
    const SHORT_WORDS: usize;
    /// Words in the full header.
    const FULL_WORDS: usize;
    /// Events begin at a multiple of so many words.
    const ALIGNMENT: usize = 1;

    /// The greatest distance of a short header from its base, in units.
    const REACH: u64 = u64::MAX >> (64 - Self::CLOCK_BITS);

    /// Writes a short header of [`SHORT_WORDS`](Self::SHORT_WORDS) words, for a payload of `payload` words.
    fn short(into: &[AtomicU32], id: u16, payload: usize, units: u64);

    /// Writes a full header of [`FULL_WORDS`](Self::FULL_WORDS) words.
    fn full(into: &[AtomicU32], id: u16, payload: usize, units: u64);

    /// Reads the header that these words begin with. `None`: there is no event here, nor behind.
    fn read(words: &[u32]) -> Option<Header>;
}

/// The words that an event takes with a header of `header` words.
#[inline(always)]
pub(super) const fn size<L: Layout>(header: usize, payload: usize) -> usize {
    (header + payload).next_multiple_of(L::ALIGNMENT)
}

#[inline(always)]
fn store<const N: usize>(into: &[AtomicU32], words: [u32; N]) {
    for (cell, word) in into.iter().zip(words) {
        cell.store(word, Ordering::Relaxed);
    }
}

const fn upper(value: u64) -> u32 {
    (value >> 32) as u32
}

const fn join(upper: u32, lower: u32) -> u64 {
    (upper as u64) << 32 | lower as u64
}

/// The first word of the large headers: a type bit, 15 bits of the number, 16 bits of the size of the payload in bytes.
const fn large(short: bool, id: u16, payload: usize) -> u32 {
    (short as u32) << 31 | (id as u32 & 0x7fff) << 16 | (payload * 4) as u32 & 0xffff
}

const fn id_of_large(word: u32) -> u16 {
    (word >> 16) as u16 & 0x7fff
}

const fn payload_of_large(word: u32) -> usize {
    (word & 0xffff) as usize / 4
}

/// The large header with the whole clock.
fn read_large(words: &[u32]) -> Option<Header> {
    match *words {
        [first, high, low, ..] if id_of_large(first) != 0 => Some(Header {
            id: id_of_large(first),
            words: 3,
            payload: Some(payload_of_large(first)),
            stamp: Stamp::Full(join(high, low)),
        }),
        _ => None,
    }
}

const TYPE: u32 = 1 << 31;

/// One word: a type bit, 12 bits of the number, 19 bits of the clock without its 9 lowest. The full header is that of
/// [`Clock64`]. A time is told to 512 ticks.
#[derive(Clone, Copy, Debug)]
pub enum Clock19 {}

impl Layout for Clock19 {
    const NAME: &'static str = "clock19";
    const DROPPED: u32 = 9;
    const CLOCK_BITS: u32 = 19;
    const SHORT_IDS: u16 = 1 << 12;
    const SHORT_WORDS: usize = 1;
    const FULL_WORDS: usize = 3;

    #[inline(always)]
    fn short(into: &[AtomicU32], id: u16, _: usize, units: u64) {
        store(into, [TYPE | u32::from(id) << 19 | units as u32 & 0x7_ffff]);
    }

    fn full(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        store(
            into,
            [large(false, id, payload), upper(units), units as u32],
        );
    }

    fn read(words: &[u32]) -> Option<Header> {
        let first = *words.first()?;
        if first & TYPE == 0 {
            return read_large(words);
        }
        Some(Header {
            id: (first >> 19) as u16 & 0xfff,
            words: 1,
            payload: None,
            stamp: Stamp::Low(first & 0x7_ffff),
        })
    }
}

/// One word: 5 bits of the number, 27 bits of the clock. In the full header the 5 bits are 31; the number follows in a word
/// of its own, and the clock in two.
#[derive(Clone, Copy, Debug)]
pub enum Clock27 {}

/// The 5 bits of the full header.
const EXTENDED: u32 = 31;

impl Layout for Clock27 {
    const NAME: &'static str = "clock27";
    const DROPPED: u32 = 0;
    const CLOCK_BITS: u32 = 27;
    const SHORT_IDS: u16 = EXTENDED as u16;
    const SHORT_WORDS: usize = 1;
    const FULL_WORDS: usize = 4;

    #[inline(always)]
    fn short(into: &[AtomicU32], id: u16, _: usize, units: u64) {
        store(into, [u32::from(id) << 27 | units as u32 & 0x7ff_ffff]);
    }

    fn full(into: &[AtomicU32], id: u16, _: usize, units: u64) {
        store(
            into,
            [EXTENDED << 27, id.into(), upper(units), units as u32],
        );
    }

    fn read(words: &[u32]) -> Option<Header> {
        match *words {
            [first, id, high, low, ..] if first >> 27 == EXTENDED => Some(Header {
                id: id as u16,
                words: 4,
                payload: None,
                stamp: Stamp::Full(join(high, low)),
            }),
            [first, ..] if !matches!(first >> 27, 0 | EXTENDED) => Some(Header {
                id: (first >> 27) as u16,
                words: 1,
                payload: None,
                stamp: Stamp::Low(first & 0x7ff_ffff),
            }),
            _ => None,
        }
    }
}

/// Two words: a type bit, 15 bits of the number, 16 bits of the payload's size; 32 bits of the clock. In the full header,
/// without the type bit, all 64.
#[derive(Clone, Copy, Debug)]
pub enum Clock32 {}

impl Layout for Clock32 {
    const NAME: &'static str = "clock32";
    const DROPPED: u32 = 0;
    const CLOCK_BITS: u32 = 32;
    const SHORT_IDS: u16 = 1 << 15;
    const SHORT_WORDS: usize = 2;
    const FULL_WORDS: usize = 3;

    #[inline(always)]
    fn short(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        store(into, [large(true, id, payload), units as u32]);
    }

    fn full(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        store(
            into,
            [large(false, id, payload), upper(units), units as u32],
        );
    }

    fn read(words: &[u32]) -> Option<Header> {
        match *words {
            [first, low, ..] if first & TYPE != 0 => Some(Header {
                id: id_of_large(first),
                words: 2,
                payload: Some(payload_of_large(first)),
                stamp: Stamp::Low(low),
            }),
            _ => read_large(words),
        }
    }
}

/// Three words, 96 bits: a type bit (0), 15 bits of the number, 16 bits of the payload's size; the clock.
#[derive(Clone, Copy, Debug)]
pub enum Clock64 {}

impl Layout for Clock64 {
    const NAME: &'static str = "clock64";
    const DROPPED: u32 = 0;
    const CLOCK_BITS: u32 = 64;
    const SHORT_IDS: u16 = 1 << 15;
    const SHORT_WORDS: usize = 3;
    const FULL_WORDS: usize = 3;

    #[inline(always)]
    fn short(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        store(
            into,
            [large(false, id, payload), upper(units), units as u32],
        );
    }

    fn full(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        Self::short(into, id, payload, units);
    }

    fn read(words: &[u32]) -> Option<Header> {
        read_large(words)
    }
}

/// [`Clock64`] for a machine that wants the clock at a multiple of 64 bits: a word is left free in front of it, and behind
/// payloads of an odd number of words. 128 bits.
#[derive(Clone, Copy, Debug)]
pub enum Clock64Aligned {}

impl Layout for Clock64Aligned {
    const NAME: &'static str = "clock64-aligned";
    const DROPPED: u32 = 0;
    const CLOCK_BITS: u32 = 64;
    const SHORT_IDS: u16 = 1 << 15;
    const SHORT_WORDS: usize = 4;
    const FULL_WORDS: usize = 4;
    const ALIGNMENT: usize = 2;

    #[inline(always)]
    fn short(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        store(
            into,
            [large(false, id, payload), 0, upper(units), units as u32],
        );
    }

    fn full(into: &[AtomicU32], id: u16, payload: usize, units: u64) {
        Self::short(into, id, payload, units);
    }

    fn read(words: &[u32]) -> Option<Header> {
        match *words {
            [first, _, high, low, ..] => Some(Header {
                words: 4,
                ..read_large(&[first, high, low])?
            }),
            _ => None,
        }
    }
}
