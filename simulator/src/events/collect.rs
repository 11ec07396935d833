//! Collection of events: rings of all layouts, and their readers.

use std::cell::RefCell;

use guest_abi::{Clock, StrandId};
use hv_core::trace::{
    Clock19, Clock25Cut7, Clock26Cut6, Clock27, Clock27Cut5, Clock27Typed, Clock32, Clock64,
    Clock64Aligned, Event as Kind, Layout, Mode, Next, Reader, Ring, Trace, Tracer,
};

use super::layouts::Bits;
use super::{Entry, Event, Stream, TracedEvent};

/// Packets in a ring, and words in a packet.
const PACKETS: usize = 4;
const WORDS: usize = 1015;

fn strands() -> impl Iterator<Item = StrandId> {
    (0..StrandId::COUNT).filter_map(StrandId::new)
}

/// The rings of all strands in one layout.
pub struct RingsOf<L>(Box<[Ring<L, PACKETS, WORDS>]>);

impl<L: Layout> RingsOf<L> {
    fn new(mode: Mode) -> Self {
        Self(strands().map(|_| Ring::new(mode)).collect())
    }

    fn collector<C: Clock>(&self, clock: C) -> CollectorOf<'_, C, L> {
        let tracer = Tracer::new(clock, &self.0);
        tracer.set_on(true);
        let streams = self.0.iter().map(|ring| (ring.reader(), Vec::new()));
        CollectorOf {
            tracer,
            streams: RefCell::new(streams.collect()),
        }
    }
}

/// Which events are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All events: a strand's ring is read after each of its calls.
    #[default]
    All,
    /// The first events, as many as fit into the rings.
    First,
    /// The last events, as many as fit into the rings.
    Last,
}

impl Keep {
    /// All choices.
    pub const ALL: &'static [Self] = &[Self::All, Self::First, Self::Last];

    /// Returns the name that command lines have.
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

/// A reader of a ring, and the entries that it has read.
type Read<'a, L> = (Reader<'a, L, PACKETS, WORDS>, Vec<Entry>);

/// A tracer that is on, and the entries that were read from its rings so far.
pub struct CollectorOf<'a, C, L> {
    tracer: Tracer<'a, C, L, PACKETS, WORDS>,
    streams: RefCell<Vec<Read<'a, L>>>,
}

impl<C, L: Layout> CollectorOf<'_, C, L> {
    fn collect(&self, strand: StrandId) {
        let (reader, entries) = &mut self.streams.borrow_mut()[strand.index()];
        while let Some(next) = reader.next(Event::words) {
            match (next, entries.last_mut()) {
                (Next::Event(event), _) => entries.push(Entry::Event(TracedEvent {
                    time: event.time,
                    id: event.id,
                    payload: event.payload.into(),
                })),
                (Next::Lost(more), Some(Entry::Lost(lost))) => *lost += more,
                (Next::Lost(lost), _) => entries.push(Entry::Lost(lost)),
            }
        }
    }

    fn streams(&self) -> Vec<Stream> {
        strands().for_each(|strand| self.collect(strand));
        let streams = strands()
            .zip(self.streams.take())
            .map(|(strand, (_, entries))| Stream { strand, entries });
        streams
            .filter(|stream| !stream.entries.is_empty())
            .collect()
    }
}

macro_rules! layouts {
    ($($Layout:ident $name:literal),* $(,)?) => {
        /// The layouts of headers: [`hv_core::trace::Layout`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LayoutName {
            $(#[doc = concat!("[`", stringify!($Layout), "`]")] $Layout,)*
        }

        impl LayoutName {
            /// All layouts.
            pub const ALL: &'static [Self] = &[$(Self::$Layout),*];

            /// Returns the name that command lines have.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Layout => $name,)*
                }
            }

            /// Returns the bits of the headers.
            #[must_use]
            pub const fn bits(self) -> Bits {
                match self {
                    $(Self::$Layout => Bits::of::<$Layout>(),)*
                }
            }

            /// Returns how many numbers of kinds a short header can express.
            #[must_use]
            pub const fn ids(self) -> u16 {
                match self {
                    $(Self::$Layout => $Layout::SHORT_IDS,)*
                }
            }

            /// Returns the resolution of times, in ticks.
            #[must_use]
            pub const fn resolution(self) -> u64 {
                1 << self.bits().cut
            }
        }

        /// The rings of all strands.
        pub enum Rings {
            $(#[doc = concat!("Of [`", stringify!($Layout), "`]")] $Layout(RingsOf<$Layout>),)*
        }

        impl Rings {
            /// Returns empty rings.
            #[must_use]
            pub fn new(layout: LayoutName, mode: Mode) -> Self {
                match layout {
                    $(LayoutName::$Layout => Self::$Layout(RingsOf::new(mode)),)*
                }
            }

            /// Returns a collector that writes to the rings and reads them.
            pub fn collector<C: Clock>(&self, clock: C) -> Collector<'_, C> {
                match self {
                    $(Self::$Layout(rings) => Collector::$Layout(rings.collector(clock)),)*
                }
            }
        }

        /// A tracer on the host, and the entries that were read from its rings.
        pub enum Collector<'a, C> {
            /// Events are not recorded.
            Off,
            $(#[doc = concat!("With [`", stringify!($Layout), "`]")] $Layout(CollectorOf<'a, C, $Layout>),)*
        }

        impl<C: Clock> Collector<'_, C> {
            /// Reads the new events in the ring of a strand.
            pub fn collect(&self, strand: StrandId) {
                match self {
                    Self::Off => {}
                    $(Self::$Layout(of) => of.collect(strand),)*
                }
            }

            /// Reads the new events in all rings. Returns all that was read, and forgets it.
            pub fn streams(&self) -> Vec<Stream> {
                match self {
                    Self::Off => Vec::new(),
                    $(Self::$Layout(of) => of.streams(),)*
                }
            }

            /// [`Tracer::missed`]
            pub fn missed(&self) -> u64 {
                match self {
                    Self::Off => 0,
                    $(Self::$Layout(of) => of.tracer.missed(),)*
                }
            }
        }

        impl<C: Clock> Trace for Collector<'_, C> {
            type Ring = ();

            fn is_on(&self) -> bool {
                match self {
                    Self::Off => false,
                    $(Self::$Layout(of) => of.tracer.is_on(),)*
                }
            }

            fn time(&self, strand: StrandId) -> Option<u64> {
                match self {
                    Self::Off => None,
                    $(Self::$Layout(of) => of.tracer.time(strand),)*
                }
            }

            fn record<E: Kind>(&self, strand: StrandId, time: u64, event: E) {
                match self {
                    Self::Off => {}
                    $(Self::$Layout(of) => of.tracer.record(strand, time, event),)*
                }
            }
        }
    };
}

layouts! {
    Clock27Typed "clock27-typed", Clock27Cut5 "clock27-cut5", Clock26Cut6 "clock26-cut6",
    Clock25Cut7 "clock25-cut7", Clock19 "clock19", Clock27 "clock27", Clock32 "clock32",
    Clock64 "clock64", Clock64Aligned "clock64-aligned",
}
