//! What the system reports about the host's processors.

use std::fs;

use guest_abi::clock::{Hazards, Scope};

/// What Linux reports about the processors. On other systems, `count` is 1, and everything else is
/// unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Processors {
    /// The number of processors, or 1 if the number is unknown.
    pub(crate) count: usize,
    /// The flags of /proc/cpuinfo that all processors have.
    flags: Vec<String>,
    pub(crate) kernel: Option<KernelClocks>,
}

/// The counters that a kernel can derive its time from, and the counter that it uses now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelClocks {
    pub(crate) available: Vec<String>,
    pub(crate) current: String,
}

impl Processors {
    pub(crate) fn here() -> Self {
        let clocks = "/sys/devices/system/clocksource/clocksource0";
        let read = |name| fs::read_to_string(format!("{clocks}/{name}")).ok();
        let kernel = read("available_clocksource").zip(read("current_clocksource"));
        Self::new(
            &fs::read_to_string("/proc/cpuinfo").unwrap_or_default(),
            kernel.as_ref().map(|(available, current)| (&**available, &**current)),
        )
    }

    pub(crate) fn new(cpuinfo: &str, kernel: Option<(&str, &str)>) -> Self {
        let lines = |name| {
            cpuinfo.lines().filter_map(move |line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == name).then_some(value)
            })
        };
        let all = lines("flags").map(|flags| flags.split_whitespace().collect::<Vec<_>>());
        let common = all.reduce(|mut common, flags| {
            common.retain(|flag| flags.contains(flag));
            common
        });
        Self {
            count: lines("processor").count().max(1),
            flags: common.unwrap_or_default().into_iter().map(str::to_owned).collect(),
            kernel: kernel.map(|(available, current)| KernelClocks {
                available: available.split_whitespace().map(str::to_owned).collect(),
                current: current.trim().to_owned(),
            }),
        }
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|has| has == flag)
    }

    /// Returns what can go wrong with the cycle counter on these processors.
    pub(crate) fn tsc_hazards(&self) -> Hazards {
        Hazards {
            stops_when_idle: !self.has("nonstop_tsc"),
            rate_varies: !self.has("constant_tsc"),
            ..Hazards::default()
        }
    }

    /// Returns what can go wrong with the system's clocks. The kernel derives these clocks from a
    /// counter. If that counter is unknown, assumes the cycle counter.
    pub(crate) fn kernel_hazards(&self) -> Hazards {
        let current = self.kernel.as_ref().map(|clocks| &*clocks.current);
        match current {
            Some("hpet" | "acpi_pm" | "pit" | "jiffies" | "refined-jiffies") => Hazards::default(),
            _ if !self.has("tsc") => Hazards::default(),
            Some("tsc") => self.tsc_hazards(),
            _ => Hazards { may_be_cpu_clock: true, ..Hazards::default() },
        }
    }

    /// Returns whether the cycle counters of all processors agree. The kernel compares them, and
    /// removes `tsc` from its list of counters if they differ.
    pub(crate) fn scope(&self) -> Scope {
        let listed = |clocks: &KernelClocks| clocks.available.iter().any(|name| name == "tsc");
        if self.kernel.as_ref().is_some_and(listed) {
            Scope::Strand
        } else {
            Scope::StrandUnsynchronised
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "processor\t: 0\nflags\t\t: fpu tsc constant_tsc\n\nprocessor\t: 1\nflags\t\t: fpu tsc\npower management:\n";

    #[test]
    fn flags_of_all_processors_count() {
        let processors = Processors::new(TWO, Some(("tsc hpet acpi_pm \n", "hpet\n")));
        assert_eq!(processors.count, 2);
        assert_eq!(
            ["tsc", "constant_tsc", "sc"].map(|flag| processors.has(flag)),
            [true, false, false]
        );
        assert_eq!(processors.kernel.as_ref().unwrap().current, "hpet");
        assert_eq!(processors.scope(), Scope::Strand);
    }

    #[test]
    fn a_counter_that_the_kernel_does_not_trust_is_not_trusted() {
        for kernel in [None, Some(("hpet acpi_pm\n", "hpet\n")), Some(("", ""))] {
            let scope = Processors::new(TWO, kernel).scope();
            assert_eq!(scope, Scope::StrandUnsynchronised, "{kernel:?}");
        }
    }

    #[test]
    fn the_systems_clocks_have_the_faults_of_their_counter() {
        let good = Hazards::default();
        let tsc = Hazards { stops_when_idle: true, rate_varies: true, ..good };
        let hidden = Hazards { may_be_cpu_clock: true, ..good };
        for (current, hazards) in [
            (Some("tsc"), tsc),
            (Some("hpet"), good),
            (Some("acpi_pm"), good),
            (Some("kvm-clock"), hidden),
            (None, hidden),
        ] {
            let kernel = current.map(|current| ("tsc hpet acpi_pm kvm-clock", current));
            let found = Processors::new(TWO, kernel).kernel_hazards();
            assert_eq!(found, hazards, "{current:?}");
        }
        let steady = TWO.replace("fpu", "fpu constant_tsc nonstop_tsc");
        let processors = Processors::new(&steady, Some(("tsc", "tsc")));
        assert_eq!(processors.kernel_hazards(), good);
        // On a machine that has no cycle counter, the kernel must use another counter.
        for kernel in [None, Some(("arch_sys_counter", "arch_sys_counter"))] {
            assert_eq!(Processors::new("", kernel).kernel_hazards(), good);
        }
    }

    #[test]
    fn nothing_known_is_one_processor() {
        let processors = Processors::new("", None);
        assert_eq!((processors.count, processors.has("tsc")), (1, false));
    }
}
