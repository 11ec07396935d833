//! The report for machines.

use profile::symbols::Symbols;
use serde_json::{Value, json};
use simulator::sharing::{Cost, Line, Report};

use super::text;

/// Returns everything.
pub(crate) fn value(report: &Report, symbols: Option<&Symbols>) -> Value {
    let lines = report.lines.iter().map(|line| of_line(line, symbols));
    let apart = report
        .apart
        .map(|(lines, apart)| json!({ "lines": lines, "cost": cost(apart) }));
    let machine = report.configuration.machine;
    json!({
        "program": report.program,
        "machine": machine.model().name(),
        "nodes": machine.nodes(),
        "configuration": report.configuration,
        "placement": report.placement.to_string(),
        "threads": report.threads,
        "cost": cost(report.cost),
        "lines_moved": report.lines_moved,
        "lines": lines.collect::<Vec<_>>(),
        "apart": apart,
        "notes": report.notes,
    })
}

fn cost(cost: Cost) -> Value {
    json!({ "cycles": cost.cycles, "transfers": cost.transfers, "invalidations": cost.invalidations })
}

/// Returns a line as the simulator writes it, with the function and the source line of each user.
fn of_line(line: &Line, symbols: Option<&Symbols>) -> Value {
    let mut value = json!(line);
    value["variables"] = json!(text::variables(line, symbols));
    let users = value["users"].as_array_mut().into_iter().flatten();
    for (written, user) in users.zip(&line.users) {
        let (function, source) = text::code(user.instruction, symbols);
        written["node"] = json!(user.strand.node().index());
        written["function"] = json!(function);
        written["source"] = json!(source);
    }
    value
}
