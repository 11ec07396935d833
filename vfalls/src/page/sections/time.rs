//! Charts over time: counters, and the bandwidth of channels and links.

use crate::numbers::{TimeUnit, short, top};
use crate::page::draw::{Strip, Strips, strips};
use crate::page::figure::{Drawing, Figure, legend};
use crate::table::{self, Table};
use simulator::analysis::details::{CounterSeries, Series, UseSeries};
use simulator::run::Replayed;

/// The maximum number of units in a chart.
const MAX_STRIPS: usize = 32;

/// Returns the charts over time, sorted by height, the lowest chart first.
pub(super) fn figures(run: &Replayed, series: &Series) -> Vec<Figure> {
    let mut figures = bandwidth(run, series);
    figures.extend(counters(run, series));
    let height = |figure: &Figure| figure.drawing.as_ref().map_or(0.0, |drawing| drawing.height);
    figures.sort_by(|one, other| height(one).total_cmp(&height(other)));
    figures
}

/// Returns one chart for each event.
fn counters(run: &Replayed, series: &Series) -> Vec<Figure> {
    // Events of different classes can have the same name, so compare the class, too.
    let mut events: Vec<Vec<&CounterSeries>> = Vec::new();
    for counter in &series.counters {
        let same = |other: &CounterSeries| {
            (&other.name.class, &other.name.event) == (&counter.name.class, &counter.name.event)
        };
        match events.iter_mut().find(|of_one| same(of_one[0])) {
            Some(counters) => counters.push(counter),
            None => events.push(vec![counter]),
        }
    }
    let events = events.into_iter().enumerate();
    events.map(|(number, counters)| event_figure(run, series, number, counters)).collect()
}

fn event_figure(
    run: &Replayed,
    series: &Series,
    number: usize,
    mut counters: Vec<&CounterSeries>,
) -> Figure {
    let event = format!("{}:{}", counters[0].name.class, counters[0].name.event);
    let sum = |counter: &CounterSeries| counter.truth.iter().sum::<u64>();
    let units = counters.len();
    if units > MAX_STRIPS {
        let mut sums: Vec<_> = counters.iter().map(|one| sum(one)).collect();
        sums.sort_unstable();
        let least = sums[units - MAX_STRIPS];
        counters.retain(|one| sum(one) >= least);
        counters.truncate(MAX_STRIPS);
    }
    let rates = |counts: &[u64]| {
        let counts = counts.iter().zip(durations(run, series));
        counts.map(|(count, seconds)| *count as f64 / seconds).collect::<Vec<_>>()
    };
    let drawn: Vec<_> = (counters.iter())
        .map(|counter| Strip {
            label: counter.name.unit.clone(),
            values: rates(&counter.measured),
            truth: Some(rates(&counter.truth)),
        })
        .collect();
    let highest = match most_of(&drawn) {
        0.0 => 1.0,
        most => top(most),
    };
    let differs = |counter: &&&CounterSeries| counter.measured != counter.truth;
    let wrong = counters.iter().filter(differs).count();
    let agree = match wrong {
        0 => "The guest's reading and the truth are the same in each interval.".to_owned(),
        wrong => format!("The guest's reading differs from the truth in {wrong} of them."),
    };
    let some = match units > MAX_STRIPS {
        true => format!(" These are the {MAX_STRIPS} of {units} units that count most."),
        false => String::new(),
    };
    let mut columns: Vec<(String, &[u64])> = Vec::new();
    for counter in &counters {
        let unit = &counter.name.unit;
        let both = [("reading", &counter.measured), ("truth", &counter.truth)];
        match differs(&counter) {
            false => columns.push((format!("{unit}, reading and truth"), &counter.truth)),
            true => columns.extend(both.map(|(of, counts)| (format!("{unit}, {of}"), &counts[..]))),
        }
    }
    Figure {
        id: format!("counter-{number}"),
        title: format!("{event} over time"),
        text: format!("Events per second in each unit; all strips have one scale. {agree}{some}"),
        drawing: Some(chart(run, series, &drawn, highest, None)),
        legend: legend([("measured", "the guest's reading"), ("truth", "the truth")]),
        table: table(run, series, &columns),
    }
}

fn bandwidth(run: &Replayed, series: &Series) -> Vec<Figure> {
    let usage = &run.usage;
    let channels = series.channels.iter().map(|one| {
        let limit = usage.channels.iter().find(|of| (of.node, of.mcu) == (one.node, one.mcu));
        let limit = limit.map_or(0, |one| one.limit);
        TransferPath::new(format!("node {} MCU {}", one.node, one.mcu), &one.used, limit, 1.0)
    });
    let links = series.links.iter().map(|one| {
        let limit = usage.links.iter().find(|of| (of.node, of.hub) == (one.node, one.hub));
        let limit = limit.map_or(0, |one| one.limit);
        TransferPath::new(format!("node {} hub {}", one.node, one.hub), &one.used, limit, 2.0)
    });
    let (channels, links): (Vec<_>, Vec<_>) = (channels.collect(), links.collect());
    let channels =
        bandwidth_figure(run, series, "channels", "Bandwidth of memory channels", &channels);
    let links =
        bandwidth_figure(run, series, "links", "Bandwidth of links, both directions", &links);
    channels.into_iter().chain(links).collect()
}

/// A channel or a link, and how much it was used in each interval.
struct TransferPath<'a> {
    label: String,
    used: &'a UseSeries,
    /// The maximum rate of all directions together, in bytes per second.
    limit: f64,
    directions: f64,
}

impl<'a> TransferPath<'a> {
    /// `limit` is the maximum rate of one direction, in bytes per second.
    fn new(label: String, used: &'a UseSeries, limit: u64, directions: f64) -> Self {
        Self { label, used, limit: directions * limit as f64, directions }
    }
}

fn bandwidth_figure(
    run: &Replayed,
    series: &Series,
    id: &str,
    title: &str,
    ways: &[TransferPath<'_>],
) -> Option<Figure> {
    let limit = ways.first()?.limit;
    let about = match id {
        "channels" => {
            " A write keeps a channel busy for longer than a read, so a channel can be busy below the limit."
        }
        _ => "",
    };
    let strip = |way: &TransferPath<'_>| Strip {
        label: way.label.clone(),
        values: (way.used.bytes.iter().zip(durations(run, series)))
            .map(|(bytes, seconds)| *bytes as f64 / seconds / way.limit)
            .collect(),
        truth: Some(
            (way.used.busy.iter().zip(durations(run, series)))
                .map(|(busy, seconds)| run.time.seconds_of(*busy) / seconds / way.directions)
                .collect(),
        ),
    };
    let drawn: Vec<_> = ways.iter().map(strip).collect();
    let most = most_of(&drawn);
    let top = [0.05, 0.1, 0.25, 0.5, 1.0].into_iter().find(|top| most <= *top).unwrap_or(1.0);
    let columns: Vec<_> = (ways.iter())
        .flat_map(|way| {
            [
                (format!("{}, bytes", way.label), &*way.used.bytes),
                (format!("{}, busy cycles", way.label), &*way.used.busy),
            ]
        })
        .collect();
    let scale = match top < 1.0 {
        true => format!("the top of a strip is {}% of this limit", top * 100.0),
        false => "the top of a strip is this limit".to_owned(),
    };
    let colours = [
        ("measured", "bytes per second, as a part of the limit"),
        ("truth", "part of the time for which it is busy"),
        ("limit", "limit"),
    ];
    let colours = if top == 1.0 { &colours[..] } else { &colours[..2] };
    Some(Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        text: format!("The limit of each is {}B/s; {scale}.{about}", short(limit)),
        drawing: Some(chart(run, series, &drawn, top, Some(top))),
        legend: legend(colours.iter().copied()),
        table: table(run, series, &columns),
    })
}

/// Returns the lengths of the intervals, in seconds.
fn durations<'a>(run: &'a Replayed, series: &'a Series) -> impl Iterator<Item = f64> + 'a {
    let ends = series.cycles.iter();
    let begins = std::iter::once(&0).chain(ends.clone());
    ends.zip(begins).map(|(end, begin)| run.time.seconds_of(end.saturating_sub(*begin).max(1)))
}

fn most_of(drawn: &[Strip]) -> f64 {
    let values =
        drawn.iter().flat_map(|strip| strip.values.iter().chain(strip.truth.iter().flatten()));
    values.copied().fold(0.0, f64::max)
}

/// Draws strips on a scale from 0 to `top`. `limit` is `top` divided by the maximum rate; `None` if
/// there is no maximum rate.
fn chart(
    run: &Replayed,
    series: &Series,
    drawn: &[Strip],
    top: f64,
    limit: Option<f64>,
) -> Drawing {
    strips(&Strips {
        strips: drawn,
        ends: &series.cycles,
        top,
        top_text: match limit {
            Some(part) => format!("{}%", part * 100.0),
            None => format!("{}/s", short(top)),
        },
        limit: limit == Some(1.0),
        unit: TimeUnit::suiting(&run.time),
    })
}

/// Returns a table with a row for each interval.
fn table(run: &Replayed, series: &Series, columns: &[(String, &[u64])]) -> Table {
    let unit = TimeUnit::suiting(&run.time);
    let names = columns.iter().map(|(name, _)| name.clone());
    let mut table = table::with_columns([format!("until, {}", unit.name)].into_iter().chain(names));
    for (interval, end) in series.cycles.iter().enumerate() {
        let numbers = columns.iter().map(|(_, numbers)| numbers.get(interval));
        let cells = numbers.map(|number| number.map_or(String::new(), u64::to_string));
        table.add_row(std::iter::once(format!("{:.4}", *end as f64 * unit.per_cycle)).chain(cells));
    }
    table
}
