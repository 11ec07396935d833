//! The chart of clocks beside the machine's true time.

use simulator::run::{ClockRun, Executed};

use super::draw::{Lines, PARTS, lines};
use super::figure::{Figure, legend};
use crate::numbers::TimeUnit;
use crate::table;

/// Returns the chart of the clocks that a scenario has changed, if there are any.
pub(super) fn figure(run: &Executed) -> Option<Figure> {
    let clocks = &run.clocks[..];
    let all = clocks.iter().flat_map(|clock| &clock.ahead);
    let most = all.map(|(_, ahead)| ahead.unsigned_abs()).max()?;
    let (name, size) = match most {
        1_000_000.. => ("ms", 1e6),
        1_000.. => ("µs", 1e3),
        _ => ("ns", 1.0),
    };
    let in_unit = |(at, ahead): &(u64, i64)| (*at, *ahead as f64 / size);
    let line = |one: &ClockRun| (one.clock.clone(), one.ahead.iter().map(in_unit).collect());
    let drawn: Vec<_> = clocks.iter().map(line).collect();
    let mut marks = Vec::new();
    for one in clocks {
        let change = |at, what| (at, "limit", format!("{} {what}", one.clock));
        marks.extend(one.changes.iter().map(|one| change(one.at, &one.what)));
    }
    marks.extend(logged(run));
    let columns = clocks.iter().map(|one| format!("{}, ns", one.clock));
    let unit = TimeUnit::suiting(&run.time);
    let first = [format!("time, {}", unit.name)].into_iter();
    let mut table = table::with_columns(first.chain(columns));
    for (row, (at, _)) in clocks[0].ahead.iter().enumerate() {
        let cells = clocks.iter().map(|one| one.ahead.get(row));
        let cells = cells.map(|cell| cell.map_or(String::new(), |(_, ahead)| ahead.to_string()));
        table.add_row([format!("{:.4}", *at as f64 * unit.per_cycle)].into_iter().chain(cells));
    }
    let colours = PARTS.iter().cycle().zip(clocks).map(|(class, one)| (*class, &*one.clock));
    let lines_of_marks = [
        ("limit", "a step changes a clock"),
        ("truth", "the hypervisor's log speaks of a clock, at the time that the hypervisor gives"),
    ];
    Some(Figure {
        id: "clocks".to_owned(),
        title: "Clocks beside the machine's true time".to_owned(),
        text: "How far each clock that a step has changed is ahead of the true time, or behind it below zero. What software has written to a clock does not count.".to_owned(),
        drawing: Some(lines(&Lines {
            lines: &drawn,
            values: name,
            marks: &marks,
            cycles: run.time.cycles,
            unit,
        })),
        legend: legend(colours.chain(lines_of_marks)),
        table,
    })
}

/// Returns the lines of the hypervisor's log that speak of a clock: the time of each, in cycles, if it is a time of the run.
fn logged(run: &Executed) -> impl Iterator<Item = (u64, &'static str, String)> {
    let lines = run.hypervisor.console.lines().filter(|line| line.contains("clock"));
    lines.filter_map(|line| {
        let seconds: f64 = line.strip_prefix('[')?.split_once(']')?.0.trim().parse().ok()?;
        let at = (seconds * run.time.hertz as f64) as u64;
        (at <= run.time.cycles).then(|| (at, "truth", line.to_owned()))
    })
}
