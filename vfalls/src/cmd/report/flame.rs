//! Writes flame graphs: stacks in folded form, one on each line, and the picture that the crate
//! `inferno` draws from them.
//!
//! Each active function has a frame. If there is debugging information, each inlined function also
//! has a frame. If several events are sampled, the outermost frame is the name of the event.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Context;
use inferno::flamegraph::{self, Options};

use simulator::analysis::profile::functions::{CodeLocation, Functions};
use simulator::analysis::profile::report::ProfileReport;

use crate::symbols::Symbols;

/// Returns a line for each stack: the frames, separated by semicolons, with the outermost frame
/// first; then the number of samples.
pub(crate) fn folded(report: &ProfileReport, symbols: Option<&Symbols>) -> Vec<String> {
    let functions = symbols.map(|symbols| symbols as &dyn Functions);
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for event in report.events() {
        let root = (!report.further_events.is_empty()).then(|| event.event.to_string());
        for (point, weight) in event.taken() {
            let addresses = report.stacks().addresses(*point, functions);
            let frames = addresses.iter().flat_map(|address| {
                let inlined = symbols.map_or_else(Vec::new, |symbols| symbols.inlined(*address));
                [CodeLocation::at(*address, functions).name()].into_iter().chain(inlined)
            });
            let frames = root.clone().into_iter().chain(frames);
            let frames: Vec<_> = frames.map(|frame| frame.replace(';', ":")).collect();
            *stacks.entry(frames.join(";")).or_default() += weight.samples;
        }
    }
    stacks.into_iter().map(|(stack, samples)| format!("{stack} {samples}")).collect()
}

pub(crate) fn write_svg(
    output: &mut impl Write,
    report: &ProfileReport,
    stacks: &[String],
) -> anyhow::Result<()> {
    let names: Vec<_> = report.events().map(|event| &*event.event).collect();
    let mut options = Options::default();
    options.title = format!("{}: {}", report.program, names.join(", "));
    options.count_name = "samples".to_owned();
    options.hash = true;
    options.deterministic = true;
    flamegraph::from_lines(&mut options, stacks.iter().map(String::as_str), output)
        .context("the flame graph")
}
