//! Prints the result of a replay as text that fits on one screen.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::str::FromStr;

use simulator::machine::clock::HZ;
use simulator::memory::Served;
use simulator::run::{CounterResult, ProcessRun, Replayed, ThreadRun, Total};

use crate::numbers::counted_plainly;
use crate::table::{self, cut};
use crate::text::layouts::time;

/// The number of lines on a screen. If not all threads fit, the last row is the sum of the other threads. All wrong counters are listed,
/// even if they do not fit on the screen.
const LINES: usize = 24;

/// The minimum number of rows in the table of threads. The table gets these rows even if the events make the summary longer than a screen.
const MIN_ROWS: usize = 4;

/// The number of lines outside the tables: three header lines, two empty lines, and the line that compares the counters with the truth.
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

/// How many threads get rows of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThreadRows {
    /// As many as fit on a screen.
    #[default]
    Screen,
    /// At most this number.
    AtMost(usize),
    All,
}

impl FromStr for ThreadRows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(most) => Ok(Self::AtMost(most)),
            Err(_) if text == "all" => Ok(Self::All),
            Err(_) => Err("expected a number of threads, or all".to_owned()),
        }
    }
}

/// Prints the tables of events and threads, and compares the counters with the truth (the simulator's own counts). With a three-line header
/// and the usual rows, the output fills a screen.
pub(crate) fn print(output: &mut impl Write, run: &Replayed, rows: ThreadRows) -> io::Result<()> {
    let sums = Total::by_event(&run.counters);
    writeln!(output, "{}", units(&sums, run))?;
    if !run.processes.is_empty() {
        writeln!(output, "{}", processes(&run.processes))?;
    }
    write!(output, "{}", threads(run, rows))?;
    truth(output, run)
}

/// Returns the threads that get rows of their own, and the threads that share the last row because they execute the fewest instructions.
pub(crate) fn shown(run: &Replayed, rows: ThreadRows) -> (Vec<&ThreadRun>, Vec<&ThreadRun>) {
    let mut busiest: Vec<&ThreadRun> = run.threads.iter().collect();
    let own = match rows {
        ThreadRows::All => busiest.len(),
        ThreadRows::AtMost(most) => most,
        ThreadRows::Screen => {
            let events = Total::by_event(&run.counters).len();
            let room = (LINES - OTHERS - 2).saturating_sub(events).max(MIN_ROWS);
            if busiest.len() <= room { room } else { room - 1 }
        }
    };
    if busiest.len() <= own {
        return (busiest, Vec::new());
    }
    busiest.sort_by_key(|thread| Reverse(thread.instructions));
    let others = busiest.split_off(own);
    (busiest, others)
}

/// Returns a table of events. Each event has a row with the sum over all units, the rate, and the sum for each node or hub.
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

fn threads(run: &Replayed, rows: ThreadRows) -> String {
    let (shown, others) = shown(run, rows);
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

/// The maximum number of processes that get rows of their own.
const MAX_PROCESSES: usize = 8;

/// Returns a table of processes. The processes with the fewest instructions share the last row.
fn processes(all: &[ProcessRun]) -> String {
    let mut busiest: Vec<(usize, &ProcessRun)> = all.iter().enumerate().collect();
    let mut others = Vec::new();
    if all.len() > MAX_PROCESSES {
        busiest.sort_by_key(|(_, process)| Reverse(process.instructions));
        others = busiest.split_off(MAX_PROCESSES - 1);
    }
    let mut table = table::with_header(">process|threads|>instructions|>cycles|command");
    for (number, process) in busiest {
        let ProcessRun { first_thread: first, threads, instructions, cycles, .. } = process;
        let threads = match threads {
            1 => first.to_string(),
            _ => format!("{first}-{}", first + threads - 1),
        };
        let command = process.command.as_deref().unwrap_or(&process.name);
        let numbers = [*instructions, *cycles].map(|number| number.to_string());
        let cells = [number.to_string(), threads].into_iter().chain(numbers);
        table.add_row(cells.chain([cut(command, MAX_COMMAND)]));
    }
    if !others.is_empty() {
        let sum = |part: fn(&ProcessRun) -> u64| -> String {
            others.iter().map(|(_, one)| part(one)).sum::<u64>().to_string()
        };
        let (instructions, cycles) = (sum(|one| one.instructions), sum(|one| one.cycles));
        let more = format!("{} more", others.len());
        table.add_row([more, String::new(), instructions, cycles, String::new()]);
    }
    table::text(&table)
}

/// The maximum length of a command line in the table of processes, in characters.
const MAX_COMMAND: usize = 40;

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

/// Formats a number. If the number has more than seven digits, shortens it to its first digits and a suffix.
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

/// Prints whether the counters agree with the truth (the simulator's own counts), and lists each counter that does not agree.
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
        writeln!(output, "Truth: {counters} exactly what happened ({after}).")?;
        return missing(output, run);
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
    write!(output, "{}", table::text(&table))?;
    missing(output, run)
}

/// Prints the parts of the program that neither the counters nor the truth cover, because these parts are not recorded.
fn missing(output: &mut impl Write, run: &Replayed) -> io::Result<()> {
    run.missing.iter().try_for_each(|one| writeln!(output, "Not covered: {one}."))
}
