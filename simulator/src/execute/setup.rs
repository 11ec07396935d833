//! The settings from which an executing machine is built.

use platform::Machine;

use super::Interfaces;
use crate::memory::{Config, MemoryError};
use crate::setters::setters;

/// The settings from which to build an executing machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setup {
    #[allow(missing_docs, reason = "its name says it")]
    pub machine: Machine,
    /// The memory system; `None` if each instruction takes one cycle.
    pub memory: Option<Config>,
    /// The size of the guests' memory in bytes: a multiple of 8 KB, at most 256 GB.
    pub partition: u64,
    /// The number of guest consoles, at most 256.
    pub consoles: usize,
    /// Whether the machine behaves like QEMU's `niagara`, as far as the project's images use it:
    /// one strand, no devices and no translation. %tick advances by 102.4 per instruction.
    pub niagara: bool,
    /// The interfaces of the hypervisor that the machine will execute.
    pub interfaces: Interfaces,
}

impl Setup {
    /// Returns the setup of a machine without a memory system. The guests have 128 MB of memory and 16 consoles. The hypervisor has the
    /// default interfaces.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            memory: None,
            partition: 128 << 20,
            consoles: 16,
            niagara: false,
            interfaces: Interfaces::default(),
        }
    }

    setters! {
        memory: Option<Config>,
        partition: u64,
        consoles: usize,
        niagara: bool,
        interfaces: Interfaces,
    }
}

/// Why a machine cannot be built from a setup.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SetupError {
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("found {0} bytes of memory for guests, expected a multiple of 8 KB, at most 256 GB")]
    Partition(u64),
    #[error("found {0} consoles, expected at most 256")]
    Consoles(usize),
}
