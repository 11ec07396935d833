//! The numbers of `enum vfperf_unit_event`. The program that writes the header compiles this file too.

use guest_abi::Pmu;

/// Returns the bits of an event that say which kind of unit counts it.
pub(crate) const fn kind(unit: Pmu) -> u32 {
    match unit {
        Pmu::Dram(_) => 0x100,
        Pmu::Lpu(_) => 0x200,
        Pmu::Gpd(_) => 0x300,
        Pmu::Asu(_) => 0x400,
    }
}
