//! The machine's caches and channels, and the replay.

use guest_abi::{Hub, Mcu, Node, StrandId};
use platform::Machine;
use platform::models::Devices;

use super::access::Access;
use super::channel::Channel;
use super::geometry::{Interleave, L1D_SETS, L1D_WAYS, L1I_SETS, L1I_WAYS, NoMemory};
use super::l1::L1;
use super::l2::L2;
use super::truth::Truth;
use crate::recording::Reference;

#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) instructions: L1<L1I_SETS, L1I_WAYS>,
    pub(super) data: L1<L1D_SETS, L1D_WAYS>,
}

/// Caches, memory channels and links of a machine, at first empty, and the truth about what they did.
///
/// Less than 1 MB a node. Deterministic: the same references in the same order have the same effects.
#[derive(Clone, Debug)]
pub struct MemorySystem {
    pub(super) machine: Machine,
    pub(super) interleave: Interleave,
    pub(super) cores: Vec<Core>,
    pub(super) l2: Vec<L2>,
    pub(super) channels: [[Channel; Mcu::ALL.len()]; Node::ALL.len()],
    pub(super) truth: Truth,
}

impl MemorySystem {
    /// Returns the memory system of a machine.
    ///
    /// # Errors
    /// None of the machine's memory channels is enabled.
    pub fn new(machine: &Machine) -> Result<Self, NoMemory> {
        let core = Core {
            instructions: L1::new(),
            data: L1::new(),
        };
        let channel = Channel::new();
        Ok(Self {
            machine: *machine,
            interleave: Interleave::new(machine)?,
            cores: vec![core; machine.strands() / StrandId::PER_CORE],
            l2: vec![L2::new(); machine.nodes()],
            channels: std::array::from_fn(|_| [channel.clone(), channel.clone()]),
            truth: Truth::new(machine.strands()),
        })
    }

    /// Replays references on a strand, in their order, with `offset` added to every address. The events are counted in
    /// `devices`, whose time advances by the cycles that the references take.
    ///
    /// The strand's counters are locked until it returns; PERF_CONFIG is read when it begins.
    ///
    /// # Panics
    /// The strand is none of this machine's, or the devices are those of another machine.
    pub fn replay(
        &mut self,
        strand: StrandId,
        offset: u64,
        references: &[Reference],
        devices: &Devices,
    ) {
        assert!(
            strand.index() < self.machine.strands(),
            "strand {strand} is not of this machine"
        );
        assert_eq!(
            devices.machine(),
            self.machine,
            "devices of another machine"
        );
        let began = devices.now();
        let mut access = Access::new(self, strand, devices);
        for reference in references {
            access.reference(reference, offset);
        }
        let passed = access.finish() - began;
        self.truth.cycles += passed;
        devices.advance(passed);
        if self.machine.model().has_hubs() {
            for hub in Hub::ALL {
                devices.hub(*hub).pass(passed);
            }
        }
    }

    /// Returns what happened until now.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }
}
