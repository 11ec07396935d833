//! `c2c`: shows the lines that nodes take from each other, and the code that uses them.

mod text;

use std::io::{self, Write};
use std::path::PathBuf;

use crate::cmd::machine::ConfiguredArgs;
use crate::cmd::source::SourceArgs;
use crate::cmd::stat::progress_bar;
use crate::output::Force;
use crate::say::say;
use crate::symbols::Symbols;
use anyhow::bail;
use simulator::analysis::profile::functions::Functions;
use simulator::analysis::sharing::{Code, Job, SharingReport};
use simulator::machine::configuration::Configuration;
use simulator::replay::placement::Placement;
use simulator::run::Run;

/// Show which lines of memory the nodes take from each other, and who uses which of their bytes
///
/// Replays a program, as perf c2c watches one: finds the lines that move most between the L2 caches of the nodes, and for each of
/// them who reads and writes which bytes: node, thread, function and source line. If the nodes use different bytes of a line,
/// that is false sharing: then the program is replayed once more with these bytes in lines of their own, and what that
/// saves is said.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  vfalls c2c\n  vfalls c2c -- ./program its arguments\n  \
                  vfalls c2c --place one-per-core --most 3 --json c2c.json program.refs")]
pub struct Args {
    #[command(flatten)]
    machine: ConfiguredArgs,

    /// Which strand executes which thread: spread (the next thread on the next node, then the next core), pack (strand after
    /// strand), one-per-core (core after core), a list such as 0,8,64-71, or deal:LIST (artificial: the references of one
    /// thread, dealt) [default: spread, or as the recording says]
    #[arg(long, value_name = "PLACEMENT")]
    place: Option<Placement>,

    /// Show at most so many lines: those that move most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    most: u16,

    /// The program that was recorded, an ELF file, for the names of its functions; if the recording says which files these are:
    /// a copy of one of them
    #[arg(long, value_name = "ELF")]
    symbols: Option<PathBuf>,

    #[command(flatten)]
    source: SourceArgs,

    /// Write everything to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

/// Runs the command.
///
/// # Errors
/// Bad input, or the work finds a defect.
pub fn run(args: Args) -> anyhow::Result<()> {
    let source = args.source.resolve()?;
    if let Some(path) = source.stream() {
        bail!(
            "{}: expected a file, which is replayed several times, found a stream",
            path.display()
        );
    }
    let Configuration { machine, memory } = args.machine.configuration()?;
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let mut open = || source.open_first();
    let program = source.open_one()?;
    let mapped = Symbols::mapped(program.mappings()).filter(|_| !source.is_bundled());
    let symbols = match (&args.symbols, mapped) {
        (Some(path), Some(mapped)) => Some(mapped.with(path)?),
        (Some(path), None) => Some(Symbols::open(path, None)?),
        (None, mapped) => mapped.or_else(|| source.is_bundled().then(Symbols::bundled)),
    };
    let bar = progress_bar(std::slice::from_ref(&program))?;
    drop(program);
    let job = Job {
        open: &mut open,
        machine,
        memory,
        placement: args.place,
        most: args.most.into(),
        progress: &mut |_, bytes| bar.set_position(bytes),
    };
    let mut found = job.run()?;
    bar.finish_and_clear();
    name(&mut found, symbols.as_ref());
    for note in &found.notes {
        say(format_args!("note: {note}"));
    }
    let output = &mut io::BufWriter::new(io::stdout().lock());
    text::print(output, &found)?;
    output.flush()?;
    for line in symbols.iter().flat_map(Symbols::unusable) {
        say(format_args!("note: functions without names: {line}"));
    }
    match json {
        Some(json) => json.complete_json(&Run::from(found)),
        None => Ok(()),
    }
}

/// Fills in the variables of each line, and the function and source of each of its users.
fn name(found: &mut SharingReport, symbols: Option<&Symbols>) {
    for line in &mut found.lines {
        let addresses = line.address..line.address.saturating_add(64);
        let variables = symbols.map(|symbols| symbols.variables(addresses));
        let variables = variables.into_iter().flatten().map(str::to_owned);
        line.variables = Some(variables.collect());
        for user in &mut line.users {
            let function = user.instruction.map(|address| {
                let known = symbols.and_then(|symbols| symbols.function(address));
                known.map_or_else(|| format!("{address:#x}"), |(_, name)| name.to_owned())
            });
            let symbols = symbols.zip(user.instruction);
            let source = symbols.and_then(|(symbols, address)| symbols.line(address));
            user.code = Some(Code {
                node: user.strand.node().index(),
                function,
                source: source.map(|(file, line)| format!("{file}:{line}")),
            });
        }
    }
}
