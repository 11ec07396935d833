//! Lists and counts hypercalls and the hypervisor's events, as details of a replay.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use guest_abi::StrandId;
use perfctr_service::statistics::Class;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::events::calls::TracedCall;
use crate::events::chrome::arguments;
use crate::events::summary::percentiles;
use crate::events::{Stream, Trace, TracedEvent};
use crate::json;
use crate::nearest::status_name;

/// The maximum number of events in the details. They are chosen from at most [`STRETCHES`] stretches of time.
const MOST: usize = 1000;
const STRETCHES: usize = 100;

/// The maximum number of parts in a histogram of durations.
const PARTS: u32 = 32;

/// The hypercalls of one guest that have the same function, register class and status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Calls {
    pub guest: String,
    /// `get`, `set`, `set_version` or `fast`.
    pub call: Cow<'static, str>,
    /// The class of the registers that a `get` or `set` names: `strand`, `l2`, `dram` or `hub`.
    pub registers: Cow<'static, str>,
    pub status: String,
    pub count: u64,
    pub latency: Durations,
}

/// A distribution of durations, in ticks of the machine's clock.
///
/// If n durations are sorted and numbered from 1, the p-th percentile is duration number p * n / 100, rounded up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Durations {
    pub p50: u32,
    pub p90: u32,
    pub p99: u32,
    pub longest: u32,
    /// The length of each part of the histogram, in ticks.
    pub part: u32,
    /// The parts of the histogram: where the part starts, in ticks, and its number of calls. There
    /// are at most 32 parts, without the empty ones.
    pub histogram: Vec<(u32, u64)>,
}

impl Durations {
    fn new(mut durations: Vec<u32>) -> Self {
        let [p50, p90, p99, longest] = percentiles(&mut durations);
        let part = (longest / PARTS).saturating_add(1);
        let mut histogram = BTreeMap::new();
        for duration in durations {
            *histogram.entry(duration / part * part).or_default() += 1;
        }
        Self { p50, p90, p99, longest, part, histogram: histogram.into_iter().collect() }
    }
}

/// Counts the calls of a trace by guest, function, register class and status, in this sorting
/// order.
pub(super) fn calls(trace: &Trace) -> Vec<Calls> {
    let mut durations = BTreeMap::<_, Vec<u32>>::new();
    let events = trace.streams.iter().flat_map(Stream::events);
    for call in events.filter_map(call) {
        let (name, register) = (call.function.name(), call.function.register());
        let registers = register.map_or("", |id| Class::from_id(id).name());
        let kind = (call.guest, name, registers, call.status);
        durations.entry(kind).or_default().push(call.duration);
    }
    let calls = durations.into_iter();
    calls
        .map(|((guest, call, registers, status), durations)| Calls {
            guest: trace.guest(guest),
            call: call.into(),
            registers: registers.into(),
            status: status_name(status),
            count: durations.len() as u64,
            latency: Durations::new(durations),
        })
        .collect()
}

fn call(event: &TracedEvent) -> Option<TracedCall> {
    event.event().as_ref().and_then(TracedCall::from_event)
}

/// A decoded event of the hypervisor, for a time line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ShownEvent {
    /// The time in ticks of the machine's clock, as in [`Series::clock`](super::Series::clock).
    pub time: u64,
    #[serde(with = "json")]
    pub strand: StrandId,
    pub name: Cow<'static, str>,
    /// The values of the event's fields, by field name.
    pub fields: Map<String, Value>,
}

/// Returns at most 1,000 events, sorted by time. [`spread`] chooses them.
pub(super) fn shown(trace: &Trace) -> Vec<ShownEvent> {
    let events = || {
        let streams = trace.streams.iter();
        streams.flat_map(|stream| stream.events().map(|event| (stream.strand, event)))
    };
    let ended_well = |event| call(event).is_some_and(|call| call.status == guest_abi::status::EOK);
    let kept =
        spread(MOST, || events().map(|(_, event)| (event.time, event.id, ended_well(event))));
    let shown = |(strand, event): (StrandId, &TracedEvent)| ShownEvent {
        time: event.time,
        strand,
        name: event.name(&trace.kinds).to_owned().into(),
        fields: arguments(event, &trace.kinds),
    };
    let mut kept = kept.into_iter().peekable();
    let kept = events().enumerate().filter(|(number, _)| kept.next_if_eq(number).is_some());
    let mut shown: Vec<_> = kept.map(|(_, event)| shown(event)).collect();
    shown.sort_by_key(|event| (event.time, event.strand));
    shown
}

/// Returns the indices of at most `most` events, in order. `events` returns for each event its time, its kind, and whether the event is a
/// call that succeeded.
///
/// If there are more than `most` events, the time from the first to the last event is divided into
/// stretches of equal length. In each stretch, the same limit applies to each kind of event.
/// Successful calls are kept only if the other events of the stretch and kind leave room for them.
/// If only some events of a group are kept, they are evenly spaced.
fn spread<E: Iterator<Item = (u64, u16, bool)>>(most: usize, events: impl Fn() -> E) -> Vec<usize> {
    let first = events().map(|(time, ..)| time).min().unwrap_or(0);
    let last = events().map(|(time, ..)| time).max().unwrap_or(0);
    let kinds: BTreeSet<u16> = events().map(|(_, kind, _)| kind).collect();
    // Limit the number of stretches, so that each stretch has room for at least one event of each
    // kind.
    let stretches = (most / kinds.len().max(1)).clamp(1, STRETCHES) as u128;
    let part = |time: u64| u128::from(time - first) * stretches / (u128::from(last - first) + 1);
    // The key is the stretch and the kind. The value is the number of events that are not
    // successful calls, and the number of successful calls.
    let mut counts = BTreeMap::<_, [usize; 2]>::new();
    for (time, kind, ended_well) in events() {
        counts.entry((part(time), kind)).or_default()[usize::from(ended_well)] += 1;
    }
    let fits = |each: &usize| {
        let kept = counts.values().map(|[others, well]| (others + well).min(*each));
        kept.sum::<usize>() <= most
    };
    let each = (1..=most).rev().find(fits).unwrap_or(0);
    let mut passed = BTreeMap::<_, [usize; 2]>::new();
    let mut kept = Vec::new();
    for (number, (time, kind, ended_well)) in events().enumerate() {
        let group = (part(time), kind);
        let [others, well] = counts[&group];
        let others_kept = others.min(each);
        let (of, keep) = match ended_well {
            true => (well, well.min(each - others_kept)),
            false => (others, others_kept),
        };
        let passed = &mut passed.entry(group).or_default()[usize::from(ended_well)];
        if (*passed + 1) * keep / of > *passed * keep / of {
            kept.push(number);
        }
        *passed += 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(most: usize, events: &[(u64, u16, bool)]) -> Vec<usize> {
        spread(most, || events.iter().copied())
    }

    #[test]
    fn few_events_are_all_shown() {
        assert_eq!(kept(2, &[]), [0; 0]);
        assert_eq!(kept(2, &[(7, 1, true), (7, 1, true)]), [0, 1]);
        assert_eq!(kept(1, &[(0, 1, true), (u64::MAX, 1, true)]), [1]);
    }

    #[test]
    fn shown_events_are_of_the_whole_time() {
        // 900 calls happen at once. 9 calls follow later, one in each of the last nine of ten
        // stretches.
        let mut events = vec![(0, 1, true); 900];
        events.extend((1..10).map(|n| (10 * n + 5, 1, true)));
        let all_later: Vec<usize> = (900..909).collect();
        assert_eq!(kept(10, &events), [&[899], &all_later[..]].concat());
        // The other stretches do not need all their room, so the first stretch gets more. It keeps
        // every 90th call.
        let shown = kept(19, &events);
        assert_eq!(shown[..3], [89, 179, 269]);
        assert_eq!(shown[9..], [&[899], &all_later[..]].concat());
    }

    #[test]
    fn what_did_not_end_well_is_shown_first() {
        // Each of the two stretches has room for one event.
        let events =
            [(0, 1, true), (1, 1, true), (2, 1, false), (3, 1, true), (9, 1, false), (9, 1, true)];
        assert_eq!(kept(2, &events), [2, 4]);
        // Each kind has the same room, whatever its number of events.
        let mut events = vec![(0, 1, false); 30];
        events.extend([(0, 2, true); 3]);
        assert_eq!(kept(6, &events), [9, 19, 29, 30, 31, 32]);
    }

    #[test]
    fn a_distribution_has_32_parts_at_most() {
        let of = |durations: &[u32]| Durations::new(durations.to_vec()).histogram;
        assert_eq!(of(&[26, 10, 26]), [(10, 1), (26, 2)]);
        let part = |longest| Durations::new(vec![longest]).part;
        assert_eq!([part(0), part(31), part(32), part(1000)], [1, 1, 2, 32]);
        // Each part of this histogram spans two ticks.
        assert_eq!(of(&[32, 33, 0, 1, 2]), [(0, 2), (2, 1), (32, 2)]);
        let all: Vec<u32> = (0..1000).collect();
        let parts = of(&all);
        assert_eq!((parts.len(), parts[0], parts[31]), (32, (0, 32), (992, 8)));
        assert_eq!(of(&[u32::MAX]).len(), 1);
    }
}
