//! Prints the steps, phases and result of a scenario as text.

use std::io::{self, Write};

use simulator::run::{PhaseRun, Played, StepRun};

use crate::table;
use crate::text::replay::hypercalls;
use crate::text::summary::totals;

/// Prints a step and what it changed.
pub(crate) fn step(output: &mut impl Write, file: &str, step: &StepRun) -> io::Result<()> {
    let StepRun { at, line, action, .. } = step;
    writeln!(output, "At {at} references ({file}:{line}): {action}")?;
    if let Some(reason) = &step.rejected {
        writeln!(output, "  rejected: {reason}")?;
    }
    let Some(settled) = &step.settled else {
        return writeln!(output);
    };
    if let Some(awaited) = settled.awaited {
        writeln!(output, "  pending: {awaited} strands have not yet taken their cross-calls")?;
        for pair in settled.meanwhile.chunks(2) {
            let answers: Vec<String> = (pair.iter())
                .map(|asked| format!("{} for {}", asked.status, asked.register))
                .collect();
            let guest = pair.first().map_or("", |asked| asked.guest.as_str());
            writeln!(output, "  meanwhile {guest} gets {}", answers.join(" and "))?;
        }
        for strand in &step.excused {
            writeln!(output, "  strand {strand} does not take its cross-call, and is excused")?;
        }
        writeln!(output, "  complete after {} cross-calls", settled.cross_calls)?;
    }
    for found in &settled.found {
        let zeros = match found.not_zero.join(", ") {
            none if none.is_empty() => "all of them 0".to_owned(),
            some => format!("all 0 except {some}"),
        };
        writeln!(output, "  {} can read {} registers, {zeros}", found.guest, found.registers)?;
    }
    writeln!(output)
}

/// Prints the grant and the counters of each guest in a phase.
pub(crate) fn phase(output: &mut impl Write, number: usize, phase: &PhaseRun) -> io::Result<()> {
    writeln!(
        output,
        "Phase {number}, references {} to {}{}:\n",
        phase.from,
        phase.to,
        match phase.out_of_service.join(", ") {
            none if none.is_empty() => none,
            out => format!("; out of service: {out}"),
        }
    )?;
    for measured in &phase.guests {
        let refused = match measured.refused {
            0 => String::new(),
            number => format!("; it may not use {number} units"),
        };
        writeln!(
            output,
            "guest {} ({}): {} counters{refused}",
            measured.guest,
            measured.grant,
            measured.counters.len()
        )?;
        if !measured.counters.is_empty() {
            write!(output, "{}", totals(&measured.counters))?;
        }
        writeln!(output)?;
    }
    output.flush()
}

/// Prints the state of the units, the hypercalls, and a comparison of the counters with the truth
/// (the simulator's own counts).
pub(crate) fn end(output: &mut impl Write, run: &Played) -> io::Result<()> {
    let Played { references, cycles, .. } = run;
    writeln!(output, "After {references} references in {cycles} cycles of machine time:\n")?;
    let mut table = table::with_header("unit|state|>faults|>stuck");
    for unit in &run.units {
        let state = match (unit.in_service, unit.clean) {
            (true, _) => "in service",
            (false, true) => "out of service",
            (false, false) => "out of service, not scrubbed",
        };
        if !unit.in_service || unit.faults + unit.stuck > 0 {
            let counts = [unit.faults, unit.stuck].map(|count| count.to_string());
            let names = [unit.unit.clone(), state.to_owned()];
            table.add_row(names.into_iter().chain(counts));
        }
    }
    if table.is_empty() {
        writeln!(output, "All units are in service, and none has faulted.\n")?;
    } else {
        writeln!(output, "Units that have faulted; all others are in service:\n")?;
        writeln!(output, "{}", table::text(&table))?;
    }
    writeln!(output, "Hypercalls by guest and status:\n")?;
    writeln!(output, "{}", hypercalls(&run.hypercalls, &run.guests))?;
    let counters = || {
        (run.phases.iter()).flat_map(|phase| &phase.guests).flat_map(|measured| &measured.counters)
    };
    let wrong = counters().filter(|counter| counter.measured != counter.truth);
    match wrong.count() {
        0 => writeln!(
            output,
            "Truth: {} counts in {} phases show exactly what happened.",
            counters().count(),
            run.phases.len()
        ),
        wrong => writeln!(
            output,
            "Truth: {wrong} of {} counts do not show what happened.",
            counters().count()
        ),
    }
}
