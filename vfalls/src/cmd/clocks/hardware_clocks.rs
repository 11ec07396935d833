//! Clocks that the kernel does not derive from its own counter: real-time clocks and PTP hardware
//! clocks.

use std::path::Path;
use std::{fmt, fs};

use hv_core::time::Frequency;
use serde::Serialize;

use crate::cmd::clocks::host::HostClock;
use crate::cmd::clocks::measure::Comparison;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rtc,
    Ptp,
}

/// A device that contains a clock.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) kind: Kind,
    /// The name of the device, such as `rtc0`.
    pub(super) name: String,
    /// The model that the driver reports.
    pub(super) model: String,
    /// The clock; `None` if this process cannot read it.
    pub(super) clock: Option<HostClock>,
}

impl Device {
    /// Finds the clock devices of a host. `root` is the root directory of the host's file system.
    pub(super) fn all(root: &Path) -> Vec<Self> {
        let list = |kind, class: &str, model: &str| {
            let class = root.join("sys/class").join(class);
            let entries = fs::read_dir(&class).into_iter().flatten().flatten();
            let mut names: Vec<_> =
                entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
            names.sort();
            let devices = names.into_iter().map(move |name| Self {
                kind,
                model: fs::read_to_string(class.join(&name).join(model))
                    .unwrap_or_default()
                    .trim()
                    .to_owned(),
                clock: match kind {
                    Kind::Rtc => {
                        HostClock::from_seconds_file(&class.join(&name).join("since_epoch"))
                    }
                    Kind::Ptp => HostClock::from_ptp_device(&root.join("dev").join(&name)),
                },
                name,
            });
            devices.collect::<Vec<_>>()
        };
        [list(Kind::Rtc, "rtc", "name"), list(Kind::Ptp, "ptp", "clock_name")].concat()
    }
}

/// A clock and a device agree if their rates differ by at most this number of parts per million. The kernel changes a rate by at most 500
/// parts per million.
const TOLERANCE: f64 = 500.0;

/// A clock of the kernel, compared with a device.
#[derive(Serialize)]
pub(super) struct DeviceComparison {
    clock: &'static str,
    with: String,
    /// How much faster the clock is than the device; `None` if the device stands still or no longer answers.
    faster: Option<Faster>,
    agree: bool,
}

/// The difference between two rates, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Faster {
    parts_per_million: f64,
    uncertainty: f64,
}

impl DeviceComparison {
    /// Creates the result of a comparison. `frequency` is the device's frequency, measured with the clock. The device counts nanoseconds.
    pub(super) fn new(clock: &'static str, with: String, frequency: Option<Frequency>) -> Self {
        let faster = frequency.map(|frequency| Faster {
            parts_per_million: 1e6 - frequency.millihertz() as f64 / 1e6,
            uncertainty: frequency.uncertainty() as f64 / 1e6,
        });
        let agree = |by: &Faster| by.parts_per_million.abs() <= TOLERANCE + by.uncertainty;
        Self { clock, with, faster, agree: faster.as_ref().is_some_and(agree) }
    }
}

impl fmt::Display for DeviceComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clock, with, faster, agree } = self;
        let Some(Faster { parts_per_million, uncertainty }) = faster else {
            return write!(f, "{with} stands still");
        };
        let agree = if *agree { "agree" } else { "differ" };
        write!(
            f,
            "{clock} and {with} {agree}: {clock} is faster by {parts_per_million:.1} ±{uncertainty:.1} ppm"
        )
    }
}

/// Compares a clock of the kernel with each device, from the first reading to the last.
pub(super) struct Comparisons(Vec<(Device, Comparison)>);

impl Comparisons {
    /// Takes the first reading of each device. For a real-time clock, waits up to 1.5 s until it steps to the next second.
    pub(super) fn begin(devices: &[Device], by: Option<HostClock>) -> anyhow::Result<Self> {
        let pairs = devices.iter().filter_map(|device| Some((device, device.clock?, by?)));
        let mut all =
            Self(pairs.map(|(device, of, by)| (device.clone(), Comparison::new(of, by))).collect());
        all.read()?;
        Ok(all)
    }

    fn read(&mut self) -> anyhow::Result<()> {
        self.0.iter_mut().try_for_each(|(device, comparison)| match device.kind {
            Kind::Rtc => comparison.read_at_step(),
            Kind::Ptp => {
                comparison.read();
                Ok(())
            }
        })
    }

    /// Takes the last readings, and returns the results.
    pub(super) fn end(mut self) -> anyhow::Result<Vec<DeviceComparison>> {
        self.read()?;
        let found = self.0.into_iter().map(|(device, comparison)| {
            DeviceComparison::new(comparison.by(), device.name, comparison.frequency())
        });
        Ok(found.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn devices_are_found_and_read() {
        let root = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        file("sys/class/rtc/rtc0/name", "rtc_cmos rtc_cmos\n");
        file("sys/class/rtc/rtc0/since_epoch", "1290000000\n");
        file("sys/class/rtc/rtc1/since_epoch", "\n");
        file("sys/class/ptp/ptp0/clock_name", "KVM virtual PTP\n");
        // This device is an ordinary file, which has no PTP clock.
        file("dev/ptp0", "");
        file("sys/class/ptp/ptp1/clock_name", "igb\n");
        let devices = Device::all(root.path());
        let found = devices
            .iter()
            .map(|of| (of.kind, &*of.name, &*of.model, of.clock.map(|clock| clock.now())));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                (Kind::Rtc, "rtc0", "rtc_cmos rtc_cmos", Some(1_290_000_000_000_000_000)),
                (Kind::Rtc, "rtc1", "", None),
                (Kind::Ptp, "ptp0", "KVM virtual PTP", None),
                (Kind::Ptp, "ptp1", "igb", None),
            ]
        );
        assert!(Device::all(&root.path().join("dev")).is_empty());
    }

    /// A real-time clock is read at the moment when it steps to the next second. In this test, at
    /// least one second passes between two steps.
    #[test]
    fn a_real_time_clock_is_compared_at_its_steps() {
        let root = tempfile::tempdir().unwrap();
        let class = root.path().join("sys/class/rtc/rtc0");
        fs::create_dir_all(&class).unwrap();
        let path = class.join("since_epoch");
        fs::write(&path, "1290000000").unwrap();
        let step_after = |milliseconds: u64, second: u32| {
            thread::sleep(Duration::from_millis(milliseconds));
            // The file is overwritten in place, so that it is never empty.
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.write_at(second.to_string().as_bytes(), 0).unwrap();
        };
        let devices = Device::all(root.path());
        let by = HostClock::time_of_day().unwrap();
        let begun = by.now();
        let comparisons = thread::scope(|scope| {
            scope.spawn(|| step_after(20, 1_290_000_001));
            Comparisons::begin(&devices, Some(by)).unwrap()
        });
        let compared = thread::scope(|scope| {
            scope.spawn(|| step_after(1000, 1_290_000_002));
            comparisons.end().unwrap()
        });
        let longest = (by.now() - begun) as f64 / 1e9;
        let [DeviceComparison { clock: "realtime", with, faster: Some(faster), .. }] = &*compared
        else {
            panic!("one comparison")
        };
        assert_eq!(with, "rtc0");
        // According to the reference clock, the device's second lasts at least 1 s and at most `longest` seconds.
        let Faster { parts_per_million, uncertainty } = *faster;
        assert!(parts_per_million + uncertainty >= 0.0, "{faster:?}");
        assert!(parts_per_million - uncertainty <= 1e6 - 1e6 / longest, "{faster:?}");
    }

    /// The device counts nanoseconds, so its frequency is 1 GHz. Measured with the clock, the device's frequency is 700 parts per million
    /// lower, so the clock is 700 parts per million too fast.
    #[test]
    fn a_clock_that_differs_from_its_witness_is_named() {
        let compared = |frequency| DeviceComparison::new("monotonic", "rtc0".to_owned(), frequency);
        for (uncertain, text) in [
            (100, "monotonic and rtc0 differ: monotonic is faster by 700.0 ±100.0 ppm"),
            (200, "monotonic and rtc0 agree: monotonic is faster by 700.0 ±200.0 ppm"),
        ] {
            let [min, max] = [999_300 - uncertain, 999_300 + uncertain].map(|of| of * 1_000_000);
            assert_eq!(compared(Some(Frequency { min, max })).to_string(), text);
        }
        assert_eq!(compared(None).to_string(), "rtc0 stands still");
    }
}
