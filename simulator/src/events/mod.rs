//! Events of a run, on the host.

pub mod calls;
pub mod chrome;
pub mod collect;
pub mod ctf;
pub mod summary;

use guest_abi::StrandId;
use hv_core::trace::{Class, HypervisorEvent};
use perfctr_service::trace::ServiceEvent;

/// An event of any kind that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// One of `hv-core`.
    Hypervisor(HypervisorEvent),
    /// One of the service.
    Service(ServiceEvent),
}

impl Event {
    /// What each kind holds.
    pub fn classes() -> impl Iterator<Item = &'static Class> {
        HypervisorEvent::CLASSES.iter().chain(ServiceEvent::CLASSES)
    }

    /// What this kind holds.
    #[must_use]
    pub fn class(id: u16) -> Option<&'static Class> {
        Self::classes().find(|class| class.id == id)
    }

    /// Words in the payload of a kind.
    #[must_use]
    pub fn words(id: u16) -> Option<usize> {
        Self::class(id).map(Class::words)
    }

    /// The event with this number and payload.
    #[must_use]
    pub fn decode(id: u16, payload: &[u32]) -> Option<Self> {
        HypervisorEvent::decode(id, payload)
            .map(Self::Hypervisor)
            .or_else(|| ServiceEvent::decode(id, payload).map(Self::Service))
    }
}

/// An event as it was recorded. Its kind is known, and its payload has the length of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedEvent {
    /// When, in ticks.
    pub time: u64,
    /// The number of its kind.
    pub id: u16,
    /// What it holds.
    pub payload: Box<[u32]>,
}

impl TracedEvent {
    /// What it says.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        Event::decode(self.id, &self.payload)
    }
}

/// What a ring gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An event.
    Event(TracedEvent),
    /// So many events are missing here.
    Lost(u64),
}

/// What one ring gave, in order. Times do not go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Whose ring.
    pub strand: StrandId,
    /// What it gave.
    pub entries: Vec<Entry>,
}

impl Stream {
    /// The events.
    pub fn events(&self) -> impl Iterator<Item = &TracedEvent> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Event(event) => Some(event),
            Entry::Lost(_) => None,
        })
    }

    /// Where events are missing: the time of the event before, if there is one, and how many.
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

    /// How many events are missing.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.gaps().map(|(_, lost)| lost).sum()
    }
}

/// What was recorded in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Ticks of the clock in a second.
    pub hz: u64,
    /// Times are told to so many ticks.
    pub resolution: u64,
    /// When it began, no later than any event.
    pub began: u64,
    /// Events that are in no ring's count ([`hv_core::trace::Tracer::missed`]).
    pub missed: u64,
    /// The names of the guests, by number.
    pub guests: Vec<String>,
    /// Every ring that was offered an event, in the order of strands.
    pub streams: Vec<Stream>,
}

impl Trace {
    /// How many events there are.
    #[must_use]
    pub fn events(&self) -> usize {
        self.streams
            .iter()
            .map(|stream| stream.events().count())
            .sum()
    }

    /// How many events are missing.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let lost = self.streams.iter().map(Stream::lost);
        lost.fold(self.missed, u64::saturating_add)
    }

    /// The name of a guest.
    #[must_use]
    pub fn guest(&self, number: u8) -> String {
        match self.guests.get(usize::from(number)) {
            Some(name) => name.clone(),
            None => format!("guest {number}"),
        }
    }
}
