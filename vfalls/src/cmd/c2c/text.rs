//! Prints the report of `c2c` as text.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::cmd::machine::differences;
use crate::numbers::counted_plainly;
use crate::symbols::without_directory;
use crate::table::{self, cut};
use simulator::analysis::sharing::{Code, Separated, SharedLine, SharingReport, byte_list};
use simulator::machine::strands::ranges;

/// The maximum number of rows in the table of a line's users.
const MAX_GROUPS: usize = 24;

/// The maximum length of a function's name in the text, in characters.
const MAX_NAME: usize = 40;

/// The maximum number of variables that the text names for each line.
const MAX_VARIABLES: usize = 3;

/// Prints the lines, the users of each line, and the cost of a replay that keeps falsely shared
/// bytes in separate lines.
pub(crate) fn print(output: &mut impl Write, report: &SharingReport) -> io::Result<()> {
    let SharingReport { program, configuration, placement, threads, .. } = report;
    let SharingReport { cost, lines_moved, lines, apart, .. } = report;
    let (model, nodes) = (configuration.machine.model(), configuration.machine.nodes());
    writeln!(output, "# {program}: {}", counted_plainly(*threads as u64, "thread"))?;
    writeln!(
        output,
        "# {model} with {}; placement: {placement}",
        counted_plainly(nodes as u64, "node")
    )?;
    if let Some(memory) = configuration.homes() {
        writeln!(output, "# memory: {memory}")?;
    }
    for line in differences(configuration) {
        writeln!(output, "# {line}")?;
    }
    for missing in &report.missing {
        writeln!(output, "# Not covered: {missing}.")?;
    }
    writeln!(
        output,
        "# {} between nodes: {}, {}\n#",
        match lines_moved {
            1 => "1 line that moves".to_owned(),
            number => format!("{number} lines that move"),
        },
        counted_plainly(cost.transfers, "transfer"),
        counted_plainly(cost.invalidations, "invalidation"),
    )?;
    if lines.is_empty() {
        return Ok(());
    }
    let mut table = table::with_header(">#|>line|home|>transfers|>invalidations|>share|sharing");
    for (number, line) in (1..).zip(lines) {
        let share = line.moves.all() as f64 / (cost.transfers + cost.invalidations) as f64;
        table.add_row([
            format!("{number}"),
            format!("{:#x}", line.address),
            line.home.index().to_string(),
            line.moves.transfers.to_string(),
            line.moves.invalidations.to_string(),
            format!("{:.1}%", share * 100.0),
            line.sharing.name().to_owned(),
        ]);
    }
    write!(output, "{}", table::text(&table))?;
    for (number, line) in (1..).zip(lines) {
        let names = line.variables.as_deref().unwrap_or_default();
        let more = if names.len() > MAX_VARIABLES { ", ..." } else { "" };
        let variables = names[..names.len().min(MAX_VARIABLES)].join(", ") + more;
        let heading = format!("#{number}  {:#x}  {}", line.address, line.sharing.name());
        writeln!(output, "\n{}", format!("{heading}  {variables}").trim_end())?;
        write!(output, "{}", users(line))?;
    }
    let Some(Separated { lines: count, cost: apart }) = apart else {
        return Ok(());
    };
    let shared = match count {
        1 => "1 falsely shared line".to_owned(),
        _ => format!("{count} falsely shared lines"),
    };
    writeln!(output, "\nWith the bytes of {shared} in separate lines:")?;
    let mut table = table::with_header("|>as it is|>apart|>change");
    for (name, before, after) in [
        ("transfers", cost.transfers, apart.transfers),
        ("invalidations", cost.invalidations, apart.invalidations),
        ("cycles", cost.cycles, apart.cycles),
    ] {
        let change = (after as f64 - before as f64) / before.max(1) as f64 * 100.0;
        let (before, after) = (before.to_string(), after.to_string());
        table.add_row([name.to_owned(), before, after, format!("{change:+.1}%")]);
    }
    write!(output, "{}", table::text(&table))
}

/// One row of the table: all uses of the same bytes by the same instruction, in any thread.
#[derive(Default)]
struct UseGroup<'a> {
    code: Option<&'a Code>,
    nodes: BTreeSet<usize>,
    threads: BTreeSet<usize>,
    times: u64,
}

/// Returns a table of the users of a line. The rows are sorted by the lowest byte used, and then by
/// the number of uses, in descending order.
fn users(line: &SharedLine) -> String {
    let mut groups: BTreeMap<_, UseGroup<'_>> = BTreeMap::new();
    for user in &line.users {
        let key = (user.bytes, user.instruction, user.what);
        let group = groups.entry(key).or_default();
        group.code = user.code.as_ref();
        group.nodes.insert(user.strand.node().index());
        group.threads.insert(user.thread);
        group.times += user.times;
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|((bytes, ..), group)| (bytes.trailing_zeros(), Reverse(group.times)));
    let mut table = table::with_header("bytes|nodes|threads|what|>times|function|source");
    for ((used, _, done), group) in groups.iter().take(MAX_GROUPS) {
        let function = group.code.and_then(|code| code.function.as_deref());
        let source = group.code.and_then(|code| code.source.as_deref());
        table.add_row([
            byte_list(*used),
            ranges(group.nodes.iter().copied()),
            ranges(group.threads.iter().copied()),
            done.name().to_owned(),
            group.times.to_string(),
            cut(function.unwrap_or("-"), MAX_NAME),
            source.map_or("-", without_directory).to_owned(),
        ]);
    }
    if let Some(more @ 1..) = groups.len().checked_sub(MAX_GROUPS) {
        table.add_row([format!("... and {more} more")]);
    }
    table::text(&table)
}
