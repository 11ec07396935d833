//! Simulates processors on one bus.

use guest_abi::StrandId;
use guest_abi::sampling::ModeSet;
use platform::models::R10000;
use platform::models::r10000::{R10000Event, R10000Mode};

use super::bus::Bus;
use super::core::Core;
use crate::analysis::profile::error::ProfileError;
use crate::analysis::profile::guest::SamplingGuest;
use crate::analysis::profile::processor::{Processor, Truth};
use crate::analysis::profile::stacks::StackId;
use crate::memory::{Executed, Quantum};

/// One or more processors, each with a guest that samples. The scheduler sees each processor as a core with one strand.
pub(crate) struct Cluster {
    cores: Vec<Core>,
    bus: Bus,
}

impl Cluster {
    /// Returns processors after reset, one for each guest. The true counts of `events` include only events in the given `modes`.
    pub(crate) fn new(
        events: &[R10000Event],
        modes: ModeSet<R10000Mode>,
        guests: Vec<SamplingGuest<R10000>>,
    ) -> Result<Self, ProfileError> {
        let bus = Bus::new(guests.len());
        let cores = (guests.into_iter().enumerate())
            .map(|(number, guest)| Core::new(number, events.to_vec(), modes, guest))
            .collect::<Result<_, _>>()?;
        Ok(Self { cores, bus })
    }

    /// Returns the strand that represents a processor; `None` beyond the last strand.
    pub(crate) fn strand(processor: usize) -> Option<StrandId> {
        StrandId::new(processor * StrandId::PER_CORE)
    }

    pub(crate) fn into_guests(self) -> Vec<SamplingGuest<R10000>> {
        self.cores.into_iter().map(Core::into_guest).collect()
    }
}

impl Processor for Cluster {
    fn execute(
        &mut self,
        instruction: &Quantum<'_>,
        stack: StackId,
        truth: &mut Truth,
    ) -> Result<Executed, ProfileError> {
        let core = &mut self.cores[instruction.strand.core()];
        core.execute(instruction, stack, &mut self.bus, truth)
    }

    fn finish(&mut self, _: u64, truth: &mut Truth) -> Result<u64, ProfileError> {
        let mut cycles = 0;
        for core in &mut self.cores {
            cycles = cycles.max(core.finish(&mut self.bus, truth)?);
        }
        Ok(cycles)
    }
}
