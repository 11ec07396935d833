//! The hypervisor's calls and events.

use std::collections::{BTreeMap, BTreeSet};

use guest_abi::StrandId;
use perfctr_service::statistics::Class;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::events::calls::Call;
use crate::events::chrome::{arguments, class_name};
use crate::events::summary::percentile;
use crate::events::{Stream, Trace, TracedEvent};
use crate::nearest::status_name;

/// How many events are shown, and in how many stretches of time at most.
const MOST: usize = 1000;
const STRETCHES: usize = 100;

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
    /// The ticks of each part of the distribution.
    pub part: u32,
    /// The distribution: the first ticks of each part of equal length, and how many calls took as long. There are 32 parts at
    /// most, and none that is empty.
    pub histogram: Vec<(u32, u64)>,
}

impl Durations {
    fn new(mut durations: Vec<u32>) -> Self {
        durations.sort_unstable();
        let [p50, p90, p99, longest] = [50, 90, 99, 100].map(|p| percentile(&durations, p));
        let part = (longest / PARTS).saturating_add(1);
        let mut histogram = BTreeMap::new();
        for duration in durations {
            *histogram.entry(duration / part * part).or_default() += 1;
        }
        Self {
            p50,
            p90,
            p99,
            longest,
            part,
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

/// Returns events in the order of time, at most 1,000, [spread](spread) over the whole time.
pub(super) fn shown(trace: &Trace) -> Vec<ShownEvent> {
    let events = || {
        let streams = trace.streams.iter();
        streams.flat_map(|stream| stream.events().map(|event| (stream.strand, event)))
    };
    let ended_well = |event| call(event).is_some_and(|call| call.status == guest_abi::status::EOK);
    let kept = spread(MOST, || {
        events().map(|(_, event)| (event.time, event.id, ended_well(event)))
    });
    let shown = |(strand, event): (StrandId, &TracedEvent)| ShownEvent {
        time: event.time,
        strand: strand.index(),
        name: class_name(event),
        fields: arguments(event),
    };
    let mut kept = kept.into_iter().peekable();
    let kept = events()
        .enumerate()
        .filter(|(number, _)| kept.next_if_eq(number).is_some());
    let mut shown: Vec<_> = kept.map(|(_, event)| shown(event)).collect();
    shown.sort_by_key(|event| (event.time, event.strand));
    shown
}

/// Returns the numbers of at most `most` events, in order. `events` gives the time of each event, its kind, and whether it is a
/// call that ended well.
///
/// Of more, the time from the first to the last is divided into stretches of equal length. All stretches keep the same number of
/// each kind, or what they have if that is less. Calls that ended well are kept where there is room beside all other events, and what
/// is kept of either is evenly spread among them.
fn spread<E: Iterator<Item = (u64, u16, bool)>>(most: usize, events: impl Fn() -> E) -> Vec<usize> {
    let first = events().map(|(time, ..)| time).min().unwrap_or(0);
    let last = events().map(|(time, ..)| time).max().unwrap_or(0);
    let kinds: BTreeSet<u16> = events().map(|(_, kind, _)| kind).collect();
    // Each kind has room for an event in each stretch.
    let stretches = (most / kinds.len().max(1)).clamp(1, STRETCHES) as u128;
    let part = |time: u64| u128::from(time - first) * stretches / (u128::from(last - first) + 1);
    // How many calls ended well, and how many other events there are, by stretch and kind.
    let mut counts = BTreeMap::<_, [usize; 2]>::new();
    for (time, kind, ended_well) in events() {
        counts.entry((part(time), kind)).or_default()[usize::from(ended_well)] += 1;
    }
    let fits = |each: &usize| {
        let kept = counts
            .values()
            .map(|[others, well]| (others + well).min(*each));
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

    /// Returns the numbers of at most `most` of these events.
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
        // 900 calls at once, then 9 in the rest of the time: ten stretches of ten ticks, one from each.
        let mut events = vec![(0, 1, true); 900];
        events.extend((1..10).map(|n| (10 * n + 5, 1, true)));
        let all_later: Vec<usize> = (900..909).collect();
        assert_eq!(kept(10, &events), [&[899], &all_later[..]].concat());
        // The first stretch has room for what the others do not need: every 90th.
        let shown = kept(19, &events);
        assert_eq!(shown[..3], [89, 179, 269]);
        assert_eq!(shown[9..], [&[899], &all_later[..]].concat());
    }

    #[test]
    fn what_did_not_end_well_is_shown_first() {
        // Two stretches with room for one event each.
        let events = [
            (0, 1, true),
            (1, 1, true),
            (2, 1, false),
            (3, 1, true),
            (9, 1, false),
            (9, 1, true),
        ];
        assert_eq!(kept(2, &events), [2, 4]);
        // However many there are of one kind, each kind has the same room.
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
        // Parts of two ticks.
        assert_eq!(of(&[32, 33, 0, 1, 2]), [(0, 2), (2, 1), (32, 2)]);
        let all: Vec<u32> = (0..1000).collect();
        let parts = of(&all);
        assert_eq!((parts.len(), parts[0], parts[31]), (32, (0, 32), (992, 8)));
        assert_eq!(of(&[u32::MAX]).len(), 1);
    }
}
