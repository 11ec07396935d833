//! Makes one page of the report of a simulation, of software that was executed, or of a profile: a file of HTML with charts, their
//! words and their numbers, that needs no network and no script.
#![forbid(unsafe_code)]
#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod draw;
pub mod figure;
pub mod names;
pub mod numbers;
mod profiled;
pub mod report;
pub mod sections;
pub mod standing_out;

use anyhow::Context;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use names::Names;
use profiled::Profile;
use report::Report;
use sections::{Executed, Section, sections, summary};
use serde_json::Value;

/// How pages and pictures look.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Returns the page of a report, of `cargo xtask sim`, `run` or `profile`.
///
/// # Errors
/// The text is no JSON, or no such report.
pub fn of(text: &[u8]) -> anyhow::Result<String> {
    let value: Value = serde_json::from_slice(text).context("is no JSON")?;
    match value {
        _ if value.get("rows_by").is_some() => Ok(Profile::parse(value)?.page()),
        _ if value.get("strands").is_some() => Ok(Executed::parse(value)?.page()),
        _ => Ok(page(&Report::read(value)?)),
    }
}

/// Returns the page of a report of a simulation.
#[must_use]
pub fn page(report: &Report) -> String {
    let names: Vec<_> = (report.programs().iter())
        .map(|program| &*program.name)
        .collect();
    let title = match &names[..] {
        [] => format!("A run on {}", report.machine),
        names => format!("{} on {}", names.join(", "), report.machine),
    };
    let known = Names::of(report);
    document(
        &title,
        &summary(report, &known),
        &sections(report, &known),
        report.details.is_some(),
    )
}

/// Returns a page: its title, what comes first, and sections of charts.
#[must_use]
pub fn document(title: &str, first: &Markup, sections: &[Section], complete: bool) -> String {
    let id = |number: usize| format!("section-{number}");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { (title) } }
                main {
                    (first)
                    nav aria-label="Sections" {
                        ul { @for (number, section) in sections.iter().enumerate() {
                            li { a href={ "#" (id(number)) } { (section.title) } }
                        } }
                    }
                    @for (number, section) in sections.iter().enumerate() {
                        section aria-labelledby=(id(number)) {
                            h2 id=(id(number)) { (section.title) }
                            div.charts { @for figure in &section.figures { (figure.html()) } }
                        }
                    }
                    @if !complete {
                        p { "The report has no details. " code { "cargo xtask sim --html" } " and " code { "--json FILE --details" }
                            " collect them: counters and bandwidth over time, addresses, functions, shared lines and hypercalls." }
                    }
                }
            }
        }
    };
    page.into_string()
}

/// Returns a picture of the page of a report as a file of SVG, by its name, which stands in the page's addresses behind `#`.
///
/// # Errors
/// There is no such picture: the names of all.
pub fn picture(report: &Report, name: &str) -> Result<String, Vec<String>> {
    let all = sections(report, &Names::of(report))
        .into_iter()
        .flat_map(|section| section.figures);
    let mut names = Vec::new();
    for figure in all {
        match figure.svg() {
            Some(svg) if figure.id == name => return Ok(svg),
            Some(_) => names.push(figure.id),
            None => {}
        }
    }
    Err(names)
}
