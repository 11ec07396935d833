//! The page of a report of `cargo xtask run`.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use simulator::strands::ranges;

use super::Section;
use super::calls::{colour, waits};
use super::machine;
use crate::document;
use crate::draw::{Bar, bars};
use crate::figure::{Figure, Table};
use crate::numbers::{TimeUnit, count, counted, short, top};
use crate::report::{Hypercalls, Served, Usage};

/// So many strands are drawn: those that take most cycles.
const MOST: usize = 64;

/// A report. See `simulator::execution::results::Results` for what each part means.
#[derive(Deserialize)]
pub(crate) struct Executed {
    machine: String,
    nodes: usize,
    time: Time,
    strands: Vec<Strand>,
    events: Vec<Event>,
    #[serde(flatten)]
    usage: Option<Usage>,
    guests: Vec<Guest>,
    steps: Vec<Step>,
    noted: u64,
}

#[derive(Deserialize)]
struct Time {
    cycles: u64,
    hertz: f64,
}

#[derive(Deserialize)]
struct Strand {
    strand: usize,
    instructions: ByWhom,
    cycles: ByWhom,
    traps: u64,
    served: Served,
}

#[derive(Clone, Copy, Deserialize)]
struct ByWhom {
    guest: u64,
    hypervisor: u64,
}

impl ByWhom {
    fn sum(self) -> u64 {
        self.guest + self.hypervisor
    }
}

#[derive(Deserialize)]
struct Event {
    class: String,
    event: String,
    by_hub: bool,
    by_place: Vec<u64>,
}

#[derive(Deserialize)]
struct Guest {
    name: String,
    strands: Vec<usize>,
    program: String,
    console: String,
    state: State,
    hypercalls: Hypercalls,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Absent,
    Runs,
    Exited(u64),
    Trapped,
    Failed,
}

impl State {
    fn words(self) -> String {
        match self {
            Self::Absent => "the hypervisor has not started it".to_owned(),
            Self::Runs => "it has not ended".to_owned(),
            Self::Exited(code) => format!("it has ended with the code {code}"),
            Self::Trapped => "a trap has ended it".to_owned(),
            Self::Failed => "its last strand has died".to_owned(),
        }
    }
}

#[derive(Deserialize)]
struct Step {
    at: u64,
    action: String,
    rejected: Option<String>,
}

impl Executed {
    /// Reads a report.
    ///
    /// # Errors
    /// The value is no report of software that was executed.
    pub(crate) fn parse(value: Value) -> anyhow::Result<Self> {
        let report: Self =
            serde_json::from_value(value).context("is no report of cargo xtask run --json")?;
        ensure!(report.time.hertz > 0.0, "the clock stands still");
        report
            .usage
            .iter()
            .try_for_each(|usage| usage.check(report.nodes))?;
        for Strand { strand, .. } in &report.strands {
            ensure!(
                strand / 64 < report.nodes,
                "strand {strand} is not in the machine"
            );
        }
        Ok(report)
    }

    /// Returns the page.
    pub(crate) fn page(&self) -> String {
        let names: Vec<_> = self.guests.iter().map(|guest| &*guest.name).collect();
        let title = format!("{} on {}", names.join(", "), self.machine);
        let section = |title: &str, figures| Section {
            title: title.to_owned(),
            figures,
        };
        let mut machine = Vec::new();
        if let Some(usage) = &self.usage {
            let nodes = self.strands.iter().map(|one| one.strand / 64);
            let executes = machine::executes(self.nodes, "strand", nodes);
            machine = machine::figures(usage, self.time.cycles, executes);
            machine.extend(waits(usage));
        }
        let events = self.events.iter().enumerate();
        let events = events.filter_map(|(number, event)| event.figure(number));
        let mut sections = vec![
            section("Strands", self.strands()),
            section("Hypercalls", self.calls().into_iter().collect()),
            section("What happened", events.collect()),
            section("Machine", machine),
        ];
        sections.retain(|section| !section.figures.is_empty());
        document(&title, &self.summary(), &sections, true)
    }

    /// Returns the head of the page: what was run, what the operator did, and the consoles.
    fn summary(&self) -> Markup {
        let unit = TimeUnit::of(self.time.cycles, self.time.hertz);
        let time = self.time.cycles as f64 * unit.per_cycle;
        let instructions: u64 = self.strands.iter().map(|one| one.instructions.sum()).sum();
        html! {
            dl {
                dt { "Machine" } dd { (self.machine) " with " (counted(self.nodes as u64, "node")) }
                @for guest in &self.guests {
                    dt { "Guest" }
                    dd {
                        (guest.name) ": " (guest.program) ", on "
                        @if guest.strands.len() == 1 { "strand " } @else { "strands " }
                        (ranges(guest.strands.iter().copied())) "; " (guest.state.words())
                    }
                }
                dt { "Work" } dd { (counted(instructions, "instruction")) " on " (counted(self.strands.len() as u64, "strand")) }
                dt { "Time" } dd { (counted(self.time.cycles, "cycle")) ", " (format!("{time:.3}")) " " (unit.name) }
                @if self.noted > 0 {
                    dt { "Not simulated in full" } dd { (counted(self.noted, "thing")) " that software did: " code { "--log" } " lists them" }
                }
            }
            @if !self.steps.is_empty() {
                h2 { "The operator" }
                ol {
                    @for step in &self.steps {
                        li {
                            "After " (counted(step.at, "instruction")) ": " (step.action)
                            @if let Some(reason) = &step.rejected { "; rejected: " (reason) }
                        }
                    }
                }
            }
            h2 { "Consoles" }
            @for guest in &self.guests {
                h3 { (guest.name) }
                @let text: String = guest.console.chars().map(shown).collect();
                pre tabindex="0" role="region" aria-label={ "Console of " (guest.name) } { (text) }
            }
        }
    }

    fn strands(&self) -> Vec<Figure> {
        let mut table = Table::new(
            "strand|node|guest's instructions|hypervisor's|guest's cycles|hypervisor's|CPI|traps|from L2|local|remote|c2c",
        );
        let cpi = |one: &Strand| one.cycles.sum() as f64 / one.instructions.sum().max(1) as f64;
        for one in &self.strands {
            let Served {
                l2,
                local,
                remote,
                c2c,
            } = one.served;
            let mut cells = [one.strand as u64, one.strand as u64 / 64]
                .map(|n| n.to_string())
                .to_vec();
            let work = [
                one.instructions.guest,
                one.instructions.hypervisor,
                one.cycles.guest,
                one.cycles.hypervisor,
            ];
            cells.extend(work.map(|number| number.to_string()));
            cells.push(format!("{:.2}", cpi(one)));
            cells.extend([one.traps, l2, local, remote, c2c].map(|number| number.to_string()));
            table.row(cells);
        }
        let mut shown: Vec<_> = self.strands.iter().collect();
        let mut which = String::new();
        if shown.len() > MOST {
            shown.sort_by_key(|one| (std::cmp::Reverse(one.cycles.sum()), one.strand));
            shown.truncate(MOST);
            which = format!(
                " Of {} strands these are the {MOST} that take most cycles.",
                self.strands.len()
            );
        }
        let chart = |id: &str,
                     of: &dyn Fn(&Strand) -> ByWhom,
                     value: &dyn Fn(&Strand) -> String,
                     text: &str| {
            let bar = |one: &&Strand| {
                let part = |class, number: u64, whose: &str| {
                    (
                        class,
                        number as f64,
                        format!("{} {id} of {whose}", count(number)),
                    )
                };
                let ByWhom { guest, hypervisor } = of(one);
                Bar {
                    label: format!("strand {}", one.strand),
                    parts: vec![
                        part("c1", guest, "the guest"),
                        part("c3", hypervisor, "the hypervisor"),
                    ],
                    value: value(one),
                }
            };
            let longest = shown.iter().map(|one| of(one).sum()).max()?;
            Some(Figure {
                id: id.to_owned(),
                title: format!("{}{} of each strand", id[..1].to_uppercase(), &id[1..]),
                text: format!("{text}{which}"),
                drawing: Some(bars(
                    &shown.iter().map(bar).collect::<Vec<_>>(),
                    longest as f64,
                    id,
                )),
                legend: vec![
                    ("c1".to_owned(), "guest".to_owned()),
                    ("c3".to_owned(), "hypervisor".to_owned()),
                ],
                table: table.clone(),
            })
        };
        let instructions = chart(
            "instructions",
            &|one| one.instructions,
            &|one| short(one.instructions.sum() as f64),
            "What each strand has executed, of its guest and of the hypervisor for it.",
        );
        let cycles = chart(
            "cycles",
            &|one| one.cycles,
            &|one| format!("CPI {:.1}", cpi(one)),
            "How long each strand has executed, without the time in which it was halted or parked; behind the bar, its cycles per instruction.",
        );
        instructions.into_iter().chain(cycles).collect()
    }

    fn calls(&self) -> Option<Figure> {
        let mut table = Table::new("guest|status|calls");
        let mut statuses = BTreeSet::new();
        let mut drawn = Vec::new();
        for guest in &self.guests {
            let by_status = &guest.hypercalls.by_status;
            for (status, times) in by_status {
                statuses.insert(&**status);
                table.row([guest.name.clone(), status.clone(), times.to_string()]);
            }
            let part = |(status, times): (&String, &u64)| {
                (
                    colour(status),
                    *times as f64,
                    format!("{} {status}", count(*times)),
                )
            };
            drawn.push(Bar {
                label: guest.name.clone(),
                parts: by_status.iter().map(part).collect(),
                value: count(guest.hypercalls.total),
            });
        }
        let longest = self
            .guests
            .iter()
            .map(|guest| guest.hypercalls.total)
            .max()
            .filter(|most| *most > 0)?;
        Some(Figure {
            id: "calls".to_owned(),
            title: "Hypercalls by guest and status".to_owned(),
            text: "EOK: done. EWOULDBLOCK: the hub is taken, the guest asks again. ENOACCESS: the guest has no right to it.".to_owned(),
            drawing: Some(bars(&drawn, longest as f64, "calls")),
            legend: statuses.iter().map(|status| (colour(status).to_owned(), (*status).to_owned())).collect(),
            table,
        })
    }
}

impl Event {
    fn figure(&self, number: usize) -> Option<Figure> {
        let place = if self.by_hub { "hub" } else { "node" };
        let mut table = Table::new(&format!("{place}|happened"));
        let bar = |(place_number, happened): (usize, &u64)| {
            table.row([place_number, *happened as usize].map(|number| number.to_string()));
            Bar {
                label: format!("{place} {place_number}"),
                parts: vec![("c2", *happened as f64, count(*happened))],
                value: count(*happened),
            }
        };
        let drawn: Vec<_> = self.by_place.iter().enumerate().map(bar).collect();
        let most = self.by_place.iter().max()?;
        Some(Figure {
            id: format!("event-{number}"),
            title: format!("{}:{}", self.class, self.event),
            text: format!(
                "How often it happened, by {place}: what a guest that counts it should find. In all, {}.",
                count(self.by_place.iter().sum())
            ),
            drawing: Some(bars(&drawn, top((*most).max(1) as f64), "events")),
            legend: Vec::new(),
            table,
        })
    }
}

/// Returns what the page shows for a character of a console.
fn shown(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    }
}
