//! The result of a replay as text that fits on one screen.

use std::cmp::Reverse;
use std::io::{self, Write};

use simulator::machine::clock::HZ;
use simulator::memory::Served;
use simulator::run::{CounterResult, Replayed, ThreadRun, Total};

use crate::numbers::counted_plainly;
use crate::table;
use crate::text::layouts::time;

/// The number of lines on a screen. If not all threads fit, the last row adds up the others. All wrong counters are listed, even if they do
/// not fit on the screen.
const LINES: usize = 24;

/// The number of lines outside the tables: three header lines, two empty lines, and the comparison with the truth.
const OTHERS: usize = 6;

/// Returns a table of totals. Each event has a row with the number of its counters, the sum of
/// their measured counts, and the sum of the true counts.
pub(crate) fn totals(counters: &[CounterResult]) -> String {
    let mut table = table::with_header("event|>counters|>measured|>truth");
    for sum in Total::by_event(counters) {
        let name = format!("{}:{}", sum.class, sum.event);
        let numbers = [sum.counters, sum.measured, sum.truth].map(|number| number.to_string());
        table.add_row([name].into_iter().chain(numbers));
    }
    table::text(&table)
}

/// Prints the tables of events and threads, and the comparison with the truth. Together with a
/// header of three lines, the output fills a screen.
pub(crate) fn print(output: &mut impl Write, run: &Replayed) -> io::Result<()> {
    let sums = Total::by_event(&run.counters);
    write!(output, "{}\n{}", units(&sums, run), threads(run, sums.len()))?;
    truth(output, run)
}

/// Returns the threads that have their own rows if the table of events has `events` rows, and the threads that share the last row. The
/// threads with the fewest instructions share the last row.
pub(crate) fn shown(run: &Replayed, events: usize) -> (Vec<&ThreadRun>, Vec<&ThreadRun>) {
    let most = LINES - OTHERS - 2 - events;
    let mut busiest: Vec<&ThreadRun> = run.threads.iter().collect();
    if busiest.len() <= most {
        return (busiest, Vec::new());
    }
    busiest.sort_by_key(|thread| Reverse(thread.instructions));
    let others = busiest.split_off(most - 1);
    (busiest, others)
}

/// Returns a table of events. Each event has a row with the sum over all units, its rate, and the
/// sum of each node or hub.
fn units(sums: &[Total], run: &Replayed) -> String {
    let places = match sums.iter().any(Total::is_by_hub) {
        true => 4,
        false => run.nodes,
    };
    let header: String = (0..places).map(|node| format!("|>node {node}")).collect();
    let mut table = table::with_header(&format!("event|>total|>per second{header}"));
    for sum in sums {
        let hubs = if sum.is_by_hub() { ", by hub" } else { "" };
        let rate = sum.measured as f64 * HZ as f64 / run.cycles.max(1) as f64;
        let mut row = vec![
            format!("{}:{}{hubs}", sum.class, sum.event),
            sum.measured.to_string(),
            short(rate as u64),
        ];
        row.extend(sum.by_place[..places].iter().map(|count| short(*count)));
        table.add_row(row);
    }
    table::text(&table)
}

/// Returns a table of threads that fits on the screen below a table with `events` events.
fn threads(run: &Replayed, events: usize) -> String {
    let (shown, others) = shown(run, events);
    let mut table = table::with_header(
        ">thread|>strand|>instructions|>cycles|>CPI|>MPKI|>L2 hits|>local|>remote|>c2c",
    );
    for one in shown {
        table.add_row(cells(one.thread.to_string(), one.strand.to_string(), one));
    }
    if !others.is_empty() {
        let sum = ThreadRun::sum(&others);
        table.add_row(cells(format!("{} more", others.len()), String::new(), &sum));
    }
    table::text(&table)
}

fn cells(thread: String, strand: String, results: &ThreadRun) -> Vec<String> {
    let Served { l2, local, remote, c2c } = results.served;
    let instructions = results.instructions;
    let for_each = |number: u64, scale: f64| match instructions {
        0 => "-".to_owned(),
        _ => format!("{:.2}", number as f64 * scale / instructions as f64),
    };
    let mut cells = vec![thread, strand];
    cells.extend([instructions, results.cycles].map(|number| number.to_string()));
    cells.push(for_each(results.cycles, 1.0));
    cells.push(for_each(local + remote + c2c, 1000.0));
    cells.extend([l2, local, remote, c2c].map(short));
    cells
}

/// Formats a number. If it has more than seven digits, shortens it to its first digits and a suffix.
pub(crate) fn short(number: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000_000, "P"),
        (1_000_000_000_000, "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
    ];
    let unit = UNITS.iter().find(|(unit, _)| number >= *unit);
    match unit {
        Some((unit, suffix)) if number >= 10_000_000 => {
            format!("{:.2} {suffix}", number as f64 / *unit as f64)
        }
        _ => number.to_string(),
    }
}

/// Prints whether the counters agree with the truth, and lists each counter that does not.
fn truth(output: &mut impl Write, run: &Replayed) -> io::Result<()> {
    let counters = run.counters.len();
    let wrong: Vec<&CounterResult> =
        (run.counters.iter()).filter(|counter| counter.measured != counter.truth).collect();
    let after = format!(
        "{} in {} cycles, {}",
        counted_plainly(run.references, "reference"),
        run.cycles,
        time(run.cycles as f64 / HZ as f64)
    );
    if wrong.is_empty() {
        let counters = match counters {
            1 => "the counter shows".to_owned(),
            _ => format!("all {counters} counters show"),
        };
        return writeln!(output, "Truth: {counters} exactly what happened ({after}).");
    }
    writeln!(
        output,
        "Truth: {} of {counters} counters do not show what happened ({after}):\n",
        wrong.len()
    )?;
    let mut table = table::with_header("register|>strand|>counter|event|>measured|>truth");
    for counter in wrong {
        table.add_row([
            counter.name.to_string(),
            (counter.strand).map_or_else(|| "-".to_owned(), |strand| strand.to_string()),
            counter.counter.index().to_string(),
            counter.event.to_string(),
            counter.measured.to_string(),
            counter.truth.to_string(),
        ]);
    }
    write!(output, "{}", table::text(&table))
}
