//! `events`: the summary of a simulation's events.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::output::Force;
use crate::report::events::Text;
use simulator::events::ctf;
use simulator::events::summary::Summary;

/// Summarise the events that sim wrote with --events-out
///
/// Calls by guest, register and status, how long they took, conflicts about hubs by time, and what was lost.
/// babeltrace2 and Trace Compass show the events one by one.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo xtask sim --events-out events && cargo xtask events events\n  \
                  cargo xtask events events --json summary.json\n  \
                  babeltrace2 events"
)]
pub struct Args {
    /// The directory with the trace
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Write everything to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

/// Prints the summary.
///
/// # Errors
/// The directory is no trace of this program, or it is broken, or the file cannot be written.
pub fn run(args: Args) -> anyhow::Result<()> {
    let file = args.force.create_if_wanted(args.json.as_ref())?;
    let summary = Summary::new(&ctf::read(&args.directory)?);
    write!(io::stdout().lock(), "{}", Text(&summary))?;
    if let Some(file) = file {
        file.complete_json(&summary)?;
    }
    Ok(())
}
