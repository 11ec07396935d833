//! The sweep on the host: what the guest must have been answered.

use anyhow::Context;
use guest_abi::{Registers, StrandId, Trap};
use hv_core::{Caller, Embedder, GuestId, Hypervisor};
use perfctr_service::PerfCounterService;
use platform::models::Devices;
use sweep::control::{Control, apply};
use sweep::{BLOCK, BLOCKS, System, scenario};

/// No guest of the sweep writes to the console.
struct NoConsole;

impl Embedder for NoConsole {
    fn console(&self, _: Caller, _: u8) -> Result<(), guest_abi::HvError> {
        Ok(())
    }
}

struct Host<'a> {
    hypervisor: &'a Hypervisor<(PerfCounterService<&'a Devices, &'a Devices>,), NoConsole>,
    caller: Caller,
}

impl System for Host<'_> {
    fn trap(&mut self, trap: Trap, registers: &mut Registers) {
        let strand = self.hypervisor.strand(self.caller);
        match trap {
            Trap::Fast => strand.fast_trap(registers),
            // The sweep does not call exit.
            Trap::Core => {
                let _ = strand.core_trap(registers);
            }
        }
    }

    fn control(&mut self, control: Control) {
        apply(control, self.hypervisor, &mut self.caller);
    }
}

/// How many calls a scenario has.
#[must_use]
pub const fn calls() -> usize {
    BLOCK * BLOCKS
}

/// The lines that the guest must have written for a scenario.
///
/// # Errors
/// There is no such scenario.
pub fn expected(number: u64) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    with_host(number, |mut host| {
        sweep::run(number, &mut host, |block, digest| {
            lines.push(format!("digest {number}.{block}: {digest:016x}"));
        });
    })?;
    Ok(lines)
}

/// Starts the machine of a scenario.
fn with_host(number: u64, work: impl FnOnce(Host<'_>)) -> anyhow::Result<()> {
    let devices = Devices::new(scenario::machine(number)?);
    let guests = scenario::guests(number);
    let service = PerfCounterService::new(devices.machine(), &devices, &devices, &guests)?;
    let hypervisor = Hypervisor::new((service,), NoConsole);
    let first = GuestId::new(0).zip(StrandId::new(0));
    let (guest, strand) = first.context("there is a guest 0 and a strand 0")?;
    work(Host {
        hypervisor: &hypervisor,
        caller: Caller { guest, strand },
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Counts how calls end.
    struct Counting<S>(S, BTreeMap<u64, usize>);

    impl<S: System> System for Counting<S> {
        fn trap(&mut self, trap: Trap, registers: &mut Registers) {
            self.0.trap(trap, registers);
            *self.1.entry(registers.o0).or_default() += 1;
        }

        fn control(&mut self, control: Control) {
            self.0.control(control);
        }
    }

    #[test]
    fn every_status_is_met_often() {
        let mut counts = BTreeMap::new();
        for number in 0..scenario::COUNT {
            with_host(number, |host| {
                let mut counting = Counting(host, std::mem::take(&mut counts));
                sweep::run(number, &mut counting, |_, _| {});
                counts = counting.1;
            })
            .unwrap();
        }
        // EOK, EINVAL, EBADTRAP, EWOULDBLOCK, ENOACCESS, ENOTSUPPORTED; no other.
        assert!(counts.keys().eq(&[0, 6, 7, 9, 10, 13]), "{counts:?}");
        assert!(counts.values().all(|count| *count >= 100), "{counts:?}");
    }
}
