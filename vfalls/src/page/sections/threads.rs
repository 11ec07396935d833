//! Charts of the cycles that threads spend on work and on each kind of wait.

use crate::numbers::{count, counted, percent};
use crate::page::draw::{Bar, PARTS, bars};
use crate::page::figure::{Figure, legend};
use crate::page::names::program_of;
use crate::table::{self, Table};
use crate::text::waits;
use simulator::run::{Replayed, Stack, ThreadRun};

/// The maximum number of threads or strands that each have a bar. If there are more, each thread or strand has a row of a table, and
/// each node has a bar.
pub(in crate::page) const MAX_BARS: usize = 16;

/// A thread, or all threads of a node: what one bar shows.
pub(super) struct Group {
    pub label: String,
    /// The sum of the threads' results.
    pub sum: ThreadRun,
}

pub(super) fn groups(run: &Replayed) -> Vec<Group> {
    if run.threads.len() <= MAX_BARS {
        let one = |thread: &ThreadRun| Group {
            label: format!("{} on strand {}", thread.thread, thread.strand),
            sum: *thread,
        };
        return run.threads.iter().map(one).collect();
    }
    let of_node = |node| {
        let threads: Vec<_> = run.threads.iter().filter(|thread| thread.node() == node).collect();
        (!threads.is_empty()).then(|| Group {
            label: format!("node {node}, {}", counted(threads.len() as u64, "thread")),
            sum: ThreadRun::sum(&threads),
        })
    };
    (0..run.nodes).filter_map(of_node).collect()
}

pub(super) fn figures(run: &Replayed) -> Vec<Figure> {
    match run.threads.len() {
        0 => Vec::new(),
        1..=MAX_BARS => vec![stacks(run, "thread", table_of_threads(run))],
        _ => vec![many(run), stacks(run, "node", table_of_nodes(run))],
    }
}

fn cpi(of: &ThreadRun) -> f64 {
    of.cycles as f64 / of.instructions.max(1) as f64
}

fn table_of_threads(run: &Replayed) -> Table {
    let first = ["thread", "strand", "node", "instructions", "cycles", "CPI"].map(str::to_owned);
    let others = parts(&Stack::default()).map(|(name, _)| format!("{name}, cycles"));
    let mut table = table::with_columns(first.into_iter().chain(others));
    for thread in &run.threads {
        table.add_row(place(thread).into_iter().chain(work(thread)).chain(cycles(thread)));
    }
    table
}

fn table_of_nodes(run: &Replayed) -> Table {
    let first = ["threads", "instructions", "cycles", "CPI"].map(str::to_owned);
    let others = parts(&Stack::default()).map(|(name, _)| format!("{name}, cycles"));
    let mut table = table::with_columns(first.into_iter().chain(others));
    for Group { label, sum } in groups(run) {
        table.add_row(std::iter::once(label).chain(work(&sum)).chain(cycles(&sum)));
    }
    table
}

/// Returns the table of threads for a run that has too many threads for bars. Each row has all the numbers that the page has for a thread.
fn many(run: &Replayed) -> Figure {
    let programs = run.programs();
    let states = waits::occurring(run);
    let first = (programs.len() > 1).then_some("program").into_iter();
    let first = ["thread", "strand", "node"].into_iter().chain(first);
    let parts = parts(&Stack::default()).map(|(name, _)| name);
    let columns = first.chain(["instructions", "cycles", "CPI", "MPKI"]).chain(parts);
    let mut table = table::with_columns(columns.chain(states.iter().map(|state| state.name())));
    for thread in &run.threads {
        let program = programs.get(program_of(run, thread.thread));
        let program =
            program.filter(|_| programs.len() > 1).map(|program| program.name.to_string());
        let misses = thread.served.misses() as f64 * 1000.0 / thread.instructions.max(1) as f64;
        let states = states.iter().map(|state| thread.states.of(*state).to_string());
        table.add_row(
            (place(thread).into_iter().chain(program).chain(work(thread)))
                .chain([format!("{misses:.2}")])
                .chain(cycles(thread))
                .chain(states),
        );
    }
    Figure {
        id: "threads".to_owned(),
        title: format!("The {} threads", run.threads.len()),
        text: "CPI is cycles per instruction, MPKI is L2 cache misses per thousand instructions. The further columns are cycles: first what the \
               thread did or waited for in its own cycles, from busy on, and then the states that it had in the whole run, from running on."
            .to_owned(),
        drawing: None,
        legend: Vec::new(),
        table,
    }
}

/// Returns the cells for a thread's number, strand and node.
pub(super) fn place(thread: &ThreadRun) -> [String; 3] {
    [thread.thread, thread.strand.index(), thread.node()].map(|number| number.to_string())
}

/// Returns the cells for instructions, cycles and cycles per instruction.
fn work(of: &ThreadRun) -> [String; 3] {
    [of.instructions.to_string(), of.cycles.to_string(), format!("{:.2}", cpi(of))]
}

/// Returns a cell with the number of cycles for each part of a bar.
fn cycles(of: &ThreadRun) -> [String; 9] {
    parts(&of.stack).map(|(_, cycles)| cycles.to_string())
}

/// Returns a chart that divides the cycles of each thread, or of each node, into parts. `each` says what a bar stands for: `thread` or
/// `node`.
fn stacks(run: &Replayed, each: &str, table: Table) -> Figure {
    let groups = groups(run);
    let bar = |Group { label, sum }: &Group| Bar {
        label: label.clone(),
        parts: (parts(&sum.stack).into_iter().zip(PARTS))
            .map(|((name, cycles), class)| {
                let share = percent(cycles as f64, sum.cycles as f64);
                let words = format!("{name}, {} cycles, {share}", count(cycles));
                (class, cycles as f64 / sum.instructions.max(1) as f64, words)
            })
            .collect(),
        value: format!("{:.1}", cpi(sum)),
    };
    let drawn: Vec<_> = groups.iter().map(bar).collect();
    let longest = groups.iter().map(|group| cpi(&group.sum)).fold(0.0, f64::max);
    // If no thread spends cycles on a part, the legend leaves the part out.
    let all = parts(&ThreadRun::sum(&run.threads.iter().collect::<Vec<_>>()).stack);
    let colours = PARTS.iter().zip(all).filter(|(_, (_, cycles))| *cycles > 0);
    let (of, fast) = match each {
        "node" => ("all threads of a node", "a short bar means fast threads"),
        _ => ("a thread", "a short bar is a fast thread"),
    };
    Figure {
        id: "stacks".to_owned(),
        title: format!("Cycles per instruction of each {each}"),
        text: format!(
            "Each bar is the cycles per instruction of {of}, and its parts are what the threads did or waited for: {fast}."
        ),
        drawing: Some(bars(&drawn, longest, "cycles per instruction")),
        legend: legend(colours.map(|(class, (name, _))| (*class, name))),
        table,
    }
}

/// Returns the parts of a stack, with their names and cycles, in the order in which a bar shows them.
pub(in crate::page) fn parts(stack: &Stack) -> [(&'static str, u64); 9] {
    [
        ("busy", stack.busy),
        ("L2 cache", stack.l2),
        ("memory of the node", stack.local),
        ("memory of another node", stack.remote),
        ("cache of another node", stack.c2c),
        ("a line on its way", stack.arriving),
        ("room for a store", stack.stores),
        ("atomic stores", stack.atomics),
        ("the pipeline", stack.pipeline),
    ]
}
