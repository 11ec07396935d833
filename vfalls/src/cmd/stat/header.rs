//! Prints the lines before a replay's results.

use std::io::{self, Write};

use platform::Interleave;
use simulator::machine::guests::NamedGuest;
use simulator::machine::strands;
use simulator::memory::Pages;
use simulator::replay::placement::Placement;
use simulator::replay::{Prepared, Setup};

use crate::cmd::machine::differences;
use crate::cmd::source;
use crate::cmd::stat::ReplayArgs;
use crate::numbers::counted_plainly;
use crate::table::WIDTH;

/// Prints one line each for the recordings, the machine and the placement. Then prints the settings that `--config` has changed, and an
/// empty line.
pub(crate) fn print(
    output: &mut impl Write,
    prepared: &Prepared,
    args: &ReplayArgs,
) -> io::Result<()> {
    let setup = prepared.setup();
    let NamedGuest { name, config } = prepared.measuring();
    writeln!(output, "{}", source::line(&setup.programs))?;
    writeln!(
        output,
        "{} with {}, {} strands; guest {name} ({}){}",
        setup.machine.model(),
        counted_plainly(setup.machine.nodes() as u64, "node"),
        setup.machine.strands(),
        config.grant,
        memory(setup)
    )?;
    writeln!(output, "{}", placement(prepared))?;
    if args.machine.has_file() {
        for line in differences(&prepared.configuration()) {
            writeln!(output, "{line}")?;
        }
    }
    writeln!(output)
}

/// Returns the end of the machine's line, which says how memory is spread over the nodes; empty if the machine has one node.
fn memory(setup: &Setup) -> String {
    let interleave = match setup.machine.interleave() {
        Interleave::Bytes512 => "512 bytes",
        Interleave::Gigabyte => "1 GB",
    };
    match setup.memory.pages {
        _ if setup.machine.nodes() == 1 => String::new(),
        Pages::Hardware => format!("; memory: hardware, {interleave}"),
        pages => format!("; memory: {pages}"),
    }
}

/// Returns a line with the placement and the threads' strands, cut after a comma if it is too long.
fn placement(prepared: &Prepared) -> String {
    let mut line = format!("placement: {}", prepared.placement());
    if !matches!(prepared.placement(), Placement::Deal(_)) {
        let threads = prepared.placed();
        let (threads, on) = (threads.len(), strands::list(threads.iter().copied()));
        line += &match threads {
            1 => format!(", 1 thread on strand {on}"),
            _ => format!(", {threads} threads on strands {on}"),
        };
    }
    if line.len() > WIDTH {
        let end = line[..WIDTH - 3].rfind(',').unwrap_or(0);
        line.replace_range(end + 1.., "...");
    }
    line
}
