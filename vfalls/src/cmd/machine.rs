//! Defines the options `--machine`, `--nodes`, `--config` and `--memory`, which several commands share.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use platform::{Machine, Model};
use simulator::machine::configuration::{self, Configuration, Configured};
use simulator::memory::{Config, Pages};
use simulator::nearest::unknown;

use crate::table::{WIDTH, wrap};

/// The options `--machine` and `--nodes`.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct MachineArgs {
    /// The machine: batoka (T5440, with hubs) or maramba (T5140, T5240, T6340) [default: batoka]
    #[arg(long, value_name = "M", value_parser = model)]
    machine: Option<Model>,

    /// The number of nodes: 1 to 4 (batoka), 1 or 2 (maramba) [default: the largest]
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
}

impl MachineArgs {
    /// Returns the machine that the options select. Fails if the model cannot have this number of
    /// nodes.
    pub fn machine(self) -> anyhow::Result<Machine> {
        let model = self.machine.unwrap_or(Model::Batoka);
        let nodes = self.nodes.unwrap_or(model.max_nodes());
        Ok(Machine::new(model, nodes)?)
    }
}

#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ConfiguredArgs {
    #[command(flatten)]
    machine: MachineArgs,

    /// Read caches, latencies and the machine from this TOML file (tables l1i, l1d, l2, timing, memory and machine); all other values are
    /// those of a T2 Plus
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfiguredArgs {
    /// Returns the configuration. If the file does not select a machine, the options `--machine` and `--nodes` do.
    pub(crate) fn configuration(&self) -> anyhow::Result<Configuration> {
        let MachineArgs { machine, nodes } = self.machine;
        let other = match (machine, nodes) {
            (Some(_), _) => Some("--machine"),
            (None, Some(_)) => Some("--nodes"),
            (None, None) => None,
        };
        let configured = self.file(other)?;
        Ok(Configuration {
            machine: configured.machine.map_or_else(|| self.machine.machine(), Ok)?,
            memory: configured.memory,
        })
    }

    /// Returns the content of the configuration file. If there is no file, the result has T2 Plus processors and no machine. `other` names
    /// another option that selects a machine, if the user gave one. In that case, fails if the file selects a machine as well.
    pub(crate) fn file(&self, other: Option<&str>) -> anyhow::Result<Configured> {
        let Some(path) = &self.config else {
            return Ok(Configured { machine: None, memory: Config::T2_PLUS });
        };
        let configured = configuration::read(path)?;
        if let (Some(_), Some(other)) = (configured.machine, other) {
            bail!("{}: has a [machine] table, so {other} is not allowed", path.display());
        }
        Ok(configured)
    }
}

/// The options of a machine that replays programs.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ReplayMachineArgs {
    #[command(flatten)]
    configured: ConfiguredArgs,

    /// How an operating system places the pages of a program on nodes: first-touch (8 KB pages, each on the node of the strand that first
    /// touches it), node:N (all pages on node N), interleave:SIZE (pages of 8K to 256M, on the nodes in turn), or hardware (pages are not
    /// placed: each node in turn has 512 bytes, or the number of bytes in machine.interleave of --config) [default: hardware]
    #[arg(long, value_name = "WHERE")]
    memory: Option<Pages>,
}

impl ReplayMachineArgs {
    /// Reads the [configuration](ConfiguredArgs::configuration), and places pages as the option `--memory` says.
    pub(crate) fn configuration(&self) -> anyhow::Result<Configuration> {
        let mut configuration = self.configured.configuration()?;
        self.place(&mut configuration.memory)?;
        Ok(configuration)
    }

    /// Reads the [file](ConfiguredArgs::file), and places pages as the option `--memory` says.
    pub(crate) fn file(&self, other: Option<&str>) -> anyhow::Result<Configured> {
        let mut configured = self.configured.file(other)?;
        self.place(&mut configured.memory)?;
        Ok(configured)
    }

    pub(crate) fn has_file(&self) -> bool {
        self.configured.config.is_some()
    }

    /// Returns `true` if the option `--memory` was given.
    pub(crate) fn places_pages(&self) -> bool {
        self.memory.is_some()
    }

    fn place(&self, config: &mut Config) -> anyhow::Result<()> {
        if let Some(pages) = self.memory {
            if let (Some(path), true) = (&self.configured.config, config.pages != Pages::default())
            {
                bail!("{}: has memory.pages, so --memory is not allowed", path.display());
            }
            config.pages = pages;
        }
        Ok(())
    }
}

/// Lists how the configuration differs from a machine with T2 Plus processors, one line for each difference.
pub(crate) fn differences(configuration: &Configuration) -> Vec<String> {
    match configuration.differences().join(", ") {
        none if none.is_empty() => Vec::new(),
        some => wrap(&format!("configuration: {some}"), WIDTH - 2),
    }
}

fn model(text: &str) -> anyhow::Result<Model> {
    Model::from_name(text).ok_or_else(|| {
        let names = Model::ALL.iter().map(|model| model.name());
        anyhow!(unknown("machine", text, names))
    })
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn the_help_names_each_family_and_its_numbers_of_nodes() {
        let help = MachineArgs::augment_args(clap::Command::new("test")).render_long_help();
        let help = help.to_string();
        for model in Model::ALL {
            let nodes = match model.max_nodes() {
                1 => "1".to_owned(),
                2 => "1 or 2".to_owned(),
                most => format!("1 to {most}"),
            };
            assert!(help.contains(&format!("{nodes} ({model})")), "{model}: {help}");
            assert!(help.contains(&format!("{model} (T")), "{model}: {help}");
        }
    }
}
