//! The chart that shows how far the machine's clocks differ from the true time.

use std::cmp::Reverse;

use simulator::run::{ClockChange, ClockRun, Executed};

use super::draw::{Line, Lines, PARTS, lines};
use super::figure::{Figure, legend};
use crate::numbers::TimeUnit;
use crate::table;

/// The colours of the lines. They are [`PARTS`] without the first colour, which is grey, like the
/// grid.
const COLOURS: &[&str] = PARTS.split_at(1).1;

/// Returns the chart of the clocks that a scenario has changed; `None` if it has not changed any.
pub(super) fn figure(run: &Executed) -> Option<Figure> {
    let most = |one: &ClockRun| one.ahead.iter().map(|(_, ahead)| ahead.unsigned_abs()).max();
    let mut clocks: Vec<_> = run.clocks.iter().collect();
    let mut text = "How far each clock that a step changed is ahead of the true time; a clock below zero is behind. What software wrote to a clock does not count.".to_owned();
    if clocks.len() > COLOURS.len() {
        clocks.sort_by_key(|one| Reverse(most(one)));
        clocks.truncate(COLOURS.len());
        text += &format!(
            " These are the {} of {} clocks that differ most.",
            clocks.len(),
            run.clocks.len()
        );
    }
    let (name, size) = match clocks.iter().filter_map(|one| most(one)).max()? {
        1_000_000.. => ("ms", 1e6),
        1_000.. => ("µs", 1e3),
        _ => ("ns", 1.0),
    };
    let in_unit = |(at, ahead): &(u64, i64)| (*at, *ahead as f64 / size);
    let coloured = || clocks.iter().copied().zip(COLOURS);
    let drawn = coloured().map(|(one, class)| Line {
        label: &one.clock,
        class,
        points: one.ahead.iter().map(in_unit).collect(),
    });
    let mut marks = Vec::new();
    for one in &clocks {
        let mark =
            |change: &ClockChange| (change.at, "limit", format!("{} {}", one.clock, change.what));
        marks.extend(one.changes.iter().map(mark));
    }
    let mut legend_of = legend(coloured().map(|(one, colour)| (*colour, &*one.clock)));
    legend_of.extend(legend([("limit", "a step changes a clock")]));
    let steps = marks.len();
    marks.extend(logged(run));
    if marks.len() > steps {
        legend_of.extend(legend([("truth", "a line of the hypervisor's log about a clock")]));
    }
    let unit = TimeUnit::suiting(&run.time);
    let columns = clocks.iter().map(|one| format!("{}, ns", one.clock));
    let first = format!("time, {}", unit.name);
    let mut table = table::with_columns(std::iter::once(first).chain(columns));
    for (row, (at, _)) in clocks[0].ahead.iter().enumerate() {
        let cells = clocks.iter().map(|one| one.ahead.get(row));
        let cells = cells.map(|cell| cell.map_or(String::new(), |(_, ahead)| ahead.to_string()));
        let at = format!("{:.4}", *at as f64 * unit.per_cycle);
        table.add_row(std::iter::once(at).chain(cells));
    }
    Some(Figure {
        id: "clocks".to_owned(),
        title: "Clocks beside the machine's true time".to_owned(),
        text,
        drawing: Some(lines(&Lines {
            lines: &drawn.collect::<Vec<_>>(),
            values: name,
            marks: &marks,
            cycles: run.time.cycles,
            unit,
        })),
        legend: legend_of,
        table,
    })
}

/// Returns the lines of the hypervisor's log that mention a clock. Each line comes with the time in
/// its time stamp, converted to cycles.
fn logged(run: &Executed) -> impl Iterator<Item = (u64, &'static str, String)> {
    let lines = run.hypervisor.console.lines().filter(|line| line.contains("clock"));
    lines.filter_map(|line| {
        let seconds: f64 = line.strip_prefix('[')?.split_once(']')?.0.trim().parse().ok()?;
        let at = (seconds * run.time.hertz as f64) as u64;
        (at <= run.time.cycles).then(|| (at, "truth", line.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use simulator::run::Run;

    use super::*;

    /// Returns a chart of `clocks` clocks. At the end, the nth clock is n microseconds behind the
    /// true time.
    fn chart(clocks: u64) -> Option<Figure> {
        let clock = |number| {
            json!({
                "clock": format!("%stick of strand {number}"),
                "changes": [{"at": 500, "what": "stops"}],
                "ahead": [[0, 0], [1000, -1000 * i64::try_from(number).unwrap()]],
            })
        };
        let console = "[0.000000250] warning: clock a\n[0.000000300] note: b\n[1.000000] note: clock c\nclock d";
        let run = json!({
            "version": 1, "kind": "execution", "machine": "batoka", "nodes": 1,
            "time": {"cycles": 1000, "hertz": 1_000_000_000, "seconds": 1e-6},
            "strands": [], "events": [], "hypercalls": {"total": 0, "by_status": {}}, "guests": [],
            "noted": 0, "steps": [], "failures": [],
            "hypervisor": {"console": console, "left_out": 0},
            "clocks": (1..=clocks).map(clock).collect::<Vec<_>>(),
        });
        match Run::parse(run.to_string().as_bytes()).unwrap() {
            Run::Execution(run) => figure(&run),
            run => panic!("{run:?}"),
        }
    }

    #[test]
    fn lines_and_marks() {
        let Figure { drawing, legend, .. } = chart(1).unwrap();
        let marks = drawing.unwrap().marks.into_string();
        // On the time axis, the run lasts from 48 to 354. The height of a line is 150 units.
        for part in [
            "<path class=\"limit\" d=\"M201 8V158\"><title>%stick of strand 1 stops</title></path>",
            "<path class=\"truth\" d=\"M124.5 8V158\"><title>[0.000000250] warning: clock a</title></path>",
            "<path d=\"M48 8L354 158\"",
            ">-1.0</text>",
        ] {
            assert!(marks.contains(part), "{part}: {marks}");
        }
        // The log's third line comes after the end of the run, and its last line has no time stamp,
        // so neither has a mark.
        assert_eq!(marks.matches("class=\"truth\"").count(), 1);
        assert_eq!(legend.len(), 3);
    }

    #[test]
    fn only_the_worst_of_many_clocks() {
        assert!(chart(0).is_none());
        let Figure { text, legend, table, .. } = chart(9).unwrap();
        assert!(text.ends_with("These are the 8 of 9 clocks that differ most."), "{text}");
        assert_eq!((&*legend[0].1, &*legend[7].1), ("%stick of strand 9", "%stick of strand 2"));
        assert_eq!((legend.len(), table.rows().count()), (10, 2));
    }
}
