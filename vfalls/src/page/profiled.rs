//! The page of a profile.

use std::collections::HashMap;

use maud::{Markup, html};
use simulator::analysis::profile::events::CYCLES;
use simulator::analysis::profile::report::{EventProfile, ProfileReport};
use simulator::analysis::profile::rows::CodeRow;
use simulator::machine::configuration::Configuration;

use super::Page;
use super::cut::{NAME, cut};
use super::draw::{Bar, DEEPEST, bars, flame};
use super::figure::{Figure, legend};
use super::sections::{Section, settings};
use crate::numbers::{count, counted, percent};
use crate::symbols::without_directory;
use crate::table::{self, Table};

/// The maximum number of functions in a chart.
const BARS: usize = 10;
/// The minimum percentage of the events that a function needs to get a bar.
const MIN_SHARE: f64 = 1.0;
/// The maximum number of stacks in a table.
const STACKS: usize = 500;

/// The source lines of one function in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLines {
    /// The function's name; empty if it is unknown.
    pub function: String,
    /// The file's path, as the compiler wrote it into the debugging information.
    pub file: String,
    /// The lines, sorted by line number.
    pub rows: Vec<SourceLine>,
}

/// A source line, and the events of its instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The number of the line, from 1.
    pub line: u32,
    /// The text of the line; `None` if the file is not known.
    pub text: Option<String>,
    /// The counts of each event of the profile: the number that the samples estimate, and the true
    /// number.
    pub counts: Vec<(u64, u64)>,
}

/// Makes the page of a profile. `stacks` holds the stacks of all samples, in folded form. If the
/// profile has several events, the outermost frame of each stack is the name of the event. `lines`
/// holds the source lines of the functions with the most events.
pub fn profile(run: &ProfileReport, stacks: &[String], lines: &[SourceLines]) -> Page {
    let names: Vec<_> = run.events().map(|event| &*event.event).collect();
    let title = format!("{} in {}", names.join(", "), run.program);
    let section = |title: String, figures| Section { title, figures };
    let mut sections: Vec<_> = (run.events().enumerate())
        .map(|(number, event)| section(event.event.to_string(), event_figures(number, event)))
        .collect();
    let lines = (lines.iter().enumerate()).map(|(number, lines)| lines_figure(run, number, lines));
    sections.extend([
        section("Call stacks".to_owned(), flames(stacks).into_iter().collect()),
        section("Source lines".to_owned(), lines.collect()),
    ]);
    sections.retain(|section| !section.figures.is_empty());
    Page { title, first: summary(run), sections, complete: true }
}

fn summary(run: &ProfileReport) -> Markup {
    let settings: Vec<_> = run.configuration.iter().flat_map(settings).collect();
    let about = if run.randomised { "about " } else { "" };
    html! {
        dl {
            dt { "Program" } dd {
                (run.program) ", " (counted(run.threads as u64, "thread")) ": "
                (counted(run.instructions, "instruction")) " in " (counted(run.cycles, "cycle"))
            }
            dt { "Counters" } dd { (run.unit) ": " (run.processor) }
            @if let Some(memory) = run.configuration.as_ref().and_then(Configuration::homes) {
                dt { "Memory" } dd { (memory) }
            }
            @if !settings.is_empty() { dt { "Configuration" } dd { (settings.join(", ")) } }
            @for event in run.events() {
                dt { (event.event) @if run.waits && event.event == CYCLES { " with waits" } } dd {
                    (counted(event.samples, "sample")) ", one for " (about) (count(event.period.into())) ", " (count(event.lost)) " lost; "
                    (count(event.count))
                    @match event.count_error {
                        Some(0) => "",
                        Some(error) => { " ± " (count(error)) },
                        None => " ± ?",
                    }
                    " events counted, " (count(event.exact_count)) " in truth"
                    @if let Some(absence) = &event.absence { ". It is not modelled, and reads 0: " (absence) }
                }
            }
        }
        @if !run.notes.is_empty() {
            h2 { "Notes" }
            ul { @for note in &run.notes { li { (note) } } }
        }
    }
}

fn flames(stacks: &[String]) -> Option<Figure> {
    let read = |line: &'_ String| {
        let (frames, samples) = line.rsplit_once(' ')?;
        Some((frames.to_owned(), samples.parse::<u64>().ok()?))
    };
    let mut folded: Vec<_> = stacks.iter().filter_map(read).collect();
    let all: u64 = folded.iter().map(|(_, samples)| samples).sum();
    let split = |(frames, samples): &(String, u64)| (frames.split(';').count(), *samples);
    let deepest = folded.iter().map(|stack| split(stack).0).max()?;
    let stacks: Vec<_> =
        (folded.iter()).map(|(frames, samples)| (frames.split(';').collect(), *samples)).collect();
    let drawing = flame(&stacks);
    drop(stacks);
    folded.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    let mut table = table::with_header("samples|%|stack, from the outermost function on");
    for (frames, samples) in folded.iter().take(STACKS) {
        let share = *samples as f64 / all.max(1) as f64 * 100.0;
        table.add_row([samples.to_string(), format!("{share:.2}"), frames.clone()]);
    }
    let mut text = format!(
        "{} of {}. Each function is above its caller, and as wide as its part of the samples.",
        counted(all, "sample"),
        counted(folded.len() as u64, "stack")
    );
    if deepest >= DEEPEST {
        text += &format!(" The outermost {DEEPEST} of {deepest} are drawn.");
    }
    if folded.len() > STACKS {
        text += &format!(" The table has the {STACKS} stacks with most samples.");
    }
    Some(Figure {
        id: "flames".to_owned(),
        title: "Flame graph".to_owned(),
        text,
        drawing: Some(drawing),
        legend: Vec::new(),
        table,
    })
}

fn lines_figure(run: &ProfileReport, number: usize, lines: &SourceLines) -> Figure {
    let events = run.events().flat_map(|event| [&*event.event, "in truth"]);
    let mut table = table::with_columns(["line"].into_iter().chain(events).chain(["source"]));
    let texts = lines.rows.iter().filter_map(|row| row.text.as_deref());
    let indents = texts.map(|text| text.len() - text.trim_start().len());
    let indent = indents.min().unwrap_or(0);
    for row in &lines.rows {
        let counts = row.counts.iter().flat_map(|(samples, truth)| [samples, truth]);
        let cells = std::iter::once(row.line.to_string()).chain(counts.map(u64::to_string));
        let text = row.text.as_deref().unwrap_or_default();
        table.add_row(cells.chain([text.chars().skip(indent).collect()]));
    }
    Figure {
        id: format!("lines-{number}"),
        title: lines.function.clone(),
        text: format!(
            "The lines of {} that this function has: the events that samples stand for, and those that really happened.",
            lines.file
        ),
        drawing: None,
        legend: Vec::new(),
        table,
    }
}

fn event_figures(number: usize, event: &EventProfile) -> Vec<Figure> {
    if event.rows.is_empty() {
        return Vec::new();
    }
    let place = &event.rows_by;
    let mut text = format!(
        "Where the events are, by the samples and in truth. The two are {} apart (total variation); as many random events are {} apart on average.",
        percent(event.total_variation, 1.0),
        percent(event.total_variation_by_chance, 1.0)
    );
    if let Some(row) = event.rows.first() {
        text = format!(
            "{} has {} of the events, in truth {}. {text}",
            cut(&row.name, NAME),
            percent(row.percent, 100.0),
            percent(row.exact_percent, 100.0)
        );
    }
    let mut table =
        table::with_header(&format!("{place}|%|in truth, %|samples|events|in truth|file|source"));
    for row in &event.rows {
        let name = |path: &Option<String>| {
            without_directory(path.as_deref().unwrap_or_default()).to_owned()
        };
        table.add_row([
            row.name.clone(),
            format!("{:.2}", row.percent),
            format!("{:.2}", row.exact_percent),
            row.samples.to_string(),
            row.events.to_string(),
            row.exact.to_string(),
            name(&row.file),
            name(&row.source),
        ]);
    }
    let own = figure(format!("self-{number}"), format!("Each {place}"), text, &event.rows, table);
    let with_calls = event.inclusive.as_ref().map(|inclusive| {
        let own: HashMap<_, _> =
            (event.rows.iter()).map(|row| ((&row.address, &row.name), row)).collect();
        let mut table = table::with_header(&format!(
            "{place}|with calls, %|in truth, %|self, %|in truth, %|samples|in truth"
        ));
        for row in inclusive {
            let own = own.get(&(&row.address, &row.name));
            let own = own.map_or((0.0, 0.0), |own| (own.percent, own.exact_percent));
            let shares = [row.percent, row.exact_percent, own.0, own.1];
            let counts = [row.samples, row.exact].map(|count| count.to_string());
            let shares = shares.map(|share| format!("{share:.2}"));
            table.add_row(std::iter::once(row.name.clone()).chain(shares).chain(counts));
        }
        figure(
            format!("inclusive-{number}"),
            format!("Each {place} with all that it calls"),
            "The events of a function and of those that it calls, by the samples and in truth."
                .to_owned(),
            inclusive,
            table,
        )
    });
    std::iter::once(own).chain(with_calls).collect()
}

/// Returns a figure with a pair of bars for each of the first rows: one bar for the samples, and
/// one bar for the true numbers.
fn figure(id: String, title: String, text: String, rows: &[CodeRow], table: Table) -> Figure {
    let hot = |row: &&CodeRow| row.percent.max(row.exact_percent) >= MIN_SHARE;
    let hottest: Vec<_> = rows.iter().filter(hot).take(BARS).collect();
    let shares = hottest.iter().flat_map(|row| [row.percent, row.exact_percent]);
    let end = shares.fold(1.0, f64::max);
    let bar = |label: &str, class, share: f64, words: String| Bar {
        label: label.to_owned(),
        value: percent(share, 100.0),
        parts: vec![(class, share, words)],
    };
    let both = hottest.iter().flat_map(|row| {
        let (samples, truth) = (counted(row.samples, "sample"), counted(row.exact, "event"));
        let (share, exact) = (row.percent, row.exact_percent);
        let samples = format!("{samples}, {}", percent(share, 100.0));
        let truth = format!("{truth}, {} in truth", percent(exact, 100.0));
        [bar(&row.name, "c2", share, samples), bar("in truth", "c0", exact, truth)]
    });
    Figure {
        id,
        title,
        text,
        drawing: (!hottest.is_empty())
            .then(|| bars(&both.collect::<Vec<_>>(), end, "% of all events")),
        legend: legend([("c2", "samples"), ("c0", "in truth")]),
        table,
    }
}
