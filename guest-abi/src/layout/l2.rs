//! The L2 control register (FWARC/2007/529 section 2.3). Guests see only two of its bits.

use bitfield_struct::{bitenum, bitfield};

/// PERF_CONFIG, the value of register 1: which L2 misses the SPARC events `L2_imiss` and `L2_dmiss_ld` count.
#[bitenum]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum PerfConfig {
    /// All misses.
    #[default]
    #[fallback]
    All = 0,
    /// Misses that the memory of the same node serves.
    Local = 1,
    /// Misses that the memory of another node serves.
    Remote = 2,
    /// Misses that the cache of another node serves.
    CacheToCache = 3,
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
        Self::from_bits((value & Self::WRITABLE) as u8)
    }
}

/// One of the eight L2 control registers of a node. Only the hypervisor can access them. Reset sets
/// DIS and clears the other bits; before a guest runs, the hypervisor writes the register.
///
/// PERF_CONFIG and the ceiling mask exist on the UltraSPARC T2 Plus only. The T2 has the same bits
/// 21:0; its bits 63:22 read as 0. Whether the T2 Plus has other fields is unknown.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct L2Control {
    /// DIS: the cache is off.
    pub disabled: bool,
    /// DMMODE: direct-mapped replacement.
    pub direct_mapped: bool,
    /// SCRUBEN: the scrubber runs.
    pub scrub_enabled: bool,
    /// The interval of the scrubber.
    #[bits(12)]
    pub scrub_interval: u16,
    /// The strand to which errors are steered.
    #[bits(6)]
    pub error_steer: u8,
    /// DBG: a mode for debugging the hardware.
    pub debug: bool,
    /// A write of 1 clears the directory, which lists the lines in the L1 caches. Reads as 0.
    pub clear_directory: bool,
    #[bits(2)]
    __: u8,
    /// Address interleave ceiling mask.
    #[bits(8)]
    pub ceiling_mask: u8,
    #[bits(3)]
    __: u8,
    /// PERF_CONFIG, bits 37:36.
    #[bits(2)]
    pub perf_config: PerfConfig,
    #[bits(26)]
    __: u64,
}
