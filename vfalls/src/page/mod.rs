//! Pages about runs. A page is one HTML file with charts and their numbers, and needs no network. Its script sorts and searches tables;
//! without the script, a page shows the same numbers.

mod clocks;
mod cut;
mod draw;
mod executed;
mod figure;
mod findings;
mod layout;
pub(crate) mod names;
mod profiled;
mod runs;
mod sections;
mod style;

use anyhow::bail;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use simulator::run::{Replayed, Run};

use crate::table;
pub use draw::{Curve, CurvePoint};
use figure::Figure;
use layout::layout;
use names::Names;
pub use profiled::{SourceLine, SourceLines, profile};
pub(crate) use runs::runs;
use sections::{Section, sections, summary};
use style::{DRAWING_STYLE, PAGE_STYLE};

const SCRIPT: &str = include_str!("script.js");

/// The page of a run: an HTML file with charts, and the pictures of its charts.
pub struct Page {
    title: String,
    /// The part of the page that comes before the charts.
    first: Markup,
    sections: Vec<Section>,
    /// Whether the run has all the details that a page can show.
    complete: bool,
}

impl Page {
    /// Makes the page of a run. Fails for runs of scenarios and of `c2c`, because they have no page.
    pub fn new(run: &Run) -> anyhow::Result<Self> {
        match run {
            Run::Replay(run) => Ok(Self::replay(run, &Names::new(run))),
            Run::Execution(run) => Ok(executed::page(run)),
            Run::Profile(run) => Ok(profile(run, &[], &[])),
            Run::Scenario(_) => bail!("is the run of a scenario, which has no page"),
            Run::Sharing(_) => bail!("is a run of vfalls c2c, which has no page"),
        }
    }

    /// Makes the page of a replay. `names` has the names of its programs.
    pub(crate) fn replay(run: &Replayed, names: &Names) -> Self {
        Self {
            title: title(run),
            first: summary(run, names),
            sections: sections(run, names),
            complete: run.details.is_some(),
        }
    }

    /// Renders the page as one HTML file.
    pub fn html(&self) -> String {
        let Self { title, first, sections, complete } = self;
        let id = |number: usize| format!("section-{number}");
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) }
                    style { (PreEscaped(DRAWING_STYLE)) (PreEscaped(PAGE_STYLE)) }
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
                                (layout(&section.figures))
                            }
                        }
                        @if !complete {
                            p { "The run has no details. " code { "vfalls stat --html" } " and " code { "--json FILE --details" }
                                " collect them: counters and bandwidth over time, addresses, functions, shared lines and hypercalls." }
                        }
                    }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string()
    }

    /// Returns the picture with the id `name` as an SVG file. If there is no such picture, the
    /// error lists the ids of all pictures.
    pub fn picture(&self, name: &str) -> Result<String, Vec<String>> {
        let mut names = Vec::new();
        for figure in self.sections.iter().flat_map(|section| &section.figures) {
            match figure.svg() {
                Some(svg) if figure.id == name => return Ok(svg),
                Some(_) => names.push(figure.id.clone()),
                None => {}
            }
        }
        Err(names)
    }
}

/// A picture of how values depend on sizes, on logarithmic axes.
pub struct Growth<'a> {
    /// The name of the picture, for readers who cannot see it.
    pub title: &'a str,
    /// Sentences that explain the picture to readers who cannot see it.
    pub text: &'a str,
    /// The titles of the two axes: first for sizes, then for values.
    pub axes: [&'a str; 2],
    /// The curves. There are at most four, because there are four colours for curves.
    pub curves: &'a [Curve],
}

impl Growth<'_> {
    /// Returns the picture as an SVG file; `None` if no curve has a point.
    pub fn svg(&self) -> Option<String> {
        let Self { title, text, axes: [sizes, values], curves } = *self;
        curves.iter().any(|curve| !curve.points.is_empty()).then_some(())?;
        let legend = std::iter::zip(draw::CURVES, curves);
        let figure = Figure {
            id: "growth".to_owned(),
            title: title.to_owned(),
            text: text.to_owned(),
            drawing: Some(draw::curves(curves, sizes, values)),
            legend: legend.map(|(class, curve)| (class.to_owned(), curve.label.clone())).collect(),
            table: table::with_header(""),
        };
        figure.svg()
    }
}

/// The maximum number of programs in the title of a page.
const MAX_NAMED: usize = 2;

fn title(run: &Replayed) -> String {
    let names: Vec<_> = (run.programs().iter()).map(|program| &*program.name).collect();
    match &names[..] {
        [] => format!("A run on {}", run.machine),
        names => {
            let (named, others) = names.split_at(names.len().min(MAX_NAMED));
            let others = if others.is_empty() { "" } else { " and others" };
            format!("{}{others} on {}", named.join(", "), run.machine)
        }
    }
}
