//! The part of a replay's page before the charts: the programs, the comparison of the counters with
//! the truth (the simulator's own counts), and what stands out.

use maud::{Markup, html};
use simulator::machine::configuration::Configuration;
use simulator::memory::Config;
use simulator::run::Replayed;

use crate::numbers::{TimeUnit, count, counted};
use crate::page::findings;
use crate::page::names::Names;

pub(in crate::page) fn summary(run: &Replayed, names: &Names) -> Markup {
    let unit = TimeUnit::suiting(&run.time);
    let instructions: u64 = run.threads.iter().map(|thread| thread.instructions).sum();
    let out = findings::sentences(run, names, 3);
    html! {
        dl {
            @for program in run.programs().iter().take(MAX_PROGRAMS) {
                dt { "Program" }
                dd { (program.name) @if let Some(command) = &program.command { " (" code { (command) } ")" } }
            }
            @let more = run.programs().len().saturating_sub(MAX_PROGRAMS);
            @if more > 0 { dt { "Programs" } dd { (more) " more" } }
            dt { "Machine" } dd { (run.machine) " with " (counted(run.nodes as u64, "node")) }
            @let settings = settings(&run.configuration);
            @if !settings.is_empty() { dt { "Configuration" } dd { (settings.join(", ")) } }
            dt { "Placement" } dd {
                (run.placement) ", " (counted(run.threads.len() as u64, "thread")) " on "
                @let strands: Vec<_> = run.threads.iter().map(|thread| thread.strand.to_string()).collect();
                @if strands.len() == 1 { "strand " } @else { "strands " }
                (strands[..strands.len().min(16)].join(", ")) @if strands.len() > 16 { " and more" }
            }
            @if let Some(memory) = run.configuration.homes() { dt { "Memory" } dd { (memory) } }
            dt { "Work" } dd {
                (counted(run.references, "reference")) " of " (counted(instructions, "instruction"))
            }
            dt { "Time" } dd {
                (counted(run.cycles, "cycle")) ", " (format!("{:.3}", run.cycles as f64 * unit.per_cycle)) " " (unit.name)
            }
        }
        (verdict(run))
        h2 #out { "What stands out" }
        @if out.is_empty() {
            p { "Nothing: no wait, part of the machine, node or guest stands out from the others." }
        } @else {
            ol.out { @for sentence in out { li { (sentence) } } }
        }
        @if !run.notes.is_empty() {
            h2 { "Notes" }
            ul { @for note in &run.notes { li { (note) } } }
        }
    }
}

/// The maximum number of programs that the summary names.
const MAX_PROGRAMS: usize = 8;

fn verdict(run: &Replayed) -> Markup {
    let wrong: Vec<_> =
        (run.counters.iter()).filter(|counter| counter.measured != counter.truth).collect();
    html! {
        @for missing in &run.missing { p.bad { "Not covered: " (missing) "." } }
        @if run.truth_matches {
            p.good { "✓ All " (run.counters.len()) " counters show exactly what happened." }
        } @else {
            p.bad { "✗ " (wrong.len()) " of " (run.counters.len()) " counters do not show what happened." }
            ul {
                @for counter in wrong.iter().take(20) {
                    li { (counter.name) " " (counter.event) ": the guest measured " (count(counter.measured)) ", the truth is " (count(counter.truth)) }
                }
            }
        }
    }
}

/// Returns the settings whose values differ from those of a real T2 Plus.
pub(in crate::page) fn settings(configuration: &Configuration) -> Vec<String> {
    let config = &configuration.memory;
    let settings = Config::SETTINGS.iter().filter_map(|setting| {
        let (value, usual) = (config.get(setting), Config::T2_PLUS.get(setting));
        let (table, key) = (setting.table, setting.key);
        (value != usual).then(|| format!("{table}.{key} = {value} (not {usual})"))
    });
    settings.collect()
}
