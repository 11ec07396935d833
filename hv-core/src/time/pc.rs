//! A PC's clocks, as sources for a [`Timekeeper`](super::Timekeeper).
//!
//! From the highest to the lowest rating:
//! - the [cycle counter](tsc) of the CPU
//! - the [performance counter](performance_counter), which may be one of several timers or the cycle counter itself
//! - the [tick counter](tick_counter), which an interrupt increments at 1000 Hz or less often. It is always safe, but it loses
//!   time if an interrupt is lost. Only the operator can disable it; the machine may then have no clock.
//! - the [real-time clock](rtc)

use guest_abi::clock::{Description, Hazards, Scope, Width};

/// The rate of the programmable interval timer (8254), in Hz.
pub const PIT_HZ: u64 = 1_193_182;

/// The rate of the power management timer (ACPI), in Hz.
pub const PMT_HZ: u64 = 3_579_545;

/// The rate of the real-time clock's oscillator, in Hz.
pub const RTC_HZ: u64 = 32_768;

const BITS_24: Width = Width::new(24).unwrap();
const BITS_32: Width = Width::new(32).unwrap();

/// A clock without hazards, on which the descriptions below are based.
const NO_HAZARDS: Description = Description {
    name: "",
    width: Width::WORD,
    hz: 0,
    step: 1,
    rating: 0,
    scope: Scope::Machine,
    hazards: Hazards {
        stops_when_idle: false,
        rate_varies: false,
        tears: false,
        may_be_cpu_clock: false,
        may_lose: false,
        may_gain: false,
    },
};

/// The hazards of a variable that an interrupt increments. If an interrupt is lost, the variable misses an increment, and the clock loses
/// time. The clock never gains time.
const LOSES_TIME: Hazards = Hazards { may_lose: true, ..NO_HAZARDS.hazards };

/// Returns the description of the CPU's cycle counter (TSC), which counts the cycles of the CPU's clock.
///
/// `hz` is the rate of the CPU's clock, or 0 if unknown. The description assumes that the counters of two CPUs differ, and that power
/// management changes the rate. The counter stops only in deep sleep, when the CPU does no work.
pub const fn tsc(hz: u64) -> Description {
    Description {
        name: "TSC",
        hz,
        rating: 300,
        scope: Scope::StrandUnsynchronised,
        hazards: Hazards { rate_varies: true, ..NO_HAZARDS.hazards },
        ..NO_HAZARDS
    }
}

/// Returns the description of the performance counter of Windows (QueryPerformanceCounter).
///
/// `hz` is the rate that the system states. The counter is safe if `hz` is the rate of a well-known timer, or differs by at least 5% from
/// the rate of the CPU's clock, which must be known. If the counter follows the CPU's clock at a fraction of the clock's rate, this is not
/// recognised, and the counter is treated as safe. If `hz` is [`PMT_HZ`], only the 24 bits of the power management timer can be trusted,
/// and this timer wraps every 4.7 seconds. The counter may jump forward when the PCI bus is under heavy load.
pub const fn performance_counter(hz: u64) -> Description {
    Description {
        name: "QPC",
        width: if hz == PMT_HZ { BITS_24 } else { Width::WORD },
        hz,
        rating: 200,
        hazards: Hazards { may_be_cpu_clock: true, may_gain: true, ..NO_HAZARDS.hazards },
        ..NO_HAZARDS
    }
}

/// Returns the description of a variable that counts milliseconds. Each clock interrupt adds `step` to the variable: 1 for the
/// multimedia timer (timeGetTime), 10 to 16 for the tick count (GetTickCount).
pub const fn tick_counter(step: u16) -> Description {
    Description {
        name: "tick counter",
        width: BITS_32,
        hz: 1000,
        step: step as u64,
        rating: if step <= 1 { 50 } else { 25 },
        hazards: LOSES_TIME,
        ..NO_HAZARDS
    }
}

/// Returns the description of a variable that the interrupt of the real-time clock increments. `divisor` is 0 to 15: the clock
/// divides [`RTC_HZ`] by 2^`divisor`.
pub const fn rtc(divisor: u8) -> Description {
    Description {
        name: "RTC",
        hz: if divisor <= 15 { RTC_HZ >> divisor } else { 0 },
        rating: 10,
        hazards: LOSES_TIME,
        ..NO_HAZARDS
    }
}
