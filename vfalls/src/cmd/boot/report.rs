//! The result of an execution as text.

use std::io::{self, Write};

use simulator::execute::log::{Log, Noted, What};
use simulator::machine::strands;
use simulator::run::{Executed, Hypercalls, StepRun};

use crate::disassembly::sparc::disassembly;
use crate::table;
use crate::text::summary::short;

pub(crate) fn print(output: &mut impl Write, run: &Executed) -> io::Result<()> {
    if !run.events.is_empty() {
        writeln!(output, "{}", events(run))?;
    }
    write!(output, "{}\n{}", strand_table(run), calls(run))?;
    for failure in &run.failures {
        writeln!(output, "\noperator: {failure}")?;
    }
    if run.noted > 0 {
        let things = match run.noted {
            1 => "1 thing that software did is".to_owned(),
            noted => format!("{noted} things that software did are"),
        };
        writeln!(output, "\nnote: {things} not simulated in full; --log lists them")?;
    }
    Ok(())
}

/// Returns a line about a step of the scenario file `scenario`.
pub(crate) fn step(scenario: &str, step: &StepRun) -> String {
    let mut line = format!("operator: {} ({scenario}:{})", step.action, step.line);
    if let Some(reason) = &step.rejected {
        line += &format!(": rejected: {reason}");
    }
    if let Some(unit) = &step.unit {
        let state = if unit.in_service { "in" } else { "out of" };
        line += &format!(": it was {state} service (faults: {})", unit.faults);
    }
    line
}

/// Prints the instructions and registers that are not simulated in full.
pub(crate) fn log(output: &mut impl Write, log: &Log) -> io::Result<()> {
    for Noted { strand, pc, what } in log.entries() {
        write!(output, "strand {strand} at {pc:#x}: {what}")?;
        match what {
            What::Illegal(word) | What::FloatingPoint(word) => {
                let known = disassembly(*word);
                writeln!(output, ": {}", known.as_deref().unwrap_or("no known one"))?;
            }
            _ => writeln!(output)?,
        }
    }
    match log.dropped() {
        0 => Ok(()),
        dropped => writeln!(output, "and {dropped} more"),
    }
}

/// Returns a row for each event, with its count on each node or hub.
fn events(run: &Executed) -> String {
    let places = run.events.iter().map(|event| event.by_place.len()).max().unwrap_or(0);
    let header: String = (0..places).map(|node| format!("|>node {node}")).collect();
    let mut table = table::with_header(&format!("event|>happened{header}"));
    for event in &run.events {
        let hubs = if event.by_hub { ", by hub" } else { "" };
        let name = format!("{}:{}{hubs}", event.class, event.event);
        let counts = event.by_place.iter().map(|count| short(*count));
        table.add_row([name, event.total().to_string()].into_iter().chain(counts));
    }
    table::text(&table)
}

fn strand_table(run: &Executed) -> String {
    let mut table = table::with_header(
        ">strand|>guest's instructions|>hypervisor's|>cycles|>CPI|>traps|>L2 hits|>local|>remote|>c2c",
    );
    for strand in &run.strands {
        let cpi = strand.cycles.sum() as f64 / strand.instructions.sum().max(1) as f64;
        let (work, served) = (strand.instructions, &strand.served);
        let work =
            [strand.strand.number().into(), work.guest, work.hypervisor, strand.cycles.sum()];
        let served = [served.l2, served.local, served.remote, served.c2c];
        let cells = work.map(|number| number.to_string()).into_iter();
        let cells = cells.chain([format!("{cpi:.2}"), strand.traps.to_string()]);
        table.add_row(cells.chain(served.map(short)));
    }
    table::text(&table)
}

/// Returns a row for each guest, with its number of hypercalls by status.
fn calls(run: &Executed) -> String {
    let statuses: Vec<&String> = run.hypercalls.by_status.keys().collect();
    let counts: String = statuses.iter().map(|status| format!("|>{status}")).collect();
    let mut table = table::with_header(&format!("guest|strands|>hypercalls{counts}"));
    for guest in &run.guests {
        let Hypercalls { total, by_status } = &guest.hypercalls;
        let mut row = vec![
            guest.name.clone(),
            strands::ranges(guest.strands.iter().map(|strand| strand.index())),
            total.to_string(),
        ];
        let count = |status: &&String| by_status.get(*status).unwrap_or(&0).to_string();
        row.extend(statuses.iter().map(count));
        table.add_row(row);
    }
    table::text(&table)
}
