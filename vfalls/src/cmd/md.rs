//! `md`: builds, prints and checks machine descriptions.

use crate::plain;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Subcommand;
use guest_abi::{Mcu, Node, StrandId};
use perfctr_service::GuestConfig;
use platform::Machine;
use platform::md::Md;
use serde::Serialize;

use crate::output::{self, Force};
use crate::table;
use simulator::machine::description::{
    Described, Description, GuestDescription, build, load, print, read,
};
use simulator::machine::strands;

/// Build, print and check machine descriptions
///
/// A machine description (MD) is what sun4v firmware tells hypervisors and guests about a machine. Its source is TOML:
/// a table for each node, with numbers, strings, data and arcs, which are arrays of labels. Sources of several machines
/// are in simulator/machines of the repository.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:\n  vfalls md build simulator/machines/batoka-4.toml -o batoka.md\n  \
                  vfalls md dump batoka.md\n  vfalls md check batoka.md"
)]
pub(crate) struct MdArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Print the source of a binary machine description
    #[command(after_help = "Example:\n  vfalls md dump batoka.md > batoka.toml")]
    Dump {
        /// The binary description
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Build a binary machine description from its source
    #[command(
        after_help = "Example:\n  vfalls md build simulator/machines/batoka-4.toml -o batoka.md"
    )]
    Build {
        /// The source
        #[arg(value_name = "FILE.toml")]
        file: PathBuf,

        /// Write the binary description to this file
        #[arg(short, long, value_name = "FILE.md")]
        output: PathBuf,

        #[command(flatten)]
        force: Force,
    },
    /// Print the machine, guests and rights that a description describes, or what is wrong with it
    #[command(after_help = "Examples:\n  vfalls md check batoka.md\n  \
                            vfalls md check --json simulator/machines/maramba-2.toml")]
    Check {
        /// The description: binary, or its source if the name ends in .toml
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: MdArgs) -> anyhow::Result<()> {
    match args.command {
        Command::Dump { file } => {
            let bytes = read(&file)?;
            let md = Md::new(&bytes).map_err(|error| anyhow!("{}: {error}", file.display()))?;
            let mut output = plain::stdout();
            write!(output, "{}", print(&Description::read(md)))?;
            Ok(output.flush()?)
        }
        Command::Build { file, output, force } => {
            let bytes = build(&file)?;
            let mut written = force.create(&output)?;
            let cannot = || format!("{}: cannot be written", output.display());
            written.write_all(&bytes).with_context(cannot)?;
            written.complete()
        }
        Command::Check { file, json } => {
            let described = describe(&file)?;
            let mut output = plain::stdout();
            if json {
                writeln!(output, "{}", output::json(&MdReport::new(&described))?)?;
            } else {
                write!(output, "{}", text(&described))?;
            }
            Ok(())
        }
    }
}

/// Reads a machine description from a binary or TOML file.
pub(crate) fn describe(file: &Path) -> anyhow::Result<Described> {
    Described::new(&load(file)?).with_context(|| file.display().to_string())
}

#[derive(Serialize)]
struct MdReport<'a> {
    nodes: usize,
    platform: Option<&'a str>,
    stick_frequency: Option<u64>,
    machine: Option<MachineReport>,
    guests: Vec<GuestReport<'a>>,
}

#[derive(Serialize)]
struct MachineReport {
    model: &'static str,
    nodes: usize,
    strands: usize,
    missing_channels: Vec<String>,
}

#[derive(Serialize)]
struct GuestReport<'a> {
    name: &'a str,
    resource_id: u64,
    gid: Option<u64>,
    strands: Vec<usize>,
    grant: String,
    compatible: bool,
}

impl<'a> MdReport<'a> {
    fn new(described: &'a Described) -> Self {
        let platform = described.platform.as_ref();
        let guest = |guest: &'a GuestDescription| {
            let GuestConfig { strands, grant, compatible } = guest.config;
            GuestReport {
                name: &guest.name,
                resource_id: guest.resource_id,
                gid: guest.gid,
                strands: strands.iter().map(StrandId::index).collect(),
                grant: grant.to_string(),
                compatible,
            }
        };
        Self {
            nodes: described.nodes,
            platform: platform.map(|platform| &*platform.name),
            stick_frequency: platform.and_then(|platform| platform.stick_frequency),
            machine: described.machine.map(|machine| MachineReport {
                model: machine.model().name(),
                nodes: machine.nodes(),
                strands: machine.strands(),
                missing_channels: missing_channels(machine),
            }),
            guests: described.guests.iter().map(guest).collect(),
        }
    }
}

/// Returns the names of the memory channels that a machine's nodes lack or have disabled.
fn missing_channels(machine: Machine) -> Vec<String> {
    let nodes = Node::ALL.iter().filter(|node| machine.has_node(**node));
    nodes
        .flat_map(|node| Mcu::ALL.iter().map(move |mcu| (*node, *mcu)))
        .filter(|(node, mcu)| !machine.has_channel(*node, *mcu))
        .map(|(node, mcu)| format!("{}_{}", node.text(), mcu.text()))
        .collect()
}

fn text(described: &Described) -> String {
    let mut lines = vec![("nodes", described.nodes.to_string())];
    if let Some(platform) = &described.platform {
        lines.push(("platform", platform.name.clone()));
        if let Some(frequency) = platform.stick_frequency {
            lines.push(("%stick", format!("{frequency} Hz")));
        }
    }
    match described.machine {
        Some(machine) => {
            let (model, nodes, strands) = (machine.model(), machine.nodes(), machine.strands());
            lines.push(("machine", format!("{model} with {nodes} nodes, {strands} strands")));
            let missing = missing_channels(machine);
            if !missing.is_empty() {
                lines.push(("missing", missing.join(", ")));
            }
        }
        None => lines.push(("machine", "describes no Victoria Falls machine".to_owned())),
    }
    if described.guests.is_empty() {
        lines.push(("guests", "describes none".to_owned()));
    }
    let mut text = String::new();
    for (name, value) in lines {
        text += &format!("{name:<8}  {value}\n");
    }
    if !described.guests.is_empty() {
        text += &format!("\n{}", guests(&described.guests));
    }
    text
}

fn guests(guests: &[GuestDescription]) -> String {
    let mut table = table::with_header("guest|>resource_id|>gid|grant|compatible|strands");
    for guest in guests {
        let GuestConfig { strands, grant, compatible } = guest.config;
        table.add_row([
            guest.name.clone(),
            guest.resource_id.to_string(),
            guest.gid.map_or_else(|| "-".to_owned(), |gid| gid.to_string()),
            grant.to_string(),
            if compatible { "yes" } else { "no" }.to_owned(),
            strands::list(strands.iter()),
        ]);
    }
    table::text(&table)
}
