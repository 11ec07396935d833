//! Charts of how threads spend their time: running, or waiting for each other.

use crate::numbers::{TimeUnit, count, counted, percent};
use crate::page::draw::{Bar, StateStrip, bars, state_strips};
use crate::page::figure::{Drawing, Figure, Legend, legend};
use crate::page::names::Names;
use crate::page::sections::threads::{Group, MAX_BARS, groups, place};
use crate::table::{self, Table};
use crate::text::waits;
use simulator::analysis::details::Details;
use simulator::run::{Replayed, State, ThreadLine, TimeLine};

/// The maximum number of rows of a table.
const ROWS: usize = 100;

/// The maximum number of strips for which a chart draws every column. With more strips, the chart merges each pair of neighbouring columns.
const FEW: usize = 64;

/// Returns the charts of a run that has several threads, or one thread that did not always run.
pub(super) fn figures(run: &Replayed, names: &Names) -> Vec<Figure> {
    let states = waits::occurring(run);
    if states.is_empty() || run.threads.len() < 2 && states == [State::Running] {
        return Vec::new();
    }
    let line = run.details.as_ref().and_then(|details| time_line(run, details));
    let mut figures = vec![bars_of(run, &states)];
    figures.extend(line);
    figures.extend(pairs(run));
    figures.extend(locks(run, names));
    figures
}

/// Returns the CSS class that gives a state its colour.
const fn class(state: State) -> &'static str {
    match state {
        State::Running => "c6",
        State::Ready => "c8",
        State::Lock => "c4",
        State::Condition => "c3",
        State::Barrier => "c2",
        State::Semaphore => "c5",
        State::Thread => "c1",
        State::Sleep => "c0",
        State::Recorded => "c7",
        State::NotBegun => "s1",
        State::Ended => "s0",
    }
}

/// Describes what a thread in this state does.
const fn words(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Ready => "ready, its strand executes another thread",
        State::Lock => "waits for a lock",
        State::Condition => "waits for a condition",
        State::Barrier => "waits at a barrier",
        State::Semaphore => "waits for a semaphore",
        State::Thread => "waits for the end of a thread",
        State::Sleep => "sleeps",
        State::Recorded => "waits as recorded",
        State::NotBegun => "has not begun",
        State::Ended => "has ended",
    }
}

fn legend_of(states: &[State]) -> Legend {
    legend(states.iter().map(|state| (class(*state), words(*state))))
}

/// Returns the chart that shows the states of each thread. If there are too many threads for bars, the chart shows the states of each node,
/// and the table of threads shows the states of each thread.
fn bars_of(run: &Replayed, states: &[State]) -> Figure {
    let each = if run.threads.len() > MAX_BARS { "node" } else { "thread" };
    let groups = groups(run);
    let columns = states.iter().map(|state| format!("{}, cycles", state.name()));
    let first = if each == "node" { &["threads"][..] } else { &["thread", "strand", "node"] };
    let first = first.iter().map(|name| (*name).to_owned());
    let mut table = table::with_columns(first.chain(columns));
    for Group { label, sum } in &groups {
        let cycles = states.iter().map(|state| sum.states.of(*state).to_string());
        let place = match each {
            "node" => vec![label.clone()],
            _ => place(sum).to_vec(),
        };
        table.add_row(place.into_iter().chain(cycles));
    }
    let bar = |Group { label, sum }: &Group| {
        let all = sum.states.sum() as f64;
        let part = |state: &State| {
            let cycles = sum.states.of(*state);
            let share = percent(cycles as f64, all);
            let words = format!("{}, {} cycles, {share}", words(*state), count(cycles));
            (class(*state), cycles as f64 / all.max(1.0) * 100.0, words)
        };
        Bar {
            label: label.clone(),
            parts: states.iter().map(part).collect(),
            value: percent(sum.states.running as f64, all),
        }
    };
    let drawn: Vec<_> = groups.iter().map(bar).collect();
    let (title, who) = match each {
        "node" => ("What the threads of each node did with their time", "the threads of a node"),
        _ => ("What each thread did with its time", "a thread"),
    };
    Figure {
        id: "states".to_owned(),
        title: title.to_owned(),
        text: format!(
            "Each bar is the run of {}, and its parts are what {who} did with this time. The number is the part spent running.",
            counted(run.cycles, "cycle")
        ),
        drawing: Some(bars(&drawn, 100.0, "percent of the run")),
        legend: legend_of(states),
        table,
    }
}

/// Returns the chart of states over time; `None` if the details contain no time line.
fn time_line(run: &Replayed, details: &Details) -> Option<Figure> {
    let line = &details.timeline;
    let occurs =
        |state: &State| line.threads.iter().any(|thread| thread.states.contains_key(state));
    let states: Vec<State> = State::ALL.into_iter().filter(occurs).collect();
    if states.is_empty() {
        return None;
    }
    let mut text = "Each strip is a thread. A column of a strip shows how the thread's time in this column divides into states. The numbers \
                    are threads in each state, on average."
        .to_owned();
    if line.threads.len() < run.threads.len() {
        let (drawn, all) = (line.threads.len(), run.threads.len());
        text += &format!(" These are the first {drawn} of {all} threads.");
    }
    Some(Figure {
        id: "time-line".to_owned(),
        title: "Who runs and who waits, over time".to_owned(),
        text,
        drawing: Some(strips(run, line, &states)),
        legend: legend_of(&states),
        table: averages(run, line, &states),
    })
}

fn strips(run: &Replayed, line: &TimeLine, states: &[State]) -> Drawing {
    let group = if line.threads.len() > FEW { 2 } else { 1 };
    let ends: Vec<u64> =
        line.cycles.chunks(group).filter_map(|ends| ends.last().copied()).collect();
    let strip = |thread: &ThreadLine| {
        let column = |column: usize| {
            let cycles = |state: &State| -> u64 {
                let all = thread.states.get(state).into_iter().flatten();
                all.skip(column * group).take(group).sum()
            };
            let shares: Vec<_> =
                states.iter().map(|state| (class(*state), cycles(state))).collect();
            let all: u64 = shares.iter().map(|(_, cycles)| cycles).sum();
            let shares = shares.into_iter().filter(|(_, cycles)| *cycles > 0);
            shares.map(|(class, cycles)| (class, cycles as f64 / all as f64)).collect()
        };
        StateStrip {
            label: format!("thread {}", thread.thread),
            columns: (0..ends.len()).map(column).collect(),
        }
    };
    let drawn: Vec<_> = line.threads.iter().map(strip).collect();
    state_strips(&drawn, &ends, TimeUnit::suiting(&run.time))
}

/// Returns a table with a row for each column of the time line. The row shows how many threads are in each state, on average.
fn averages(run: &Replayed, line: &TimeLine, states: &[State]) -> Table {
    let unit = TimeUnit::suiting(&run.time);
    let names = states.iter().map(|state| state.name().to_owned());
    let mut table = table::with_columns([format!("until, {}", unit.name)].into_iter().chain(names));
    let mut begins = 0;
    for (column, end) in line.cycles.iter().enumerate() {
        let average = |state: &State| {
            let cycles =
                line.threads.iter().filter_map(|thread| thread.states.get(state)?.get(column));
            format!("{:.2}", cycles.sum::<u64>() as f64 / (end - begins).max(1) as f64)
        };
        let until = format!("{:.4}", *end as f64 * unit.per_cycle);
        table.add_row(std::iter::once(until).chain(states.iter().map(average)));
        begins = *end;
    }
    table
}

/// Returns the table of the threads that wait for other threads; `None` if no thread waits for another.
fn pairs(run: &Replayed) -> Option<Figure> {
    let table = waits::pairs(run, ROWS);
    (!table.is_empty()).then(|| Figure {
        id: "who-waits".to_owned(),
        title: "Who waits for whom".to_owned(),
        text: format!("The longest waits of one thread for another, at most {ROWS}."),
        drawing: None,
        legend: Vec::new(),
        table,
    })
}

/// Returns the table of locks and the sentences about waits; `None` if there is nothing to say.
fn locks(run: &Replayed, names: &Names) -> Option<Figure> {
    let table = waits::locks(run, names, ROWS);
    let sentences = waits::sentences(run, names);
    let sentences = sentences.iter().map(|sentence| format!(" {sentence}."));
    let text = match table.is_empty() {
        true => "No thread waits for a lock.".to_owned(),
        false => format!("The locks with the longest waits, at most {ROWS}."),
    };
    let text = text + &sentences.collect::<String>();
    let says_more = text.len() > "No thread waits for a lock.".len();
    (!table.is_empty() || says_more).then(|| Figure {
        id: "locks".to_owned(),
        title: "Locks, and what the recording decides".to_owned(),
        text,
        drawing: None,
        legend: Vec::new(),
        table,
    })
}
