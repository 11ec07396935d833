//! The options `--machine` and `--nodes` of several commands.

use anyhow::anyhow;
use platform::{Machine, Model};

use simulator::nearest::unknown;

/// The options that choose a machine.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct MachineArgs {
    /// The machine: batoka (T5440, with hubs) or maramba (T5140, T5240, T6340)
    #[arg(long, value_name = "M", default_value = "batoka", value_parser = model)]
    machine: Model,

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
        let nodes = self.nodes.unwrap_or(self.machine.max_nodes());
        Ok(Machine::new(self.machine, nodes)?)
    }
}

fn model(text: &str) -> anyhow::Result<Model> {
    Model::from_name(text).ok_or_else(|| {
        let names = Model::ALL.iter().map(|model| model.name());
        anyhow!(unknown("machine", text, names))
    })
}
