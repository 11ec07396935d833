mod calls;
mod lines;
mod machine;
mod memory;
mod states;
mod summary;
mod threads;
mod time;

use crate::page::figure::Figure;
use crate::page::names::Names;
use simulator::run::{Replayed, ThreadRun};

pub(super) use calls::{colour, waits};
pub(super) use machine::{executes, figures as machine};
pub(super) use summary::{settings, summary};
pub(super) use threads::{MAX_BARS, parts};

pub(super) struct Section {
    pub title: String,
    pub figures: Vec<Figure>,
}

/// Returns the sections of a replay's page. Omits sections without charts.
pub(super) fn sections(run: &Replayed, names: &Names) -> Vec<Section> {
    let section = |title: &str, figures: Vec<Figure>| Section { title: title.to_owned(), figures };
    let mut first = threads::figures(run);
    first.extend(states::figures(run, names));
    let nodes = run.threads.iter().map(ThreadRun::node);
    let executes = machine::executes(run.nodes, "thread", nodes);
    first.extend(machine::figures(&run.usage, run.cycles, executes));
    let mut sections = vec![section("Threads and machine", first)];
    if let Some(details) = &run.details {
        sections.extend([
            section("Code and memory", memory::figures(run, details, names)),
            section("Lines that nodes share", lines::figures(run, &details.lines, names)),
            section("Bandwidth and counters over time", time::figures(run, &details.series)),
            section("Hypercalls and events", calls::figures(run, details)),
        ]);
    }
    sections.retain(|section| !section.figures.is_empty());
    sections
}
