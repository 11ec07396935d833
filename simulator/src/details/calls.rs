//! The hypervisor's calls and events.

use std::collections::BTreeMap;

use guest_abi::StrandId;
use perfctr_service::statistics::Class;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::events::calls::Call;
use crate::events::chrome::{arguments, class_name};
use crate::events::summary::percentile;
use crate::events::{Stream, Trace, TracedEvent};
use crate::nearest::status_name;

/// How many events are shown.
const MOST: usize = 1000;

/// How many parts a distribution has at most.
const PARTS: u32 = 32;

/// Calls of a guest of one kind that ended in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// The name of the guest.
    pub guest: String,
    /// get, set, set_version or fast.
    pub call: &'static str,
    /// The class of the registers, for get and set: strand, l2, dram, hub.
    pub registers: &'static str,
    /// The name of the status.
    pub status: String,
    /// How many there were.
    pub count: u64,
    /// How long they took.
    pub latency: Durations,
}

/// How long calls took, in ticks of the machine's clock.
///
/// The p-th percentile of n sorted durations is number p n / 100, rounded up, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Durations {
    /// Half of them took no longer.
    pub p50: u32,
    /// Nine of ten took no longer.
    pub p90: u32,
    /// 99 of a hundred took no longer.
    pub p99: u32,
    /// The longest.
    pub longest: u32,
    /// The distribution: the first ticks of each part of equal length, and how many calls took as long. There are 32 parts at
    /// most, and none that is empty.
    pub histogram: Vec<(u32, u64)>,
}

impl Durations {
    fn new(mut durations: Vec<u32>) -> Self {
        durations.sort_unstable();
        let [p50, p90, p99, longest] = [50, 90, 99, 100].map(|p| percentile(&durations, p));
        let length = (longest / PARTS).saturating_add(1);
        let mut histogram = BTreeMap::new();
        for duration in durations {
            *histogram.entry(duration / length * length).or_default() += 1;
        }
        Self {
            p50,
            p90,
            p99,
            longest,
            histogram: histogram.into_iter().collect(),
        }
    }
}

/// Returns the calls of a trace, by guest, then by kind, then by status.
pub(super) fn calls(trace: &Trace) -> Vec<Calls> {
    let mut durations = BTreeMap::<_, Vec<u32>>::new();
    let events = trace.streams.iter().flat_map(Stream::events);
    for call in events.filter_map(call) {
        let (name, register) = (call.function.name(), call.function.register());
        let registers = register.map_or("", |id| Class::of(id).name());
        let kind = (call.guest, name, registers, call.status);
        durations.entry(kind).or_default().push(call.duration);
    }
    let calls = durations.into_iter();
    calls
        .map(|((guest, call, registers, status), durations)| Calls {
            guest: trace.guest(guest),
            call,
            registers,
            status: status_name(status),
            count: durations.len() as u64,
            latency: Durations::new(durations),
        })
        .collect()
}

fn call(event: &TracedEvent) -> Option<Call> {
    event.event().as_ref().and_then(Call::of)
}

/// An event of the hypervisor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownEvent {
    /// The time, on the machine's clock: see [`Series::clock`](super::Series::clock).
    pub time: u64,
    /// The strand on which it happened.
    pub strand: usize,
    /// The name of its kind.
    pub name: &'static str,
    /// Its fields.
    pub fields: Map<String, Value>,
}

/// Returns events in the order of time, at most 1,000: of more, those that are not calls that ended well come first, and the earlier
/// ones.
pub(super) fn shown(trace: &Trace) -> Vec<ShownEvent> {
    let mut events: Vec<(bool, u64, StrandId, &TracedEvent)> = Vec::new();
    for stream in &trace.streams {
        events.extend(stream.events().map(|event| {
            let ended_well = call(event).is_some_and(|call| call.status == guest_abi::status::EOK);
            (ended_well, event.time, stream.strand, event)
        }));
    }
    events.sort_by_key(|(ended_well, time, strand, _)| (*ended_well, *time, *strand));
    events.truncate(MOST);
    events.sort_by_key(|(_, time, strand, _)| (*time, *strand));
    let shown = |(_, time, strand, event): (bool, u64, StrandId, &TracedEvent)| ShownEvent {
        time,
        strand: strand.index(),
        name: class_name(event),
        fields: arguments(event),
    };
    events.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_32_parts_at_most() {
        let of = |durations: &[u32]| Durations::new(durations.to_vec()).histogram;
        assert_eq!(of(&[26, 10, 26]), [(10, 1), (26, 2)]);
        // Parts of two ticks.
        assert_eq!(of(&[32, 33, 0, 1, 2]), [(0, 2), (2, 1), (32, 2)]);
        let all: Vec<u32> = (0..1000).collect();
        let parts = of(&all);
        assert_eq!((parts.len(), parts[0], parts[31]), (32, (0, 32), (992, 8)));
        assert_eq!(of(&[u32::MAX]).len(), 1);
    }
}
