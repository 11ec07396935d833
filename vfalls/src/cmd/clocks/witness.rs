//! Groups clocks by the counter from which they are derived. Clocks that are derived from one
//! counter go wrong together, so together they are only one witness of the time.

use serde::Serialize;

use crate::cmd::clocks::hardware_clocks::{Device, DeviceComparison, Kind};
use crate::cmd::clocks::host::Discipline;
use crate::cmd::clocks::machine::Processors;

/// A group of clocks that go wrong together, because all of them are derived from the same counter,
/// oscillator or other clock.
#[derive(Debug, Serialize)]
pub(super) struct Witness {
    /// The counter, oscillator or clock that the clocks are derived from.
    pub(super) name: String,
    pub(super) clocks: Vec<String>,
    /// The evidence that the clocks belong together, as text.
    pub(super) known: String,
}

/// The readable clocks of the host, grouped by witness.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Witnesses(pub(super) Vec<Witness>);

/// Timers that are outside the processors, and that Linux can derive its time from.
const TIMERS: [&str; 3] = ["hpet", "acpi_pm", "pit"];

/// The counters that a hypervisor offers to its guests. A guest reads the TSC, and converts its
/// value to nanoseconds with numbers that the hypervisor provides.
const GUEST_COUNTERS: [&str; 4] =
    ["kvm-clock", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr", "xen"];

/// The PTP clocks that a hypervisor offers to its guests. They all show the host's time of day.
const HOST_PTP_CLOCKS: [&str; 3] = ["KVM virtual PTP", "hyperv", "ptp_vmw"];

impl Witnesses {
    /// Groups the clocks of `devices` and the kernel's clocks, whose names are in `clocks`.
    /// `discipline` says whether a time server or another source corrects the clock `realtime`. A
    /// corrected clock shows the time of its source, and belongs to the witness `NTP`.
    pub(super) fn new(
        processors: &Processors,
        clocks: &[&str],
        devices: &[Device],
        discipline: Option<Discipline>,
    ) -> Self {
        let mut all = Self(Vec::new());
        for clock in clocks {
            let (name, known) = match *clock {
                "tsc" => ("TSC", "the cycle counter of the processors".to_owned()),
                _ => of_kernel(processors),
            };
            match discipline {
                Some(by) if by.synchronised && *clock == "realtime" => {
                    let known = format!(
                        "corrected from outside, at present by {:.3} ppm",
                        by.parts_per_million
                    );
                    all.add("NTP", clock, known);
                }
                _ => all.add(name, clock, known),
            }
        }
        for device in devices.iter().filter(|device| device.clock.is_some()) {
            let (name, known) = of_device(processors, device);
            all.add(&name, &device.name, known);
        }
        all
    }

    fn add(&mut self, name: &str, clock: &str, known: String) {
        let (name, clock) = (name.to_owned(), clock.to_owned());
        match self.0.iter_mut().find(|witness| witness.name == name) {
            Some(witness) => {
                witness.clocks.push(clock);
                if !witness.known.contains(&known) {
                    witness.known = format!("{}; {known}", witness.known);
                }
            }
            None => self.0.push(Witness { name, clocks: vec![clock], known }),
        }
    }

    /// Returns whether two clocks belong to the same witness.
    pub(super) fn share_witness(&self, clocks: [&str; 2]) -> bool {
        let has = |witness: &Witness, name: &str| witness.clocks.iter().any(|clock| clock == name);
        self.0.iter().any(|witness| clocks.iter().all(|clock| has(witness, clock)))
    }

    /// Describes what follows from the number of witnesses, and from the comparison of the kernel's
    /// clocks with devices.
    pub(super) fn verdict(&self, compared: &[DeviceComparison]) -> String {
        let clocks: usize = self.0.iter().map(|witness| witness.clocks.len()).sum();
        let groups = self.0.iter().map(|of| format!("{} ({})", of.name, of.clocks.join(", ")));
        let groups = groups.collect::<Vec<_>>().join("; ");
        let mut text = match self.0.len() {
            0 => return "no clock can be read".to_owned(),
            1 => format!(
                "{clocks} clocks, 1 witness: {groups}. There is no second witness, so the agreement of these clocks shows nothing about \
                 what they are made of"
            ),
            more => format!("{clocks} clocks, {more} witnesses: {groups}"),
        };
        for outcome in compared {
            text += &format!(". {outcome}");
        }
        text
    }
}

/// Returns the counter from which the kernel derives its clocks, and the evidence for it. If the
/// counter is unknown, assumes the TSC on processors that have one.
fn of_kernel(processors: &Processors) -> (&str, String) {
    let current = processors.kernel.as_ref().map(|kernel| &*kernel.current);
    let has_tsc = processors.has("tsc");
    match current {
        Some("tsc") => ("TSC", "the kernel's counter".to_owned()),
        Some(timer) if TIMERS.contains(&timer) => {
            of_timer(processors, timer, "the kernel's counter")
        }
        Some(other) if has_tsc && GUEST_COUNTERS.contains(&other) => {
            ("TSC", format!("the kernel's counter, {other}, converts the TSC"))
        }
        Some(other) if has_tsc => {
            ("TSC", format!("the kernel's counter, {other}, may be made of the TSC"))
        }
        None if has_tsc => {
            ("TSC", "the kernel's counter is unknown, and may be the TSC".to_owned())
        }
        Some(other) => (other, "the kernel's counter".to_owned()),
        None => ("unknown", "the system does not say what its clocks are made of".to_owned()),
    }
}

/// Returns the oscillator behind a timer outside the processors, and the evidence for it. In a
/// virtual machine, the hypervisor uses the host's clock to emulate the timer.
fn of_timer<'a>(processors: &Processors, timer: &'a str, what: &str) -> (&'a str, String) {
    match processors.has("hypervisor") {
        true => ("host", format!("{what}, {timer}, is emulated with the host's clock")),
        false => (timer, format!("{what}, with an oscillator of its own")),
    }
}

fn of_device(processors: &Processors, device: &Device) -> (String, String) {
    let Device { name, model, kind, .. } = device;
    match kind {
        Kind::Rtc => {
            let (witness, known) =
                of_timer(processors, name, &format!("the real-time clock ({model})"));
            (witness.to_owned(), known)
        }
        Kind::Ptp if HOST_PTP_CLOCKS.contains(&&**model) => (
            "host".to_owned(),
            format!("{model} shows the host's time of day, which the host may count with this TSC"),
        ),
        Kind::Ptp => {
            (model.clone(), "a PTP hardware clock, with an oscillator of its own".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::clocks::host::HostClock;

    const KERNEL: [&str; 4] = ["tsc", "monotonic_raw", "monotonic", "realtime"];
    const METAL: &str = "processor : 0\nflags : fpu tsc\n";
    const GUEST: &str = "processor : 0\nflags : fpu tsc hypervisor\n";

    fn device(kind: Kind, name: &str, model: &str) -> Device {
        Device {
            kind,
            name: name.to_owned(),
            model: model.to_owned(),
            clock: HostClock::time_of_day(),
        }
    }

    fn rtc() -> Device {
        device(Kind::Rtc, "rtc0", "rtc_cmos")
    }

    fn ptp(model: &str) -> Device {
        device(Kind::Ptp, "ptp0", model)
    }

    /// Returns the verdict for a machine with these processors, this kernel counter and these
    /// devices.
    fn verdict(cpuinfo: &str, counter: &str, devices: &[Device]) -> String {
        let processors = Processors::new(cpuinfo, Some(("tsc hpet", counter)));
        Witnesses::new(&processors, &KERNEL, devices, None).verdict(&[])
    }

    #[test]
    fn a_real_time_clock_is_a_second_witness() {
        assert_eq!(
            verdict(METAL, "tsc", &[rtc()]),
            "5 clocks, 2 witnesses: TSC (tsc, monotonic_raw, monotonic, realtime); rtc0 (rtc0)"
        );
    }

    #[test]
    fn the_verdict_names_what_was_compared() {
        let processors = Processors::new(METAL, Some(("tsc", "tsc")));
        let all = Witnesses::new(&processors, &KERNEL, &[rtc()], None);
        let still = DeviceComparison::new("monotonic", "rtc0".to_owned(), None);
        assert!(all.verdict(&[still]).ends_with("; rtc0 (rtc0). rtc0 stands still"));
    }

    #[test]
    fn a_guest_has_the_tsc_and_the_host() {
        // In a virtual machine, the host also emulates the RTC.
        for counter in ["kvm-clock", "hyperv_clocksource_tsc_page", "xen", "tsc"] {
            assert_eq!(
                verdict(GUEST, counter, &[rtc(), ptp("KVM virtual PTP")]),
                "6 clocks, 2 witnesses: TSC (tsc, monotonic_raw, monotonic, realtime); host (rtc0, ptp0)"
            );
        }
        assert_eq!(
            verdict(GUEST, "hpet", &[rtc()]),
            "5 clocks, 2 witnesses: TSC (tsc); host (monotonic_raw, monotonic, realtime, rtc0)"
        );
    }

    #[test]
    fn a_timer_and_the_tsc_are_two_witnesses() {
        assert_eq!(
            verdict(METAL, "hpet", &[]),
            "4 clocks, 2 witnesses: TSC (tsc); hpet (monotonic_raw, monotonic, realtime)"
        );
    }

    #[test]
    fn a_clock_in_a_network_card_is_a_witness() {
        assert_eq!(
            verdict(METAL, "tsc", &[ptp("igb"), rtc()]),
            "6 clocks, 3 witnesses: TSC (tsc, monotonic_raw, monotonic, realtime); igb (ptp0); rtc0 (rtc0)"
        );
    }

    #[test]
    fn a_device_that_cannot_be_read_is_no_witness() {
        let closed = Device { clock: None, ..ptp("igb") };
        for (counter, devices) in
            [("tsc", vec![closed]), ("kvm-clock", vec![]), ("strange", vec![])]
        {
            assert_eq!(
                verdict(METAL, counter, &devices),
                "4 clocks, 1 witness: TSC (tsc, monotonic_raw, monotonic, realtime). There is no second \
                 witness, so the agreement of these clocks shows nothing about what they are made of"
            );
        }
    }

    #[test]
    fn without_any_knowledge_there_is_one_witness() {
        let nothing = Processors::new("", None);
        let all = Witnesses::new(&nothing, &KERNEL[2..], &[], None);
        assert!(
            all.verdict(&[]).starts_with("2 clocks, 1 witness: unknown (monotonic, realtime). ")
        );
        let all = Witnesses::new(&nothing, &[], &[], None);
        assert_eq!(all.verdict(&[]), "no clock can be read");
        // This counter belongs to a machine without a TSC.
        let other = Processors::new("", Some(("arch_sys_counter", "arch_sys_counter")));
        let all = Witnesses::new(&other, &KERNEL[1..], &[], None);
        assert!(all.verdict(&[]).contains(" 1 witness: arch_sys_counter (monotonic_raw, "));
    }

    #[test]
    fn the_time_of_day_is_a_witness_while_it_is_corrected_from_outside() {
        let processors = Processors::new(METAL, Some(("tsc", "tsc")));
        for (synchronised, witnesses) in [(true, 2), (false, 1)] {
            let discipline = Discipline { synchronised, parts_per_million: 12.5 };
            let all = Witnesses::new(&processors, &KERNEL, &[], Some(discipline));
            assert_eq!(all.0.len(), witnesses);
            assert!(all.share_witness(["tsc", "monotonic"]));
            assert_eq!(all.share_witness(["tsc", "realtime"]), !synchronised);
            if synchronised {
                assert_eq!(all.0[1].known, "corrected from outside, at present by 12.500 ppm");
            }
        }
    }
}
