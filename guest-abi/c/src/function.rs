//! The C functions that make hypercalls.
#![allow(unsafe_code)]

use core::hint::spin_loop;
use core::ptr::null_mut;

use guest_abi::clock::Clock;
use guest_abi::guest::{Core, SnapshotLimits, Tries};
use guest_abi::layout::PerfConfig;
use guest_abi::{ApiGroup, HvError, Hypercall, PerfCounters, PerfReg, Registers, Trap, Version};

use crate::common::{join_negotiated, negotiation_result, read, select_event, write};
use crate::enumerations::{
    vfperf_counter, vfperf_perf_config, vfperf_reg, vfperf_unit, vfperf_unit_event,
};
use crate::transport::{Route, call};
use crate::types::{
    vfperf_present, vfperf_retry, vfperf_snapshot, vfperf_transport, vfperf_version,
};

/// Executes trap 0x80 or 0xff with `regs[0]` to `regs[5]` in %o0 to %o5 (the function number is in
/// %o5), and stores the values after the trap in `regs`. Does nothing for another trap number or if
/// `regs` is NULL. The caller is responsible for the effects of the call.
/// cbindgen:prefix=
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_trap(
    transport: *const vfperf_transport,
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
pub unsafe extern "C" fn vfperf_api_set_version(
    transport: *const vfperf_transport,
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
pub unsafe extern "C" fn vfperf_api_get_version(
    transport: *const vfperf_transport,
    group: u64,
    version: *mut vfperf_version,
) -> u64 {
    let get = |route| Ok(Core::new(route).api_get_version(ApiGroup(group))?.into());
    // SAFETY: promised by the caller.
    unsafe { call(transport, version, get) }
}

/// CORE: writes one character to the guest's console.
/// cbindgen:prefix=
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_cons_putchar(
    transport: *const vfperf_transport,
    character: u8,
) -> u64 {
    let put = |route| Core::new(route).putchar(character);
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), put) }
}

/// CORE: sends a break to the guest's console.
/// cbindgen:prefix=
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_cons_break(transport: *const vfperf_transport) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), |route| Core::new(route).send_break()) }
}

/// CORE: stops the guest, with an exit code. Returns only if the call is refused or simulated.
/// cbindgen:prefix=
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_exit(transport: *const vfperf_transport, code: u64) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), |route| Core::new(route).exit(code)) }
}

/// Negotiates group 0x205 for the whole guest. Returns EINVAL for major 0, without making a call. If the hypervisor grants a higher minor
/// number than `minor`, releases the group and returns ENOTSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_negotiate(
    transport: *const vfperf_transport,
    major: u64,
    minor: u64,
    granted: *mut vfperf_version,
) -> u64 {
    let wanted = Version::new(major, minor);
    let negotiate = |route| negotiation_result(PerfCounters::negotiate(route, wanted));
    // SAFETY: promised by the caller.
    unsafe { call(transport, granted, negotiate) }
}

/// Negotiates version 1.1 of group 0x205, or 1.0 if the hypervisor refuses 1.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_negotiate_best(
    transport: *const vfperf_transport,
    granted: *mut vfperf_version,
) -> u64 {
    let negotiate = |route| negotiation_result(PerfCounters::negotiate_best(route));
    // SAFETY: promised by the caller.
    unsafe { call(transport, granted, negotiate) }
}

/// Releases group 0x205 for the whole guest. The counters keep their values.
/// cbindgen:prefix=
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_release(transport: *const vfperf_transport) -> u64 {
    let release = |route| Core::new(route).api_set_version(ApiGroup::VFALLS, Version::NONE);
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), release) }
}

/// Reads a performance register. A strand that asks at least once every half millisecond is served after at most one access by every other
/// strand.
///
/// Errors:
/// - EBADTRAP: the guest has not negotiated.
/// - EINVAL: there is no such register.
/// - ENOTSUPPORTED: this version or machine does not have the register.
/// - ENOACCESS: the guest may not use the register, or the register's unit is out of service.
/// - EWOULDBLOCK: the register's hub was busy in every try.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_get(
    transport: *const vfperf_transport,
    reg: vfperf_reg,
    retry: *const vfperf_retry,
    value: *mut u64,
) -> u64 {
    // SAFETY: promised by the caller.
    let retry = unsafe { Retry::new(retry) };
    // SAFETY: promised by the caller.
    unsafe { call(transport, value, |route| retry.retry_blocked(|| read(route, reg.0.into()))) }
}

/// Writes a performance register. The service drops the bits that a guest cannot write. Returns the same statuses as
/// `vfperf_get`; also ENOACCESS if the guest sets HT without the right to do so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_set(
    transport: *const vfperf_transport,
    reg: vfperf_reg,
    retry: *const vfperf_retry,
    value: u64,
) -> u64 {
    // SAFETY: promised by the caller.
    let retry = unsafe { Retry::new(retry) };
    let set = |route| retry.retry_blocked(|| write(route, reg.0.into(), value));
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), set) }
}

/// The retry limits and functions that the caller has passed, or the defaults if the caller has passed NULL.
struct Retry(vfperf_retry);

impl Retry {
    /// # Safety
    /// The pointer is NULL, or valid for a read, and the functions in the structure are valid.
    const unsafe fn new(retry: *const vfperf_retry) -> Self {
        // SAFETY: promised by the caller.
        match unsafe { retry.as_ref() } {
            Some(retry) => Self(*retry),
            None => Self(vfperf_retry {
                tries: 0,
                reads: 0,
                pause: None,
                clock: None,
                context: null_mut(),
            }),
        }
    }

    /// Repeats `attempt` while its status is EWOULDBLOCK, up to the maximum number of tries.
    fn retry_blocked<T>(&self, attempt: impl FnMut() -> Result<T, HvError>) -> Result<T, HvError> {
        let result = tries(self.0.tries).retry_with(|refused| self.pause(refused), attempt);
        result.map_err(|error| error.status().unwrap_or(HvError::WouldBlock))
    }

    fn pause(&self, refused: u32) {
        match self.0.pause {
            // SAFETY: the caller of `new` promises a valid function.
            Some(pause) => unsafe { pause(self.0.context, refused) },
            None => spin_loop(),
        }
    }
}

fn tries(number: u32) -> Tries {
    Tries::new(number).unwrap_or(Tries::ONCE)
}

impl Clock for Retry {
    fn ticks(&self) -> u64 {
        // SAFETY: the caller of `new` promises a valid function.
        self.0.clock.map_or(0, |clock| unsafe { clock(self.0.context) })
    }
}

/// Reads a unit's control register and counters. Repeats the read if the control register changed during it. Returns the same statuses as
/// `vfperf_get`. Also returns EINVAL for a unit that does not exist (without making a call), and EWOULDBLOCK if the control register
/// changed during every read of the counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_snapshot(
    transport: *const vfperf_transport,
    unit: vfperf_unit,
    retry: *const vfperf_retry,
    snapshot: *mut vfperf_snapshot,
) -> u64 {
    // SAFETY: promised by the caller.
    let retry = unsafe { Retry::new(retry) };
    let bounds =
        SnapshotLimits { max_reads: tries(retry.0.reads), max_tries: tries(retry.0.tries) };
    let clock = retry.0.clock.is_some().then_some(&retry as &dyn Clock);
    let take = |route| {
        let pmu = unit.pmu().ok_or(HvError::Invalid)?;
        join_negotiated(route)?
            .snapshot_with(pmu, bounds, clock, |refused| retry.pause(refused))
            .map(vfperf_snapshot::from)
            .map_err(|error| error.status().unwrap_or(HvError::WouldBlock))
    };
    // SAFETY: promised by the caller.
    unsafe { call(transport, snapshot, take) }
}

/// Finds out which units exist by reading each unit's control register, in 32 calls. Returns EBADTRAP if the guest has not negotiated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_probe(
    transport: *const vfperf_transport,
    present: *mut vfperf_present,
) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { call(transport, present, |route| Ok(join_negotiated(route)?.probe()?.into())) }
}

/// Reads register 1: which L2 misses are counted on the caller's node, as one of `enum vfperf_perf_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_get_perf_config(
    transport: *const vfperf_transport,
    config: *mut u64,
) -> u64 {
    let get = |route| Ok(read(route, PerfReg::L2_PERF_CONFIG.id())? & PerfConfig::WRITABLE);
    // SAFETY: promised by the caller.
    unsafe { call(transport, config, get) }
}

/// Writes register 1: selects which L2 misses are counted by the strands on the caller's node. Returns EINVAL for a value above 3, without
/// making a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_set_perf_config(
    transport: *const vfperf_transport,
    config: vfperf_perf_config,
) -> u64 {
    if u64::from(config.0) > PerfConfig::WRITABLE {
        return HvError::Invalid.number();
    }
    let set = |route| write(route, PerfReg::L2_PERF_CONFIG.id(), config.0.into());
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), set) }
}

/// Selects the event of a unit's counter: reads the control register, replaces the counter's event, and writes the register back. Returns
/// EINVAL, without making a call, if the unit or counter does not exist, or if the event belongs to another kind of unit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_unit_select(
    transport: *const vfperf_transport,
    unit: vfperf_unit,
    counter: vfperf_counter,
    event: vfperf_unit_event,
) -> u64 {
    let (Some(pmu), Some(counter)) = (unit.pmu(), counter.get()) else {
        return HvError::Invalid.number();
    };
    let select = |route: Route| {
        select_event(pmu, 0, counter, event.0).ok_or(HvError::Invalid)?;
        let pcr = read(route, pmu.pcr().id())?;
        let pcr = select_event(pmu, pcr, counter, event.0).unwrap_or(pcr);
        write(route, pmu.pcr().id(), pcr)
    };
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), select) }
}
