//! Writes the true events in callgrind's output format, version 1, for KCachegrind and
//! `callgrind_annotate`. The format is in valgrind's manual, chapter "Callgrind Format
//! Specification".

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::symbols::Symbols;
use simulator::analysis::profile::functions::{CodeLocation, Functions};
use simulator::analysis::profile::report::ProfileReport;
use simulator::analysis::profile::stacks::CallEdge;
use simulator::text;

/// The name that callgrind writes for an unknown function or file.
const UNKNOWN: &str = "???";

/// The number of events of each kind, in the order of the report's events.
type Costs = Vec<u64>;

#[derive(Default)]
struct FunctionCosts {
    /// The costs of the function's own instructions, by file and line.
    own: BTreeMap<(String, u32), Costs>,
    /// The costs of the functions that this function calls, by call.
    calls: BTreeMap<CallEdge, Costs>,
}

/// Writes the events of each function by line, and the events of its callees by call.
///
/// A tail call is written as a call from the first line of the function that makes it. The number
/// of tail calls is not known, and is written as 1. If it were 0, `callgrind_annotate` would add
/// the callee's events to the function's own.
pub(crate) fn write(
    output: &mut impl Write,
    report: &ProfileReport,
    symbols: Option<&Symbols>,
) -> io::Result<()> {
    let functions = symbols.map(|symbols| symbols as &dyn Functions);
    let place = |address| CodeLocation::at(address, functions);
    let line = |address| {
        let line = symbols.and_then(|symbols| symbols.line(address));
        line.map_or_else(|| (UNKNOWN.to_owned(), 0), |(file, line)| (text::line(&file), line))
    };
    let stacks = report.stacks();
    let events: Vec<_> = report.events().collect();
    let nothing = || vec![0; events.len()];
    let mut all: BTreeMap<CodeLocation<'_>, FunctionCosts> = BTreeMap::new();
    for (number, event) in events.iter().enumerate() {
        for (point, count) in event.exact() {
            let own = &mut all.entry(place(point.address)).or_default().own;
            own.entry(line(point.address)).or_insert_with(nothing)[number] += count;
            for call in calls(&stacks.calls(point.stack), point.address, place) {
                let calls = &mut all.entry(place(call.site)).or_default().calls;
                calls.entry(call).or_insert_with(nothing)[number] += count;
            }
        }
    }

    writeln!(output, "# callgrind format\nversion: 1\ncreator: vfalls report")?;
    writeln!(output, "cmd: {}", report.program)?;
    writeln!(output, "desc: Machine: {}", report.processor)?;
    writeln!(output, "positions: line")?;
    let names: Vec<_> = events.iter().map(|event| &*event.event).collect();
    writeln!(output, "events: {}", names.join(" "))?;
    let totals: Costs = events.iter().map(|event| event.exact_count).collect();
    writeln!(output, "summary: {}", joined(&totals))?;
    let object = |place: &CodeLocation<'_>| {
        let file = symbols.and_then(|symbols| symbols.file(place.address));
        file.unwrap_or(UNKNOWN).to_owned()
    };
    let begins = |place: &CodeLocation<'_>| {
        let source = symbols.and_then(|symbols| symbols.source(place.address));
        let parts = source.as_deref().and_then(|source| source.rsplit_once(':'));
        let parts = parts.map(|(file, line)| (file.to_owned(), line.parse().unwrap_or(0)));
        parts.unwrap_or_else(|| (UNKNOWN.to_owned(), 0))
    };
    let mut latest = UNKNOWN.to_owned();
    for (place_of, function) in &all {
        let (own_file, _) = begins(place_of);
        writeln!(output)?;
        let own_object = object(place_of);
        if own_object != latest {
            writeln!(output, "ob={own_object}")?;
        }
        latest.clone_from(&own_object);
        writeln!(output, "fl={own_file}\nfn={}", place_of.name())?;
        let mut file = own_file.clone();
        let mut enter = |output: &mut dyn Write, new: &str| {
            if file == new {
                return Ok(());
            }
            file = new.to_owned();
            let is_own = file == own_file;
            writeln!(output, "{}={file}", if is_own { "fe" } else { "fi" })
        };
        for ((file, line), costs) in &function.own {
            enter(output, file)?;
            writeln!(output, "{line} {}", joined(costs))?;
        }
        for (call, costs) in &function.calls {
            let (file, site) = line(call.site);
            enter(output, &file)?;
            let callee = place(call.entry);
            let (file, first) = begins(&callee);
            let other = object(&callee);
            if other != own_object {
                writeln!(output, "cob={other}")?;
            }
            writeln!(output, "cfi={file}\ncfn={}", callee.name())?;
            let count = stacks.counts().get(call).copied().unwrap_or(1);
            writeln!(output, "calls={count} {first}\n{site} {}", joined(costs))?;
        }
    }
    writeln!(output, "\ntotals: {}", joined(&totals))
}

/// Returns the calls in a stack that ends at the instruction at `address`, including tail calls.
fn calls<'a>(
    calls: &[CallEdge],
    address: u64,
    place: impl Fn(u64) -> CodeLocation<'a>,
) -> BTreeSet<CallEdge> {
    let mut all: BTreeSet<CallEdge> = calls.iter().copied().collect();
    let next = calls.iter().skip(1).map(|call| call.site).chain([address]);
    for (call, next) in calls.iter().zip(next) {
        let (entered, left) = (place(call.entry), place(next));
        if entered != left {
            let (site, entry) = (entered.address, left.address);
            all.insert(CallEdge { site, entry });
        }
    }
    all
}

fn joined(costs: &[u64]) -> String {
    let costs: Vec<_> = costs.iter().map(u64::to_string).collect();
    costs.join(" ")
}
