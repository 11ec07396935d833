//! Computes the precision of each layout of event headers, and when the layout's times wrap.

use hv_core::trace::{
    Clock19, Clock25Cut7, Clock26Cut6, Clock27, Clock27Cut5, Clock27Typed, Clock32, Clock64,
    Clock64Aligned, Conditions, Layout, Shape,
};
use serde::Serialize;

/// Passes each layout's type and name to a macro.
macro_rules! for_each_layout {
    ($then:ident) => {
        $then! {
            Clock27Typed "clock27-typed", Clock27Cut5 "clock27-cut5", Clock26Cut6 "clock26-cut6",
            Clock25Cut7 "clock25-cut7", Clock19 "clock19", Clock27 "clock27", Clock32 "clock32",
            Clock64 "clock64", Clock64Aligned "clock64-aligned",
        }
    };
}
pub(super) use for_each_layout;

macro_rules! names {
    ($($Layout:ident $name:literal),* $(,)?) => {
        /// The name of a layout of event headers ([`hv_core::trace::Layout`]).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LayoutName {
            $(#[doc = concat!("The layout [`", stringify!($Layout), "`].")] $Layout,)*
        }

        impl LayoutName {
            /// All layouts, in the order of help texts and tables.
            pub const ALL: &'static [Self] = &[$(Self::$Layout),*];

            /// Returns the layout's name on command lines and in metadata.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Layout => $name,)*
                }
            }

            /// Returns the sizes of the header fields in bits.
            #[must_use]
            pub const fn bits(self) -> Bits {
                match self {
                    $(Self::$Layout => Bits::for_layout::<$Layout>(),)*
                }
            }

            /// Returns the numbers that determine how headers are stored.
            #[must_use]
            pub const fn shape(self) -> Shape {
                match self {
                    $(Self::$Layout => $Layout::SHAPE,)*
                }
            }

            /// Returns the number of event kinds that short headers can express.
            #[must_use]
            pub const fn ids(self) -> u16 {
                match self {
                    $(Self::$Layout => $Layout::SHORT_ID_LIMIT,)*
                }
            }
        }
    };
}
for_each_layout!(names);

impl LayoutName {
    /// Returns the resolution of the layout's times, in ticks.
    #[must_use]
    pub const fn resolution(self) -> u64 {
        1 << self.bits().cut
    }
}

/// The sizes of a layout's header fields, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bits {
    /// The size of the short header.
    pub short: u32,
    /// The size of the full header.
    pub full: u32,
    /// The number of bits that distinguish the short header from the full one.
    #[serde(rename = "type")]
    pub type_: u32,
    /// The number of bits for the event's kind in the short header.
    pub id: u32,
    /// The number of bits for the payload's size in the short header.
    pub size: u32,
    /// The number of bits for the time in the short header.
    pub clock: u32,
    /// The number of low clock bits that headers omit.
    pub cut: u32,
}

impl Bits {
    /// Returns the sizes of a layout's header fields.
    #[must_use]
    pub const fn for_layout<L: Layout>() -> Self {
        Self {
            short: 32 * L::SHORT_WORDS as u32,
            full: 32 * L::FULL_WORDS as u32,
            type_: L::TYPE_BITS,
            id: L::ID_BITS,
            size: L::SIZE_BITS,
            clock: L::CLOCK_BITS,
            cut: L::DROPPED_BITS,
        }
    }

    /// Returns the binary logarithm of the number of ticks after which a short header's time wraps.
    #[must_use]
    pub const fn wrap(&self) -> u32 {
        self.clock + self.cut
    }
}

/// A layout at a given clock rate: the precision of its times, and when they wrap.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct LayoutRow {
    pub name: &'static str,
    /// The sizes of the header fields, in bits.
    pub bits: Bits,
    /// The number of event kinds that a short header can express.
    pub ids: u16,
    /// The resolution of times, in seconds.
    pub granularity_s: f64,
    /// The time in seconds after which a short header's time wraps.
    pub wrap_s: f64,
    /// The maximum time between heartbeats in seconds ([`Conditions::max_heartbeat_interval`]).
    pub heartbeat_s: Option<f64>,
}

/// All layouts, for a clock of a given rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Layouts {
    pub hz: u64,
    pub probe_ns: u64,
    /// The timer interrupt's rate in Hz; 0 if there is no timer interrupt.
    pub timer_hz: u64,
    /// The longest time with interrupts off, in nanoseconds.
    pub longest_off_ns: u64,
    /// The maximum number of low clock bits that headers may omit.
    pub lowest_cut: u32,
    /// The maximum number of high bits of a 32-bit clock that headers may omit.
    pub highest_cut: u32,
    pub layouts: Vec<LayoutRow>,
}

impl Layouts {
    /// Returns all layouts under these conditions. `hz` must not be 0.
    #[must_use]
    pub fn new(conditions: Conditions) -> Self {
        let seconds = |ticks: f64| ticks / conditions.hz as f64;
        let row = |layout: &LayoutName| {
            let bits = layout.bits();
            LayoutRow {
                name: layout.name(),
                bits,
                ids: layout.ids(),
                granularity_s: seconds(layout.resolution() as f64),
                wrap_s: seconds(2f64.powi(bits.wrap() as i32)),
                heartbeat_s: conditions
                    .max_heartbeat_interval(bits.wrap())
                    .map(|ticks| seconds(ticks as f64)),
            }
        };
        let Conditions { hz, probe_ns, timer_hz, longest_off_ns } = conditions;
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
