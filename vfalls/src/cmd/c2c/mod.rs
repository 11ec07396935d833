//! `c2c`: shows the lines of memory that move between nodes, and the code that uses them.

mod text;

use crate::plain;
use std::io::Write;
use std::path::PathBuf;

use crate::cmd::machine::ReplayMachineArgs;
use crate::cmd::region::RegionArgs;
use crate::cmd::source::{SourceArgs, counted};
use crate::output::{self, Force};
use crate::progress::{advance, progress_bar};
use crate::say::say;
use crate::symbols::Symbols;
use anyhow::bail;
use simulator::analysis::profile::functions::Functions;
use simulator::analysis::sharing::{Code, Job, SharingReport};
use simulator::machine::configuration::Configuration;
use simulator::recording::{CodeImage, without_image};
use simulator::replay::placement::Placement;
use simulator::run::Run;

/// Show the lines of memory that move between nodes, and the threads and functions that use their bytes
///
/// Replays a program and, like perf c2c, finds the lines that move most between the L2 caches of the nodes. Shows for each line the
/// nodes, threads, functions and source lines that read and write its bytes. If the nodes use different bytes of a line, this is false
/// sharing: the program is replayed again with these bytes in separate lines, to show what the separation saves.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  vfalls c2c\n  vfalls c2c -- ./program its arguments\n  \
                  vfalls c2c --place one-per-core --memory first-touch --most 3 --json c2c.json program.refs")]
pub(crate) struct C2cArgs {
    #[command(flatten)]
    machine: ReplayMachineArgs,

    /// Which strand executes which thread: spread (the next thread on the next node, then the next core), pack (strand after
    /// strand), one-per-core (core after core), a list such as 0,8,64-71, or deal:LIST (artificial: the references of one
    /// thread, dealt to these strands) [default: spread, or as the recording says]
    #[arg(long, value_name = "PLACEMENT")]
    place: Option<Placement>,

    /// Show at most N lines: those that move most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    most: u16,

    /// The recorded program, an ELF file, for the names of its functions; or a copy of a file that the recording names
    #[arg(long, value_name = "ELF")]
    symbols: Option<PathBuf>,

    #[command(flatten)]
    region: RegionArgs,

    #[command(flatten)]
    source: SourceArgs,

    /// Write everything to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

pub(crate) fn run(args: C2cArgs) -> anyhow::Result<()> {
    let source = args.source.resolve()?;
    if let Some(path) = source.stream() {
        bail!(
            "{}: expected a file, which is replayed several times, found a stream",
            path.display()
        );
    }
    let Configuration { machine, memory } = args.machine.configuration()?;
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let programs = counted(source.open_one()?);
    let symbols =
        Symbols::of_recordings(&programs, source.is_bundled(), args.symbols.as_deref(), None)?;
    let place = args.place.as_ref();
    let region = args.region.region(&source, &programs, symbols.as_ref(), machine, place)?;
    let bar = progress_bar(&programs)?;
    drop(programs);
    let job = Job::new(machine)
        .memory(memory)
        .placement(args.place)
        .most(args.most.into())
        .region(region);
    let open = || source.open().map(counted);
    let mut found = job.run(open, |_, progress| advance(&bar, progress))?;
    bar.finish_and_clear();
    name(&mut found, symbols.as_ref());
    for note in &found.notes {
        say(format_args!("note: {note}"));
    }
    let stdout = &mut plain::stdout();
    text::print(stdout, &found)?;
    stdout.flush()?;
    symbols.iter().for_each(Symbols::note_unusable);
    output::complete_run(json, &Run::from(found))
}

/// Adds names to a report: the variables in each line, and the function and source line of each
/// user of the line.
fn name(found: &mut SharingReport, symbols: Option<&Symbols>) {
    for line in &mut found.lines {
        let image = line.users.iter().find_map(|user| user.instruction).map(CodeImage::of);
        let address = image.unwrap_or_default().address(line.address);
        let addresses = address..address.saturating_add(64);
        let variables = symbols.map(|symbols| symbols.variables(addresses));
        let variables = variables.into_iter().flatten().map(str::to_owned);
        line.variables = Some(variables.collect());
        for user in &mut line.users {
            let function = user.instruction.map(|address| {
                let known = symbols.and_then(|symbols| symbols.function(address));
                let unknown = || format!("{:#x}", without_image(address));
                known.map_or_else(unknown, |(_, name)| name.to_owned())
            });
            let symbols = symbols.zip(user.instruction);
            let source = symbols.and_then(|(symbols, address)| symbols.line(address));
            user.code = Some(Code {
                node: user.strand.node(),
                function,
                source: source.map(|(file, line)| format!("{file}:{line}")),
            });
            user.instruction = user.instruction.map(without_image);
        }
    }
}
