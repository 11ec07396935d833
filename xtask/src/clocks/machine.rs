//! The processors of the host, as the system describes them.

use std::fs;

use guest_abi::clock::Scope;

/// The processors, as Linux describes them. On other systems nothing is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processors {
    /// The number of processors, or 1 if it is unknown.
    pub count: usize,
    /// The flags of /proc/cpuinfo that all of them have.
    flags: Vec<String>,
    /// The counters that the kernel accepts for its own time, and the one that it uses.
    pub kernel: Option<KernelClocks>,
}

/// The counters of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelClocks {
    /// The counters that it could use.
    pub available: Vec<String>,
    /// The counter that it uses.
    pub current: String,
}

impl Processors {
    /// Returns the processors of this machine.
    #[must_use]
    pub fn here() -> Self {
        let clocks = "/sys/devices/system/clocksource/clocksource0";
        let read = |name| fs::read_to_string(format!("{clocks}/{name}")).ok();
        let kernel = read("available_clocksource").zip(read("current_clocksource"));
        Self::new(
            &fs::read_to_string("/proc/cpuinfo").unwrap_or_default(),
            kernel
                .as_ref()
                .map(|(available, current)| (&**available, &**current)),
        )
    }

    fn new(cpuinfo: &str, kernel: Option<(&str, &str)>) -> Self {
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
            flags: common
                .unwrap_or_default()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            kernel: kernel.map(|(available, current)| KernelClocks {
                available: available.split_whitespace().map(str::to_owned).collect(),
                current: current.trim().to_owned(),
            }),
        }
    }

    /// Returns whether all processors have this flag.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|has| has == flag)
    }

    /// Returns whether the cycle counters of the processors agree. The kernel compares them, and drops `tsc` from its list if
    /// they do not.
    #[must_use]
    pub fn scope(&self) -> Scope {
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
    fn nothing_known_is_one_processor() {
        let processors = Processors::new("", None);
        assert_eq!((processors.count, processors.has("tsc")), (1, false));
    }
}
