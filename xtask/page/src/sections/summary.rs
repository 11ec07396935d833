//! What was run, whether its counters are right, and what stands out.

use maud::{Markup, html};

use crate::names::Names;
use crate::numbers::{TimeUnit, count, counted};
use crate::report::Report;
use crate::standing_out;

/// Returns the head of the page.
#[must_use]
pub fn summary(report: &Report, names: &Names) -> Markup {
    let unit = TimeUnit::of(report.cycles, report.time.hertz);
    let instructions: u64 = report
        .threads
        .iter()
        .map(|thread| thread.instructions)
        .sum();
    let out = standing_out::sentences(report, names, 3);
    html! {
        dl {
            @for program in report.programs() {
                dt { "Program" }
                dd { (program.name) @if let Some(command) = &program.command { " (" code { (command) } ")" } }
            }
            dt { "Machine" } dd { (report.machine) " with " (counted(report.nodes as u64, "node")) }
            @let settings = report.settings();
            @if !settings.is_empty() { dt { "Configuration" } dd { (settings.join(", ")) } }
            dt { "Placement" } dd {
                (report.placement) ", " (counted(report.threads.len() as u64, "thread")) " on "
                @let strands: Vec<_> = report.threads.iter().map(|thread| thread.strand.to_string()).collect();
                @if strands.len() == 1 { "strand " } @else { "strands " }
                (strands[..strands.len().min(16)].join(", ")) @if strands.len() > 16 { " and more" }
            }
            dt { "Work" } dd {
                (counted(report.references, "reference")) " of " (counted(instructions, "instruction"))
            }
            dt { "Time" } dd {
                (counted(report.cycles, "cycle")) ", " (format!("{:.3}", report.cycles as f64 * unit.per_cycle)) " " (unit.name)
            }
        }
        (verdict(report))
        h2 #out { "What stands out" }
        @if out.is_empty() {
            p { "Nothing: no wait, part of the machine, node or guest has much more than the others." }
        } @else {
            ol.out { @for sentence in out { li { (sentence) } } }
        }
        @if !report.notes.is_empty() {
            h2 { "Notes" }
            ul { @for note in &report.notes { li { (note) } } }
        }
    }
}

fn verdict(report: &Report) -> Markup {
    let wrong: Vec<_> = (report.counters.iter())
        .filter(|counter| counter.measured != counter.truth)
        .collect();
    html! {
        @if report.truth_matches {
            p.good { "✓ All " (report.counters.len()) " counters show exactly what happened." }
        } @else {
            p.bad { "✗ " (wrong.len()) " of " (report.counters.len()) " counters do not show what happened." }
            ul {
                @for counter in wrong.iter().take(20) {
                    li { (counter.name) " " (counter.event) ": the guest measured " (count(counter.measured)) ", the truth is " (count(counter.truth)) }
                }
            }
        }
    }
}
