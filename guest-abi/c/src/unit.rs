//! Functions that make no hypercall: they find units' registers, decode and compute register values, keep counts, and say how often
//! a counter must be read.
#![allow(unsafe_code)]

use guest_abi::guest::{DramCount, Rate, Reading, StrandCount};
use guest_abi::layout::{DramPic, EventSelect, SparcPcr, SparcPic};
use guest_abi::{Counter, Pmu};

use crate::common::{field, insert, select_event};
use crate::enumerations::{
    vfperf_counter, vfperf_reg, vfperf_sparc_event, vfperf_unit, vfperf_unit_event,
};
use crate::event;
use crate::types::{vfperf_count, vfperf_snapshot};

/// Returns the control register of a unit; VFPERF_REGS if the unit does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn vfperf_unit_pcr(unit: vfperf_unit) -> vfperf_reg {
    unit.pmu().map_or(vfperf_reg::NONE, |pmu| vfperf_reg::from_register(pmu.pcr()))
}

/// Returns the register that holds a counter of a unit; VFPERF_REGS if the unit or the counter does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn vfperf_unit_pic(unit: vfperf_unit, counter: vfperf_counter) -> vfperf_reg {
    let place = unit.pmu().zip(counter.get());
    place.map_or(vfperf_reg::NONE, |(pmu, counter)| vfperf_reg::from_register(pmu.pic(counter)))
}

/// Returns `pcr`, the value of a unit's control register, with `event` selected for a counter. Returns `pcr` unchanged for a unit or
/// counter that does not exist, and for an event of another kind of unit.
#[unsafe(no_mangle)]
pub extern "C" fn vfperf_unit_pcr_with(
    unit: vfperf_unit,
    pcr: u64,
    counter: vfperf_counter,
    event: vfperf_unit_event,
) -> u64 {
    let place = unit.pmu().zip(counter.get());
    place.and_then(|(pmu, counter)| select_event(pmu, pcr, counter, event.0)).unwrap_or(pcr)
}

/// Returns the event that a unit's control register selects for a counter; 0 (no event) if the unit or the counter does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn vfperf_unit_pcr_event(
    unit: vfperf_unit,
    pcr: u64,
    counter: vfperf_counter,
) -> vfperf_unit_event {
    let place = unit.pmu().zip(counter.get());
    vfperf_unit_event(place.map_or(0, |(pmu, counter)| {
        let mask = field(pmu, counter);
        event::kind(pmu) | ((pcr & mask) >> mask.trailing_zeros()) as u32
    }))
}

/// Returns `pcr`, the value of the strand's PCR, with `event` selected for a counter. To count one event only, begin with
/// VFPERF_SPARC_PCR_OFF.
#[unsafe(no_mangle)]
pub extern "C" fn vfperf_sparc_pcr_with(
    pcr: u64,
    counter: vfperf_counter,
    event: vfperf_sparc_event,
) -> u64 {
    let with = |counter| insert(SparcPcr::field(counter), pcr, event.0.into());
    counter.get().map_or(pcr, with)
}

/// Returns `pcr`, the value of the strand's PCR, with a counter off: the counter neither counts nor traps.
#[unsafe(no_mangle)]
pub extern "C" fn vfperf_sparc_pcr_without(pcr: u64, counter: vfperf_counter) -> u64 {
    counter.get().map_or(pcr, |counter| SparcPcr::from(pcr).without(counter).into())
}

/// Returns a counter of `pic`, a value of %pic; 0 for a counter that does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn vfperf_sparc_pic_counter(pic: u64, counter: vfperf_counter) -> u32 {
    counter.get().map_or(0, |counter| SparcPic::from(pic).counter(counter))
}

/// Updates the count of a unit's counter from `pic`, the value of the counter's register, and returns the count. The count of a hub's
/// counter is always right. A DRAM counter has 31 bits and a flag. Its count is right if fewer than 2^31 events happened since the last
/// call. Its count is also right if the flag was clear at the last call and the counter has not wrapped twice since. Returns 0 if `count`
/// is NULL, or if the unit or counter does not exist.
/// cbindgen:prefix=
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_unit_count(
    count: *mut vfperf_count,
    unit: vfperf_unit,
    counter: vfperf_counter,
    pic: u64,
) -> u64 {
    // SAFETY: promised by the caller.
    match (unsafe { count.as_mut() }, unit.pmu(), counter.get()) {
        (Some(count), Some(pmu), Some(counter)) => count.advance_unit(pmu, raw(pmu, counter, pic)),
        _ => 0,
    }
}

/// Returns a counter from the value of its register. In the result for a DRAM counter, bit 31 is the counter's flag.
fn raw(pmu: Pmu, counter: Counter, pic: u64) -> u64 {
    match pmu {
        Pmu::Dram(_) => DramPic::from(pic).reading(counter).raw(),
        Pmu::Lpu(_) | Pmu::Gpd(_) | Pmu::Asu(_) => pic,
    }
}

/// Like `vfperf_unit_count`, from a snapshot of the unit.
/// cbindgen:prefix=
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_snapshot_count(
    count: *mut vfperf_count,
    snapshot: *const vfperf_snapshot,
    counter: vfperf_counter,
) -> u64 {
    // SAFETY: promised by the caller.
    let (count, snapshot) = unsafe { (count.as_mut(), snapshot.as_ref()) };
    let (Some(count), Some(snapshot), Some(counter)) = (count, snapshot, counter.get()) else {
        return 0;
    };
    let [pic0, pic1] = snapshot.pic;
    let pic = if counter == Counter::Pic0 { pic0 } else { pic1 };
    let flag = u64::from(snapshot.wrapped >> counter.index() & 1) << DramPic::WIDTH;
    vfperf_unit(snapshot.unit).pmu().map_or(0, |pmu| count.advance_unit(pmu, pic | flag))
}

/// Updates the count of one of the strand's counters from `pic`, the value of %pic, and returns the count. The count is right if fewer than
/// 2^32 events happened since the last call. Returns 0 for NULL, and for a counter that does not exist.
/// cbindgen:prefix=
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_strand_count(
    count: *mut vfperf_count,
    counter: vfperf_counter,
    pic: u64,
) -> u64 {
    // SAFETY: promised by the caller.
    match (unsafe { count.as_mut() }, counter.get()) {
        (Some(count), Some(counter)) => {
            let raw = SparcPic::from(pic).counter(counter);
            count.advance(raw.into(), |last| StrandCount::new(Reading::new(last)).update(raw))
        }
        _ => 0,
    }
}

/// Returns the longest safe interval between two reads of a DRAM counter, in ticks. Assumes at most
/// `events` events in any `ticks` ticks. Returns 0 if either argument is 0.
#[unsafe(no_mangle)]
pub extern "C" fn vfperf_dram_longest_interval(events: u32, ticks: u32) -> u64 {
    Rate::new(events, ticks).map_or(0, DramCount::longest_interval)
}

/// Returns the longest safe interval between two reads of a counter in a strand's %pic: see `vfperf_dram_longest_interval`.
#[unsafe(no_mangle)]
pub extern "C" fn vfperf_strand_longest_interval(events: u32, ticks: u32) -> u64 {
    Rate::new(events, ticks).map_or(0, StrandCount::longest_interval)
}
