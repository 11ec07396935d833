//! Charts of the addresses, functions and instructions that cause misses.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::numbers::{TimeUnit, count, percent};
use crate::page::draw::{Bar, Cells, Scale, bars};
use crate::page::figure::{Figure, legend};
use crate::page::names::Names;
use crate::table;
use simulator::analysis::details::{Details, Heat, Missed};
use simulator::run::Replayed;

/// The maximum number of functions or instructions in a chart.
const MAX_ROWS: usize = 12;

pub(super) fn figures(run: &Replayed, details: &Details, names: &Names) -> Vec<Figure> {
    let heat = &details.heat;
    let maps = [
        ("misses", "Misses of the L2 caches by address, over time", &heat.misses),
        ("transfers", "Lines moved between L2 caches by address, over time", &heat.transfers),
    ];
    let maps = maps.map(|(id, title, numbers)| heat_map(run, heat, id, title, numbers));
    let code = [functions(details, names), instructions(details, names)];
    maps.into_iter().chain(code).flatten().collect()
}

fn heat_map(
    run: &Replayed,
    heat: &Heat,
    id: &str,
    title: &str,
    numbers: &[Vec<u64>],
) -> Option<Figure> {
    let most = *numbers.iter().flatten().max().filter(|most| **most > 0)?;
    let rows = &heat.first.iter().map(|first| format!("{first:#x}")).collect::<Vec<_>>();
    let unit = TimeUnit::suiting(&run.time);
    let scale = Scale::logarithmic(most);
    let until = |end: &u64| format!("until {:.3} {}", *end as f64 * unit.per_cycle, unit.name);
    let names = ["address", "bytes"].map(str::to_owned).into_iter();
    let mut table = table::with_columns(names.chain(heat.cycles.iter().map(until)));
    for ((row, bytes), numbers) in rows.iter().zip(&heat.bytes).zip(numbers) {
        let first = [row.clone(), bytes.to_string()];
        table.add_row(first.into_iter().chain(numbers.iter().map(u64::to_string)));
    }
    let cells = Cells { rows, numbers, ends: &heat.cycles, unit };
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
            "Each row is a piece of memory that the program uses, from the address on its left; a stronger colour means \
             more.{hottest}"
        ),
        drawing: Some(cells.heat(&scale)),
        legend: scale.legend(),
        table,
    })
}

/// What can serve a miss: the CSS colour class, and the name.
const SERVED: [(&str, &str); 3] = [
    ("c2", "memory of the node"),
    ("c3", "memory of another node"),
    ("c4", "cache of another node"),
];

/// A function's misses, and the cycles for which the function waited for them. Each row of
/// [`SERVED`] has its own number of misses.
struct FunctionMisses {
    name: String,
    misses: [u64; 3],
    cycles: u64,
}

fn functions(details: &Details, names: &Names) -> Option<Figure> {
    let served = |missed: &Missed| [missed.misses.local, missed.misses.remote, missed.misses.c2c];
    let mut functions: BTreeMap<String, ([u64; 3], u64)> = BTreeMap::new();
    let hottest = details.code.iter();
    let hottest = hottest.map(|one| (names.function(one.program, one.address), &one.missed));
    let others = ("other instructions".to_owned(), &details.code_others);
    for (name, missed) in hottest.chain([others]) {
        let (misses, cycles) = functions.entry(name).or_default();
        misses.iter_mut().zip(served(missed)).for_each(|(sum, more)| *sum += more);
        *cycles += missed.cycles;
    }
    let functions = functions.into_iter();
    let mut functions: Vec<_> =
        functions.map(|(name, (misses, cycles))| FunctionMisses { name, misses, cycles }).collect();
    let sum = |function: &FunctionMisses| function.misses.iter().sum::<u64>();
    functions.retain(|function| sum(function) > 0 || function.cycles > 0);
    // The functions are already sorted by name, and those with equal sums keep this order.
    functions.sort_by_key(|function| Reverse(sum(function)));
    let all: u64 = functions.iter().map(sum).sum();
    let most = functions.first().map(sum).filter(|most| *most > 0)?;
    let share = |lines: u64| lines as f64 / all as f64 * 100.0;
    let [node, other, cache] = SERVED.map(|(_, name)| name);
    let mut table = table::with_header(&format!(
        "function|share, %|served by {node}|served by {other}|served by {cache}|cycles waited"
    ));
    for function in &functions {
        let numbers = function.misses.iter().chain([&function.cycles]).map(u64::to_string);
        let first = [function.name.clone(), format!("{:.1}", share(sum(function)))];
        table.add_row(first.into_iter().chain(numbers));
    }
    let bar = |function: &FunctionMisses| Bar {
        label: function.name.clone(),
        parts: (function.misses.iter().zip(SERVED))
            .map(|(lines, (class, served))| {
                let words = format!("{} misses served by {served}", count(*lines));
                (class, share(*lines), words)
            })
            .collect(),
        value: percent(sum(function) as f64, all as f64),
    };
    let drawn = functions.iter().take(MAX_ROWS).filter(|function| sum(function) > 0);
    Some(Figure {
        id: "functions".to_owned(),
        title: "Functions that miss the L2 cache".to_owned(),
        text: format!(
            "The share of {} misses that each function causes, by where they were served.",
            count(all)
        ),
        drawing: Some(bars(&drawn.map(bar).collect::<Vec<_>>(), share(most), "% of all misses")),
        legend: legend(SERVED),
        table,
    })
}

fn instructions(details: &Details, names: &Names) -> Option<Figure> {
    let missed = details.code.iter().map(|one| &one.missed).chain([&details.code_others]);
    let all: u64 = missed.map(|missed| missed.cycles).sum();
    let served = SERVED.map(|(_, name)| name).join("|");
    let mut table =
        table::with_header(&format!("source|function|address|cycles waited|share, %|L2|{served}"));
    let hottest = details.code.iter().filter(|one| one.missed.cycles > 0).take(MAX_ROWS);
    let mut drawn = Vec::new();
    for one in hottest {
        let Missed { misses, cycles } = one.missed;
        let (function, source) =
            (names.function(one.program, one.address), names.source(one.program, one.address));
        let address = one.address.map_or(String::new(), |address| format!("{address:#x}"));
        let share = cycles as f64 / all as f64 * 100.0;
        let place = if source.is_empty() { &address } else { &source };
        drawn.push(Bar {
            label: format!("{place} {function}"),
            parts: vec![("c2", share, format!("{} cycles", count(cycles)))],
            value: percent(share, 100.0),
        });
        let lines = [misses.l2, misses.local, misses.remote, misses.c2c];
        let cells = [source, function, address, cycles.to_string(), format!("{share:.1}")];
        table.add_row(cells.into_iter().chain(lines.map(|lines| lines.to_string())));
    }
    let longest = drawn.first()?.parts[0].1;
    Some(Figure {
        id: "instructions".to_owned(),
        title: "Where threads wait: instructions and source lines".to_owned(),
        text: format!(
            "The instructions on which threads wait longest, with their share of {} cycles waited.",
            count(all)
        ),
        drawing: Some(bars(&drawn, longest, "% of all cycles waited")),
        legend: Vec::new(),
        table,
    })
}
