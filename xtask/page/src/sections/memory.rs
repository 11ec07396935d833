//! Which addresses, lines and functions cause misses.

use crate::draw::{Bar, Cells, Scale, bars};
use crate::figure::{Figure, Table};
use crate::numbers::{TimeUnit, count, percent};
use crate::report::{Code, Details, Heat, Report};

/// So many functions are in the chart.
const MOST: usize = 20;

/// Returns the charts of addresses and functions.
pub(super) fn figures(report: &Report, details: &Details) -> Vec<Figure> {
    let heat = &details.heat;
    let maps = [
        heat_map(
            report,
            heat,
            "misses",
            "Misses of the L2 caches by address, over time",
            &heat.misses,
        ),
        heat_map(
            report,
            heat,
            "transfers",
            "Lines moved between L2 caches by address, over time",
            &heat.transfers,
        ),
    ];
    let functions = functions(&details.code);
    maps.into_iter().chain([functions]).flatten().collect()
}

fn heat_map(
    report: &Report,
    heat: &Heat,
    id: &str,
    title: &str,
    numbers: &[Vec<u64>],
) -> Option<Figure> {
    let most = *numbers.iter().flatten().max().filter(|most| **most > 0)?;
    let rows: Vec<_> = heat
        .first
        .iter()
        .map(|address| format!("{address:#x}"))
        .collect();
    let unit = TimeUnit::of(report.cycles, report.time.hertz);
    let scale = Scale::of_counts(most);
    let mut table = Table::new("address");
    (heat.cycles.iter()).for_each(|end| {
        table.column(format!(
            "until {:.3} {}",
            *end as f64 * unit.per_cycle,
            unit.name
        ))
    });
    for (row, numbers) in rows.iter().zip(numbers) {
        table.row(std::iter::once(row.clone()).chain(numbers.iter().map(u64::to_string)));
    }
    let cells = Cells {
        rows: &rows,
        numbers,
        ends: &heat.cycles,
        unit,
    };
    let all: Vec<u64> = numbers.iter().map(|row| row.iter().sum()).collect();
    let hottest = rows.iter().zip(&all).max_by_key(|(_, sum)| **sum);
    let hottest = hottest.map_or(String::new(), |(row, sum)| {
        let share = percent(*sum as f64, all.iter().sum::<u64>() as f64);
        format!(" The row at {row} has {share} of all.")
    });
    Some(Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        text: format!(
            "Each row is memory from the address on its left, upwards in steps of {} bytes where rows follow each other; the \
            stronger the colour, the more.{hottest}",
            count(heat.page_bytes)
        ),
        drawing: Some(cells.heat(&scale)),
        legend: scale.legend(),
        table,
        wide: false,
    })
}

/// The colours and names of where misses are served.
const SERVED: [(&str, &str); 3] = [
    ("c2", "memory of the node"),
    ("c3", "memory of another node"),
    ("c4", "cache of another node"),
];

fn functions(code: &[Code]) -> Option<Figure> {
    let mut functions: Vec<(String, [u64; 3], u64)> = Vec::new();
    for one in code {
        let name = one
            .function
            .clone()
            .or_else(|| one.address.map(|address| format!("{address:#x}")))
            .unwrap_or_else(|| "data of no instruction".to_owned());
        let misses = [one.misses.local, one.misses.remote, one.misses.c2c];
        match functions
            .iter_mut()
            .find(|(function, ..)| *function == name)
        {
            None => functions.push((name, misses, one.cycles)),
            Some((_, sums, cycles)) => {
                sums.iter_mut()
                    .zip(misses)
                    .for_each(|(sum, more)| *sum += more);
                *cycles += one.cycles;
            }
        }
    }
    let sum = |misses: &[u64; 3]| misses.iter().sum::<u64>();
    functions.sort_by_key(|(name, misses, _)| (std::cmp::Reverse(sum(misses)), name.clone()));
    let all: u64 = functions.iter().map(|(_, misses, _)| sum(misses)).sum();
    let (_, most, _) = functions.first().filter(|_| all > 0)?;
    let longest = sum(most) as f64 / all as f64 * 100.0;
    let mut table = Table::new("function");
    SERVED
        .iter()
        .for_each(|(_, name)| table.column(format!("misses served by {name}")));
    table.column("cycles waited".to_owned());
    for (name, misses, cycles) in &functions {
        let numbers = misses.iter().chain([cycles]).map(u64::to_string);
        table.row(std::iter::once(name.clone()).chain(numbers));
    }
    let bar = |(name, misses, _): &(String, [u64; 3], u64)| Bar {
        label: name.chars().take(60).collect(),
        parts: (misses.iter().zip(SERVED))
            .map(|(lines, (class, served))| {
                let words = format!("{} misses served by {served}", count(*lines));
                (class, *lines as f64 / all as f64 * 100.0, words)
            })
            .collect(),
        value: percent(sum(misses) as f64, all as f64),
    };
    let drawn: Vec<_> = functions
        .iter()
        .take(MOST)
        .filter(|(_, misses, _)| sum(misses) > 0)
        .map(bar)
        .collect();
    Some(Figure {
        id: "functions".to_owned(),
        title: "Functions that miss the L2 cache".to_owned(),
        text: format!(
            "The share of {} misses that each function causes, by where they were served.",
            count(all)
        ),
        drawing: Some(bars(&drawn, longest, "% of all misses")),
        legend: SERVED
            .iter()
            .map(|(class, name)| ((*class).to_owned(), (*name).to_owned()))
            .collect(),
        table,
        wide: false,
    })
}
