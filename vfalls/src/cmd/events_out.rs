//! The options and output files for the events that `stat` and `boot` collect.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::cmd::by_name;
use crate::output::{Force, OutputDirectory, OutputFile};
use simulator::events::collect::Retention;
use simulator::events::ctf::{self, Endian};
use simulator::events::layouts::LayoutName;
use simulator::events::{Epoch, Trace, chrome};
use simulator::replay::Tracing;

/// The latest time at which a machine can start, in seconds since 1970 (in the year 2255). babeltrace2 has only 63 bits for nanoseconds since
/// 1970.
const LATEST_EPOCH: u64 = 9_000_000_000;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Events")]
pub(crate) struct FileArgs {
    /// Write the hypervisor's events to a directory, for babeltrace2, Trace Compass and vfalls events (CTF 1.8)
    #[arg(long, value_name = "DIR")]
    events_out: Option<PathBuf>,

    /// The byte order of the directory's files: be, le
    #[arg(long, value_name = "ORDER", default_value = "be", value_parser = endian, requires = "events_out")]
    events_endian: Endian,

    /// Date the events: the machine starts at this time, in seconds since 1970. Tools can then
    /// merge these events with events from other clocks
    #[arg(long, value_name = "SECONDS", requires = "events_out",
          value_parser = clap::value_parser!(u64).range(..=LATEST_EPOCH))]
    events_epoch: Option<u64>,

    /// Write the hypervisor's events to a file, for Perfetto and chrome://tracing (JSON)
    #[arg(long, value_name = "FILE")]
    events_chrome: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Events")]
pub(crate) struct TracingArgs {
    #[command(flatten)]
    pub(crate) files: FileArgs,

    /// The layout of event headers in the hypervisor's rings; vfalls events --layouts lists them
    #[arg(long, value_name = "LAYOUT", default_value = "clock27", value_parser = layout)]
    events_layout: LayoutName,

    /// Keep all events, or the first or the last events that the hypervisor's rings hold: all, first, last
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = keep)]
    events_keep: Retention,
}

impl FileArgs {
    /// Returns `true` if the user named an output file or directory for events.
    pub(crate) fn wanted(&self) -> bool {
        self.events_out.is_some() || self.events_chrome.is_some()
    }

    /// Creates another directory for events, with the same options.
    pub(crate) fn directory(&self, path: &PathBuf, force: Force) -> anyhow::Result<Outputs> {
        Ok(Outputs { directory: Some((create(path, force)?, self.events_endian)), chrome: None })
    }

    /// Returns the start time of the machine; `None` if the user gives no time.
    pub(crate) fn epoch(&self) -> Option<Epoch> {
        self.events_epoch.map(|seconds| Epoch { seconds, ticks: 0 })
    }
}

/// Creates the directory of a trace.
fn create(path: &PathBuf, force: Force) -> anyhow::Result<OutputDirectory> {
    OutputDirectory::create(path, |there: &Path| {
        ensure!(
            ctf::is_ours(there),
            "{}: is not empty, and does not hold a trace that vfalls wrote",
            there.display()
        );
        force.check(there)
    })
}

impl TracingArgs {
    /// Returns how a replay collects events; `None` if the user asks for no events.
    pub(crate) fn tracing(&self) -> Option<Tracing> {
        self.files.wanted().then_some(Tracing {
            layout: self.events_layout,
            keep: self.events_keep,
            epoch: self.files.epoch(),
        })
    }
}

fn endian(text: &str) -> anyhow::Result<Endian> {
    by_name("byte order", text, &Endian::ALL, Endian::name)
}

pub(crate) fn layout(text: &str) -> anyhow::Result<LayoutName> {
    by_name("layout", text, LayoutName::ALL, LayoutName::name)
}

fn keep(text: &str) -> anyhow::Result<Retention> {
    by_name("choice", text, Retention::ALL, Retention::name)
}

pub(crate) struct Outputs {
    directory: Option<(OutputDirectory, Endian)>,
    chrome: Option<OutputFile>,
}

impl Outputs {
    /// Creates the files that `args` name. `force` determines whether existing files may be replaced. A directory can be replaced only if
    /// it is empty or contains a trace.
    pub(crate) fn create(args: &FileArgs, force: Force) -> anyhow::Result<Self> {
        let directory = args.events_out.as_ref().map(|path| create(path, force)).transpose()?;
        Ok(Self {
            directory: directory.map(|directory| (directory, args.events_endian)),
            chrome: force.create_if_wanted(args.events_chrome.as_ref())?,
        })
    }

    pub(crate) fn complete(self, trace: &Trace) -> anyhow::Result<()> {
        if let Some(mut file) = self.chrome {
            let mut output = BufWriter::new(&mut file);
            chrome::write(trace, &mut output)
                .and_then(|()| output.flush())
                .context("the Chrome trace cannot be written")?;
            drop(output);
            file.complete()?;
        }
        if let Some((directory, endian)) = self.directory {
            ctf::write(trace, endian, |name, bytes| directory.write(name, bytes))?;
            directory.complete()?;
        }
        Ok(())
    }
}
