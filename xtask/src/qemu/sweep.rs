//! Performs the sweep on the host, and finds the first call to which a guest gets a different answer.

use conform::modelled::Modelled;
use conform::plain::WithPlain;
use conform::tell::{Detail, Machines, tell};
use conform::{Configuration, System, parts};
use guest_abi::{Hub, HvError, StrandId};
use hv_core::{Caller, ConsoleOutput, Embedder, GuestId, Hypervisor};
use hypervisor::services::{
    ConsoleInput, CoreGroup, DiagGroup, Image, Memory, Platform, SoftStateGroup,
};
use perfctr_service::PerfCounterService;
use platform::models::Devices;

use super::report::Report;

/// The machines on the host: models of the devices, and guests that fit them.
struct Host;

impl Machines for Host {
    fn power_on(&mut self, configuration: &Configuration, work: &mut dyn FnMut(&mut dyn System)) {
        let devices = Devices::new(configuration.machine);
        devices.start_caches();
        let services = (
            PerfCounterService::new((&devices, &devices)),
            CoreGroup::new(EmptyImage),
            SoftStateGroup::new(EmptyImage),
            DiagGroup,
        );
        let hypervisor = Hypervisor::new(services, EmptyImage);
        let configured =
            hypervisor.services().0.configure(configuration.machine, &configuration.guests);
        configured.expect("guests that fit the machine");
        work(&mut Modelled {
            hypervisor: &hypervisor,
            configuration: *configuration,
            busy: [false; Hub::ALL.len()],
        });
    }
}

/// An image without functions, which stands for all services that the sweep negotiates but does not call.
#[derive(Clone, Copy)]
struct EmptyImage;

impl Embedder for EmptyImage {
    fn console(&self, _: Caller, _: ConsoleOutput) -> Result<(), HvError> {
        Ok(())
    }
}

impl Image for EmptyImage {
    fn strand(&self, _: GuestId, _: u64) -> Option<StrandId> {
        None
    }

    fn cpu(&self, _: Caller) -> u64 {
        0
    }

    fn memory(&self, _: GuestId) -> Memory {
        Memory { base: 0, size: 0, physical: 0 }
    }

    fn load(&self, _: GuestId, _: u64) -> u64 {
        0
    }

    fn store(&self, _: GuestId, _: u64, _: u64) {}

    fn notify(&self, _: StrandId) {}

    fn suspend(&self, _: Caller) {}

    fn exited(&self, _: Caller, _: u64) {}

    fn console_input(&self, _: Caller) -> Option<ConsoleInput> {
        None
    }

    fn time_of_day(&self, _: Caller) -> Result<u64, HvError> {
        Err(HvError::NotSupported)
    }

    fn set_time_of_day(&self, _: Caller, _: u64) -> Result<(), HvError> {
        Err(HvError::NotSupported)
    }

    fn platform(&self) -> Platform {
        Platform { name: "", banner: "", stick_frequency: 0, clock_frequency: 0, homes: None }
    }
}

/// The devices of the guest's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweptDevices {
    Models,
    /// With the shipped entry code: words of memory replace the devices.
    Memory,
}

impl SweptDevices {
    const fn name(self) -> &'static str {
        match self {
            Self::Models => "sweep as on the host",
            Self::Memory => "sweep of the shipped entry code as on the host",
        }
    }
}

/// Returns the lines that the guest must write.
pub fn expected(of: SweptDevices, detail: Detail) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |line: std::fmt::Arguments<'_>| lines.push(line.to_string());
    match of {
        SweptDevices::Models => tell(detail, &mut Host, &mut line),
        SweptDevices::Memory => tell(detail, &mut WithPlain(Host), &mut line),
    }
    lines
}

/// Compares what a guest and the host wrote about each part. Returns a check and the number of calls for each part. If a part differs,
/// `ask` boots the guest again for a more detailed report.
pub fn compare(
    of: SweptDevices,
    console: &str,
    mut ask: impl FnMut(Detail) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let mut lines = String::new();
    for (number, (part, expected)) in parts::ALL.iter().zip(expected(of, Detail::Parts)).enumerate()
    {
        let wrong = if console.lines().any(|line| line == expected) {
            None
        } else {
            Some(locate(of, number, &mut ask)?)
        };
        let name = format!("{}, {}", of.name(), part.name);
        lines.push_str(&Report::line(&name, wrong.as_deref()));
        lines.push_str(&format!("cases: {}\n", calls(&expected)));
    }
    Ok(lines)
}

/// Parses the number of calls in a part's line.
fn calls(line: &str) -> u64 {
    let number = line.rsplit_once(": ").and_then(|(_, digest)| digest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns the first call of this part whose answer differs.
fn locate(
    of: SweptDevices,
    part: usize,
    ask: &mut impl FnMut(Detail) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let detail = Detail::Configurations(part);
    let Some((place, difference)) = first_difference(&ask(detail)?, &expected(of, detail)) else {
        return Ok("another digest, but the same for each configuration".into());
    };
    let Some((number, configuration)) = parts::ALL[part].configurations().nth(place) else {
        return Ok(difference);
    };
    let detail = Detail::Calls(part, number);
    let found = first_difference(&ask(detail)?, &expected(of, detail));
    let (call, difference) = found.unwrap_or((0, difference));
    Ok(format!("configuration {number} ({configuration}), event {call}: {difference}"))
}

/// Returns the line number of the first difference from `expected`, and a message with both lines.
fn first_difference(console: &str, expected: &[String]) -> Option<(usize, String)> {
    let mut lines = console.lines();
    expected.iter().enumerate().find_map(|(number, expected)| {
        let found = lines.next().unwrap_or("nothing more");
        (found != expected).then(|| (number, format!("{found}; the host has {expected}")))
    })
}

#[cfg(test)]
#[path = "tests/sweep.rs"]
mod tests;
