//! `--machine` and `--nodes`, which several commands have.

use anyhow::anyhow;
use platform::{Machine, Model};

use simulator::nearest::unknown;

/// The machine that a command is about.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct MachineArgs {
    /// The machine: batoka (T5440, with hubs) or maramba (T5140, T5240, T6340)
    #[arg(long, value_name = "M", default_value = "batoka", value_parser = model)]
    machine: Model,

    /// How many nodes it has: 1 to 4 (batoka), 1 or 2 (maramba); as many as it can have if not given
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
}

impl MachineArgs {
    /// The machine.
    ///
    /// # Errors
    /// There is none with so many nodes.
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
