//! The simulated hypervisor that receives the calls.

use crate::plain::raw_stderr;
use std::io::Write;

use anyhow::Context;
use guest_abi::{HvError, Registers, StrandId};
use hv_core::{Caller, ConsoleOutput, Embedder, GuestId, Hypervisor, Strand, TrapOutcome};
use perfctr_service::{GuestConfig, PerfCounterService};
use platform::Machine;
use platform::models::Devices;

use super::line::{Call, SoftwareTrap};

type CallServices<'a> = (PerfCounterService<(&'a Devices, &'a Devices)>,);

/// Writes the console output of all guests to standard error.
pub(super) struct StderrConsole;

impl Embedder for StderrConsole {
    fn console(&self, _: Caller, output: ConsoleOutput) -> Result<(), HvError> {
        let bytes = match output {
            ConsoleOutput::Byte(byte) => &[byte][..],
            ConsoleOutput::Break => b"(break)",
        };
        // A guest expects a console to accept all output, even if nobody reads it. Therefore,
        // errors are ignored.
        let _ = raw_stderr().write_all(bytes);
        Ok(())
    }
}

/// Returns the hypervisor of a machine with these guests. Fails if their rights conflict.
pub(super) fn hypervisor<'a>(
    machine: Machine,
    devices: &'a Devices,
    guests: &[GuestConfig],
) -> anyhow::Result<Box<Hypervisor<CallServices<'a>, StderrConsole>>> {
    let services = (PerfCounterService::new((devices, devices)),);
    let hypervisor = Box::new(Hypervisor::new(services, StderrConsole));
    hypervisor.services().0.configure(machine, guests).context("--guest")?;
    Ok(hypervisor)
}

pub(super) struct Session<'a> {
    /// The strands of all guests, indexed by strand number. `None` if no guest has the strand.
    strands: Vec<Option<Strand<'a, CallServices<'a>, StderrConsole>>>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        hypervisor: &'a Hypervisor<CallServices<'a>, StderrConsole>,
        guests: &[GuestConfig],
    ) -> Self {
        let caller = |strand: StrandId| {
            let place = guests.iter().position(|guest| guest.strands.contains(strand))?;
            let guest = GuestId::new(place)?;
            hypervisor.strand(Caller { guest, strand }).ok()
        };
        let strands = (0..StrandId::COUNT).map(|number| StrandId::new(number).and_then(caller));
        Self { strands: strands.collect() }
    }

    /// Makes a call on behalf of a strand, and returns the registers after the call.
    pub(super) fn make(&self, strand: StrandId, call: &Call) -> Registers {
        let mut registers = call.registers;
        if let Some(strand) = &self.strands[strand.index()] {
            match call.trap {
                SoftwareTrap::Fast => strand.fast_trap(&mut registers),
                SoftwareTrap::Core => match strand.core_trap(&mut registers) {
                    TrapOutcome::Resume | TrapOutcome::Exit(_) => {}
                },
                SoftwareTrap::Other(number) => strand.software_trap(number, &mut registers),
            }
        }
        registers
    }
}
