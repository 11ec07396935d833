//! The configuration of a memory system: its caches, its access times, and its page placement.

use serde::{Deserialize, Serialize};

use super::geometry::{ADDRESS_BITS, MAX_PARTS};
use super::order::MAX_WAYS;
use super::pages::Pages;
use super::stores::MAX_STORES;
use super::timing::Timing;
use crate::recording::FETCH_SHIFT;

/// The size and shape of a cache. Each set replaces its least recently used line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// The capacity in bytes.
    pub bytes: u64,
    /// The number of lines in a set.
    pub ways: u64,
    /// The length of a line in bytes.
    pub line: u64,
}

impl Cache {
    /// Returns the number of sets.
    pub const fn sets(&self) -> u64 {
        self.bytes / (self.ways * self.line)
    }
}

/// The sizes of a cache and of its lines, as binary logarithms, because a shift is faster than a division.
#[derive(Clone, Copy, Debug)]
pub struct CacheShape {
    /// The binary logarithm of the number of bytes in a line.
    pub(super) line_shift: u32,
    /// The binary logarithm of the number of sets.
    set_shift: u32,
    pub(super) ways: usize,
}

impl CacheShape {
    pub(super) const fn new(cache: &Cache) -> Self {
        Self {
            line_shift: cache.line.trailing_zeros(),
            set_shift: cache.sets().trailing_zeros(),
            ways: cache.ways as usize,
        }
    }

    pub(super) const fn sets(&self) -> usize {
        1 << self.set_shift
    }

    /// Returns a line's set, and the line's tag in that set.
    #[inline(always)]
    pub(super) const fn set_and_tag(&self, line: u64) -> (usize, u32) {
        (line as usize & (self.sets() - 1), (line >> self.set_shift) as u32)
    }

    pub(super) const fn line(&self, set: usize, tag: u32) -> u64 {
        (tag as u64) << self.set_shift | set as u64
    }
}

/// The configuration of a memory system: its caches, its access times, and the rule by which an operating system places pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// The instruction cache of a core.
    pub l1i: Cache,
    /// The data cache of a core.
    pub l1d: Cache,
    /// The L2 cache of a node: its eight banks together.
    pub l2: Cache,
    /// How long hits, misses and transfers take, in cycles.
    pub timing: Timing,
    /// The rule that places programs' pages on nodes.
    #[serde(rename = "memory", with = "memory_table", default)]
    pub pages: Pages,
}

/// Reads and writes the table `memory`, whose only key is `pages`.
mod memory_table {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Pages;

    #[derive(Serialize, Deserialize)]
    struct Table {
        pages: Pages,
    }

    pub(super) fn serialize<S: Serializer>(pages: &Pages, to: S) -> Result<S::Ok, S::Error> {
        Table { pages: *pages }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pages, D::Error> {
        Ok(Table::deserialize(from)?.pages)
    }
}

impl Config {
    /// The caches of an UltraSPARC T2 Plus and the times in [`Timing::T2_PLUS`]. No operating system places pages.
    pub const T2_PLUS: Self = Self {
        l1i: Cache { bytes: 16 << 10, ways: 8, line: 32 },
        l1d: Cache { bytes: 8 << 10, ways: 4, line: 16 },
        l2: Cache { bytes: 4 << 20, ways: 16, line: 64 },
        timing: Timing::T2_PLUS,
        pages: Pages::Hardware,
    };
}

impl Default for Config {
    fn default() -> Self {
        Self::T2_PLUS
    }
}

/// A number that a configuration file can set.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name of the table that contains the number.
    pub table: &'static str,
    /// The number's name in the table.
    pub key: &'static str,
    /// The minimum and maximum values.
    range: (u64, u64),
    field: fn(&mut Config) -> &mut u64,
}

macro_rules! settings {
    ($($table:ident: { $($key:ident: $min:expr => $max:expr,)* })*) => {
        [$($(Setting {
            table: stringify!($table),
            key: stringify!($key),
            range: ($min, $max),
            field: |config| &mut config.$table.$key,
        },)*)*]
    };
}

/// Why a configuration is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct InvalidConfig {
    /// The settings that cause the problem, each as a table and a key.
    pub settings: Vec<(&'static str, &'static str)>,
    /// The value found and the value expected, on one line.
    pub problem: String,
}

/// The maximum length of a cache line in bytes. [`MIN_DATA_LINE_BYTES`] is the minimum length of a data cache line.
const MAX_LINE_BYTES: u64 = 256;
const MIN_DATA_LINE_BYTES: u64 = 16;
/// The minimum length of an instruction cache line in bytes. A recording divides fetches into pieces of this length.
const MIN_FETCH_LINE_BYTES: u64 = 1 << FETCH_SHIFT;
/// The maximum number of ways of an L1 cache. More would be slow, because the ways are searched one after the other.
const MAX_L1_WAYS: u64 = 64;
/// The maximum number of ways of an L2 cache: one word holds the order of a set's ways, in four bits each.
const MAX_L2_WAYS: u64 = MAX_WAYS as u64;
/// The maximum size of a core's cache in bytes. A node's cache has at most [`MAX_L2_BYTES`]. Both bound the memory that the simulator
/// itself needs.
const MAX_L1_BYTES: u64 = 1 << 20;
const MAX_L2_BYTES: u64 = 64 << 20;
/// The minimum size of a way in bytes. A tag holds at most 31 bits of an address, and the remaining bits follow from the line's
/// position in the way. So a smaller way would not have enough positions.
const MIN_WAY_BYTES: u64 = 1 << (ADDRESS_BITS - 31);
/// The maximum number of cycles for which one request keeps a unit busy. The bound ensures that a counter of waiting cycles does
/// not wrap twice between two reads.
const MAX_BUSY_CYCLES: u64 = 1000;
/// The maximum length of a delay that keeps no unit busy, in cycles.
const MAX_DELAY_CYCLES: u64 = 10_000;

impl Config {
    /// All numbers that a configuration file can set.
    pub const SETTINGS: [Setting; 22] = settings! {
        l1i: {
            bytes: MIN_WAY_BYTES => MAX_L1_BYTES,
            ways: 1 => MAX_L1_WAYS,
            line: MIN_FETCH_LINE_BYTES => MAX_LINE_BYTES,
        }
        l1d: {
            bytes: MIN_WAY_BYTES => MAX_L1_BYTES,
            ways: 1 => MAX_L1_WAYS,
            line: MIN_DATA_LINE_BYTES => MAX_LINE_BYTES,
        }
        l2: {
            bytes: MIN_WAY_BYTES => MAX_L2_BYTES,
            ways: 1 => MAX_L2_WAYS,
            line: MIN_FETCH_LINE_BYTES => MAX_LINE_BYTES,
        }
        timing: {
            load: 0 => MAX_DELAY_CYCLES,
            taken: 0 => MAX_DELAY_CYCLES,
            l2: 0 => MAX_DELAY_CYCLES,
            bank: 1 => MAX_BUSY_CYCLES,
            stores: 1 => MAX_STORES as u64,
            serialize: 1 => MAX_BUSY_CYCLES,
            snoop: 0 => MAX_DELAY_CYCLES,
            cache_to_cache: 0 => MAX_DELAY_CYCLES,
            memory: 0 => MAX_DELAY_CYCLES,
            remote: 0 => MAX_DELAY_CYCLES,
            link: 1 => MAX_BUSY_CYCLES,
            channel_read: 1 => MAX_BUSY_CYCLES,
            channel_write: 1 => MAX_BUSY_CYCLES,
        }
    };

    /// Returns a setting's value. Before a [check](Self::check), it may be out of range.
    pub fn get(mut self, setting: &Setting) -> u64 {
        *(setting.field)(&mut self)
    }

    /// Changes a setting's value. [`check`](Self::check) finds out whether the new value is possible.
    pub fn set(&mut self, setting: &Setting, value: u64) {
        *(setting.field)(self) = value;
    }

    /// Checks that the memory system can be built.
    ///
    /// # Errors
    /// Returns an error if a number is out of its range, or if some numbers do not fit together.
    pub fn check(&self) -> Result<(), InvalidConfig> {
        for setting in &Self::SETTINGS {
            let (table, key) = (setting.table, setting.key);
            let (value, (least, most)) = (self.get(setting), setting.range);
            ensure((least..=most).contains(&value), [(table, key)], || {
                format!("{table}.{key} is {value}, expected {least} to {most}")
            })?;
        }
        for (name, cache) in [("l1i", self.l1i), ("l1d", self.l1d), ("l2", self.l2)] {
            let Cache { bytes, ways, line } = cache;
            ensure(line.is_power_of_two(), [(name, "line")], || {
                format!("{name}.line is {line}, expected a power of 2")
            })?;
            let whole = bytes % (ways * line) == 0 && cache.sets().is_power_of_two();
            let shape = [(name, "bytes"), (name, "ways"), (name, "line")];
            let what = format!("{bytes} bytes in {ways} ways with lines of {line} bytes");
            ensure(whole, shape, || {
                format!("{name} has {what}, expected a number of sets that is a power of 2")
            })?;
            ensure(bytes / ways >= MIN_WAY_BYTES, shape, || {
                format!(
                    "{name} has {what}, expected at least {MIN_WAY_BYTES} bytes per way, because a tag has 31 bits of an address"
                )
            })?;
        }
        let line = self.l2.line;
        for (name, part) in [("l1i", self.l1i.line), ("l1d", self.l1d.line)] {
            let fits = part <= line && line / part <= MAX_PARTS;
            ensure(fits, [(name, "line"), ("l2", "line")], || {
                format!(
                    "{name}.line is {part} and l2.line {line}, expected 1 to {MAX_PARTS} lines of {name} in one of l2, \
                     because the L2 cache has {MAX_PARTS} bits for copies in each"
                )
            })?;
        }
        Ok(())
    }
}

fn ensure<const N: usize>(
    possible: bool,
    settings: [(&'static str, &'static str); N],
    problem: impl FnOnce() -> String,
) -> Result<(), InvalidConfig> {
    match possible {
        true => Ok(()),
        false => Err(InvalidConfig { settings: settings.into(), problem: problem() }),
    }
}
