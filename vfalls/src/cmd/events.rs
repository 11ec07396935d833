//! `events`: the summary of an event trace, and the layouts of event headers.

use crate::plain;
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;

use hv_core::trace::Conditions;
use serde::Serialize;

use crate::output::{self, Force, OutputFile};
use crate::text::events::SummaryText;
use crate::text::layouts::LayoutsText;
use simulator::events::ctf;
use simulator::events::layouts::Layouts;
use simulator::events::summary::Summary;
use simulator::machine::clock::HZ;

/// Summarise the events that stat or boot wrote with --events-out
///
/// Prints the calls by guest, register and status, their durations, conflicts over hubs by time, and the number of lost events.
/// babeltrace2 and Trace Compass show the events one by one.
///
/// With --layouts, prints the layouts of event headers instead, with their properties at a clock.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  vfalls stat --events-out events && vfalls events events\n  \
                  vfalls events events --json summary.json\n  \
                  babeltrace2 events\n  \
                  vfalls events --layouts --hz 4000000000 --timer-hz 1000")]
pub(crate) struct EventsArgs {
    /// The directory with the trace
    #[arg(value_name = "DIR", required_unless_present = "layouts", conflicts_with = "layouts")]
    directory: Option<PathBuf>,

    /// Write the summary or the layouts to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,

    /// List the layouts of event headers: their bits, granularity, wraps, and the time between heartbeats
    #[arg(long)]
    layouts: bool,

    #[command(flatten)]
    conditions: ConditionArgs,
}

/// The clock and the timer for which the layouts are computed.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Layouts")]
struct ConditionArgs {
    /// The rate of the clock
    #[arg(long, value_name = "HZ", default_value_t = HZ, conflicts_with = "directory",
          value_parser = clap::value_parser!(u64).range(1..))]
    hz: u64,

    /// The duration of a probe, which is the shortest time between two events of a strand
    #[arg(long, value_name = "NS", default_value_t = 200, conflicts_with = "directory")]
    probe_ns: u64,

    /// The rate of the timer interrupt, which records heartbeats; 0 if there is none
    #[arg(long, value_name = "HZ", default_value_t = 100, conflicts_with = "directory")]
    timer_hz: u64,

    /// The longest time for which interrupts are off
    #[arg(long, value_name = "NS", default_value_t = 20_000_000, conflicts_with = "directory")]
    longest_off_ns: u64,
}

pub(crate) fn run(args: EventsArgs) -> anyhow::Result<()> {
    let file = args.force.create_if_wanted(args.json.as_ref())?;
    match &args.directory {
        Some(directory) => {
            let summary = Summary::new(&ctf::read(directory)?);
            show(&SummaryText(&summary), &summary, file)
        }
        None => {
            let ConditionArgs { hz, probe_ns, timer_hz, longest_off_ns } = args.conditions;
            let layouts = Layouts::new(Conditions { hz, probe_ns, timer_hz, longest_off_ns });
            show(&LayoutsText(&layouts), &layouts, file)
        }
    }
}

fn show(
    text: &impl Display,
    values: &impl Serialize,
    file: Option<OutputFile>,
) -> anyhow::Result<()> {
    let mut output = plain::stdout();
    write!(output, "{text}")?;
    output.flush()?;
    output::complete_json(file, values)
}
