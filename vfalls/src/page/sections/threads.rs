//! The chart of the cycles that threads spend on work and on each kind of wait.

use crate::numbers::{count, percent};
use crate::page::draw::{Bar, PARTS, bars};
use crate::page::figure::{Figure, legend};
use crate::table;
use simulator::run::{Replayed, Stack, ThreadRun};

/// The maximum number of threads in the chart.
const MOST: usize = 64;

pub(super) fn figures(run: &Replayed) -> Vec<Figure> {
    if run.threads.is_empty() {
        return Vec::new();
    }
    let names = parts(&Stack::default()).map(|(name, _)| name);
    let first = ["thread", "strand", "node", "instructions", "cycles", "CPI"].map(str::to_owned);
    let others = names.iter().map(|name| format!("{name}, cycles"));
    let mut table = table::with_columns(first.into_iter().chain(others));
    let cpi = |cycles: u64, instructions: u64| cycles as f64 / instructions.max(1) as f64;
    let mut shown: Vec<_> = run.threads.iter().collect();
    for thread in &shown {
        let mut cells = vec![
            thread.thread.to_string(),
            thread.strand.to_string(),
            thread.node().to_string(),
            thread.instructions.to_string(),
            thread.cycles.to_string(),
            format!("{:.2}", cpi(thread.cycles, thread.instructions)),
        ];
        cells.extend(parts(&thread.stack).map(|(_, cycles)| cycles.to_string()));
        table.add_row(cells);
    }
    let mut text = "Each bar is the cycles per instruction of a thread, and its parts are what the thread did or waited for: a short \
                    bar is a fast thread."
        .to_owned();
    if shown.len() > MOST {
        shown.sort_by_key(|thread| (std::cmp::Reverse(thread.cycles), thread.thread));
        shown.truncate(MOST);
        text += &format!(
            " These are the {MOST} of {} threads that take most cycles.",
            run.threads.len()
        );
    }
    let bar = |thread: &&ThreadRun| Bar {
        label: format!("{} on strand {}", thread.thread, thread.strand),
        parts: (parts(&thread.stack).into_iter().zip(PARTS))
            .map(|((name, cycles), class)| {
                let share = percent(cycles as f64, thread.cycles as f64);
                let words = format!("{name}, {} cycles, {share}", count(cycles));
                (class, cpi(cycles, thread.instructions), words)
            })
            .collect(),
        value: format!("{:.1}", cpi(thread.cycles, thread.instructions)),
    };
    let drawn: Vec<_> = shown.iter().map(bar).collect();
    let longest = run.threads.iter().map(|one| cpi(one.cycles, one.instructions));
    let colours = PARTS.iter().zip(names).filter(|(_, name)| {
        // A part on which no thread spends cycles is not in the legend.
        run.threads
            .iter()
            .any(|one| parts(&one.stack).iter().any(|(part, cycles)| part == name && *cycles > 0))
    });
    vec![Figure {
        id: "stacks".to_owned(),
        title: "Cycles per instruction of each thread".to_owned(),
        text,
        drawing: Some(bars(&drawn, longest.fold(0.0, f64::max), "cycles per instruction")),
        legend: legend(colours.map(|(class, name)| (*class, name))),
        table,
    }]
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
