//! Reads event rings in the memory of an executing machine, or in a dump of a machine's memory.

use guest_abi::StrandId;
use hv_core::trace::remote::{Directory, MAGIC, Memory, ON_WORD, RemoteReader, RingLocation};
use hv_core::trace::{
    Clock19, Clock25Cut7, Clock26Cut6, Clock27, Clock27Cut5, Clock27Typed, Clock32, Clock64,
    Clock64Aligned,
};

use super::collect::append;
use super::kinds::EventKinds;
use super::layouts::{LayoutName, for_each_layout};
use super::{Stream, StreamEntry, Trace};

/// Why rings cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RingsError {
    #[error("there are no event rings at {0:#x}")]
    Nothing(u64),
    #[error("found no event rings")]
    Nowhere,
    #[error("the layout of the rings at {0:#x} is unknown")]
    Layout(u64),
    #[error("the rings at {at:#x} have layout {found}, expected {expected}")]
    OtherLayout { at: u64, found: &'static str, expected: &'static str },
}

macro_rules! readers {
    ($($Layout:ident $name:literal),* $(,)?) => {
        /// A reader for a ring of any layout.
        #[derive(Debug)]
        enum AnyReader {
            $($Layout(RemoteReader<$Layout, Vec<u32>>),)*
        }

        impl AnyReader {
            fn new(layout: LayoutName, location: RingLocation, words: usize) -> Self {
                match layout {
                    $(LayoutName::$Layout => Self::$Layout(RemoteReader::new(location, vec![0; words])),)*
                }
            }

            fn read(
                &mut self,
                memory: &impl Memory,
                kinds: &EventKinds,
                entries: &mut Vec<StreamEntry>,
            ) {
                match self {
                    $(Self::$Layout(reader) => {
                        while let Some(next) = reader.next(memory, |id| kinds.words(id)) {
                            append(entries, next);
                        }
                    })*
                }
            }

            fn finished(&self) -> (u64, u64) {
                match self {
                    $(Self::$Layout(reader) => reader.finished(),)*
                }
            }
        }
    };
}
for_each_layout!(readers);

/// A hypervisor's rings, and what has been read from them.
#[derive(Debug)]
pub struct Rings {
    at: u64,
    layout: LayoutName,
    kinds: EventKinds,
    readers: Vec<(StrandId, AnyReader, Vec<StreamEntry>)>,
}

impl Rings {
    /// Returns the rings of the [tracer](hv_core::trace::remote) at an address. `kinds` are the kinds of the events in the rings. If
    /// `layout` is given, the rings must have this layout.
    ///
    /// # Errors
    /// There are no rings, or they have another layout.
    pub fn new(
        memory: &impl Memory,
        at: u64,
        layout: Option<LayoutName>,
        kinds: EventKinds,
    ) -> Result<Self, RingsError> {
        let directory = Directory::read(memory, at).ok_or(RingsError::Nothing(at))?;
        let known = LayoutName::ALL.iter().find(|known| known.shape() == directory.shape);
        let found = *known.ok_or(RingsError::Layout(at))?;
        if let Some(expected) = layout.filter(|expected| *expected != found) {
            let (found, expected) = (found.name(), expected.name());
            return Err(RingsError::OtherLayout { at, found, expected });
        }
        let strands = (0..StrandId::COUNT).filter_map(StrandId::new);
        let readers = strands.zip(0..).map_while(|(strand, number)| {
            let location = directory.ring(number)?;
            Some((strand, AnyReader::new(found, location, directory.packet_words), Vec::new()))
        });
        Ok(Self { at, layout: found, kinds, readers: readers.collect() })
    }

    /// Returns the address of the word that switches tracing on, and the value to write there before the machine starts.
    #[must_use]
    pub const fn switch_on(&self) -> (u64, u64) {
        (self.at + 8 * ON_WORD, 1)
    }

    /// Reads all new events.
    pub fn read(&mut self, memory: &impl Memory) {
        for (_, reader, entries) in &mut self.readers {
            reader.read(memory, &self.kinds, entries);
        }
    }

    /// Returns the stores that permit the hypervisor to overwrite the events that have been read. Each store is an address and the value to
    /// write there.
    pub fn finished(&self) -> impl Iterator<Item = (u64, u64)> {
        self.readers.iter().map(|(_, reader, _)| reader.finished())
    }

    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub const fn layout(&self) -> LayoutName {
        self.layout
    }

    /// Returns the trace of the events that have been read. `hz` is the clock's rate, and `guests` are the guests' names.
    #[must_use]
    pub fn trace(self, memory: &impl Memory, hz: u64, guests: Vec<String>) -> Trace {
        let missed = Directory::read(memory, self.at).map_or(0, |directory| directory.missed);
        let streams = self.readers.into_iter();
        let streams = streams.map(|(strand, _, entries)| Stream { strand, entries });
        let streams = streams.filter(|stream| !stream.entries.is_empty()).collect();
        let (layout, kinds) = (self.layout, self.kinds);
        Trace { hz, layout, began: 0, epoch: None, missed, guests, kinds, streams }
    }
}

/// A dump of a machine's memory: the bytes from a physical address onwards.
#[derive(Clone, Copy, Debug)]
pub struct Dump<'a> {
    /// The address of the first byte: a multiple of 8.
    pub first: u64,
    #[allow(missing_docs, reason = "its name says it")]
    pub bytes: &'a [u8],
}

impl Memory for Dump<'_> {
    fn load(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.first)?).ok()?;
        self.bytes.get(at..)?.first_chunk().map(|word| u64::from_be_bytes(*word))
    }
}

impl Dump<'_> {
    /// Reads the rings in the dump. If `layout` is given, the rings must have this layout.
    ///
    /// # Errors
    /// There are no rings, or they have another layout.
    pub fn rings(
        &self,
        layout: Option<LayoutName>,
        kinds: EventKinds,
    ) -> Result<Rings, RingsError> {
        // A tracer's first word may also occur elsewhere in memory, but is not followed there by a tracer's other words.
        let mut all = tracers(self.first, self.bytes);
        let first = all.next().ok_or(RingsError::Nowhere)?;
        let at = [first].into_iter().chain(all).find(|at| Directory::read(self, *at).is_some());
        let at = at.unwrap_or(first);
        let mut rings = Rings::new(self, at, layout, kinds)?;
        rings.read(self);
        Ok(rings)
    }
}

/// Returns the addresses in `bytes` where a tracer may begin. The first byte is at `address`.
fn tracers(address: u64, bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = (address..).step_by(8).zip(bytes.as_chunks().0);
    words.filter(|(_, word)| **word == MAGIC.to_be_bytes()).map(|(at, _)| at)
}
