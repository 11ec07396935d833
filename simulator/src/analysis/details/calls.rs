//! Lists and counts hypercalls and the hypervisor's events, for the details of a replay.

use std::borrow::Cow;
use std::mem::{Discriminant, discriminant};

use guest_abi::StrandId;
use perfctr_service::statistics::Class;
use perfctr_service::trace::ServiceEvent;
use serde::{Deserialize, Serialize};

use crate::events::calls::{TracedCall, TracedFunction};
use crate::events::chrome::{Arguments, arguments};
use crate::events::summary::{Conflicts, by_time, percentiles};
use crate::events::{DecodedEvent, Stream, Trace, TracedEvent};
use crate::json;
use crate::nearest::status_name;

/// The maximum number of events in the details. The events are chosen from at most [`STRETCHES`] stretches of time.
const MAX_EVENTS: usize = 1000;
const STRETCHES: usize = 100;

/// The maximum number of bins (parts) in a histogram of durations.
const MAX_BINS: u32 = 32;

/// One guest's hypercalls with the same function, register class and status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Calls {
    pub guest: String,
    /// The hypercall: `get`, `set`, `set_version` or `fast`.
    pub call: Cow<'static, str>,
    /// The class of registers that a `get` or `set` names: `strand`, `l2`, `dram` or `hub`.
    pub registers: Cow<'static, str>,
    pub status: String,
    pub count: u64,
    pub latency: Durations,
}

/// A distribution of durations, in ticks of the machine's clock.
///
/// For the percentiles, the n durations are sorted and numbered from 1. The p-th percentile is duration number p * n / 100, rounded up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Durations {
    pub p50: u32,
    pub p90: u32,
    pub p99: u32,
    pub longest: u32,
    /// The width of the histogram's bins (parts), in ticks.
    pub part: u32,
    /// The start of each bin of the histogram, in ticks, and the number of calls in the bin. There are at most 32 bins. Empty bins are
    /// omitted.
    pub histogram: Vec<(u32, u64)>,
}

impl Durations {
    fn new(mut durations: Vec<u32>) -> Self {
        let [p50, p90, p99, longest] = percentiles(&mut durations);
        let part = (longest / MAX_BINS).saturating_add(1);
        // The call to `percentiles` has sorted the durations.
        let parts = durations.chunk_by(|one, next| one / part == next / part);
        let histogram = parts.map(|all| (all[0] / part * part, all.len() as u64)).collect();
        Self { p50, p90, p99, longest, part, histogram }
    }
}

/// What a group of calls has in common: guest, function, register class and status.
type Group = (u8, Discriminant<TracedFunction>, Option<Class>, u64);

/// A trace's events, each decoded once.
#[derive(Default)]
pub(super) struct DecodedEvents {
    /// Each event's time and kind, and whether it is a call that succeeded.
    events: Vec<(u64, u16, bool)>,
    /// For each group of calls, the group, the called function's name, and the calls' durations.
    calls: Vec<(Group, &'static str, Vec<u32>)>,
    /// The time and the hub of each call that could not get its hub immediately.
    conflicts: Vec<(u64, usize)>,
}

impl DecodedEvents {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut known = Self::default();
        for event in trace.streams.iter().flat_map(Stream::events) {
            let decoded = event.event();
            let call = decoded.as_ref().and_then(TracedCall::from_event);
            if let Some(call) = &call {
                known.note_call(call);
            } else if let Some(DecodedEvent::Service(ServiceEvent::HubConflict(conflict))) = decoded
            {
                known.conflicts.push((event.time, conflict.hub.into()));
            }
            let ended_well = call.is_some_and(|call| call.status == guest_abi::status::EOK);
            known.events.push((event.time, event.id, ended_well));
        }
        known
    }

    fn note_call(&mut self, call: &TracedCall) {
        let class = call.function.register().map(Class::from_id);
        let group = (call.guest, discriminant(&call.function), class, call.status);
        match self.calls.iter_mut().find(|(of, ..)| *of == group) {
            Some((_, _, durations)) => durations.push(call.duration),
            None => self.calls.push((group, call.function.name(), vec![call.duration])),
        }
    }

    /// Returns the calls, sorted by guest, function, register class and status. Also returns the conflicts, sorted by time.
    pub(super) fn counts(self, trace: &Trace) -> (Vec<Calls>, Vec<Conflicts>) {
        let mut calls = self.calls;
        let registers = |class: Option<Class>| class.map_or("", Class::name);
        calls.sort_by_key(|((guest, _, class, status), name, _)| {
            (*guest, *name, registers(*class), *status)
        });
        let calls = calls.into_iter().map(|((guest, _, class, status), call, durations)| Calls {
            guest: trace.guest(guest),
            call: call.into(),
            registers: registers(class).into(),
            status: status_name(status),
            count: durations.len() as u64,
            latency: Durations::new(durations),
        });
        let times = || self.events.iter().map(|(time, ..)| *time);
        let span = times().min().zip(times().max());
        let conflicts = span.map_or_else(Vec::new, |span| by_time(span, &self.conflicts));
        (calls.collect(), conflicts)
    }

    /// Returns at most 1,000 events, which [`spread`] chooses, sorted by time.
    pub(super) fn shown(&self, trace: &Trace) -> Vec<ShownEvent> {
        let streams = trace.streams.iter();
        let events = streams.flat_map(|stream| stream.events().map(|event| (stream.strand, event)));
        let shown = |(strand, event): (StrandId, &TracedEvent)| ShownEvent {
            time: event.time,
            strand,
            name: trace.kinds.get(event.id).map_or_else(Cow::default, |kind| kind.name.clone()),
            fields: arguments(event, &trace.kinds),
        };
        let mut kept = spread(MAX_EVENTS, &self.events).into_iter().peekable();
        let kept = events.enumerate().filter(|(number, _)| kept.next_if_eq(number).is_some());
        let mut shown: Vec<_> = kept.map(|(_, event)| shown(event)).collect();
        shown.sort_by_key(|event| (event.time, event.strand));
        shown
    }
}

/// A decoded hypervisor event, for a time line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ShownEvent {
    /// The time in ticks of the machine's clock, as in [`Series::clock`](super::Series::clock).
    pub time: u64,
    #[serde(with = "json")]
    pub strand: StrandId,
    pub name: Cow<'static, str>,
    /// The values of the event's fields, by field name.
    pub fields: Arguments,
}

/// Returns the indices of at most `most` events, in order. For each event, `events` has its time, its kind, and whether it is a
/// call that succeeded.
///
/// If there are more than `most` events, the time from the first to the last event is divided into stretches of equal length.
/// Events of one kind in one stretch form a group, and all groups have the same limit on their number of events. Successful calls
/// are kept only if the group's other events leave room. If only some of a group's events are kept, they are evenly spaced.
fn spread(most: usize, events: &[(u64, u16, bool)]) -> Vec<usize> {
    let times = || events.iter().map(|(time, ..)| *time);
    let (first, last) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    let mut kinds = Vec::new();
    for (_, kind, _) in events {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    // The number of stretches is limited so that each stretch has room for at least one event of each kind.
    let stretches = (most / kinds.len().max(1)).clamp(1, STRETCHES);
    // A group consists of the events of one kind in one stretch.
    let group = |(time, kind, _): &(u64, u16, bool)| {
        let all = u128::from(last - first) + 1;
        let part = (u128::from(time - first) * stretches as u128 / all) as usize;
        part * kinds.len() + kinds.iter().position(|one| one == kind).unwrap_or(0)
    };
    let groups: Vec<u32> = events.iter().map(|event| group(event) as u32).collect();
    // For each group, the number of events that are not successful calls, and the number of successful calls.
    let mut counts = vec![[0; 2]; stretches * kinds.len()];
    for (group, (.., ended_well)) in groups.iter().zip(events) {
        counts[*group as usize][usize::from(*ended_well)] += 1;
    }
    let fits = |each: usize| {
        let kept = counts.iter().map(|[others, well]| (others + well).min(each));
        kept.sum::<usize>() <= most
    };
    let (mut each, mut too_many) = (0, most + 1);
    while too_many - each > 1 {
        let middle = each.midpoint(too_many);
        *(if fits(middle) { &mut each } else { &mut too_many }) = middle;
    }
    let mut passed = vec![[0; 2]; counts.len()];
    let mut kept = Vec::new();
    for (number, (group, (.., ended_well))) in groups.iter().zip(events).enumerate() {
        let [others, well] = counts[*group as usize];
        let others_kept = others.min(each);
        let (of, keep) = match ended_well {
            true => (well, well.min(each - others_kept)),
            false => (others, others_kept),
        };
        let passed = &mut passed[*group as usize][usize::from(*ended_well)];
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
        spread(most, events)
    }

    #[test]
    fn few_events_are_all_shown() {
        assert_eq!(kept(2, &[]), [0; 0]);
        assert_eq!(kept(2, &[(7, 1, true), (7, 1, true)]), [0, 1]);
        assert_eq!(kept(1, &[(0, 1, true), (u64::MAX, 1, true)]), [1]);
    }

    #[test]
    fn shown_events_are_of_the_whole_time() {
        // 900 calls happen at the same time. Nine calls follow later, one in each of the last nine of ten stretches.
        let mut events = vec![(0, 1, true); 900];
        events.extend((1..10).map(|n| (10 * n + 5, 1, true)));
        let all_later: Vec<usize> = (900..909).collect();
        assert_eq!(kept(10, &events), [&[899], &all_later[..]].concat());
        // Each of the other nine stretches has only one call. So the first stretch has room for ten calls, which are every 90th.
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
        // Each kind gets the same room, no matter how many events it has.
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
        // Each bin of the histogram spans two ticks.
        assert_eq!(of(&[32, 33, 0, 1, 2]), [(0, 2), (2, 1), (32, 2)]);
        let all: Vec<u32> = (0..1000).collect();
        let parts = of(&all);
        assert_eq!((parts.len(), parts[0], parts[31]), (32, (0, 32), (992, 8)));
        assert_eq!(of(&[u32::MAX]).len(), 1);
    }
}
