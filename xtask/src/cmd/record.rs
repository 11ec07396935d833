//! `record`: makes a recording of a program.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressFinish, ProgressStyle};

use crate::interrupt::{self, Interrupted};
use crate::output::{Force, OutputFile};
use crate::say::say;
use crate::tools::{self, VALGRIND};
use simulator::recording::lackey::Lackey;
use simulator::recording::{Kind, RecordingWriter, Reference};

/// Record the memory references of a program, with valgrind's lackey
///
/// The program runs some hundred times slower than it does by itself, with the standard input, output and error of this
/// command. Programs that it starts are not recorded. The recording is compressed with gzip, and appears under its name
/// once it is complete.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  cargo xtask record -o sort.gz -- sort --numeric-sort numbers.txt\n  \
                        cargo xtask sim sort.gz"
)]
pub struct Args {
    /// Write the recording to this file
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "recording.lackey.gz"
    )]
    output: PathBuf,

    #[command(flatten)]
    force: Force,

    /// End the program after this many references
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Records a program.
///
/// # Errors
/// The program is not found or makes no reference under valgrind, valgrind is missing and cannot be installed, the
/// file cannot be written, or the work was interrupted ([`Interrupted`]). No file is left after an error.
pub fn run(args: Args) -> anyhow::Result<()> {
    let program = args.command[0].to_string_lossy();
    ensure!(
        tools::find(&args.command[0]).is_some(),
        "there is no program '{program}', expected one to run"
    );
    let output = args.force.create(&args.output)?;
    let valgrind = VALGRIND.require()?;
    let recorded = record(&valgrind, &args, output)?;
    say(format_args!("recorded {}", recorded.summary(&args)));
    Ok(())
}

/// What was recorded.
struct Recorded {
    counts: Counts,
    bytes: u64,
    /// `None` if the program was ended at the limit.
    status: Option<ExitStatus>,
}

fn record(valgrind: &Path, args: &Args, output: OutputFile) -> anyhow::Result<Recorded> {
    interrupt::catch()?;
    let written = || format!("{}: cannot be written", args.output.display());
    let mut lackey = Lackey::start(valgrind, &args.command, args.limit, interrupt::happened)
        .with_context(|| format!("{} cannot be run", valgrind.display()))?;
    let mut writer = RecordingWriter::new(GzEncoder::new(output, Compression::fast()));
    let copied = copy(&mut lackey, &mut writer, written);
    ensure!(!interrupt::happened(), Interrupted);
    let counts = copied?;
    let ended = args.limit != Some(counts.total());
    let status = if ended { Some(lackey.wait()?) } else { None };
    drop(lackey);

    let output = writer.into_inner().finish().with_context(written)?;
    output.complete()?;
    let bytes = fs::metadata(&args.output).with_context(written)?.len();
    Ok(Recorded {
        counts,
        bytes,
        status,
    })
}

/// Writes all references of the program. Returns how many of each kind there are.
fn copy(
    lackey: &mut Lackey,
    writer: &mut RecordingWriter<impl Write>,
    written: impl Fn() -> String,
) -> anyhow::Result<Counts> {
    let style = ProgressStyle::with_template("{spinner} {human_pos} references, {elapsed}")?;
    let spinner = ProgressBar::new_spinner()
        .with_style(style)
        .with_finish(ProgressFinish::AndClear);
    spinner.enable_steady_tick(Duration::from_millis(100));
    let mut counts = Counts::default();
    let mut block = Vec::new();
    while lackey.next_block(&mut block)? {
        counts.add(&block);
        writer.write(&block).with_context(&written)?;
        spinner.set_position(counts.total());
    }
    Ok(counts)
}

impl Recorded {
    fn summary(&self, args: &Args) -> String {
        let Counts {
            fetches,
            loads,
            stores,
            modifies,
        } = self.counts;
        let [total, fetches, loads, stores, modifies] =
            [self.counts.total(), fetches, loads, stores, modifies].map(HumanCount);
        let end = match self.status {
            None => "; the program was ended there".into(),
            Some(status) if status.success() => String::new(),
            Some(status) => format!("; the program ended with {status}"),
        };
        let (file, size) = (args.output.display(), HumanBytes(self.bytes));
        format!(
            "{total} references ({fetches} fetches, {loads} loads, {stores} stores, {modifies} modifies) \
             in {file} ({size}){end}"
        )
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    fetches: u64,
    loads: u64,
    stores: u64,
    modifies: u64,
}

impl Counts {
    fn add(&mut self, references: &[Reference]) {
        for reference in references {
            let count = match reference.kind {
                Kind::FetchOther | Kind::FetchLoad | Kind::FetchStore | Kind::FetchModify => {
                    &mut self.fetches
                }
                Kind::Load => &mut self.loads,
                Kind::Store => &mut self.stores,
                Kind::Modify => &mut self.modifies,
            };
            *count += 1;
        }
    }

    fn total(&self) -> u64 {
        self.fetches + self.loads + self.stores + self.modifies
    }
}

#[cfg(test)]
mod tests;
