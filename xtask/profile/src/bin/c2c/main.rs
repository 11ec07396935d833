//! Shows which lines nodes take from each other, and who uses them. Run it by `cargo xtask c2c`.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod json;
mod text;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Parser;
use profile::symbols::Symbols;
use simulator::configuration::Configuration;
use simulator::placement::Placement;
use simulator::recording::{Recording, bundled};
use simulator::sharing::Job;
use xtask::cmd::machine::ConfiguredArgs;
use xtask::cmd::sim::{progress_bar, recorded};
use xtask::exit;
use xtask::output::Force;
use xtask::say::say;

/// Show which lines of memory the nodes take from each other, and who uses which of their bytes
///
/// Replays a program, as perf c2c watches one: finds the lines that move most between the L2 caches of the nodes, and for each of
/// them who reads and writes which bytes: node, thread, function and source line. If the nodes use different bytes of a line,
/// that is false sharing: then the program is replayed once more with these bytes in lines of their own, and what that
/// saves is said.
#[derive(Parser, Debug)]
#[command(
    name = "cargo xtask c2c",
    bin_name = "cargo xtask c2c",
    after_help = "Examples:\n  cargo xtask c2c\n  cargo xtask c2c -- ./program its arguments\n  \
                  cargo xtask c2c --place one-per-core --most 3 --json c2c.json program.refs"
)]
struct Args {
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

    /// The recording to replay, plain, gzip or zstd [default: a recording that comes with the program]
    #[arg(value_name = "FILE", conflicts_with = "command")]
    recording: Option<PathBuf>,

    /// A program to run and record first, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    /// Write everything to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

fn main() -> ExitCode {
    exit::main(run)
}

fn run(args: Args) -> anyhow::Result<()> {
    // Whatever cannot be opened is named when it is opened.
    let is_stream = |path: &PathBuf| {
        path.as_os_str() == "-" || path.metadata().is_ok_and(|file| !file.is_file())
    };
    if let Some(path) = args.recording.as_ref().filter(|path| is_stream(path)) {
        bail!(
            "{}: expected a file, which is replayed several times, found a stream",
            path.display()
        );
    }
    let Configuration { machine, memory } = args.machine.configuration()?;
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let temporary = match args.command.is_empty() {
        true => None,
        false => Some(recorded(&args.command)?),
    };
    let file = args
        .recording
        .as_deref()
        .or(temporary.as_ref().map(|file| file.temporary()));
    let mut open = || file.map_or_else(|| Ok(bundled()), Recording::open);

    let program = open()?;
    let mapped = file.and_then(|_| Symbols::mapped(program.mappings()));
    let symbols = match (&args.symbols, mapped) {
        (Some(path), Some(mapped)) => Some(mapped.with(path)?),
        (Some(path), None) => Some(Symbols::open(path, None)?),
        (None, mapped) => mapped.or_else(|| file.is_none().then(Symbols::bundled)),
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
    let report = job.run()?;
    bar.finish_and_clear();
    if let Some(temporary) = temporary {
        temporary.discard()?;
    }
    for note in &report.notes {
        say(format_args!("note: {note}"));
    }
    let output = &mut io::BufWriter::new(io::stdout().lock());
    text::print(output, &report, symbols.as_ref())?;
    output.flush()?;
    for line in symbols.iter().flat_map(Symbols::unusable) {
        say(format_args!("note: functions without names: {line}"));
    }
    match json {
        Some(json) => json.complete_json(&json::value(&report, symbols.as_ref())),
        None => Ok(()),
    }
}
