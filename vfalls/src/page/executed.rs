//! The page of an execution.

use std::collections::BTreeSet;

use maud::{Markup, html};
use simulator::execute::mailbox::GuestState;
use simulator::machine::strands::ranges;
use simulator::memory::Served;
use simulator::run::{BySoftware, EventCounts, Executed, GuestRun, Hypercalls, StrandRun};

use super::Page;
use super::clocks;
use super::draw::{Bar, bars};
use super::figure::{Figure, legend};
use super::sections::{MAX_BARS, Section, colour, executes, machine, waits};
use crate::numbers::{TimeUnit, count, counted, short, top};
use crate::table::{self, Table};

fn state_text(state: GuestState) -> String {
    match state {
        GuestState::Absent => "the hypervisor has not started it".to_owned(),
        GuestState::Runs => "it has not ended".to_owned(),
        GuestState::Exited(code) => format!("it has ended with code {code}"),
        GuestState::Trapped => "a trap has ended it".to_owned(),
        GuestState::Failed => "its last strand has died".to_owned(),
        GuestState::Unknown => "the hypervisor does not say whether it has ended".to_owned(),
    }
}

pub(super) fn page(run: &Executed) -> Page {
    let names: Vec<_> = run.guests.iter().map(|guest| &*guest.name).collect();
    let title = format!("{} on {}", names.join(", "), run.machine);
    let section = |title: &str, figures| Section { title: title.to_owned(), figures };
    let mut machine_figures = Vec::new();
    if let Some(usage) = &run.usage {
        let nodes = run.strands.iter().map(|one| one.strand.node().index());
        let executes = executes(run.nodes, "strand", nodes);
        machine_figures = machine(usage, run.time.cycles, executes);
        machine_figures.extend(waits(usage));
    }
    let events = run.events.iter().enumerate();
    let events = events.filter_map(|(number, event)| event_figure(number, event));
    let mut sections = vec![
        section("Clocks", clocks::figure(run).into_iter().collect()),
        section("Strands", strands(run)),
        section("Hypercalls", calls(run).into_iter().collect()),
        section("What happened", events.collect()),
        section("Machine", machine_figures),
    ];
    sections.retain(|section| !section.figures.is_empty());
    Page { title, first: summary(run), sections, complete: true }
}

/// Returns the part of the page before the charts. It describes the guests, the operator's steps,
/// and the consoles.
fn summary(run: &Executed) -> Markup {
    let unit = TimeUnit::suiting(&run.time);
    let time = run.time.cycles as f64 * unit.per_cycle;
    let instructions: u64 = run.strands.iter().map(|one| one.instructions.sum()).sum();
    html! {
        dl {
            dt { "Machine" } dd { (run.machine) " with " (counted(run.nodes as u64, "node")) }
            @for guest in &run.guests {
                dt { "Guest" }
                dd {
                    (guest.name) ": " (guest.program) ", on "
                    @if guest.strands.len() == 1 { "strand " } @else { "strands " }
                    (ranges(guest.strands.iter().map(|strand| strand.index()))) "; " (state_text(guest.state))
                }
            }
            dt { "Work" } dd { (counted(instructions, "instruction")) " on " (counted(run.strands.len() as u64, "strand")) }
            dt { "Time" } dd { (counted(run.time.cycles, "cycle")) ", " (format!("{time:.3}")) " " (unit.name) }
            @if run.noted > 0 {
                dt { "Not simulated in full" } dd { (counted(run.noted as u64, "thing")) " that software did: " code { "--log" } " lists them" }
            }
        }
        @if !run.steps.is_empty() {
            h2 { "The operator" }
            ol {
                @for step in &run.steps {
                    li {
                        "After " (counted(step.at, "instruction")) ": " (step.action)
                        @if let Some(reason) = &step.rejected { "; rejected: " (reason) }
                    }
                }
            }
        }
        @if !run.failures.is_empty() {
            h2 { "Failures that the hypervisor reported" }
            ol {
                @for failure in &run.failures {
                    li {
                        (failure)
                        @for (name, value) in failure.named_registers() {
                            " " code { (name) " " (format!("{value:#x}")) }
                        }
                    }
                }
            }
        }
        h2 { "Consoles" }
        @if !run.hypervisor.console.is_empty() || run.hypervisor.left_out > 0 {
            (console("hypervisor", &run.hypervisor.console))
            @if run.hypervisor.left_out > 0 {
                p { "The hypervisor dropped " (counted(run.hypervisor.left_out, "message")) ", because there were too many." }
            }
        }
        @for guest in &run.guests {
            (console(&guest.name, &guest.console))
        }
    }
}

fn console(whose: &str, text: &str) -> Markup {
    html! {
        h3 { (whose) }
        @let text: String = text.chars().map(displayable).collect();
        pre tabindex="0" role="region" aria-label={ "Console of " (whose) } { (text) }
    }
}

/// The work of a strand, or of all strands of a node.
struct Work {
    label: String,
    instructions: BySoftware,
    cycles: BySoftware,
}

impl Work {
    fn cpi(&self) -> f64 {
        self.cycles.sum() as f64 / self.instructions.sum().max(1) as f64
    }

    /// Returns the table cells for instructions, cycles and cycles per instruction.
    fn cells(&self) -> [String; 5] {
        let Self { label: _, instructions, cycles } = self;
        let [guest, hypervisor] = [instructions.guest, instructions.hypervisor];
        let numbers = [guest, hypervisor, cycles.guest, cycles.hypervisor];
        let [one, two, three, four] = numbers.map(|number| number.to_string());
        [one, two, three, four, format!("{:.2}", self.cpi())]
    }

    fn of_strand(one: &StrandRun) -> Self {
        let StrandRun { strand, instructions, cycles, .. } = *one;
        Self { label: format!("strand {strand}"), instructions, cycles }
    }

    /// Returns the combined work of a node's strands; `None` if the node has no strands.
    fn of_node(run: &Executed, node: usize) -> Option<Self> {
        let on = || run.strands.iter().filter(|one| one.strand.node().index() == node);
        let sum = |of: fn(&StrandRun) -> BySoftware| {
            on().map(of).fold(BySoftware::default(), |sum, one| BySoftware {
                guest: sum.guest + one.guest,
                hypervisor: sum.hypervisor + one.hypervisor,
            })
        };
        let strands = on().count() as u64;
        (strands > 0).then(|| Self {
            label: format!("node {node}, {}", counted(strands, "strand")),
            instructions: sum(|one| one.instructions),
            cycles: sum(|one| one.cycles),
        })
    }
}

const WORK: &str = "guest's instructions|hypervisor's|guest's cycles|hypervisor's|CPI";

fn table_of_strands(run: &Executed) -> Table {
    let header = format!("strand|node|{WORK}|traps|from L2|local|remote|c2c");
    let mut table = table::with_header(&header);
    for one in &run.strands {
        let Served { l2, local, remote, c2c } = one.served;
        let place = [one.strand.index(), one.strand.node().index()];
        let place = place.map(|number| number.to_string()).into_iter();
        let events = [one.traps, l2, local, remote, c2c].map(|number| number.to_string());
        table.add_row(place.chain(Work::of_strand(one).cells()).chain(events));
    }
    table
}

/// Returns the charts that show the work of each strand. If there are many strands, a table shows their work, and each node has a bar.
fn strands(run: &Executed) -> Vec<Figure> {
    let strands = table_of_strands(run);
    if run.strands.len() <= MAX_BARS {
        let work: Vec<_> = run.strands.iter().map(Work::of_strand).collect();
        return charts("strand", &work, &strands);
    }
    let all = Figure {
        id: "strands".to_owned(),
        title: format!("The {} strands", run.strands.len()),
        text: "What each strand has executed, and the units that served its requests. Cycles in which it was halted or parked do not count."
            .to_owned(),
        drawing: None,
        legend: Vec::new(),
        table: strands,
    };
    let work: Vec<_> = (0..run.nodes).filter_map(|node| Work::of_node(run, node)).collect();
    let mut nodes = table::with_header(&format!("strands|{WORK}"));
    for one in &work {
        nodes.add_row(std::iter::once(one.label.clone()).chain(one.cells()));
    }
    std::iter::once(all).chain(charts("node", &work, &nodes)).collect()
}

/// Returns a chart of instructions and a chart of cycles. `each` says what a bar stands for: `strand` or `node`.
fn charts(each: &str, work: &[Work], table: &Table) -> Vec<Figure> {
    let chart =
        |id: &str, of: fn(&Work) -> BySoftware, value: fn(&Work) -> String, text: String| {
            let bar = |one: &Work| {
                let part = |class, number: u64, whose: &str| {
                    (class, number as f64, format!("{} {id} of {whose}", count(number)))
                };
                let BySoftware { guest, hypervisor } = of(one);
                Bar {
                    label: one.label.clone(),
                    parts: vec![
                        part("c1", guest, "the guest"),
                        part("c3", hypervisor, "the hypervisor"),
                    ],
                    value: value(one),
                }
            };
            let longest = work.iter().map(|one| of(one).sum()).max()?;
            Some(Figure {
                id: id.to_owned(),
                title: format!("{}{} of each {each}", id[..1].to_uppercase(), &id[1..]),
                text,
                drawing: Some(bars(&work.iter().map(bar).collect::<Vec<_>>(), longest as f64, id)),
                legend: legend([("c1", "guest"), ("c3", "hypervisor")]),
                table: table.clone(),
            })
        };
    let strands = match each {
        "node" => "the strands of each node have",
        _ => "each strand has",
    };
    let instructions = chart(
        "instructions",
        |one| one.instructions,
        |one| short(one.instructions.sum() as f64),
        format!("The instructions that {strands} executed, of the guest and of the hypervisor."),
    );
    let cycles = chart(
        "cycles",
        |one| one.cycles,
        |one| format!("CPI {:.1}", one.cpi()),
        format!(
            "How long {strands} executed, without the time halted or parked; behind the bar, the cycles per instruction."
        ),
    );
    instructions.into_iter().chain(cycles).collect()
}

fn calls(run: &Executed) -> Option<Figure> {
    let mut table = table::with_header("guest|status|calls");
    let mut statuses = BTreeSet::new();
    let mut drawn = Vec::new();
    for guest in &run.guests {
        let GuestRun { guest: _, name, strands: _, program: _, console: _, state: _, hypercalls } =
            guest;
        let Hypercalls { total, by_status } = hypercalls;
        for (status, times) in by_status {
            statuses.insert(&**status);
            table.add_row([name.clone(), status.clone(), times.to_string()]);
        }
        let part = |(status, times): (&String, &u64)| {
            (colour(status), *times as f64, format!("{} {status}", count(*times)))
        };
        drawn.push(Bar {
            label: name.clone(),
            parts: by_status.iter().map(part).collect(),
            value: count(*total),
        });
    }
    let longest =
        run.guests.iter().map(|guest| guest.hypercalls.total).max().filter(|most| *most > 0)?;
    Some(Figure {
            id: "calls".to_owned(),
            title: "Hypercalls by guest and status".to_owned(),
            text: "EOK: done. EWOULDBLOCK: the hub is taken, and the guest asks again. ENOACCESS: the guest has no right to the register.".to_owned(),
            drawing: Some(bars(&drawn, longest as f64, "calls")),
            legend: legend(statuses.iter().map(|status| (colour(status), *status))),
            table,
        })
}

fn event_figure(number: usize, event: &EventCounts) -> Option<Figure> {
    let place = if event.by_hub { "hub" } else { "node" };
    let mut table = table::with_header(&format!("{place}|happened"));
    let bar = |(place_number, happened): (usize, &u64)| {
        table.add_row([place_number, *happened as usize].map(|number| number.to_string()));
        Bar {
            label: format!("{place} {place_number}"),
            parts: vec![("c2", *happened as f64, count(*happened))],
            value: count(*happened),
        }
    };
    let drawn: Vec<_> = event.by_place.iter().enumerate().map(bar).collect();
    let most = event.by_place.iter().max()?;
    Some(Figure {
        id: format!("event-{number}"),
        title: format!("{}:{}", event.class, event.event),
        text: format!(
            "How often the event happened, by {place}: what a guest that counts it should find. In all, {}.",
            count(event.total())
        ),
        drawing: Some(bars(&drawn, top((*most).max(1) as f64), "events")),
        legend: Vec::new(),
        table,
    })
}

/// Returns a console character, or a visible replacement if the page cannot show it.
fn displayable(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    }
}
