//! The functions of the C interface.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::null_mut;

use guest_abi::guest::{Core, DramCount, Rate, Reading, StrandCount};
use guest_abi::layout::{DramPic, EventSelect, PerfConfig, SparcPcr, SparcPic};
use guest_abi::status::EOK;
use guest_abi::trap::VFALLS_SET_PERFREG;
use guest_abi::{ApiGroup, HvError, Hypercall, PerfCounters, PerfReg, Registers, Trap, Version};

use super::common::{self, counted, field, insert, negotiated, read, retried};
use super::{sun4v_count, sun4v_present, sun4v_version};

/// Functions that return a register number return this value if the register does not exist.
pub const SUN4V_NO_REG: u64 = 0xffff_ffff_ffff_ffff_u64;

/// How calls reach the hypervisor: through `trap`, which makes or simulates the trap. If `trap` or the pointer to this structure is
/// NULL, calls make the real trap on SPARC V9; on other machines they return EBADTRAP.
#[repr(C)]
pub struct sun4v_transport {
    /// Makes trap `trap_number` (0x80 or 0xff) with `regs[0]` to `regs[5]` in %o0 to %o5, and stores the values after
    /// the trap in `regs`.
    pub trap: Option<unsafe extern "C" fn(context: *mut c_void, trap_number: u64, regs: *mut u64)>,
    /// The first argument of `trap`.
    pub context: *mut c_void,
}

/// A transport from C; `None` stands for the real trap.
struct Route<'a>(Option<&'a sun4v_transport>);

impl Route<'_> {
    /// # Safety
    /// The pointer is NULL or valid, and so is the function in the structure. If either is NULL on SPARC V9, the code runs in
    /// privileged mode of a sun4v virtual machine.
    const unsafe fn new(transport: *const sun4v_transport) -> Self {
        // SAFETY: promised by the caller.
        Self(unsafe { transport.as_ref() })
    }
}

impl Hypercall for Route<'_> {
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        let given = self.0.and_then(|route| Some((route.trap?, route.context)));
        let Some((simulated, context)) = given else {
            return real(trap, registers);
        };
        let mut words = registers.to_array();
        // SAFETY: `Route::new` promises a valid function. It gets the context of the same transport, and six words.
        unsafe { simulated(context, trap.number().into(), words.as_mut_ptr()) };
        *registers = words.into();
    }
}

#[cfg(target_arch = "sparc64")]
fn real(trap: Trap, registers: &mut Registers) {
    // SAFETY: `Route::new` promises privileged mode. The calls of this crate are harmless; the
    // caller of `sun4v_trap` is responsible for its call.
    unsafe { guest_abi::guest::Sun4v::new() }.trap(trap, registers);
}

#[cfg(not(target_arch = "sparc64"))]
fn real(_: Trap, registers: &mut Registers) {
    registers.o0 = HvError::BadTrap.number();
}

/// Makes a call through a transport, stores its result, and returns its status.
///
/// # Safety
/// See [`Route::new`] for `transport`. `to` is NULL, or valid for a write.
unsafe fn call<'a, T>(
    transport: *const sun4v_transport,
    to: *mut T,
    call: impl FnOnce(Route<'a>) -> Result<T, HvError>,
) -> u64 {
    // SAFETY: promised by the caller.
    match call(unsafe { Route::new(transport) }) {
        Ok(value) => {
            if !to.is_null() {
                // SAFETY: `to` is not NULL, and the caller promises the rest.
                unsafe { to.write(value) };
            }
            EOK
        }
        Err(error) => error.number(),
    }
}

/// Makes trap 0x80 or 0xff with `regs[0]` to `regs[5]` in %o0 to %o5 (the function number is in
/// %o5), and stores the values after the trap in `regs`. Does nothing for another trap number or if
/// `regs` is NULL. The caller is responsible for the effects of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_trap(
    transport: *const sun4v_transport,
    trap_number: u64,
    regs: *mut u64,
) {
    // SAFETY: promised by the caller. `regs` points to six words or is NULL.
    let (route, words) = unsafe { (Route::new(transport), regs.cast::<[u64; 6]>().as_mut()) };
    let trap =
        [Trap::Fast, Trap::Core].into_iter().find(|trap| u64::from(trap.number()) == trap_number);
    if let (Some(trap), Some(words)) = (trap, words) {
        let mut registers = Registers::from(*words);
        route.trap(trap, &mut registers);
        *words = registers.to_array();
    }
}

/// CORE: requests a version of an API group for the whole guest. The hypervisor may grant a lower
/// minor number. Major 0 releases the group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_api_set_version(
    transport: *const sun4v_transport,
    group: u64,
    major: u64,
    minor: u64,
    granted_minor: *mut u64,
) -> u64 {
    let set = |route| Core::new(route).api_set_version(ApiGroup(group), Version::new(major, minor));
    // SAFETY: promised by the caller.
    unsafe { call(transport, granted_minor, |route| Ok(set(route)?.minor)) }
}

/// CORE: stores the negotiated version of an API group; 0.0 if the group is not negotiated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_api_get_version(
    transport: *const sun4v_transport,
    group: u64,
    version: *mut sun4v_version,
) -> u64 {
    let get = |route| Ok(Core::new(route).api_get_version(ApiGroup(group))?.into());
    // SAFETY: promised by the caller.
    unsafe { call(transport, version, get) }
}

/// CORE: writes one character to the guest's console.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_cons_putchar(
    transport: *const sun4v_transport,
    character: u8,
) -> u64 {
    let put = |route| Core::new(route).putchar(character);
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), put) }
}

/// CORE: sends a break to the guest's console.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_cons_break(transport: *const sun4v_transport) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), |route| Core::new(route).send_break()) }
}

/// CORE: stops the guest, with an exit code. Returns only if the call is refused or simulated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_exit(transport: *const sun4v_transport, code: u64) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), |route| Core::new(route).exit(code)) }
}

/// Negotiates group 0x205 for the whole guest. Returns EINVAL for major 0, without a call. If the hypervisor grants a higher
/// minor number than `minor`, releases the group and returns ENOTSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_perf_negotiate(
    transport: *const sun4v_transport,
    major: u64,
    minor: u64,
    granted: *mut sun4v_version,
) -> u64 {
    let wanted = Version::new(major, minor);
    let negotiate = |route| negotiated(PerfCounters::negotiate(route, wanted));
    // SAFETY: promised by the caller.
    unsafe { call(transport, granted, negotiate) }
}

/// Negotiates version 1.1 of group 0x205, or 1.0 if the hypervisor refuses 1.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_perf_negotiate_best(
    transport: *const sun4v_transport,
    granted: *mut sun4v_version,
) -> u64 {
    let negotiate = |route| negotiated(PerfCounters::negotiate_best(route));
    // SAFETY: promised by the caller.
    unsafe { call(transport, granted, negotiate) }
}

/// Releases group 0x205 for the whole guest. The counters keep their values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_perf_release(transport: *const sun4v_transport) -> u64 {
    let release = |route| Core::new(route).api_set_version(ApiGroup::VFALLS, Version::NONE);
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), release) }
}

/// Reads a performance register. Returns EBADTRAP without negotiation, EINVAL beyond register 89,
/// ENOTSUPPORTED if this version or machine does not have the register, ENOACCESS if the guest may
/// not use it or its unit is out of service, EWOULDBLOCK if its hub is busy at the moment. A strand
/// that asks at least once in half a millisecond is served after at most one access of each other strand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_perf_get(
    transport: *const sun4v_transport,
    reg: u64,
    value: *mut u64,
) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { call(transport, value, |route| read(route, reg)) }
}

/// Writes a performance register. The service drops the bits that a guest cannot write. Returns the same statuses as
/// `sun4v_perf_get`; also ENOACCESS if the guest sets HT without the right to do so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_perf_set(
    transport: *const sun4v_transport,
    reg: u64,
    value: u64,
) -> u64 {
    let set = |route: Route<'_>| route.call(Trap::Fast, VFALLS_SET_PERFREG, [reg, value, 0, 0, 0]);
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), set) }
}

/// Calls `sun4v_perf_get` until the status is not EWOULDBLOCK, at most `tries` times (0 means 1).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_perf_get_retrying(
    transport: *const sun4v_transport,
    reg: u64,
    tries: u32,
    value: *mut u64,
) -> u64 {
    // SAFETY: promised by the caller, for the call.
    retried(tries, || unsafe { sun4v_perf_get(transport, reg, value) })
}

/// Calls `sun4v_perf_set` until the status is not EWOULDBLOCK, at most `tries` times (0 means 1).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_perf_set_retrying(
    transport: *const sun4v_transport,
    reg: u64,
    tries: u32,
    value: u64,
) -> u64 {
    // SAFETY: promised by the caller, for the call.
    retried(tries, || unsafe { sun4v_perf_set(transport, reg, value) })
}

/// Finds the units that exist: reads the control register of each, in 32 calls. Returns EBADTRAP without negotiation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_perf_probe(
    transport: *const sun4v_transport,
    present: *mut sun4v_present,
) -> u64 {
    let probe = |route| match PerfCounters::join(route)? {
        Some(counters) => Ok(counters.probe()?.into()),
        None => Err(HvError::BadTrap),
    };
    // SAFETY: promised by the caller.
    unsafe { call(transport, present, probe) }
}

/// Reads register 1: which L2 misses are counted on the caller's node, as one of `enum sun4v_perf_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_perf_config(
    transport: *const sun4v_transport,
    config: *mut u64,
) -> u64 {
    let get = |route| Ok(read(route, PerfReg::L2_PERF_CONFIG.id())? & PerfConfig::WRITABLE);
    // SAFETY: promised by the caller.
    unsafe { call(transport, config, get) }
}

/// Writes register 1: selects which L2 misses are counted by the strands on the caller's node. Returns EINVAL for a value
/// above 3, without a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_set_perf_config(
    transport: *const sun4v_transport,
    config: u64,
) -> u64 {
    if config > PerfConfig::WRITABLE {
        return HvError::Invalid.number();
    }
    // SAFETY: promised by the caller.
    unsafe { sun4v_perf_set(transport, PerfReg::L2_PERF_CONFIG.id(), config) }
}

/// Selects the event of counter 0 or 1 of a unit: reads the control register, replaces this event, and writes the register. Returns
/// EINVAL for a unit or counter that does not exist, without a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_unit_select(
    transport: *const sun4v_transport,
    unit: u32,
    counter: u32,
    event: u64,
) -> u64 {
    let reg = sun4v_unit_pcr(unit);
    if reg == SUN4V_NO_REG || counter > 1 {
        return HvError::Invalid.number();
    }
    let mut pcr = 0;
    // SAFETY: promised by the caller. The value is stored in the variable `pcr`.
    let status = unsafe { sun4v_perf_get(transport, reg, &raw mut pcr) };
    if status != EOK {
        return status;
    }
    let pcr = sun4v_unit_pcr_with(unit, pcr, counter, event);
    // SAFETY: promised by the caller.
    unsafe { sun4v_perf_set(transport, reg, pcr) }
}

/// Returns the control register of a unit; SUN4V_NO_REG if the unit does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_unit_pcr(unit: u32) -> u64 {
    common::pmu(unit).map_or(SUN4V_NO_REG, |unit| unit.pcr().id())
}

/// Returns the register that holds counter 0 or 1 of a unit; SUN4V_NO_REG if the unit or the counter does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_unit_pic(unit: u32, counter: u32) -> u64 {
    match (common::pmu(unit), common::counter(counter)) {
        (Some(unit), Some(counter)) => unit.pic(counter).id(),
        _ => SUN4V_NO_REG,
    }
}

/// Returns `pcr`, the value of a unit's control register, with `event` for counter 0 or 1. Returns
/// `pcr` unchanged for a unit or counter that does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_unit_pcr_with(unit: u32, pcr: u64, counter: u32, event: u64) -> u64 {
    match (common::pmu(unit), common::counter(counter)) {
        (Some(unit), Some(counter)) => insert(field(unit)(counter), pcr, event),
        _ => pcr,
    }
}

/// Returns the event of counter 0 or 1 in a unit's control register; 0 for a unit or a counter that does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_unit_pcr_event(unit: u32, pcr: u64, counter: u32) -> u64 {
    match (common::pmu(unit), common::counter(counter)) {
        (Some(unit), Some(counter)) => {
            let mask = field(unit)(counter);
            (pcr & mask) >> mask.trailing_zeros()
        }
        _ => 0,
    }
}

/// Returns `pcr`, the value of the strand's PCR, with `event` (SL in bits 11:8, MASK in bits 7:0)
/// for counter 0 or 1. To count one event only, begin with SUN4V_SPARC_PCR_OFF.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_sparc_pcr_with(pcr: u64, counter: u32, event: u64) -> u64 {
    common::counter(counter).map_or(pcr, |counter| insert(SparcPcr::field(counter), pcr, event))
}

/// Returns `pcr`, the value of the strand's PCR, with counter 0 or 1 off: it neither counts nor traps.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_sparc_pcr_without(pcr: u64, counter: u32) -> u64 {
    common::counter(counter).map_or(pcr, |counter| SparcPcr::from(pcr).without(counter).into())
}

/// Returns the value of a DRAM PIC with the counts `pic0` and `pic1`, of 31 bits each, and both flags clear.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_dram_pic(pic0: u32, pic1: u32) -> u64 {
    const COUNTER: u32 = u32::MAX >> (32 - DramPic::WIDTH);
    u64::from(pic0 & COUNTER) << 32 | u64::from(pic1 & COUNTER)
}

/// Returns counter 0 or 1 of a DRAM PIC, without its flag; 0 for another counter.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_dram_pic_counter(pic: u64, counter: u32) -> u32 {
    common::counter(counter).map_or(0, |counter| DramPic::from(pic).counter(counter))
}

/// Returns counter 0 or 1 of a SPARC PIC; 0 for another counter.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_sparc_pic_counter(pic: u64, counter: u32) -> u32 {
    common::counter(counter).map_or(0, |counter| SparcPic::from(pic).counter(counter))
}

/// Returns counter 0 or 1 of a DRAM PIC with its flag in bit 31, in the form that
/// `sun4v_dram_count` expects; 0 for another counter.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_dram_pic_raw(pic: u64, counter: u32) -> u32 {
    let raw = |counter| DramPic::from(pic).reading(counter).raw() as u32;
    common::counter(counter).map_or(0, raw)
}

/// Updates a count from the present value of its DRAM counter (31 bits, flag in bit 31), and returns the count. The count is right
/// if fewer than 2^31 events happened since the last call. If the flag was clear at the last call, the count is right unless the
/// counter has wrapped twice. Returns 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_dram_count(count: *mut sun4v_count, raw: u32) -> u64 {
    // SAFETY: promised by the caller.
    counted(unsafe { count.as_mut() }, raw, |last| {
        DramCount::new(Reading::new(last)).update(Reading::new(raw.into()))
    })
}

/// Updates a count from the present value of its %pic counter (32 bits), and returns the count. The
/// count is right if fewer than 2^32 events happened since the last call. Returns 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sun4v_strand_count(count: *mut sun4v_count, raw: u32) -> u64 {
    // SAFETY: promised by the caller.
    counted(unsafe { count.as_mut() }, raw, |last| StrandCount::new(Reading::new(last)).update(raw))
}

/// Returns the longest safe interval between two reads of a DRAM counter, in ticks. Assumes at most
/// `events` events in any `ticks` ticks. Returns 0 if either argument is 0.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_dram_longest_interval(events: u32, ticks: u32) -> u64 {
    Rate::new(events, ticks).map_or(0, DramCount::longest_interval)
}

/// Returns the longest safe interval between two reads of a counter of a strand's %pic: see `sun4v_dram_longest_interval`.
#[unsafe(no_mangle)]
pub extern "C" fn sun4v_strand_longest_interval(events: u32, ticks: u32) -> u64 {
    Rate::new(events, ticks).map_or(0, StrandCount::longest_interval)
}
