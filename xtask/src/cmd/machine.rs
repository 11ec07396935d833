//! The options `--machine`, `--nodes` and `--config` of several commands.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use platform::{Machine, Model};
use simulator::configuration::{self, Configuration, Configured};
use simulator::memory::Config;
use simulator::nearest::unknown;

use crate::table::{WIDTH, wrap};

/// The options that choose a machine.
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
    /// Returns the machine.
    ///
    /// # Errors
    /// No machine of this model has so many nodes.
    pub fn machine(self) -> anyhow::Result<Machine> {
        let model = self.machine.unwrap_or(Model::Batoka);
        let nodes = self.nodes.unwrap_or(model.max_nodes());
        Ok(Machine::new(model, nodes)?)
    }
}

/// The options that choose a machine whose caches and times can be others than those of a T2 Plus.
#[derive(clap::Args, Clone, Debug)]
pub struct ConfiguredArgs {
    #[command(flatten)]
    machine: MachineArgs,

    /// Caches, times and the machine, from a TOML file of the tables l1i, l1d, l2, timing and machine; what is left out is that
    /// of a T2 Plus
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfiguredArgs {
    /// Returns the machine: that of the file, if it has one, or else that of the other options.
    ///
    /// # Errors
    /// The file cannot be used, or it and another option have a machine, or no machine of this model has so many nodes.
    pub fn configuration(&self) -> anyhow::Result<Configuration> {
        let MachineArgs { machine, nodes } = self.machine;
        let other = match (machine, nodes) {
            (Some(_), _) => Some("--machine"),
            (None, Some(_)) => Some("--nodes"),
            (None, None) => None,
        };
        let configured = self.file(other)?;
        Ok(Configuration {
            machine: configured
                .machine
                .map_or_else(|| self.machine.machine(), Ok)?,
            memory: configured.memory,
        })
    }

    /// Returns what the file configures, if there is one. `other` is an option that has a machine.
    ///
    /// # Errors
    /// The file cannot be used, or has a machine though the option has one.
    pub(crate) fn file(&self, other: Option<&str>) -> anyhow::Result<Configured> {
        let Some(path) = &self.config else {
            return Ok(Configured {
                machine: None,
                memory: Config::T2_PLUS,
            });
        };
        let configured = configuration::read(path)?;
        if let (Some(_), Some(other)) = (configured.machine, other) {
            bail!(
                "{}: has a table machine, expected no {other}",
                path.display()
            );
        }
        Ok(configured)
    }

    /// Returns `true` if there is a file.
    pub(crate) fn has_file(&self) -> bool {
        self.config.is_some()
    }
}

/// Returns the lines that say how a machine differs from one of T2 Plus processors.
#[must_use]
pub fn differences(configuration: &Configuration) -> Vec<String> {
    match &configuration.differences()[..] {
        [] => Vec::new(),
        some => wrap(&format!("configuration: {}", some.join(", ")), WIDTH - 2),
    }
}

fn model(text: &str) -> anyhow::Result<Model> {
    Model::from_name(text).ok_or_else(|| {
        let names = Model::ALL.iter().map(|model| model.name());
        anyhow!(unknown("machine", text, names))
    })
}
