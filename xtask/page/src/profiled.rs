//! The page of a report of `cargo xtask profile`.

use std::collections::HashMap;

use anyhow::Context;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::document;
use crate::draw::{Bar, DEEPEST, bars, flame};
use crate::figure::{Figure, Table};
use crate::numbers::{count, counted, percent};
use crate::report::settings;
use crate::sections::Section;

/// So many functions have bars at most, those with so many per cent of the events.
const BARS: usize = 10;
const LEAST: f64 = 1.0;
/// So many stacks are in the table.
const STACKS: usize = 500;

/// A profile. See `simulator::profile::report::Report` for what most parts mean.
#[derive(Deserialize)]
pub(crate) struct Profile {
    unit: String,
    processor: String,
    configuration: Option<Value>,
    program: String,
    threads: u64,
    instructions: u64,
    cycles: u64,
    randomised: bool,
    notes: Vec<String>,
    #[serde(flatten)]
    first: Event,
    further_events: Vec<Event>,
    /// Folded stacks of all samples, as those of `--folded`. The outermost frame is the event if there are several.
    #[serde(default)]
    stacks: Vec<String>,
    /// Source lines of the hottest functions.
    #[serde(default)]
    lines: Vec<Lines>,
}

#[derive(Deserialize)]
struct Event {
    event: String,
    absence: Option<String>,
    period: u64,
    samples: u64,
    lost: u64,
    count: u64,
    count_error: Option<u64>,
    exact_count: u64,
    rows_by: String,
    rows: Vec<Row>,
    total_variation: f64,
    total_variation_by_chance: f64,
    inclusive: Option<Vec<Row>>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    address: String,
    file: Option<String>,
    source: Option<String>,
    percent: f64,
    samples: u64,
    events: u64,
    exact_percent: f64,
    exact: u64,
}

/// The lines of a file that a function has.
#[derive(Deserialize)]
struct Lines {
    function: String,
    file: String,
    rows: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    line: u32,
    text: Option<String>,
    /// Of each event: how many the samples stand for, and how many really happened.
    counts: Vec<(u64, u64)>,
}

impl Profile {
    /// Reads a report.
    ///
    /// # Errors
    /// The value is no report of a profile.
    pub(crate) fn parse(value: Value) -> anyhow::Result<Self> {
        serde_json::from_value(value).context("is no report of cargo xtask profile")
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        std::iter::once(&self.first).chain(&self.further_events)
    }

    /// Returns the page.
    pub(crate) fn page(&self) -> String {
        let names: Vec<_> = self.events().map(|event| &*event.event).collect();
        let title = format!("{} in {}", names.join(", "), self.program);
        let section = |title: String, figures| Section { title, figures };
        let mut sections: Vec<_> = (self.events().enumerate())
            .map(|(number, event)| section(event.event.clone(), event.figures(number)))
            .collect();
        let lines =
            (self.lines.iter().enumerate()).map(|(number, lines)| self.lines(number, lines));
        sections.extend([
            section(
                "Call stacks".to_owned(),
                self.flames().into_iter().collect(),
            ),
            section("Source lines".to_owned(), lines.collect()),
        ]);
        sections.retain(|section| !section.figures.is_empty());
        document(&title, &self.summary(), &sections, true)
    }

    fn summary(&self) -> Markup {
        let settings = settings(self.configuration.as_ref().unwrap_or(&Value::Null));
        let about = if self.randomised { "about " } else { "" };
        html! {
            dl {
                dt { "Program" } dd {
                    (self.program) ", " (counted(self.threads, "thread")) ": "
                    (counted(self.instructions, "instruction")) " in " (counted(self.cycles, "cycle"))
                }
                dt { "Counters" } dd { (self.unit) ": " (self.processor) }
                @if !settings.is_empty() { dt { "Configuration" } dd { (settings.join(", ")) } }
                @for event in self.events() {
                    dt { (event.event) } dd {
                        (counted(event.samples, "sample")) ", one for " (about) (count(event.period)) ", " (count(event.lost)) " lost; "
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
            @if !self.notes.is_empty() {
                h2 { "Notes" }
                ul { @for note in &self.notes { li { (note) } } }
            }
        }
    }

    fn flames(&self) -> Option<Figure> {
        let read = |line: &'_ String| {
            let (frames, samples) = line.rsplit_once(' ')?;
            Some((frames.to_owned(), samples.parse::<u64>().ok()?))
        };
        let mut folded: Vec<_> = self.stacks.iter().filter_map(read).collect();
        let all: u64 = folded.iter().map(|(_, samples)| samples).sum();
        let split = |(frames, samples): &(String, u64)| (frames.split(';').count(), *samples);
        let deepest = folded.iter().map(|stack| split(stack).0).max()?;
        let stacks: Vec<_> = (folded.iter())
            .map(|(frames, samples)| (frames.split(';').collect(), *samples))
            .collect();
        let drawing = flame(&stacks);
        drop(stacks);
        folded.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        let mut table = Table::new("samples|%|stack, from the outermost function on");
        for (frames, samples) in folded.iter().take(STACKS) {
            let share = *samples as f64 / all.max(1) as f64 * 100.0;
            table.row([samples.to_string(), format!("{share:.2}"), frames.clone()]);
        }
        let mut text = format!(
            "{} of {}. Each function is above the one that called it, as wide as its part of the samples.",
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

    fn lines(&self, number: usize, lines: &Lines) -> Figure {
        let mut table = Table::new("line");
        for event in self.events() {
            table.column(event.event.clone());
            table.column("in truth".to_owned());
        }
        table.column("source".to_owned());
        let texts = lines.rows.iter().filter_map(|row| row.text.as_deref());
        let indents = texts.map(|text| text.len() - text.trim_start().len());
        let indent = indents.min().unwrap_or(0);
        for row in &lines.rows {
            let counts = row
                .counts
                .iter()
                .flat_map(|(samples, truth)| [samples, truth]);
            let cells = std::iter::once(row.line.to_string()).chain(counts.map(u64::to_string));
            table.row(
                cells.chain([row
                    .text
                    .as_deref()
                    .unwrap_or_default()
                    .chars()
                    .skip(indent)
                    .collect::<String>()]),
            );
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
}

impl Event {
    fn figures(&self, number: usize) -> Vec<Figure> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let place = &self.rows_by;
        let mut text = format!(
            "Where the events are, by the samples and in truth. The two are {} apart (total variation); as many random events are {} apart on average.",
            percent(self.total_variation, 1.0),
            percent(self.total_variation_by_chance, 1.0)
        );
        if let Some(row) = self.rows.first() {
            text = format!(
                "{} has {} of the events, in truth {}. {text}",
                row.name,
                percent(row.percent, 100.0),
                percent(row.exact_percent, 100.0)
            );
        }
        let mut table = Table::new(&format!(
            "{place}|%|in truth, %|samples|events|in truth|file|source"
        ));
        for row in &self.rows {
            let name = |path: &Option<String>| {
                let path = path.as_deref().unwrap_or_default();
                path.rsplit('/').next().unwrap_or_default().to_owned()
            };
            table.row([
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
        let own = figure(
            format!("self-{number}"),
            format!("Each {place}"),
            text,
            &self.rows,
            table,
        );
        let with_calls = self.inclusive.as_ref().map(|inclusive| {
            let own: HashMap<_, _> = (self.rows.iter())
                .map(|row| ((&row.address, &row.name), row))
                .collect();
            let mut table = Table::new(&format!(
                "{place}|with calls, %|in truth, %|self, %|in truth, %|samples|in truth"
            ));
            for row in inclusive {
                let own = own.get(&(&row.address, &row.name));
                let own = own.map_or((0.0, 0.0), |own| (own.percent, own.exact_percent));
                let shares = [row.percent, row.exact_percent, own.0, own.1];
                let counts = [row.samples, row.exact].map(|count| count.to_string());
                let shares = shares.map(|share| format!("{share:.2}"));
                table.row(
                    std::iter::once(row.name.clone())
                        .chain(shares)
                        .chain(counts),
                );
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
}

/// Returns a figure of the first rows, two bars each.
fn figure(id: String, title: String, text: String, rows: &[Row], table: Table) -> Figure {
    let hot = |row: &&Row| row.percent.max(row.exact_percent) >= LEAST;
    let hottest: Vec<_> = rows.iter().filter(hot).take(BARS).collect();
    let shares = hottest
        .iter()
        .flat_map(|row| [row.percent, row.exact_percent]);
    let end = shares.fold(1.0, f64::max);
    let bar = |label: &str, class, share: f64, words: String| Bar {
        label: label.to_owned(),
        value: percent(share, 100.0),
        parts: vec![(class, share, words)],
    };
    let both = hottest.iter().flat_map(|row| {
        let samples = format!(
            "{}, {}",
            counted(row.samples, "sample"),
            percent(row.percent, 100.0)
        );
        let truth = format!(
            "{}, {} in truth",
            counted(row.exact, "event"),
            percent(row.exact_percent, 100.0)
        );
        [
            bar(
                &xtask::table::cut(&row.name, 40),
                "c2",
                row.percent,
                samples,
            ),
            bar("in truth", "c0", row.exact_percent, truth),
        ]
    });
    let legend = [("c2", "samples"), ("c0", "in truth")];
    Figure {
        id,
        title,
        text,
        drawing: (!hottest.is_empty())
            .then(|| bars(&both.collect::<Vec<_>>(), end, "% of all events")),
        legend: legend
            .map(|(class, words)| (class.to_owned(), words.to_owned()))
            .into(),
        table,
    }
}
