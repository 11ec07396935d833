//! The configuration of a memory system.

use serde::Serialize;

use super::timing::Timing;

/// A cache. Replacement is exact LRU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// Its size.
    pub bytes: u64,
    /// How many lines a set has.
    pub ways: u64,
    /// The bytes of a line.
    pub line: u64,
}

impl Cache {
    /// Returns how many sets it has.
    #[must_use]
    pub const fn sets(&self) -> u64 {
        self.bytes / (self.ways * self.line)
    }
}

/// The caches and times of a memory system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Config {
    /// The instruction cache of a core.
    pub l1i: Cache,
    /// The data cache of a core.
    pub l1d: Cache,
    /// The L2 cache of a node: its eight banks together.
    pub l2: Cache,
    /// How long things take.
    pub timing: Timing,
}

impl Config {
    /// The configuration of a T2 Plus.
    pub const T2_PLUS: Self = Self {
        l1i: Cache {
            bytes: 16 << 10,
            ways: 8,
            line: 32,
        },
        l1d: Cache {
            bytes: 8 << 10,
            ways: 4,
            line: 16,
        },
        l2: Cache {
            bytes: 4 << 20,
            ways: 16,
            line: 64,
        },
        timing: Timing::T2_PLUS,
    };
}

impl Default for Config {
    fn default() -> Self {
        Self::T2_PLUS
    }
}
