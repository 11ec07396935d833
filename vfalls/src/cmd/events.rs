//! `events`: prints the summary of an event trace, or the layouts of event headers.

use crate::plain;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use hv_core::trace::Conditions;
use platform::memory_map::HYPERVISOR;
use serde::Serialize;

use crate::cmd::boot::elf;
use crate::cmd::events_out::{FileArgs, Outputs, layout};
use crate::numbers;
use crate::output::{self, Force, OutputFile};
use crate::text::events::SummaryText;
use crate::text::layouts::LayoutsText;
use simulator::events::kinds::EventKinds;
use simulator::events::layouts::{LayoutName, Layouts};
use simulator::events::rings::Dump;
use simulator::events::summary::Summary;
use simulator::events::{Trace, ctf};
use simulator::input;
use simulator::machine::clock::HZ;

/// Summarise the events that stat or boot wrote with --events-out
///
/// Prints the calls by guest, register and status, their durations, conflicts over hubs by time, and the number of lost events.
/// babeltrace2 and Trace Compass show the events one by one.
///
/// With --memory, reads the events in the rings of a hypervisor, from a dump of its machine's memory. With --layouts, prints the layouts
/// of event headers instead, with their properties at a clock.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  vfalls stat --events-out events && vfalls events events\n  \
                  vfalls events events --json summary.json\n  \
                  babeltrace2 events\n  \
                  vfalls events --memory dump.bin --layout clock27 --events-out events\n  \
                  vfalls events --layouts --hz 4000000000 --timer-hz 1000")]
pub(crate) struct EventsArgs {
    /// The directory with the trace
    #[arg(value_name = "DIR", required_unless_present_any = ["layouts", "memory"], conflicts_with_all = ["layouts", "memory"])]
    directory: Option<PathBuf>,

    /// Read the hypervisor's rings in this dump of a machine's memory instead; the machine may
    /// hang. boot --dump writes such a file, and so does gdb with the command: dump binary memory
    /// FILE 0x100000 0x4000000
    #[arg(long, value_name = "FILE", conflicts_with = "layouts")]
    memory: Option<PathBuf>,

    /// The physical address of the first byte of the dump [default: 0x100000, the start of the hypervisor's memory]
    #[arg(long, value_name = "ADDRESS", value_parser = address, requires = "memory")]
    at: Option<u64>,

    /// The layout that the dump's rings must have [default: the layout that the rings name]
    #[arg(long, value_name = "LAYOUT", value_parser = layout, requires = "memory")]
    layout: Option<LayoutName>,

    /// The image that recorded the events: an ELF file that describes their kinds [default: the kinds of the project]
    #[arg(long, value_name = "FILE", requires = "memory")]
    image: Option<PathBuf>,

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

    #[command(flatten)]
    files: FileArgs,
}

/// The maximum length of a dump, in bytes.
const MAX_DUMP_BYTES: u64 = 4 << 30;

/// The clock and the timer for which the layouts' properties are computed.
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
    ensure!(
        args.memory.is_some() || !args.files.wanted(),
        "--events-out and --events-chrome: expected --memory FILE, the dump with the events"
    );
    let file = args.force.create_if_wanted(args.json.as_ref())?;
    let trace = match (&args.directory, &args.memory) {
        (Some(directory), _) => Some(ctf::read(directory)?),
        (None, Some(dump)) => Some(args.recorded(dump)?),
        (None, None) => None,
    };
    match trace {
        Some(trace) => {
            let summary = Summary::new(&trace);
            show(&SummaryText(&summary), &summary, file)
        }
        None => {
            let ConditionArgs { hz, probe_ns, timer_hz, longest_off_ns } = args.conditions;
            let layouts = Layouts::new(Conditions { hz, probe_ns, timer_hz, longest_off_ns });
            show(&LayoutsText(&layouts), &layouts, file)
        }
    }
}

impl EventsArgs {
    /// Reads the events in a memory dump, and writes the output files that the user wants.
    fn recorded(&self, path: &Path) -> anyhow::Result<Trace> {
        let outputs = Outputs::create(&self.files, self.force)?;
        let bytes = input::read(path, MAX_DUMP_BYTES)?;
        let dump = Dump { first: self.at.unwrap_or(HYPERVISOR.start), bytes: &bytes };
        let kinds = match &self.image {
            None => EventKinds::default(),
            Some(path) => {
                let file = input::read(path, MAX_DUMP_BYTES)?;
                let kinds = elf::parse(&file).and_then(|elf| elf::event_kinds(&elf));
                kinds.with_context(|| path.display().to_string())?
            }
        };
        let rings = dump.rings(self.layout, kinds).with_context(|| path.display().to_string())?;
        let trace = rings.trace(&dump, self.conditions.hz, Vec::new());
        let trace = Trace { epoch: self.files.epoch(), ..trace };
        outputs.complete(&trace)?;
        Ok(trace)
    }
}

/// Parses the address of a dump's first byte. Fails unless it is a multiple of 8.
fn address(text: &str) -> anyhow::Result<u64> {
    let address = numbers::parse(text).filter(|address| address.is_multiple_of(8));
    address.with_context(|| {
        format!("found '{text}', expected a multiple of 8, decimal or 0x hexadecimal")
    })
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
