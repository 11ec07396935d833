//! Collects, exports and summarises the hypervisor's events.

pub mod calls;
pub mod chrome;
pub mod collect;
pub mod ctf;
pub mod kinds;
pub mod layouts;
pub mod rings;
pub mod summary;

use guest_abi::StrandId;
use hv_core::trace::{HypervisorEvent, take};
use perfctr_service::trace::ServiceEvent;
use smallvec::SmallVec;

use kinds::{EventKinds, KindField};
use layouts::LayoutName;

/// A decoded event of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodedEvent {
    /// An event of `hv-core`.
    Hypervisor(HypervisorEvent),
    /// An event of the performance counter service.
    Service(ServiceEvent),
}

impl DecodedEvent {
    /// Returns the payload's length in 32-bit words; `None` if there is no such kind.
    #[must_use]
    pub fn words(id: u16) -> Option<usize> {
        HypervisorEvent::words(id).or_else(|| ServiceEvent::words(id))
    }

    /// Returns the event with this kind and payload; `None` if there is no such event.
    #[must_use]
    pub fn decode(id: u16, payload: &[u32]) -> Option<Self> {
        HypervisorEvent::decode(id, payload)
            .map(Self::Hypervisor)
            .or_else(|| ServiceEvent::decode(id, payload).map(Self::Service))
    }
}

/// An event in a trace. Its kind exists, and its payload has the kind's length.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TracedEvent {
    pub time: u64,
    /// The event kind's number.
    pub id: u16,
    /// The event's encoded fields, in 32-bit words.
    pub payload: SmallVec<[u32; 6]>,
}

impl TracedEvent {
    /// Decodes the event; `None` if this program does not know it.
    #[must_use]
    pub fn event(&self) -> Option<DecodedEvent> {
        DecodedEvent::decode(self.id, &self.payload)
    }

    /// Returns the fields and their values; no fields if the kind is unknown.
    pub fn fields<'a>(
        &'a self,
        kinds: &'a EventKinds,
    ) -> impl Iterator<Item = (&'a KindField, u64)> {
        let fields = kinds.get(self.id).map_or(&[][..], |kind| &kind.fields);
        fields.iter().scan(0, |at, field| {
            let value = take(&self.payload, *at, field.bits);
            *at += field.bits;
            Some((field, value))
        })
    }

    /// Returns the value of the field named `name`; `None` if the kind has no such field.
    #[must_use]
    pub fn field(&self, kinds: &EventKinds, name: &str) -> Option<u64> {
        self.fields(kinds).find(|(field, _)| field.name == name).map(|(_, value)| value)
    }

    /// Returns the name of the kind; empty if the kind is unknown.
    #[must_use]
    pub fn name<'a>(&self, kinds: &'a EventKinds) -> &'a str {
        kinds.get(self.id).map_or("", |kind| &*kind.name)
    }
}

/// An entry in a hypervisor's event ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEntry {
    /// A recorded event, with its time, kind and payload.
    Event(TracedEvent),
    /// A gap: this number of events is missing here.
    Lost(u64),
}

/// The entries of one ring, in order. Their times do not decrease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Stream {
    /// The strand that owns the ring.
    pub strand: StrandId,
    pub entries: Vec<StreamEntry>,
}

impl Stream {
    /// Returns the recorded events, without the gaps.
    pub fn events(&self) -> impl Iterator<Item = &TracedEvent> {
        self.entries.iter().filter_map(|entry| match entry {
            StreamEntry::Event(event) => Some(event),
            StreamEntry::Lost(_) => None,
        })
    }

    /// Returns the gaps: the time of the event before the gap, if there is one, and the number of missing events.
    pub fn gaps(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let mut now = None;
        self.entries.iter().filter_map(move |entry| match entry {
            StreamEntry::Event(event) => {
                now = Some(event.time);
                None
            }
            StreamEntry::Lost(lost) => Some((now, *lost)),
        })
    }

    /// Returns the number of missing events in all gaps.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.gaps().map(|(_, lost)| lost).sum()
    }
}

/// The time at which a clock was at tick 0: seconds since 1970-01-01T00:00:00Z, plus a number of
/// ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Epoch {
    pub seconds: u64,
    pub ticks: u64,
}

/// The events of a replay or execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The number of clock ticks in a second.
    pub hz: u64,
    /// The layout of event headers in the rings.
    pub layout: LayoutName,
    /// The trace's start in ticks. No event is earlier.
    pub began: u64,
    /// The time at which the clock was at tick 0; `None` for a simulated clock.
    pub epoch: Option<Epoch>,
    /// The number of missing events that no ring counts ([`hv_core::trace::Tracer::missed`]).
    pub missed: u64,
    /// The guests' names, indexed by guest number.
    pub guests: Vec<String>,
    /// The event kinds, by number.
    pub kinds: EventKinds,
    /// The streams of all rings that have entries, in strand order.
    pub streams: Vec<Stream>,
}

impl Trace {
    /// Returns the number of recorded events in all streams, without the missing events.
    #[must_use]
    pub fn events(&self) -> usize {
        self.streams.iter().flat_map(Stream::events).count()
    }

    /// Returns the total number of missing events: those in gaps, and those outside the rings.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let lost = self.streams.iter().map(Stream::lost);
        lost.fold(self.missed, u64::saturating_add)
    }

    /// Returns the guest's name. If the trace has no name for this guest, returns `guest` and the number.
    #[must_use]
    pub fn guest(&self, number: u8) -> String {
        match self.guests.get(usize::from(number)) {
            Some(name) => name.clone(),
            None => format!("guest {number}"),
        }
    }
}
