//! `events`: the summary of a simulation's events, and the layouts of event headers.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

use hv_core::trace::Conditions;
use serde::Serialize;

use crate::output::{Force, OutputFile};
use crate::report::events::Text;
use crate::report::layouts::Text as LayoutsText;
use simulator::events::ctf;
use simulator::events::layouts::Layouts;
use simulator::events::summary::Summary;
use simulator::machine::clock::HZ;

/// Summarise the events that sim wrote with --events-out
///
/// Calls by guest, register and status, how long they took, conflicts about hubs by time, and what was lost.
/// babeltrace2 and Trace Compass show the events one by one.
///
/// With --layouts: the layouts of event headers, and what they mean at a clock.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo xtask sim --events-out events && cargo xtask events events\n  \
                  cargo xtask events events --json summary.json\n  \
                  babeltrace2 events\n  \
                  cargo xtask events --layouts --hz 4000000000 --timer-hz 1000"
)]
pub struct Args {
    /// The directory with the trace
    #[arg(
        value_name = "DIR",
        required_unless_present = "layouts",
        conflicts_with = "layouts"
    )]
    directory: Option<PathBuf>,

    /// Write everything to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,

    /// List the layouts of event headers: their bits, granularity, wraps, and the distance of heartbeats
    #[arg(long)]
    layouts: bool,

    #[command(flatten)]
    conditions: ConditionArgs,
}

/// The conditions under which events are recorded.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Layouts")]
struct ConditionArgs {
    /// The rate of the clock
    #[arg(long, value_name = "HZ", default_value_t = HZ, conflicts_with = "directory",
          value_parser = clap::value_parser!(u64).range(1..))]
    hz: u64,

    /// The duration of a probe: two events of a strand are never closer
    #[arg(
        long,
        value_name = "NS",
        default_value_t = 200,
        conflicts_with = "directory"
    )]
    probe_ns: u64,

    /// The rate of the timer interrupt, which records heartbeats; 0 if there is none
    #[arg(
        long,
        value_name = "HZ",
        default_value_t = 100,
        conflicts_with = "directory"
    )]
    timer_hz: u64,

    /// The longest time for which interrupts are off
    #[arg(
        long,
        value_name = "NS",
        default_value_t = 20_000_000,
        conflicts_with = "directory"
    )]
    longest_off_ns: u64,
}

/// Prints the summary or the layouts.
///
/// # Errors
/// The directory is no trace of this program, or it is broken, or the file cannot be written.
pub fn run(args: Args) -> anyhow::Result<()> {
    let file = args.force.create_if_wanted(args.json.as_ref())?;
    match &args.directory {
        Some(directory) => {
            let summary = Summary::new(&ctf::read(directory)?);
            show(&Text(&summary), &summary, file)
        }
        None => {
            let ConditionArgs {
                hz,
                probe_ns,
                timer_hz,
                longest_off_ns,
            } = args.conditions;
            let layouts = Layouts::new(Conditions {
                hz,
                probe_ns,
                timer_hz,
                longest_off_ns,
            });
            show(&LayoutsText(&layouts), &layouts, file)
        }
    }
}

/// Prints a text, and writes the values to the file, if there is one.
fn show(
    text: &impl Display,
    values: &impl Serialize,
    file: Option<OutputFile>,
) -> anyhow::Result<()> {
    write!(io::stdout().lock(), "{text}")?;
    match file {
        Some(file) => file.complete_json(values),
        None => Ok(()),
    }
}
