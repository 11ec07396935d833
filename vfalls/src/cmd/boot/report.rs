//! Prints the result of an execution as text.

use std::io::{self, Write};

use simulator::execute::log::{Log, LogEntry, What};
use simulator::execute::records::Failure;
use simulator::machine::strands;
use simulator::memory::Served;
use simulator::run::{BySoftware, ClockRun, Executed, GuestRun, Hypercalls, StepRun, StrandRun};

use crate::disassembly::sparc::disassembly;
use crate::numbers::counted;
use crate::table;
use crate::text::summary::short;

pub(crate) fn print(output: &mut impl Write, run: &Executed) -> io::Result<()> {
    if !run.events.is_empty() {
        writeln!(output, "{}", events(run))?;
    }
    write!(output, "{}\n{}", strand_table(run), calls(run))?;
    if !run.clocks.is_empty() {
        writeln!(output)?;
    }
    for ClockRun { clock, changes, ahead, .. } in &run.clocks {
        let times = counted(changes.len() as u64, "time");
        let differs = match ahead.last().map_or(0, |(_, ahead)| *ahead) {
            behind @ ..0 => format!("{} ns behind", behind.unsigned_abs()),
            ahead => format!("{ahead} ns ahead of"),
        };
        writeln!(output, "clock: {clock} has changed {times}; it ends {differs} the true time")?;
    }
    for failure in &run.failures {
        write!(output, "\n{}", failure_text(failure))?;
    }
    if run.hypervisor.left_out > 0 {
        let messages = counted(run.hypervisor.left_out, "message");
        writeln!(
            output,
            "\nnote: the hypervisor dropped {messages} from its log, because there were too many"
        )?;
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

/// Describes a failure. The first line is a summary; further lines show the registers of an
/// unexpected trap.
fn failure_text(failure: &Failure) -> String {
    let named = failure.named_registers().map(|(name, value)| format!("{name} {value:#x}"));
    let named: Vec<_> = named.collect();
    let lines = named.chunks(7).map(|line| format!("  {}\n", line.join(", ")));
    format!("operator: {failure}\n") + &lines.collect::<String>()
}

/// Describes one of the operator's steps in one line. `scenario` is the name of the scenario file.
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

/// Prints a list of the instructions and registers that the machine does not simulate in full.
pub(crate) fn log(output: &mut impl Write, log: &Log) -> io::Result<()> {
    for LogEntry { strand, pc, what } in log.entries() {
        write!(output, "strand {strand} at {pc:#x}: {what}")?;
        match what {
            What::Illegal(word) | What::FloatingPoint(word) => {
                let known = disassembly(*word);
                writeln!(output, ": {}", known.as_deref().unwrap_or("no known instruction"))?;
            }
            _ => writeln!(output)?,
        }
    }
    match log.dropped() {
        0 => Ok(()),
        dropped => writeln!(output, "and {dropped} more"),
    }
}

/// Returns a table of event counts, with a row for each event, and a column for each node or hub.
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
    for StrandRun { strand, instructions, cycles, traps, served } in &run.strands {
        let (BySoftware { guest, hypervisor }, cycles) = (*instructions, cycles.sum());
        let Served { l2, local, remote, c2c } = *served;
        let cpi = cycles as f64 / instructions.sum().max(1) as f64;
        let work = [strand.number().into(), guest, hypervisor, cycles];
        let cells = work.map(|number| number.to_string()).into_iter();
        let cells = cells.chain([format!("{cpi:.2}"), traps.to_string()]);
        table.add_row(cells.chain([l2, local, remote, c2c].map(short)));
    }
    table::text(&table)
}

/// Returns a table with a row for each guest. The columns show how many hypercalls returned each
/// status.
fn calls(run: &Executed) -> String {
    let statuses: Vec<&String> = run.hypercalls.by_status.keys().collect();
    let counts: String = statuses.iter().map(|status| format!("|>{status}")).collect();
    let mut table = table::with_header(&format!("guest|strands|>hypercalls{counts}"));
    for guest in &run.guests {
        let GuestRun { guest: _, name, strands, program: _, console: _, state: _, hypercalls } =
            guest;
        let Hypercalls { total, by_status } = hypercalls;
        let strands = strands::ranges(strands.iter().map(|strand| strand.index()));
        let mut row = vec![name.clone(), strands, total.to_string()];
        let count = |status: &&String| by_status.get(*status).unwrap_or(&0).to_string();
        row.extend(statuses.iter().map(count));
        table.add_row(row);
    }
    table::text(&table)
}

#[cfg(test)]
mod tests {
    use guest_abi::StrandId;
    use hv_core::GuestId;

    use super::*;

    #[test]
    fn a_trap_of_the_hypervisor_shows_its_registers() {
        let failure = Failure {
            reason: "the hypervisor took the unexpected trap".to_owned(),
            unit: None,
            strand: StrandId::new(8),
            guest: GuestId::new(1),
            address: None,
            registers: (0x30..0x45).collect(),
        };
        let shown = "\
operator: the hypervisor took the unexpected trap 0x30 at 0x31, on strand 8 of guest 1
  %tt 0x30, %tpc 0x31, %tnpc 0x32, %tstate 0x33, %htstate 0x34, %tl 0x35, %g1 0x36
  %g2 0x37, %g3 0x38, %g4 0x39, %g5 0x3a, %g6 0x3b, %g7 0x3c, %o0 0x3d
  %o1 0x3e, %o2 0x3f, %o3 0x40, %o4 0x41, %o5 0x42, %o6 0x43, %o7 0x44
";
        assert_eq!(failure_text(&failure), shown);
        assert_eq!(failure_text(&Failure { registers: Vec::new(), ..failure }).lines().count(), 1);
    }
}
