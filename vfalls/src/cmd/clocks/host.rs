//! Finds the host's clocks, and reads their time.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description, Hazards, Scope, Width};
use hv_core::time::pc;
use nix::time::{ClockId, clock_getres, clock_gettime};

use crate::cmd::clocks::machine::Processors;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockName {
    /// The cycle counter of x86 processors.
    Tsc,
    /// CLOCK_MONOTONIC_RAW. The system does not adjust its rate.
    MonotonicRaw,
    /// CLOCK_MONOTONIC. The system adjusts its rate by up to 500 parts per million, to follow true
    /// time.
    Monotonic,
    /// CLOCK_MONOTONIC_COARSE, which shows the time of the latest timer interrupt.
    MonotonicCoarse,
}

impl ClockName {
    /// All clocks, in order of preference.
    pub(crate) const ALL: [Self; 4] =
        [Self::Tsc, Self::MonotonicRaw, Self::Monotonic, Self::MonotonicCoarse];

    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Tsc => "tsc",
            Self::MonotonicRaw => "monotonic_raw",
            Self::Monotonic => "monotonic",
            Self::MonotonicCoarse => "monotonic_coarse",
        }
    }

    const fn rating(self) -> u16 {
        match self {
            Self::Tsc => pc::tsc(0).rating,
            Self::MonotonicRaw => 250,
            Self::Monotonic => 200,
            Self::MonotonicCoarse => pc::tick_counter(1).rating,
        }
    }

    /// Returns the system's id for the clock; `None` if the system has no such clock.
    const fn id(self) -> Option<ClockId> {
        match self {
            Self::Tsc => None,
            Self::Monotonic => Some(ClockId::CLOCK_MONOTONIC),
            #[cfg(target_os = "linux")]
            Self::MonotonicRaw => Some(ClockId::CLOCK_MONOTONIC_RAW),
            #[cfg(target_os = "linux")]
            Self::MonotonicCoarse => Some(ClockId::CLOCK_MONOTONIC_COARSE),
            #[cfg(not(target_os = "linux"))]
            Self::MonotonicRaw | Self::MonotonicCoarse => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HostClock {
    method: ReadMethod,
    description: Description,
}

#[derive(Clone, Copy, Debug)]
enum ReadMethod {
    Cycles,
    System(ClockId),
    /// A file that contains the seconds since 1970. The file stays open until the program ends.
    Seconds(&'static File),
}

impl HostClock {
    /// Returns the clock named `name`; `None` if the host does not have it. The cycle counter's frequency is unknown until
    /// [`with_hz`](Self::with_hz) sets it.
    pub(crate) fn find(name: ClockName, processors: &Processors) -> Option<Self> {
        if name == ClockName::Tsc {
            cycles()?;
            return processors.has("tsc").then_some(Self {
                method: ReadMethod::Cycles,
                description: Description {
                    name: name.text(),
                    scope: processors.scope(),
                    hazards: processors.tsc_hazards(),
                    ..pc::tsc(0)
                },
            });
        }
        let hazards = match name {
            // This clock is a copy of a variable that a timer interrupt updates. Reading it involves no counter, so a counter's hazards do
            // not apply.
            ClockName::MonotonicCoarse => Hazards::default(),
            _ => processors.kernel_hazards(),
        };
        Self::from_system_clock(name.id()?, name.text(), name.rating(), hazards)
    }

    /// Returns the clock that shows the system's time of day, in nanoseconds since 1970; `None` if the system has no such clock.
    pub(crate) fn time_of_day() -> Option<Self> {
        Self::from_system_clock(ClockId::CLOCK_REALTIME, "realtime", 0, Hazards::default())
    }

    /// Returns the clock of a PTP device, which counts nanoseconds; `None` if this process cannot read it.
    pub(crate) fn from_ptp_device(path: &Path) -> Option<Self> {
        Self::from_system_clock(dynamic(open(path)?)?, "ptp", 0, Hazards::default())
    }

    /// Returns a clock that reads whole seconds from a file. The clock counts nanoseconds, and is exact only when the file's value changes.
    /// Returns `None` if the file cannot be read.
    pub(crate) fn from_seconds_file(path: &Path) -> Option<Self> {
        let file = open(path)?;
        seconds(file)?;
        let step = 0;
        let hz = 1_000_000_000;
        Some(Self {
            method: ReadMethod::Seconds(file),
            description: Description { name: "rtc", width: Width::WORD, hz, step, ..pc::rtc(0) },
        })
    }

    fn from_system_clock(
        id: ClockId,
        name: &'static str,
        rating: u16,
        hazards: Hazards,
    ) -> Option<Self> {
        let step = nanoseconds(clock_getres(id).ok()?)?;
        clock_gettime(id).ok()?;
        Some(Self {
            method: ReadMethod::System(id),
            description: Description {
                name,
                width: Width::WORD,
                hz: 1_000_000_000,
                step,
                rating,
                scope: Scope::Machine,
                hazards,
            },
        })
    }

    pub(crate) fn with_hz(mut self, hz: u64) -> Self {
        self.description.hz = hz;
        self
    }

    /// Marks the clock as possibly showing different times on different processors.
    pub(crate) fn unsynchronised(mut self) -> Self {
        self.description.scope = Scope::StrandUnsynchronised;
        self
    }

    /// Returns the clock's time in ticks; 0 if the clock cannot be read.
    pub(crate) fn now(&self) -> u64 {
        match self.method {
            ReadMethod::Cycles => cycles(),
            ReadMethod::System(id) => clock_gettime(id).ok().and_then(nanoseconds),
            ReadMethod::Seconds(file) => seconds(file),
        }
        .unwrap_or(0)
    }
}

impl ClockSource for HostClock {
    fn describe(&self) -> Description {
        self.description
    }

    fn read(&self, _: StrandId) -> Option<u64> {
        Some(self.now())
    }
}

fn nanoseconds(time: nix::sys::time::TimeSpec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec()).ok()?;
    let rest = u64::try_from(time.tv_nsec()).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(rest)
}

/// Opens a file. The file stays open until the program ends.
fn open(path: &Path) -> Option<&'static File> {
    Some(Box::leak(Box::new(File::open(path).ok()?)))
}

/// Returns the kernel's id for the clock of an open device. clock_getres(2) has the formula, under "Dynamic clocks".
#[cfg(target_os = "linux")]
fn dynamic(file: &File) -> Option<ClockId> {
    use std::os::fd::AsRawFd;
    Some(ClockId::from_raw((!file.as_raw_fd() << 3) | 3))
}

/// Returns `None`, because other systems have no such clocks.
#[cfg(not(target_os = "linux"))]
fn dynamic(_: &File) -> Option<ClockId> {
    None
}

/// Reads the number of seconds that a file contains, and converts it to nanoseconds.
fn seconds(file: &File) -> Option<u64> {
    let mut text = [0; 24];
    let length = file.read_at(&mut text, 0).ok()?;
    let seconds: u64 = std::str::from_utf8(text.get(..length)?).ok()?.trim().parse().ok()?;
    seconds.checked_mul(1_000_000_000)
}

/// The correction of the kernel's time of day, for example by a time server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Discipline {
    pub(super) synchronised: bool,
    /// How much the kernel speeds up or slows down its time of day.
    pub(super) parts_per_million: f64,
}

impl Discipline {
    /// Bit STA_UNSYNC of the status in adjtimex(2), which is set if nothing corrects the time of day.
    const UNSYNCHRONISED: i32 = 0x40;

    /// Converts fields of the structure that adjtimex(2) fills in. Each argument has the name of
    /// its field. `freq` is in units of 2^-16 parts per million, and `tick` is the number of
    /// microseconds in 10 ms.
    pub(super) fn new(status: i32, freq: f64, tick: f64) -> Self {
        Self {
            synchronised: status & Self::UNSYNCHRONISED == 0,
            parts_per_million: freq / 65_536.0 + (tick - 10_000.0) * 100.0,
        }
    }
}

/// Returns how the kernel corrects its time of day; `None` if the kernel does not report it.
#[cfg(target_os = "linux")]
pub(super) fn discipline() -> Option<Discipline> {
    use nix::libc::{adjtimex, timex};
    // SAFETY: a `timex` consists of integers, and 0 is a valid value of every integer.
    let mut found: timex = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to `found` only. `modes` is 0, so the call changes nothing.
    let state = unsafe { adjtimex(&raw mut found) };
    (state >= 0).then(|| Discipline::new(found.status, found.freq as f64, found.tick as f64))
}

/// Returns `None`, because there is no portable way to ask other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn discipline() -> Option<Discipline> {
    None
}

/// Reads the processor's cycle counter. The processor does not reorder the read with the instructions around it.
#[cfg(target_arch = "x86_64")]
fn cycles() -> Option<u64> {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: every x86-64 processor has both instructions, and they change no memory. If a system forbids programs to read the counter, it
    // does not report the flag `tsc`. `find` requires this flag.
    unsafe {
        _mm_lfence();
        let cycles = _rdtsc();
        _mm_lfence();
        Some(cycles)
    }
}

/// Returns `None`, because the tool reads no cycle counters of other architectures.
#[cfg(not(target_arch = "x86_64"))]
fn cycles() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_of_the_kernel() {
        // The first status is STA_PLL and STA_NANO. The second status also has STA_UNSYNC.
        for (status, synchronised) in [(0x2001, true), (0x2041, false)] {
            let found = Discipline::new(status, -12.5 * 65_536.0, 10_001.0);
            assert_eq!(found, Discipline { synchronised, parts_per_million: 87.5 });
        }
    }
}
