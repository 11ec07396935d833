//! Rings in the memory of another machine. A program that executes the machine, or has a dump of its memory, can read the machine's events.
//!
//! The machine is big-endian and its pointers have 64 bits, as on SPARC V9.
//!
//! A [`Tracer`](super::Tracer) begins with these 64-bit words:
//!
//! | word | content |
//! |---|---|
//! | 0 | [`MAGIC`] |
//! | 1 | [`ON_WORD`]: 1 while tracing is on. The operator may write this word before the machine starts |
//! | 2 | the number of rings: ring n belongs to strand n |
//! | 3 | the physical address of ring 0 |
//! | 4 | the distance in bytes from one ring to the next |
//! | 5 | the number of packets of a ring |
//! | 6 | the number of 32-bit words of a packet |
//! | 7 | the [`Shape`] of the rings' layout |
//! | 8 | the number of events that were lost because their strand has no ring |
//!
//! A [`Ring`] consists of its packets, each padded to a multiple of 8 bytes, and five 64-bit words after them: the packet that the writer
//! fills (by its number), a word that only the writer uses, the number of discarded events, the number of packets that a reader has
//! finished, and 1 if the writer discards events when the ring is full. Packets are numbered from 1. The index of packet n is n modulo the
//! ring's number of packets.
//!
//! | bytes of a packet | content |
//! |---|---|
//! | 0 to 7 | the number of the packet, or 0 |
//! | 8 to 15 | the time from which the times of the events are counted, without the bits that the layout drops |
//! | 16 to 23 | the number of events that were offered to the ring before the packet |
//! | 24 to 31 | the number of events that were discarded before the packet |
//! | 32 to 33 | the number of events in the packet |
//! | 34 to 35 | the number of 32-bit words to decode, at most the number in word 6 of the tracer; a header word of 0 ends the events |
//! | 36 and up | the words: [headers](super::Layout) and payloads |

use core::mem::offset_of;

use super::layout::{Layout, Shape};
use super::packet::{Fill, Packet, PacketSource, Start};
use super::reader::{Cursor, RingItem};
use super::ring::Ring;

/// The first word of a tracer. The last byte is the version of the tables above.
pub const MAGIC: u64 = u64::from_be_bytes(*b"sun4vEv\x01");

/// The index of the word that says whether tracing is on.
pub const ON_WORD: u64 = 1;

/// The interrupt with this number makes a strand record a [`Heartbeat`](super::Heartbeat) if tracing is on. The operator sends this
/// interrupt at the rate that the layout requires. A hypervisor may ignore the interrupt; a reader then learns only from the next event
/// that the clock has wrapped.
pub const HEARTBEAT_INTERRUPT: u8 = 4;

/// The memory of another machine.
pub trait Memory {
    /// Returns the big-endian 64-bit number at an address that is a multiple of 8, or `None` if no memory is there.
    fn load(&self, address: u64) -> Option<u64>;
}

/// The first words of a [`Tracer`](super::Tracer) in another machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directory {
    /// `true` while tracing is on.
    pub on: bool,
    /// The number of rings in the image's memory.
    pub rings: u64,
    first: u64,
    stride: u64,
    packets: u64,
    /// The number of 32-bit words that a packet has room for.
    pub packet_words: usize,
    /// The numbers that identify the layout of the events' headers.
    pub shape: Shape,
    /// See [`Tracer::missed`](super::Tracer::missed).
    pub missed: u64,
}

impl Directory {
    /// The size of a directory in memory, in 64-bit words.
    pub const WORDS: u64 = 9;

    /// Reads the words at an address. Returns `None` if no tracer is there, or if the words describe impossible rings.
    pub fn read(memory: &impl Memory, address: u64) -> Option<Self> {
        let word = |number: u64| memory.load(address.checked_add(8 * number)?);
        if !address.is_multiple_of(8) || word(0)? != MAGIC {
            return None;
        }
        let new = Self {
            on: word(ON_WORD)? != 0,
            rings: word(2)?,
            first: word(3)?,
            stride: word(4)?,
            packets: word(5)?,
            packet_words: usize::try_from(word(6)?).ok()?,
            shape: Shape::from_bits(word(7)?),
            missed: word(8)?,
        };
        let packets = new.packets.is_power_of_two() && new.packets < 1 << 16;
        let words = (4..0xffff).contains(&new.packet_words);
        if !packets || !words || !new.first.is_multiple_of(8) {
            return None;
        }
        let end = new.stride.checked_mul(new.rings)?.checked_add(new.first)?;
        // This load fails if the memory ends before the last ring does.
        memory.load(end.checked_sub(8)?)?;
        (new.location(0).stride() == new.stride).then_some(new)
    }

    /// Returns the location of ring `number`; `None` if there is no such ring.
    pub fn ring(&self, number: u64) -> Option<RingLocation> {
        (number < self.rings).then(|| self.location(number))
    }

    fn location(&self, number: u64) -> RingLocation {
        let Self { first, stride, packets, packet_words, .. } = *self;
        let ring = first.wrapping_add(number.wrapping_mul(stride));
        RingLocation { ring, packets, words: packet_words as u64 }
    }
}

/// The location of a ring in another machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLocation {
    ring: u64,
    packets: u64,
    words: u64,
}

/// A ring and a packet of arbitrary sizes, for computing field offsets. No offset depends on the layout, and only the offsets of the fields
/// after the packets depend on the numbers of packets and words.
type AnyRing = Ring<(), 2, 5>;
type AnyPacket = Packet<5>;

/// The size of a packet in bytes without its words.
const PACKET_HEADER_BYTES: u64 = offset_of!(AnyPacket, words) as u64;

impl RingLocation {
    fn packet_stride(&self) -> u64 {
        (PACKET_HEADER_BYTES + 4 * self.words).next_multiple_of(8)
    }

    fn packet(&self, number: u64) -> u64 {
        self.ring + number % self.packets * self.packet_stride()
    }

    /// Returns the address of a ring field, given its offset in [`AnyRing`].
    fn field(&self, offset: usize) -> u64 {
        let behind = offset - 2 * size_of::<AnyPacket>();
        self.ring + self.packets * self.packet_stride() + behind as u64
    }

    fn stride(&self) -> u64 {
        self.field(size_of::<AnyRing>()) - self.ring
    }
}

/// Reads a ring in another machine's memory from its oldest event on.
#[derive(Debug)]
pub struct RemoteReader<L, C> {
    location: RingLocation,
    cursor: Cursor<L, C>,
}

impl<L: Layout, C: AsRef<[u32]> + AsMut<[u32]>> RemoteReader<L, C> {
    /// Returns a reader that begins with the oldest event. `copy` has room for the words of a packet.
    pub const fn new(location: RingLocation, copy: C) -> Self {
        Self { location, cursor: Cursor::new(copy) }
    }

    /// See [`Reader::next`](super::Reader::next). The machine may execute between two calls, but not during a call.
    pub fn next(
        &mut self,
        memory: &impl Memory,
        words: impl Fn(u16) -> Option<usize>,
    ) -> Option<RingItem<'_>> {
        self.cursor.next(&Remote { location: self.location, memory }, words)
    }

    /// Returns the address and the value of the word that permits the writer to overwrite the packets that have been read. Only a ring in
    /// mode [`Discard`](super::Mode::Discard) needs this word.
    pub fn finished(&self) -> (u64, u64) {
        (self.location.field(offset_of!(AnyRing, finished)), self.cursor.finished())
    }
}

struct Remote<'a, M> {
    location: RingLocation,
    memory: &'a M,
}

impl<M: Memory> Remote<'_, M> {
    fn field(&self, offset: usize) -> Option<u64> {
        self.memory.load(self.location.field(offset))
    }
}

impl<M: Memory> PacketSource for Remote<'_, M> {
    fn packets(&self) -> u64 {
        self.location.packets
    }

    fn newest(&self) -> u64 {
        self.field(offset_of!(AnyRing, number)).unwrap_or(0)
    }

    fn discarded(&self) -> u64 {
        self.field(offset_of!(AnyRing, discarded)).unwrap_or(0)
    }

    /// Does nothing: see [`RemoteReader::finished`].
    fn finish(&self, _: u64) {}

    fn read(&self, number: u64, from: usize, copy: &mut [u32]) -> Option<(Start, Fill)> {
        let packet = self.location.packet(number);
        let field = |offset: usize| self.memory.load(packet + offset as u64);
        if field(offset_of!(AnyPacket, number))? != number {
            return None;
        }
        let start = Start {
            base: field(offset_of!(AnyPacket, base))?,
            first: field(offset_of!(AnyPacket, first))?,
            discarded: field(offset_of!(AnyPacket, discarded))?,
        };
        let half = |offset: u64| {
            let word = self.memory.load((packet + offset) & !7)?;
            Some(if offset.is_multiple_of(8) { (word >> 32) as u32 } else { word as u32 })
        };
        let fill = Fill::from_bits(half(offset_of!(AnyPacket, fill) as u64)?);
        let words = copy.get_mut(..fill.words())?;
        for (offset, copy) in (PACKET_HEADER_BYTES..).step_by(4).zip(words).skip(from) {
            *copy = half(offset)?;
        }
        Some((start, fill))
    }
}
