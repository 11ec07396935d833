//! The values of `enum vfperf_unit_event`. The program that writes the header compiles this file too.

use guest_abi::Pmu;

/// Returns the part of an event's value that says which kind of unit counts the event.
pub(crate) const fn kind(unit: Pmu) -> u32 {
    match unit {
        Pmu::Dram(_) => 0x100,
        Pmu::Lpu(_) => 0x200,
        Pmu::Gpd(_) => 0x300,
        Pmu::Asu(_) => 0x400,
    }
}
