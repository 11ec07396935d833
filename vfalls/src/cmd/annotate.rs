//! `annotate`: shows the source lines or instructions of a function, with their samples and events.

use crate::plain;
use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;

use crate::cmd::report::annotate::Annotator;
use crate::cmd::report::sampling::SamplingArgs;
use crate::cmd::report::text;

/// Show the samples and the true events of each source line or instruction of a function
///
/// Samples a program as vfalls report does. The lines of inlined functions are listed under their own files.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  vfalls annotate -e DC_miss look_up_price --bundled\n  \
                  vfalls annotate -e L2_dmiss_ld --asm work program.refs\n  \
                  vfalls annotate work -- ./program its arguments")]
pub(crate) struct AnnotateArgs {
    /// The function: its name, or the last part of a C++ or Rust path
    #[arg(value_name = "FUNCTION")]
    function: String,

    /// Show this function, too (may be repeated)
    #[arg(long, value_name = "FUNCTION")]
    also: Vec<String>,

    /// Show instructions instead of source lines
    #[arg(long)]
    asm: bool,

    /// Look for moved source files in this directory: DIR/a/b.c, or else DIR/b.c, stands for /build/a/b.c
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,

    #[command(flatten)]
    sampling: SamplingArgs,
}

pub(crate) fn run(args: AnnotateArgs) -> anyhow::Result<()> {
    let sampled = args.sampling.sample(false, false, false)?;
    let Some(symbols) = &sampled.symbols else {
        bail!("annotate needs the program's functions: name its file with --symbols")
    };
    let annotator = Annotator {
        report: &sampled.report,
        symbols,
        is_bundled: sampled.is_bundled,
        source: args.source,
        instructions: args.asm,
    };
    let output = &mut plain::stdout();
    writeln!(output, "# {}", sampled.line)?;
    text::print_header(output, &sampled.report)?;
    for name in [&args.function].into_iter().chain(&args.also) {
        annotator.print(output, name)?;
    }
    Ok(output.flush()?)
}
