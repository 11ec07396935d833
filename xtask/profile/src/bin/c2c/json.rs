//! The report for machines.

use profile::symbols::Symbols;
use serde_json::{Value, json};
use simulator::sharing::{Cost, Line, Report, User};

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

fn of_line(line: &Line, symbols: Option<&Symbols>) -> Value {
    let users = line.users.iter().map(|user| of_user(user, symbols));
    json!({
        "address": format!("{:#x}", line.address),
        "variables": text::variables(line, symbols),
        "home": line.home.index(),
        "transfers": line.moves.transfers,
        "invalidations": line.moves.invalidations,
        "sharing": text::sharing(line.sharing),
        "users": users.collect::<Vec<_>>(),
    })
}

fn of_user(user: &User, symbols: Option<&Symbols>) -> Value {
    let (function, source) = text::code(user.instruction, symbols);
    json!({
        "thread": user.thread,
        "strand": user.strand.index(),
        "node": user.strand.node().index(),
        "what": text::what(user.what),
        "bytes": text::bytes(user.bytes),
        "times": user.times,
        "instruction": user.instruction.map(|address| format!("{address:#x}")),
        "function": function,
        "source": source,
    })
}
