//! Charts of hypercalls, and of the hypervisor's events.

use std::collections::BTreeMap;

use crate::numbers::{TimeUnit, count, counted, short, top};
use crate::page::draw::{Bar, Dots, EventRow, Strip, Strips, bars, dots, strips, timeline};
use crate::page::figure::{Figure, legend};
use crate::table;
use simulator::analysis::details::{Calls, Details, Durations, GuestSeries};
use simulator::memory::Usage;
use simulator::run::Replayed;

pub(super) fn figures(run: &Replayed, details: &Details) -> Vec<Figure> {
    let figures = [
        by_status(run, details),
        latencies(run, &details.calls),
        conflicts(run, details),
        waits(&run.usage),
        over_time(run, details),
        events(run, details),
    ];
    figures.into_iter().flatten().collect()
}

/// Returns the CSS class that gives a status its colour.
pub(in crate::page) fn colour(status: &str) -> &'static str {
    match status {
        "EOK" => "c6",
        "EWOULDBLOCK" => "c3",
        "ENOACCESS" => "c4",
        "EBADTRAP" => "c5",
        _ => "c7",
    }
}

/// Returns the first cells of a row: guest, call, registers, status and number of calls.
fn cells(of: &Calls) -> [String; 5] {
    [
        of.guest.clone(),
        of.call.to_string(),
        of.registers.to_string(),
        of.status.clone(),
        of.count.to_string(),
    ]
}

fn by_status(run: &Replayed, details: &Details) -> Option<Figure> {
    let mut sums: BTreeMap<(&str, &str), BTreeMap<&str, u64>> = BTreeMap::new();
    let mut table = table::with_header("guest|call|registers|status|calls");
    for one in &details.calls {
        let sum = sums.entry((&one.guest, &one.call)).or_default();
        *sum.entry(&one.status).or_default() += one.count;
        table.add_row(cells(one));
    }
    let longest = sums.values().map(|sum| sum.values().sum::<u64>()).max()?;
    let bar = |((guest, call), sum): (&(&str, &str), &BTreeMap<&str, u64>)| Bar {
        label: format!("{guest}: {call}"),
        parts: (sum.iter())
            .map(|(status, times)| {
                (colour(status), *times as f64, format!("{} {status}", count(*times)))
            })
            .collect(),
        value: count(sum.values().sum()),
    };
    let mut statuses: Vec<_> = sums.values().flat_map(BTreeMap::keys).copied().collect();
    statuses.sort_unstable();
    statuses.dedup();
    let drawn: Vec<_> = sums.iter().map(bar).collect();
    Some(Figure {
        id: "calls".to_owned(),
        title: "Hypercalls by guest, kind and status".to_owned(),
        text: format!(
            "EOK: done. EWOULDBLOCK: the hub is taken, and the guest asks again. ENOACCESS: the guest has no right to the register.{}",
            reads(run, details)
        ),
        drawing: Some(bars(&drawn, longest as f64, "calls")),
        legend: legend(statuses.iter().map(|status| (colour(status), *status))),
        table,
    })
}

/// Describes in a sentence the calls that guests make to read their counters for the charts over
/// time.
fn reads(run: &Replayed, details: &Details) -> String {
    let reads = details.series.reads;
    let Some(each) = reads.calls.checked_div(reads.samples) else {
        return String::new();
    };
    let all = run.guests.iter().map(|guest| guest.hypercalls.total);
    format!(
        " {} of the {} were made by the guest to read its counters for the charts over time: {}, about {} each.",
        count(reads.calls),
        counted(all.sum(), "call"),
        counted(reads.samples, "sample"),
        counted(each, "call"),
    )
}

fn latencies(run: &Replayed, calls: &[Calls]) -> Option<Figure> {
    let first = &calls.first()?.guest;
    let nanoseconds = |ticks: u64| run.time.seconds_of(ticks) * 1e9;
    let mut table = table::with_header(
        "guest|call|registers|status|calls|half within, ns|90% within, ns|99% within, ns|longest, ns|calls by duration, ns",
    );
    let mut drawn = Vec::new();
    for one in calls {
        let Durations { p50, p90, p99, longest, part, histogram } = &one.latency;
        let times = [p50, p90, p99, longest].map(|ticks| nanoseconds((*ticks).into()));
        let parts = histogram.iter().map(|(from, calls)| {
            let [from, to] = [*from, from + part].map(|ticks| nanoseconds(ticks.into()));
            (from, to, *calls)
        });
        let distribution = parts.clone().map(|(from, _, calls)| format!("{from:.1}: {calls}"));
        table.add_row(
            cells(one)
                .into_iter()
                .chain(times.map(|time| format!("{time:.1}")))
                .chain([distribution.collect::<Vec<_>>().join("; ")]),
        );
        let at = PERCENTILES
            .iter()
            .zip(times)
            .map(|((class, words), time)| (time, *class, format!("{words} {} ns", short(time))));
        let guest = if one.guest == *first { String::new() } else { format!("{}: ", one.guest) };
        let what = [&*one.call, &*one.registers].join(" ");
        drawn.push(Dots {
            label: format!("{guest}{}, {}", what.trim_end(), one.status),
            at: at.collect(),
            parts: parts.collect(),
        });
    }
    Some(Figure {
        id: "latencies".to_owned(),
        title: "How long hypercalls take".to_owned(),
        text: format!(
            "On a logarithmic axis: how long half, 90% and 99% of the calls of a kind take at most, and the longest call. The \
             bars are the distribution: the highest bar of a kind is the duration that most calls have. Calls are of guest {first} if no \
             other guest is named."
        ),
        drawing: Some(dots(&drawn, "nanoseconds")),
        legend: legend(PERCENTILES),
        table,
    })
}

/// The percentiles that the chart shows as dots: the CSS colour class, and the name.
const PERCENTILES: [(&str, &str); 4] =
    [("s2", "half within"), ("s4", "90% within"), ("s6", "99% within"), ("c4", "longest")];

fn conflicts(run: &Replayed, details: &Details) -> Option<Figure> {
    let hubs = details.conflicts.first()?.hubs.len();
    let unit = TimeUnit::suiting(&run.time);
    let end = details.series.clock.last().copied().unwrap_or(0);
    let ends = details.conflicts.iter().skip(1).map(|part| part.from);
    let last = details.conflicts.last().map_or(0, |part| part.from);
    let ends: Vec<_> = ends.chain([end.max(last + 1)]).collect();
    let names = (0..hubs).map(|hub| format!("hub {hub}"));
    let mut table = table::with_columns([format!("from, {}", unit.name)].into_iter().chain(names));
    for part in &details.conflicts {
        let from = format!("{:.4}", part.from as f64 * unit.per_cycle);
        table.add_row(std::iter::once(from).chain(part.hubs.iter().map(u64::to_string)));
    }
    let strip = |hub: usize| Strip {
        label: format!("hub {hub}"),
        values: details.conflicts.iter().map(|part| part.hubs[hub] as f64).collect(),
        truth: None,
    };
    let drawn: Vec<_> = (0..hubs).map(strip).collect();
    let most = drawn.iter().flat_map(|strip| &strip.values).copied().fold(1.0, f64::max);
    let sum: u64 = details.conflicts.iter().flat_map(|part| &part.hubs).sum();
    Some(Figure {
        id: "conflicts".to_owned(),
        title: "Hypercalls that find their hub taken, over time".to_owned(),
        text: format!(
            "{} in all. The time is that of the machine's clock, which goes on while the hypervisor works.",
            counted(sum, "conflict")
        ),
        drawing: Some(strips(&Strips {
            strips: &drawn,
            ends: &ends,
            top: top(most),
            top_text: short(top(most)),
            limit: false,
            unit,
        })),
        legend: legend([("measured", "conflicts in each part of the time")]),
        table,
    })
}

pub(in crate::page) fn waits(usage: &Usage) -> Option<Figure> {
    usage.hubs.first()?;
    let average = |waited: u64, requests: u64| waited as f64 / requests.max(1) as f64;
    let mut table = table::with_header("hub|requests|cycles waited|cycles waited per request");
    let mut drawn = Vec::new();
    for one in &usage.hubs {
        let average = average(one.waited, one.requests);
        table.add_row([
            one.hub.to_string(),
            one.requests.to_string(),
            one.waited.to_string(),
            format!("{average:.2}"),
        ]);
        let words = format!("{average:.2} cycles for each of {} requests", count(one.requests));
        drawn.push(Bar {
            label: format!("hub {}", one.hub),
            parts: vec![("c2", average, words)],
            value: format!("{average:.1}"),
        });
    }
    let longest = usage.hubs.iter().map(|one| average(one.waited, one.requests));
    Some(Figure {
        id: "waits".to_owned(),
        title: "Waiting at hubs".to_owned(),
        text: "How long a request for a line waits at its hub on average: for other requests for the same line, and for the hub.".to_owned(),
        drawing: Some(bars(&drawn, top(longest.fold(0.1, f64::max)), "cycles a request")),
        legend: Vec::new(),
        table,
    })
}

fn over_time(run: &Replayed, details: &Details) -> Option<Figure> {
    let series = &details.series;
    let unit = TimeUnit::suiting(&run.time);
    let spans = || {
        let begins = std::iter::once(&0).chain(&series.clock);
        let spans = series.clock.iter().zip(begins);
        spans.map(|(end, begin)| end.saturating_sub(*begin).max(1))
    };
    let strip = |one: &GuestSeries| Strip {
        label: one.guest.clone(),
        values: (one.calls.iter().zip(spans()))
            .map(|(calls, span)| *calls as f64 / run.time.seconds_of(span))
            .collect(),
        truth: None,
    };
    let drawn: Vec<_> = series.hypercalls.iter().map(strip).collect();
    let most = drawn.iter().flat_map(|strip| &strip.values).copied().fold(0.0, f64::max);
    let guests = series.hypercalls.iter().map(|one| one.guest.clone());
    let mut table =
        table::with_columns([format!("until, {}", unit.name)].into_iter().chain(guests));
    for (interval, end) in series.clock.iter().enumerate() {
        let calls = series.hypercalls.iter().map(|one| one.calls.get(interval));
        let cells = calls.map(|calls| calls.map_or(String::new(), u64::to_string));
        table.add_row(std::iter::once(format!("{:.4}", *end as f64 * unit.per_cycle)).chain(cells));
    }
    (most > 0.0).then(|| Figure {
        id: "call-rate".to_owned(),
        title: "Hypercalls over time".to_owned(),
        text: "The calls per second of each guest, by the machine's clock, which goes on while the hypervisor works.".to_owned(),
        drawing: Some(strips(&Strips {
            strips: &drawn,
            ends: &series.clock,
            top: top(most),
            top_text: format!("{}/s", short(top(most))),
            limit: false,
            unit,
        })),
        legend: legend([("measured", "calls per second")]),
        table,
    })
}

/// The maximum number of event kinds in the chart.
const MAX_KINDS: usize = 16;

fn events(run: &Replayed, details: &Details) -> Option<Figure> {
    details.events.first()?;
    let unit = TimeUnit::suiting(&run.time);
    let mut kinds: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut table = table::with_header(&format!("time, {}|strand|event|fields", unit.name));
    for event in &details.events {
        kinds.entry(&event.name).or_default().push(event.time);
        table.add_row([
            format!("{:.5}", event.time as f64 * unit.per_cycle),
            event.strand.to_string(),
            event.name.to_string(),
            serde_json::to_string(&event.fields).unwrap_or_default(),
        ]);
    }
    let end = details.events.iter().map(|event| event.time).max();
    let end = end.max(details.series.clock.last().copied()).unwrap_or(1);
    let row = |(name, at): (&&str, &Vec<u64>)| EventRow {
        label: format!("{name} ({})", at.len()),
        class: "c2",
        at: at.clone(),
    };
    let drawn: Vec<_> = kinds.iter().take(MAX_KINDS).map(row).collect();
    let all: u64 = details.calls.iter().map(|one| one.count).sum();
    let shown = details.events.len() as u64;
    let calls = match all > shown {
        true => format!(
            " These are {} events, spread over the whole time, failed calls first; the run has {}.",
            count(shown),
            counted(all, "call")
        ),
        false => String::new(),
    };
    Some(Figure {
        id: "events".to_owned(),
        title: "The hypervisor's events".to_owned(),
        text: format!("Each mark is an event, at its time by the machine's clock.{calls}"),
        drawing: Some(timeline(&drawn, end, unit)),
        legend: Vec::new(),
        table,
    })
}
