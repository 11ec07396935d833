//! A profile as text, like the output of `perf report`.

use std::collections::HashMap;
use std::io::{self, Write};

use simulator::analysis::profile::SampledUnit;
use simulator::analysis::profile::events;
use simulator::analysis::profile::report::{EventProfile, ProfileReport};
use simulator::analysis::profile::rows::CodeRow;
use simulator::machine::configuration::Configuration;

use crate::cmd::machine::differences;
use crate::symbols::without_directory;
use crate::table::{self, cut};

/// Returns a table of the events of a unit, and whether a recording can cause each of them.
pub(crate) fn list(unit: SampledUnit) -> String {
    let mut table = table::with_header("event|occurs|about");
    for event in events::all(unit) {
        let occurs = if event.occurs { "yes" } else { "no" };
        table.add_row([&*event.name, occurs, event.about]);
    }
    table::text(&table)
}

/// Prints a report. With `children`, the events of callees are also counted for their callers.
pub(crate) fn print(
    output: &mut impl Write,
    report: &ProfileReport,
    children: bool,
) -> io::Result<()> {
    print_header(output, report)?;
    for event in report.events() {
        print_event(output, report, event, children)?;
    }
    Ok(())
}

/// Prints the counts of all events, without samples.
pub(crate) fn print_counts(output: &mut impl Write, report: &ProfileReport) -> io::Result<()> {
    print_header(output, report)?;
    writeln!(output, "#")?;
    let mut table = table::with_header(">Number|Event|>Count|>Error|>In truth|Remark");
    for (number, event) in report.events().enumerate() {
        let error = event.count_error.map_or("?".into(), |error| error.to_string());
        table.add_row([
            number.to_string(),
            event.event.to_string(),
            event.count.to_string(),
            error,
            event.exact_count.to_string(),
            event.absence.as_deref().unwrap_or_default().to_owned(),
        ]);
    }
    write!(output, "{}", table::text(&table))
}

/// Prints the unit, the configuration and the program of a report.
pub(crate) fn print_header(output: &mut impl Write, report: &ProfileReport) -> io::Result<()> {
    writeln!(output, "# {}: {}", report.unit, report.processor)?;
    if let Some(memory) = report.configuration.as_ref().and_then(Configuration::homes) {
        writeln!(output, "# memory: {memory}")?;
    }
    for line in report.configuration.iter().flat_map(differences) {
        writeln!(output, "# {line}")?;
    }
    writeln!(
        output,
        "# {}: {} instructions{} in {} cycles",
        report.program,
        report.instructions,
        match report.threads {
            1 => String::new(),
            threads => format!(" of {threads} threads"),
        },
        report.cycles
    )?;
    report.missing.iter().try_for_each(|missing| writeln!(output, "# Not covered: {missing}."))
}

/// The maximum length of a printed function name, in characters. Names in C++ and Rust can have hundreds of characters.
const MAX_NAME: usize = 60;

fn print_event(
    output: &mut impl Write,
    report: &ProfileReport,
    event: &EventProfile,
    children: bool,
) -> io::Result<()> {
    let about = if report.randomised { "about " } else { "" };
    let waits = if report.waits && event.event == events::CYCLES { " with waits" } else { "" };
    let EventProfile { event: name, samples, period, lost, count, exact_count, .. } = event;
    let estimate = match event.count_error {
        Some(0) => String::new(),
        Some(error) => format!(" +- {error} from {} counted", event.counted),
        None => format!(" +- ? from {} counted", event.counted),
    };
    writeln!(output, "#")?;
    writeln!(
        output,
        "# Samples: {samples} of event '{name}'{waits}, one for {about}{period}, lost: {lost}"
    )?;
    writeln!(output, "# Event count: {count}{estimate}, in truth: {exact_count}")?;
    writeln!(output, "#")?;
    if event.samples > 0 {
        let table = match &event.inclusive {
            Some(inclusive) if children => inclusive_table(event, inclusive),
            _ => own_table(event),
        };
        for (number, line) in table.lines().enumerate() {
            let mark = if number == 0 { '#' } else { ' ' };
            writeln!(output, "{mark} {line}")?;
        }
        writeln!(output, "#")?;
    }
    let without: Vec<&CodeRow> = event.rows.iter().filter(|row| row.samples == 0).collect();
    if !without.is_empty() {
        let percent: f64 = without.iter().map(|row| row.exact_percent).sum();
        writeln!(output, "# Without a sample: {} more, {percent:.2}% in truth", without.len())?;
    }
    writeln!(
        output,
        "# Total variation between samples and truth: {:.4} ({samples} random events: {:.4} on average)",
        event.total_variation, event.total_variation_by_chance
    )
}

fn own_table(event: &EventProfile) -> String {
    let place = PlaceColumns::new(event, &event.rows);
    let mut table =
        table::with_header(&format!(">Overhead|>In truth|>Samples|>Event count{}", place.header));
    for row in event.rows.iter().filter(|row| row.samples > 0) {
        let numbers = [
            format!("{:.2}%", row.percent),
            format!("{:.2}%", row.exact_percent),
            row.samples.to_string(),
            row.events.to_string(),
        ];
        table.add_row(numbers.into_iter().chain(place.cells(row)));
    }
    table::text(&table)
}

/// Returns a table of functions, with and without the events of their callees.
fn inclusive_table(event: &EventProfile, inclusive: &[CodeRow]) -> String {
    let place = PlaceColumns::new(event, inclusive);
    let header = format!(">Children|>In truth|>Self|>In truth|>Samples{}", place.header);
    let mut table = table::with_header(&header);
    let own: HashMap<_, _> = (event.rows.iter())
        .map(|row| ((row.address, &row.name), (row.percent, row.exact_percent)))
        .collect();
    for row in inclusive.iter().filter(|row| row.samples > 0) {
        let (percent, exact) = own.get(&(row.address, &row.name)).copied().unwrap_or_default();
        let numbers = [row.percent, row.exact_percent, percent, exact];
        let numbers = numbers.map(|number| format!("{number:.2}%"));
        let samples = [row.samples.to_string()];
        table.add_row(numbers.into_iter().chain(samples).chain(place.cells(row)));
    }
    table::text(&table)
}

/// The columns that name a place in the code: its function or page, and its file and source if they are known for any place.
struct PlaceColumns {
    header: String,
    files: bool,
    sources: bool,
}

impl PlaceColumns {
    fn new(event: &EventProfile, rows: &[CodeRow]) -> Self {
        let place = if &*event.rows_by == "function" { "Function" } else { "Page" };
        let files = rows.iter().any(|row| row.file.is_some());
        let sources = rows.iter().any(|row| row.source.is_some());
        let file = if files { "|File" } else { "" };
        let source = if sources { "|Source" } else { "" };
        Self { header: format!("|{place}{file}{source}"), files, sources }
    }

    fn cells(&self, row: &CodeRow) -> impl Iterator<Item = String> {
        let name = |path: &Option<String>| {
            without_directory(path.as_deref().unwrap_or_default()).to_owned()
        };
        [cut(&row.name, MAX_NAME)]
            .into_iter()
            .chain(self.files.then(|| name(&row.file)))
            .chain(self.sources.then(|| name(&row.source)))
    }
}
