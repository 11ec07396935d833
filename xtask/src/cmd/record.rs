//! `record`: makes a recording of a program.

use std::ffi::OsString;
use std::path::PathBuf;

use indicatif::HumanBytes;

use crate::output::Force;
use crate::recorder::{self, Options, Recorded};
use crate::say::say;

/// Record the memory references of a program and its threads
///
/// The program, for x86-64 or SPARC V9, runs under QEMU's user-mode emulator, ten to twenty times slower than there without
/// being recorded, with the standard input, output and error of this command. Programs that it starts are not recorded. After
/// an interrupt the program is ended, and what it has done is kept. The recording appears under its name once it is complete;
/// until then it grows under a hidden name beside it (.NAME.*.partial), which can be read.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo xtask record -o sort.refs -- sort --numeric-sort numbers.txt\n  \
                        cargo xtask sim sort.refs\n\n\
                  A SPARC V9 program, linked statically or with the libraries of the cross compiler:\n  \
                        sparc64-linux-gnu-gcc -O2 -o sums sums.c -lpthread\n  \
                        cargo xtask record -o sums.refs -- ./sums"
)]
pub struct Args {
    /// Write the recording to this file
    #[arg(short, long, value_name = "FILE", default_value = "recording.refs")]
    output: PathBuf,

    #[command(flatten)]
    force: Force,

    /// End the program soon after this many references
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// Look for the program's shared libraries in this directory [default for SPARC V9: /usr/sparc64-linux-gnu]
    #[arg(long, value_name = "DIR")]
    sysroot: Option<PathBuf>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Records a program.
///
/// # Errors
/// As [`recorder::record`]; or the file is there. No file is left after an error.
pub fn run(args: Args) -> anyhow::Result<()> {
    let options = Options {
        limit: args.limit,
        sysroot: args.sysroot.as_deref(),
    };
    recorder::check(&args.command, options)?;
    let output = args.force.create(&args.output)?;
    let recorded = recorder::record(&args.command, output.temporary(), options)?;
    output.complete()?;
    say(format_args!("recorded {}", summary(&recorded, &args)));
    for note in recorded.end.iter().chain(&recorded.notes) {
        say(note);
    }
    Ok(())
}

fn summary(recorded: &Recorded, args: &Args) -> String {
    let (file, size) = (args.output.display(), HumanBytes(recorded.bytes));
    let bytes = recorded.bytes as f64 / recorded.references as f64;
    format!("{recorded} in {file} ({size}, {bytes:.2} bytes a reference)")
}
