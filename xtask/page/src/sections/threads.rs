//! Where the cycles of threads go.

use crate::draw::{Bar, PARTS, bars};
use crate::figure::{Figure, Table};
use crate::numbers::{count, percent};
use crate::report::{Report, Stack};

/// So many threads are drawn: those that take most cycles.
const MOST: usize = 64;

/// Returns the charts of threads.
#[must_use]
pub(super) fn figures(report: &Report) -> Vec<Figure> {
    if report.threads.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new("thread|strand|node|instructions|cycles|CPI");
    let names = Stack::default().parts().map(|(name, _)| name);
    names
        .iter()
        .for_each(|name| table.column(format!("{name}, cycles")));
    let cpi = |cycles: u64, instructions: u64| cycles as f64 / instructions.max(1) as f64;
    let mut shown: Vec<_> = report.threads.iter().collect();
    for thread in &shown {
        let mut cells = vec![
            thread.thread.to_string(),
            thread.strand.to_string(),
            thread.node().to_string(),
            thread.instructions.to_string(),
            thread.cycles.to_string(),
            format!("{:.2}", cpi(thread.cycles, thread.instructions)),
        ];
        cells.extend(thread.stack.parts().map(|(_, cycles)| cycles.to_string()));
        table.row(cells);
    }
    let mut text = "Each bar is the cycles per instruction of a thread, and its parts are what the thread did or waited for: a short \
                    bar is a fast thread."
        .to_owned();
    if shown.len() > MOST {
        shown.sort_by_key(|thread| (std::cmp::Reverse(thread.cycles), thread.thread));
        shown.truncate(MOST);
        text += &format!(
            " Of {} threads these are the {MOST} that take most cycles.",
            report.threads.len()
        );
    }
    let bar = |thread: &&crate::report::Thread| Bar {
        label: format!("{} on strand {}", thread.thread, thread.strand),
        parts: (thread.stack.parts().into_iter().zip(PARTS))
            .map(|((name, cycles), class)| {
                let share = percent(cycles as f64, thread.cycles as f64);
                let words = format!("{name}, {} cycles, {share}", count(cycles));
                (class, cpi(cycles, thread.instructions), words)
            })
            .collect(),
        value: format!("{:.1}", cpi(thread.cycles, thread.instructions)),
    };
    let drawn: Vec<_> = shown.iter().map(bar).collect();
    let longest = report
        .threads
        .iter()
        .map(|one| cpi(one.cycles, one.instructions));
    let legend = PARTS.iter().zip(names).filter(|(_, name)| {
        // Only what is there needs a colour.
        report.threads.iter().any(|one| {
            one.stack
                .parts()
                .iter()
                .any(|(part, cycles)| part == name && *cycles > 0)
        })
    });
    vec![Figure {
        id: "stacks".to_owned(),
        title: "Cycles per instruction of each thread".to_owned(),
        text,
        drawing: Some(bars(
            &drawn,
            longest.fold(0.0, f64::max),
            "cycles per instruction",
        )),
        legend: legend
            .map(|(class, name)| ((*class).to_owned(), name.to_owned()))
            .collect(),
        table,
    }]
}
