//! What the layouts of headers mean for a clock.

use hv_core::trace::{Conditions, Layout};
use serde::Serialize;

use super::collect::LayoutName;

/// The bits of a layout's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bits {
    /// Bits of the short header.
    pub short: u32,
    /// Bits of the full header.
    pub full: u32,
    /// Bits of the short header that distinguish it from the full one.
    #[serde(rename = "type")]
    pub type_: u32,
    /// Bits of the short header for the number of the kind.
    pub id: u32,
    /// Bits of the short header for the size of the payload.
    pub size: u32,
    /// Bits of the short header for the clock.
    pub clock: u32,
    /// The lowest bits of the clock, which headers omit.
    pub cut: u32,
}

impl Bits {
    /// Returns the bits of `L`.
    #[must_use]
    pub const fn of<L: Layout>() -> Self {
        Self {
            short: 32 * L::SHORT_WORDS as u32,
            full: 32 * L::FULL_WORDS as u32,
            type_: L::TYPE_BITS,
            id: L::ID_BITS,
            size: L::SIZE_BITS,
            clock: L::CLOCK_BITS,
            cut: L::DROPPED,
        }
    }

    /// Returns after how many bits the time in a short header wraps.
    #[must_use]
    pub const fn wrap(&self) -> u32 {
        self.clock + self.cut
    }
}

/// A layout at a clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The name of the layout.
    pub name: &'static str,
    /// Its bits.
    pub bits: Bits,
    /// How many numbers of kinds a short header can express.
    pub ids: u16,
    /// Times are exact to so many seconds.
    pub granularity_s: f64,
    /// After so many seconds the time in a short header repeats.
    pub wrap_s: f64,
    /// The longest distance of heartbeats in seconds ([`Conditions::heartbeat`]).
    pub heartbeat_s: Option<f64>,
}

/// All layouts at a clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layouts {
    /// The rate of the clock, in Hz.
    pub hz: u64,
    /// The duration of a probe, in ns.
    pub probe_ns: u64,
    /// The rate of the timer interrupt, in Hz; 0 if there is none.
    pub timer_hz: u64,
    /// The longest time for which interrupts are off, in ns.
    pub longest_off_ns: u64,
    /// How many of the lowest bits of the clock headers can omit.
    pub lowest_cut: u32,
    /// How many of the highest of 32 bits of the clock headers can omit.
    pub highest_cut: u32,
    /// The layouts.
    pub layouts: Vec<Row>,
}

impl Layouts {
    /// Returns the layouts under these conditions; `hz` is not 0.
    #[must_use]
    pub fn new(conditions: Conditions) -> Self {
        let seconds = |ticks: f64| ticks / conditions.hz as f64;
        let row = |layout: &LayoutName| {
            let bits = layout.bits();
            Row {
                name: layout.name(),
                bits,
                ids: layout.ids(),
                granularity_s: seconds(layout.resolution() as f64),
                wrap_s: seconds(2f64.powi(bits.wrap() as i32)),
                heartbeat_s: conditions
                    .heartbeat(bits.wrap())
                    .map(|ticks| seconds(ticks as f64)),
            }
        };
        let Conditions {
            hz,
            probe_ns,
            timer_hz,
            longest_off_ns,
        } = conditions;
        Self {
            hz,
            probe_ns,
            timer_hz,
            longest_off_ns,
            lowest_cut: conditions.lowest_cut(),
            highest_cut: conditions.highest_cut(),
            layouts: LayoutName::ALL.iter().map(row).collect(),
        }
    }
}
