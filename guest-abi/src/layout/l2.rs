//! The L2 control register (FWARC/2007/529 section 2.3). Guests see only two of its bits.

use bitfield_struct::bitfield;

crate::numbered::numbered! {
    /// PERF_CONFIG, the value of register 1. It selects the L2 misses that the SPARC events `L2_imiss` and `L2_dmiss_ld` include.
    #[derive(Default)]
    PerfConfig "PERF_CONFIG" {
        /// All misses, wherever the cache line comes from.
        #[default]
        All "all",
        /// Misses served by the same node's memory.
        Local "local",
        /// Misses served by another node's memory.
        Remote "remote",
        /// Misses served by another node's cache.
        CacheToCache "c2c",
    }
}

impl PerfConfig {
    /// The bits of register 1 that a guest can write.
    pub const WRITABLE: u64 = 0b11;

    /// Returns the value to write to register 1 for this setting.
    pub const fn value(self) -> u64 {
        self as u64
    }

    /// Returns the setting in bits 1:0 of a value. Other bits are ignored.
    pub const fn from_value(value: u64) -> Self {
        match value & Self::WRITABLE {
            0 => Self::All,
            1 => Self::Local,
            2 => Self::Remote,
            _ => Self::CacheToCache,
        }
    }

    const fn from_field(bits: u8) -> Self {
        Self::from_value(bits as u64)
    }

    const fn into_field(self) -> u8 {
        self as u8
    }
}

/// One of a node's eight L2 control registers. Only the hypervisor can access these registers. Reset
/// sets DIS and clears the other bits; before a guest runs, the hypervisor writes the register.
///
/// PERF_CONFIG and the ceiling mask exist on the UltraSPARC T2 Plus only. The T2 has the same bits
/// 21:0; its bits 63:22 read as 0. Whether the T2 Plus has other fields is unknown.
#[bitfield(u64)]
#[derive(PartialEq, Eq, Hash)]
#[must_use]
pub struct L2Control {
    dis: bool,
    // DMMODE (direct-mapped replacement), SCRUBEN, the scrub interval (12 bits), the strand that gets errors (6 bits), and DBG.
    #[bits(21)]
    __: u32,
    clear: bool,
    // 2 other bits, the address interleave ceiling mask (8 bits), and 3 other bits.
    #[bits(13)]
    __: u16,
    #[bits(2, from = PerfConfig::from_field, into = PerfConfig::into_field)]
    config: PerfConfig,
    #[bits(26)]
    __: u64,
}

super::fields! {
    L2Control {
        /// DIS: the cache is off.
        disabled, with_disabled: bool = dis, with_dis;
        /// A write of 1 clears the directory, which lists the lines in the L1 caches. Reads as 0.
        clear_directory, with_clear_directory: bool = clear, with_clear;
        /// PERF_CONFIG, bits 37:36.
        perf_config, with_perf_config: PerfConfig = config, with_config;
    }
}
