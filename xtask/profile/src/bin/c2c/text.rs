//! The report as text.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use profile::symbols::Symbols;
use simulator::profile::rows::Functions;
use simulator::sharing::{Cost, Line, Report, byte_list};
use simulator::strands::ranges;
use xtask::cmd::machine::differences;
use xtask::table::{Table, cut};

/// So many rows of those who use a line are shown.
const MOST_GROUPS: usize = 24;

const MOST_NAME: usize = 40;

/// So many variables of a line are named.
const MOST_VARIABLES: usize = 3;

/// Prints the lines, the users of each, and what it saves to put bytes apart.
///
/// # Errors
/// `output` cannot be written.
pub(crate) fn print(
    output: &mut impl Write,
    report: &Report,
    symbols: Option<&Symbols>,
) -> io::Result<()> {
    let Report {
        program,
        configuration,
        placement,
        threads,
        cost,
        lines_moved,
        lines,
        apart,
        ..
    } = report;
    let (model, nodes) = (configuration.machine.model(), configuration.machine.nodes());
    writeln!(
        output,
        "# {program}: {}",
        counted(*threads as u64, "thread")
    )?;
    writeln!(
        output,
        "# {model} with {}; placement: {placement}",
        counted(nodes as u64, "node")
    )?;
    for line in differences(configuration) {
        writeln!(output, "# {line}")?;
    }
    writeln!(
        output,
        "# {} between nodes: {}, {}\n#",
        counted(*lines_moved as u64, "line that moves"),
        counted(cost.transfers, "transfer"),
        counted(cost.invalidations, "invalidation"),
    )?;
    if lines.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(">#|>line|home|>transfers|>invalidations|>share|sharing");
    for (number, line) in (1..).zip(lines) {
        let share = line.moves.all() as f64 / (cost.transfers + cost.invalidations) as f64;
        table.row([
            format!("{number}"),
            format!("{:#x}", line.address),
            line.home.index().to_string(),
            line.moves.transfers.to_string(),
            line.moves.invalidations.to_string(),
            format!("{:.1}%", share * 100.0),
            line.sharing.name().to_owned(),
        ]);
    }
    write!(output, "{table}")?;
    for (number, line) in (1..).zip(lines) {
        let names = variables(line, symbols);
        let more = if names.len() > MOST_VARIABLES {
            ", ..."
        } else {
            ""
        };
        let variables = names[..names.len().min(MOST_VARIABLES)].join(", ") + more;
        let heading = format!("#{number}  {:#x}  {}", line.address, line.sharing.name());
        writeln!(output, "\n{}", format!("{heading}  {variables}").trim_end())?;
        write!(output, "{}", users(line, symbols))?;
    }
    let Some((count, apart)) = apart else {
        return Ok(());
    };
    let those = if *count == 1 {
        "of the line that is"
    } else {
        "of the lines that are"
    };
    writeln!(
        output,
        "\nWith the bytes {those} falsely shared ({count}) in lines of their own:"
    )?;
    let mut table = Table::new("|>as it is|>apart|>change");
    let parts = |cost: &Cost| {
        [
            ("transfers", cost.transfers),
            ("invalidations", cost.invalidations),
            ("cycles", cost.cycles),
        ]
    };
    for ((name, before), (_, after)) in parts(cost).into_iter().zip(parts(apart)) {
        let change = (after as f64 - before as f64) / before.max(1) as f64 * 100.0;
        table.row([
            name.to_owned(),
            before.to_string(),
            after.to_string(),
            format!("{change:+.1}%"),
        ]);
    }
    write!(output, "{table}")
}

/// Threads that use the same bytes by the same instruction.
#[derive(Default)]
struct Group {
    nodes: BTreeSet<usize>,
    threads: BTreeSet<usize>,
    times: u64,
}

/// Returns a table of those who use a line, those of the lowest byte first, and of them those who use it most.
fn users(line: &Line, symbols: Option<&Symbols>) -> Table {
    let mut groups: BTreeMap<_, Group> = BTreeMap::new();
    for user in &line.users {
        let key = (user.bytes, user.instruction, user.what);
        let group = groups.entry(key).or_default();
        group.nodes.insert(user.strand.node().index());
        group.threads.insert(user.thread);
        group.times += user.times;
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|((bytes, ..), group)| (bytes.trailing_zeros(), Reverse(group.times)));
    let mut table = Table::new("bytes|nodes|threads|what|>times|function|source");
    for ((used, instruction, done), group) in groups.iter().take(MOST_GROUPS) {
        let (function, source) = code(*instruction, symbols);
        let file = |source: String| source.rsplit('/').next().map(str::to_owned);
        table.row([
            byte_list(*used),
            ranges(group.nodes.iter().copied()),
            ranges(group.threads.iter().copied()),
            done.name().to_owned(),
            group.times.to_string(),
            cut(&function.unwrap_or_else(none), MOST_NAME),
            source.and_then(file).unwrap_or_else(none),
        ]);
    }
    if let Some(more @ 1..) = groups.len().checked_sub(MOST_GROUPS) {
        table.row([format!("... and {more} more")]);
    }
    table
}

fn none() -> String {
    "-".to_owned()
}

/// Returns the function and the source line of a user. Without symbols, the address stands for the function.
pub(crate) fn code(
    instruction: Option<u64>,
    symbols: Option<&Symbols>,
) -> (Option<String>, Option<String>) {
    let Some(address) = instruction else {
        return (None, None);
    };
    let function = symbols.and_then(|symbols| symbols.function(address));
    let name = function.map_or_else(|| format!("{address:#x}"), |(_, name)| name.to_owned());
    let line = symbols.and_then(|symbols| symbols.line(address));
    (
        Some(name),
        line.map(|(file, line)| format!("{file}:{line}")),
    )
}

/// Returns the names of the variables in a line.
pub(crate) fn variables<'a>(line: &Line, symbols: Option<&'a Symbols>) -> Vec<&'a str> {
    let addresses = line.address..line.address.saturating_add(64);
    let variables = symbols.map(|symbols| symbols.variables(addresses));
    variables.into_iter().flatten().collect()
}

/// Returns a number and what is counted: `1 line that moves`, `2 lines that move`.
fn counted(number: u64, what: &str) -> String {
    match (number, what) {
        (1, what) => format!("1 {what}"),
        (number, "line that moves") => format!("{number} lines that move"),
        (number, what) => format!("{number} {what}s"),
    }
}
