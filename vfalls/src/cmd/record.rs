//! `record`: records the memory references of a program.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use indicatif::HumanBytes;

use crate::cmd::source;
use crate::output::{Force, OutputFile};
use crate::plain;
use crate::recorder::{self, Options, Recorded};
use crate::say::say;

/// Record the memory references of a program, its threads and its processes
///
/// The program, for x86-64 or SPARC V9, executes under QEMU's user-mode emulator (Debian's package qemu-user) with the standard input,
/// output and error of this command; recording makes the emulated program about ten times slower. Processes that the program forks are
/// recorded, too, and so are the programs that they execute, if these programs are for the same architecture; messages name the programs
/// that are not recorded. An interrupt ends the program, and the recording up to the interrupt is kept. A recording gets its name when it
/// is complete; until then it grows, and can be read, under a hidden name in the same directory (.NAME.*.partial).
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  vfalls record -- sort --numeric-sort numbers.txt   # into vfalls.refs\n  \
                        vfalls record -o sort.refs -- sort --numeric-sort numbers.txt\n  \
                        vfalls record -- sh script.sh                       # a script, and the programs that it starts\n  \
                        vfalls record --only compress -o compress.refs -- ./program   # one function alone\n  \
                        vfalls stat sort.refs\n\n\
                  A SPARC V9 program, linked statically or with the libraries of the cross compiler:\n  \
                        sparc64-linux-gnu-gcc -O2 -o sums sums.c -lpthread\n  \
                        vfalls record -o sums.refs -- ./sums"
)]
pub(crate) struct RecordArgs {
    /// Write the recording to this file [default: vfalls.refs; an older one becomes vfalls.refs.old]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    force: Force,

    /// End the program and its processes soon after they have made this many references together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// Record only while a thread executes this function of the program or of its libraries, or anything that this function calls. The rest
    /// of the program executes as fast as under the emulator alone
    #[arg(long, value_name = "FUNCTION")]
    only: Option<String>,

    /// Look for the program's shared libraries in this directory [default for SPARC V9: /usr/sparc64-linux-gnu]
    #[arg(long, value_name = "DIR")]
    sysroot: Option<PathBuf>,

    /// Print the C header vfalls-marker.h. Its macro VFALLS_MARKER(frame) marks a point in a program. The options --from, --to, --phase and
    /// --warm-up call this point marker:frame
    #[arg(long, exclusive = true)]
    marker_header: bool,

    /// The program and its arguments
    #[arg(
        required_unless_present = "marker_header",
        trailing_var_arg = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// The C header that defines markers.
const MARKER_HEADER: &str = include_str!("vfalls-marker.h");

pub(crate) fn run(args: RecordArgs) -> anyhow::Result<()> {
    if args.marker_header {
        let mut output = plain::stdout();
        write!(output, "{MARKER_HEADER}")?;
        return Ok(output.flush()?);
    }
    let options =
        Options { limit: args.limit, sysroot: args.sysroot.as_deref(), only: args.only.as_deref() };
    recorder::check(&args.command, options)?;
    let output = match &args.output {
        Some(path) => args.force.create(path)?,
        None => OutputFile::create(source::DEFAULT, true)?,
    };
    let recorded = recorder::record(&args.command, output.temporary(), options)?;
    match &args.output {
        Some(_) => output.complete()?,
        None => source::keep(output)?,
    }
    say(format_args!("recorded {}", summary(&recorded, &args)));
    for note in recorded.end.iter().chain(&recorded.notes) {
        say(note);
    }
    Ok(())
}

fn summary(recorded: &Recorded, args: &RecordArgs) -> String {
    let file = args.output.as_deref().unwrap_or(Path::new(source::DEFAULT));
    let (file, size) = (file.display(), HumanBytes(recorded.bytes));
    let bytes = recorded.bytes as f64 / recorded.references as f64;
    // Shows two significant digits, because recordings take from 0.001 to 1 byte for each reference.
    let digits = 1 - bytes.log10().floor().clamp(-4.0, 1.0) as i32;
    let digits = digits.unsigned_abs() as usize;
    format!("{recorded} in {file} ({size}, {bytes:.digits$} bytes a reference)")
}
