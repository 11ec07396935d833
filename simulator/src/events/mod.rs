//! Events of a simulation: collection, export and summary.

pub mod calls;
pub mod chrome;
pub mod collect;
pub mod ctf;
pub mod layouts;
pub mod summary;

use guest_abi::StrandId;
use hv_core::trace::{Class, HypervisorEvent};
use perfctr_service::trace::ServiceEvent;

use collect::LayoutName;

/// An event of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event of `hv-core`.
    Hypervisor(HypervisorEvent),
    /// An event of the service.
    Service(ServiceEvent),
}

impl Event {
    /// Returns the classes of all kinds: name and fields.
    pub fn classes() -> impl Iterator<Item = &'static Class> {
        HypervisorEvent::CLASSES.iter().chain(ServiceEvent::CLASSES)
    }

    /// Returns the class of the kind with this number.
    #[must_use]
    pub fn class(id: u16) -> Option<&'static Class> {
        Self::classes().find(|class| class.id == id)
    }

    /// Returns the number of words in the payload of a kind.
    #[must_use]
    pub fn words(id: u16) -> Option<usize> {
        Self::class(id).map(Class::words)
    }

    /// Returns the event with this kind and payload; `None` if there is no such event.
    #[must_use]
    pub fn decode(id: u16, payload: &[u32]) -> Option<Self> {
        HypervisorEvent::decode(id, payload)
            .map(Self::Hypervisor)
            .or_else(|| ServiceEvent::decode(id, payload).map(Self::Service))
    }
}

/// An event in a trace. Its kind exists, and its payload has the length of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedEvent {
    /// The time, in ticks.
    pub time: u64,
    /// The number of its kind.
    pub id: u16,
    /// The payload.
    pub payload: Box<[u32]>,
}

impl TracedEvent {
    /// Returns the decoded event.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        Event::decode(self.id, &self.payload)
    }
}

/// An entry that was read from a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An event.
    Event(TracedEvent),
    /// A gap where this number of events is missing.
    Lost(u64),
}

/// The entries of one ring, in order. Times do not decrease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The strand that owns the ring.
    pub strand: StrandId,
    /// The entries.
    pub entries: Vec<Entry>,
}

impl Stream {
    /// Returns the events.
    pub fn events(&self) -> impl Iterator<Item = &TracedEvent> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Event(event) => Some(event),
            Entry::Lost(_) => None,
        })
    }

    /// Returns the gaps: the time of the event before the gap, if there is one, and how many events are missing.
    pub fn gaps(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let mut now = None;
        self.entries.iter().filter_map(move |entry| match entry {
            Entry::Event(event) => {
                now = Some(event.time);
                None
            }
            Entry::Lost(lost) => Some((now, *lost)),
        })
    }

    /// Returns the number of events that are missing.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.gaps().map(|(_, lost)| lost).sum()
    }
}

/// The time of tick 0 of a clock: so many seconds after 1970-01-01T00:00:00Z, and so many ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch {
    /// Whole seconds.
    pub seconds: u64,
    /// Ticks of the clock.
    pub ticks: u64,
}

/// The events of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Ticks of the clock in a second.
    pub hz: u64,
    /// The layout of headers in the rings.
    pub layout: LayoutName,
    /// When the trace began, in ticks: no later than any event.
    pub began: u64,
    /// The time of tick 0; `None` if the clock is that of a simulation, which has no such time.
    pub epoch: Option<Epoch>,
    /// Number of missing events that no ring counts ([`hv_core::trace::Tracer::missed`]).
    pub missed: u64,
    /// The names of the guests, by number.
    pub guests: Vec<String>,
    /// The streams of all rings that were offered an event, in the order of strands.
    pub streams: Vec<Stream>,
}

impl Trace {
    /// Returns the number of events.
    #[must_use]
    pub fn events(&self) -> usize {
        self.streams.iter().flat_map(Stream::events).count()
    }

    /// Returns the number of events that are missing.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let lost = self.streams.iter().map(Stream::lost);
        lost.fold(self.missed, u64::saturating_add)
    }

    /// Returns the name of a guest.
    #[must_use]
    pub fn guest(&self, number: u8) -> String {
        match self.guests.get(usize::from(number)) {
            Some(name) => name.clone(),
            None => format!("guest {number}"),
        }
    }
}
