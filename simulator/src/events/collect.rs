//! Collects events. Each strand's events are recorded in a ring of any layout, and are read from
//! this ring.

use std::cell::{OnceCell, RefCell};

use guest_abi::{Clock, StrandId};
use hv_core::trace::{
    Clock19, Clock25Cut7, Clock26Cut6, Clock27, Clock27Cut5, Clock27Typed, Clock32, Clock64,
    Clock64Aligned, Layout, Mode, Reader, Ring, RingItem, Trace, TraceEvent,
};
use smallvec::SmallVec;

use super::layouts::{LayoutName, for_each_layout};
use super::{DecodedEvent, Stream, StreamEntry, TracedEvent};

/// The number of packets in a ring. [`WORDS`] is the number of words in a packet.
const PACKETS: usize = 4;
const WORDS: usize = 1015;

fn strands() -> impl Iterator<Item = StrandId> {
    (0..StrandId::COUNT).filter_map(StrandId::new)
}

/// The rings of all strands, in one layout. A strand gets its ring with its first event, because a ring takes 16 KB and most strands
/// have no events.
#[derive(Debug)]
pub struct StrandRings<L> {
    mode: Mode,
    rings: Box<[StrandRing<L>]>,
}

type StrandRing<L> = OnceCell<Box<Ring<L, PACKETS, WORDS>>>;

impl<L: Layout> StrandRings<L> {
    fn new(mode: Mode) -> Self {
        Self { mode, rings: strands().map(|_| OnceCell::new()).collect() }
    }

    fn collector<C: Clock>(&self, clock: C) -> RingCollector<'_, C, L> {
        let streams = strands().map(|_| None).collect();
        RingCollector { clock, rings: self, streams: RefCell::new(streams) }
    }
}

/// Which events to keep if the rings are too small for all events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// All events: a strand's ring is read after each of the strand's calls.
    #[default]
    All,
    /// The first events, as many as fit into the rings.
    First,
    /// The last events, as many as fit into the rings.
    Last,
}

impl Retention {
    /// All choices, in the order in which command lines list them.
    pub const ALL: &'static [Self] = &[Self::All, Self::First, Self::Last];

    /// Returns the choice's name on command lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::First => "first",
            Self::Last => "last",
        }
    }

    /// Returns what the rings do when they are full.
    #[must_use]
    pub const fn mode(self) -> Mode {
        match self {
            Self::All | Self::First => Mode::Discard,
            Self::Last => Mode::Overwrite,
        }
    }
}

/// Appends what a reader returned. Merges two successive gaps into one.
pub(super) fn append(entries: &mut Vec<StreamEntry>, next: RingItem<'_>) {
    match (next, entries.last_mut()) {
        (RingItem::Event(event), _) => entries.push(StreamEntry::Event(TracedEvent {
            time: event.time,
            id: event.id,
            payload: SmallVec::from_slice(event.payload),
        })),
        (RingItem::Lost(more), Some(StreamEntry::Lost(lost))) => *lost = lost.saturating_add(more),
        (RingItem::Lost(lost), _) => entries.push(StreamEntry::Lost(lost)),
    }
}

/// A ring's reader, and the entries that it has returned. A reader holds a packet's copy, which takes 4 KB.
type ReadEntries<'a, L> = (Box<Reader<'a, L, PACKETS, WORDS>>, Vec<StreamEntry>);

/// Records in rings, and reads entries from them.
#[derive(Debug)]
pub struct RingCollector<'a, C, L> {
    clock: C,
    rings: &'a StrandRings<L>,
    /// What has been read from each ring; `None` if the ring has not been read.
    streams: RefCell<Vec<Option<ReadEntries<'a, L>>>>,
}

impl<C, L: Layout> RingCollector<'_, C, L> {
    fn record<E: TraceEvent>(&self, strand: StrandId, time: u64, event: E) {
        let StrandRings { mode, rings } = self.rings;
        rings[strand.index()].get_or_init(|| Box::new(Ring::new(*mode))).record(time, event);
    }

    fn collect(&self, strand: StrandId) {
        let Some(ring) = self.rings.rings[strand.index()].get() else { return };
        let mut streams = self.streams.borrow_mut();
        let (reader, entries) = streams[strand.index()]
            .get_or_insert_with(|| (Box::new(Reader::new(ring)), Vec::new()));
        while let Some(next) = reader.next(DecodedEvent::words) {
            append(entries, next);
        }
    }

    fn streams(&self) -> Vec<Stream> {
        strands().for_each(|strand| self.collect(strand));
        let streams = strands().zip(self.streams.take());
        streams
            .filter_map(|(strand, read)| Some(Stream { strand, entries: read?.1 }))
            .filter(|stream| !stream.entries.is_empty())
            .collect()
    }
}

macro_rules! collectors {
    ($($Layout:ident $name:literal),* $(,)?) => {
        /// The rings of all strands, in any layout.
        #[derive(Debug)]
        pub enum Rings {
            $(#[doc = concat!("Rings in the layout [`", stringify!($Layout), "`].")] $Layout(StrandRings<$Layout>),)*
        }

        impl Rings {
            /// Returns empty rings in this layout for all strands.
            #[must_use]
            pub fn new(layout: LayoutName, mode: Mode) -> Self {
                match layout {
                    $(LayoutName::$Layout => Self::$Layout(StrandRings::new(mode)),)*
                }
            }

            /// Returns a collector that records in these rings and reads from them.
            pub fn collector<C: Clock>(&self, clock: C) -> Collector<'_, C> {
                match self {
                    $(Self::$Layout(rings) => Collector::$Layout(rings.collector(clock)),)*
                }
            }
        }

        /// A tracer on the host, with the entries read from its rings. It is on unless it is [`Off`](Self::Off).
        #[derive(Debug)]
        pub enum Collector<'a, C> {
            /// Nothing is recorded.
            Off,
            $(#[doc = concat!("Records in rings in the layout [`", stringify!($Layout), "`].")] $Layout(RingCollector<'a, C, $Layout>),)*
        }

        /// Evaluates `$on` with the collector's [`RingCollector`], or `$off` if the collector is off.
        macro_rules! with_rings {
            ($collector:expr, $off:expr, |$rings:ident| $on:expr) => {
                match $collector {
                    Collector::Off => $off,
                    $(Collector::$Layout($rings) => $on,)*
                }
            };
        }
    };
}
for_each_layout!(collectors);

impl<C: Clock> Collector<'_, C> {
    /// Reads the new events from a strand's ring.
    pub fn collect(&self, strand: StrandId) {
        with_rings!(self, (), |rings| rings.collect(strand));
    }

    /// Reads the new events from all rings. Returns all entries since the start, and removes them
    /// from the collector.
    pub fn streams(&self) -> Vec<Stream> {
        with_rings!(self, Vec::new(), |rings| rings.streams())
    }
}

impl<C: Clock> Trace for Collector<'_, C> {
    type Ring = ();

    fn is_on(&self) -> bool {
        !matches!(self, Self::Off)
    }

    fn time(&self, _: StrandId) -> Option<u64> {
        with_rings!(self, None, |rings| Some(rings.clock.ticks()))
    }

    fn record<E: TraceEvent>(&self, strand: StrandId, time: u64, event: E) {
        with_rings!(self, (), |rings| rings.record(strand, time, event));
    }
}
