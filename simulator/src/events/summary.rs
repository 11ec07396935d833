//! Summarises a trace: its calls, their durations, conflicts at hubs, and other events.

use std::collections::BTreeMap;

use perfctr_service::statistics::Class;
use perfctr_service::trace::ServiceEvent;
use serde::{Deserialize, Serialize};

use super::calls::TracedCall;
use super::{DecodedEvent, Stream, Trace};
use crate::nearest::status_name;

/// The number of equal intervals into which a trace's time is divided to count conflicts at hubs.
const INTERVALS: u64 = 16;

/// A trace's summary: its calls with their durations, conflicts at hubs, and other events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Summary {
    /// The number of clock ticks in a second.
    pub hz: u64,
    /// The resolution of times, in ticks.
    pub resolution: u64,
    /// The time of the first event and of the last event, in ticks.
    pub span: Option<[u64; 2]>,
    pub events: u64,
    pub lost: u64,
    /// The number of lost events that no stream counts.
    pub missed: u64,
    /// The calls of each guest, by function and object.
    pub calls: Vec<Calls>,
    /// The durations of calls, by function, register class and outcome.
    pub latencies: Vec<Latency>,
    /// How many calls found each hub in use, in equal intervals of the trace.
    pub conflicts: Vec<Conflicts>,
    /// The number of events that are neither calls nor conflicts, by name.
    pub others: BTreeMap<String, u64>,
    pub streams: Vec<StreamSummary>,
}

/// A guest's calls with the same function and object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Calls {
    pub guest: String,
    /// `get`, `set`, `set_version` or `fast`.
    pub call: &'static str,
    /// The name of the register or group, or the function number.
    pub object: String,
    pub total: u64,
    /// The number of calls by status.
    pub by_status: BTreeMap<String, u64>,
}

/// The durations of one kind of call, in ticks. For the percentiles, the n durations are sorted and numbered from 1. The p-th percentile is
/// duration number p·n/100, rounded up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Latency {
    /// `get`, `set`, `set_version` or `fast`.
    pub call: &'static str,
    /// The class of the register that a `get` or `set` names; empty for other calls.
    pub class: &'static str,
    /// `EOK` or `refused`.
    pub ended: &'static str,
    pub calls: u64,
    pub p50: u32,
    pub p90: u32,
    pub p99: u32,
    pub max: u32,
}

/// The conflicts at hubs during one interval of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflicts {
    /// The interval's start in ticks. The interval ends where the next one begins, or with the last event.
    pub from: u64,
    /// The number of conflicts at each hub.
    pub hubs: [u64; 4],
}

/// The summary of one ring's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct StreamSummary {
    pub strand: usize,
    pub events: u64,
    pub lost: u64,
    /// The gaps: the time of the event before the gap, if there is one, and the number of missing events.
    pub gaps: Vec<(Option<u64>, u64)>,
}

impl StreamSummary {
    fn new(stream: &Stream) -> Self {
        Self {
            strand: stream.strand.index(),
            events: stream.events().count() as u64,
            lost: stream.lost(),
            gaps: stream.gaps().collect(),
        }
    }
}

impl Summary {
    /// Summarises the events of all streams.
    #[must_use]
    pub fn new(trace: &Trace) -> Self {
        let all = || trace.streams.iter().flat_map(Stream::events);
        let times = || all().map(|event| event.time);
        let span = times().min().zip(times().max());
        let mut calls = BTreeMap::<_, BTreeMap<String, u64>>::new();
        let mut durations = BTreeMap::<_, Vec<u32>>::new();
        let mut conflicts = Vec::new();
        let mut others = BTreeMap::new();
        for traced in all() {
            let event = traced.event();
            if let Some(call) = event.as_ref().and_then(TracedCall::from_event) {
                let status = status_name(call.status);
                let by_status = calls.entry((call.guest, call.function)).or_default();
                *by_status.entry(status).or_default() += 1;
                let durations = durations.entry(kind(&call)).or_default();
                durations.push(call.duration);
            } else if let Some(DecodedEvent::Service(ServiceEvent::HubConflict(conflict))) = event {
                conflicts.push((traced.time, usize::from(conflict.hub)));
            } else {
                *others.entry(traced.name(&trace.kinds).to_owned()).or_default() += 1;
            }
        }
        let latencies = durations.into_iter().map(|((call, class, ended), mut durations)| {
            let [p50, p90, p99, max] = percentiles(&mut durations);
            Latency { call, class, ended, calls: durations.len() as u64, p50, p90, p99, max }
        });
        let calls = calls.into_iter().map(|((guest, function), by_status)| Calls {
            guest: trace.guest(guest),
            call: function.name(),
            object: function.object(),
            total: by_status.values().sum(),
            by_status,
        });
        Self {
            hz: trace.hz,
            resolution: trace.layout.resolution(),
            span: span.map(|(first, last)| [first, last]),
            events: trace.events() as u64,
            lost: trace.lost(),
            missed: trace.missed,
            calls: calls.collect(),
            latencies: latencies.collect(),
            conflicts: span.map_or_else(Vec::new, |span| by_time(span, &conflicts)),
            others,
            streams: trace.streams.iter().map(StreamSummary::new).collect(),
        }
    }
}

/// Returns a call's function, register class and outcome, which identify a [`Latency`].
fn kind(call: &TracedCall) -> (&'static str, &'static str, &'static str) {
    let class = (call.function.register()).map_or("", |id| Class::from_id(id).name());
    let ended = if call.status == guest_abi::status::EOK { "EOK" } else { "refused" };
    (call.function.name(), class, ended)
}

/// Sorts durations. Returns the median, the 90th and 99th percentile, and the maximum; zeros if there are no durations.
pub(crate) fn percentiles(durations: &mut [u32]) -> [u32; 4] {
    durations.sort_unstable();
    [50, 90, 99, 100].map(|percent| {
        let rank = (durations.len() * percent).div_ceil(100);
        durations.get(rank.saturating_sub(1)).copied().unwrap_or(0)
    })
}

/// Divides the time into equal intervals, and counts the conflicts in each interval. Returns an empty list if there are no
/// conflicts.
pub(crate) fn by_time((first, last): (u64, u64), conflicts: &[(u64, usize)]) -> Vec<Conflicts> {
    if conflicts.is_empty() {
        return Vec::new();
    }
    let length = (last - first).div_ceil(INTERVALS).max(1);
    let mut parts: Vec<Conflicts> = (0..INTERVALS)
        .map_while(|part| first.checked_add(part * length))
        .take_while(|from| *from <= last)
        .map(|from| Conflicts { from, hubs: [0; 4] })
        .collect();
    for (time, hub) in conflicts {
        let part = ((time - first) / length).min(parts.len() as u64 - 1);
        if let Some(count) = parts[part as usize].hubs.get_mut(*hub) {
            *count += 1;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_rounded_up() {
        for (mut durations, expected) in [
            (vec![7], [7; 4]),
            (vec![4, 3, 2, 1], [2, 4, 4, 4]),
            ((1..=100).rev().collect(), [50, 90, 99, 100]),
            ((1..=1000).collect(), [500, 900, 990, 1000]),
        ] {
            assert_eq!(percentiles(&mut durations), expected);
        }
    }

    #[test]
    fn parts_of_the_time() {
        let counted = |span, conflicts: &[(u64, usize)]| -> Vec<(u64, [u64; 4])> {
            let parts = by_time(span, conflicts);
            parts.iter().map(|part| (part.from, part.hubs)).collect()
        };
        assert_eq!(counted((5, 5), &[]), []);
        assert_eq!(counted((5, 5), &[(5, 3)]), [(5, [0, 0, 0, 1])]);
        let sixteen = counted((100, 260), &[(100, 0), (109, 0), (110, 1), (259, 2), (260, 2)]);
        assert_eq!(sixteen.len(), 16);
        assert_eq!(sixteen[0], (100, [2, 0, 0, 0]));
        assert_eq!(sixteen[1], (110, [0, 1, 0, 0]));
        assert_eq!(sixteen[15], (250, [0, 0, 2, 0]));
        let end = counted((u64::MAX - 1, u64::MAX), &[(u64::MAX, 1), (u64::MAX, 9)]);
        assert_eq!(end, [(u64::MAX - 1, [0; 4]), (u64::MAX, [0, 1, 0, 0])]);
    }
}
