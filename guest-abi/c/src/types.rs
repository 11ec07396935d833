//! The structures that the C functions take and fill in.

use core::ffi::c_void;

/// The number of samples that a profiler holds.
pub const VFPERF_PROFILER_SAMPLES: usize = 64;

/// The maximum number of events of a profiler. The profiler counts two events at the same time.
pub const VFPERF_PROFILER_EVENTS: usize = 8;

/// The functions through which calls reach the machine, for example a simulated machine. A function may be NULL, and so may the pointer to
/// this structure. On SPARC V9, NULL stands for the real trap or register. On other processors, NULL stands for a trap that returns
/// EBADTRAP, or a register that reads as 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_transport {
    /// Executes trap `trap_number` (0x80 or 0xff) with `regs[0]` to `regs[5]` in %o0 to %o5, and stores the values after
    /// the trap in `regs`.
    pub trap: Option<unsafe extern "C" fn(context: *mut c_void, trap_number: u64, regs: *mut u64)>,
    /// Reads ancillary register 16 (%pcr) or 17 (%pic) of the calling strand.
    pub read_asr: Option<unsafe extern "C" fn(context: *mut c_void, asr: u32) -> u64>,
    /// Writes ancillary register 16 (%pcr, except HT) or 17 (%pic) of the calling strand.
    pub write_asr: Option<unsafe extern "C" fn(context: *mut c_void, asr: u32, value: u64)>,
    /// Passed to each function as its first argument.
    pub context: *mut c_void,
}

/// A version of an API group; 0.0 stands for "not negotiated".
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_version {
    /// Versions with different major numbers are incompatible.
    pub major: u64,
    /// A higher minor number only adds calls and registers.
    pub minor: u64,
}

/// The result of a probe. Bit n of each member stands for unit n of `enum vfperf_unit`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_present {
    /// The units that exist: the status was neither EINVAL nor ENOTSUPPORTED.
    pub units: u32,
    /// The units that exist, but are out of service or not granted to the guest: the status was ENOACCESS.
    pub refused: u32,
    /// The units that exist, but whose hub was busy at that moment: the status was EWOULDBLOCK.
    pub busy: u32,
    /// The units that may or may not exist, because the call returned another status. illumos treats them as present.
    pub unclear: u32,
}

/// Limits on repeated calls. A NULL pointer stands for a structure of zeros: each call is made once.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_retry {
    /// The maximum number of times that a call is tried while its status is EWOULDBLOCK; 0 means 1.
    pub tries: u32,
    /// The maximum number of times that a snapshot reads the counters; 0 means 1. The snapshot reads the counters again if the
    /// control register has changed.
    pub reads: u32,
    /// Called between two tries of a call, with the number of refused tries so far. NULL: no pause. If pauses stay below half a
    /// millisecond, the service serves a refused strand after at most one access by every other strand.
    pub pause: Option<unsafe extern "C" fn(context: *mut c_void, refused: u32)>,
    /// Returns the time in ticks, for the skew of a snapshot. NULL: `skew_ticks` is 0.
    pub clock: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
    /// Passed to each function as its first argument.
    pub context: *mut c_void,
}

/// The registers of a unit, read together: the counters count the events that the control register selects.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_snapshot {
    /// The control register. It held this value both before and after the counters were read.
    pub pcr: u64,
    /// Counters 0 and 1, without the flag of a DRAM counter.
    pub pic: [u64; 2],
    /// Ticks from just before the read of counter 0 to just after the read of counter 1; 0 without a clock or for a DRAM channel.
    pub skew_ticks: u64,
    /// Counter 0 is read both before and after counter 1. This is the number of events that it counted in between; 0 for a DRAM channel.
    pub skew_events: u64,
    /// The number of calls, including refused ones, that it took to read counter 1; 0 for a DRAM channel, whose counters are read
    /// together.
    pub skew_calls: u32,
    /// Bit n: counter n has wrapped since its flag was cleared. Only DRAM counters have flags.
    pub wrapped: u32,
    /// The number of times that the counters were read.
    pub reads: u32,
    /// The unit: one of `enum vfperf_unit`.
    pub unit: u32,
}

/// A 64-bit count of a narrower counter's events. To begin, set `events` to 0, and `last` to the counter's value
/// (of a DRAM counter: with its flag in bit 31).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_count {
    /// The events since the counter was first read.
    pub events: u64,
    /// The value of the counter at the last read or write; a DRAM counter has its flag in bit 31.
    pub last: u64,
}

/// An event that a profiler counts, with or without samples. A member that is 0 is not used.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_request {
    /// One of `enum vfperf_sparc_event`, or any other select code: SL in bits 11:8, MASK in bits 7:0.
    pub event: u32,
    /// Events between two samples, 1 to 2^31. 0: no samples.
    pub period: u32,
    /// Ticks between two samples. If this is not 0, `period` is only the first period; later periods follow the event rate.
    pub interval: u32,
    /// 1 to 31: periods are random, and differ from the nominal period by up to 1/2^`spread` of it. 3 is a good choice.
    pub spread: u32,
    /// The seed of random periods.
    pub seed: u64,
    /// The maximum number of interrupts in a window of `throttle_ticks` ticks. One more interrupt doubles the period and begins a
    /// new window.
    pub throttle: u32,
    /// Reserved. The value has no effect.
    pub reserved: u32,
    /// The length of a window in ticks: at least 1 if `throttle` is not 0.
    pub throttle_ticks: u64,
}

/// The place and time of an interrupt.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_interrupted {
    /// The address of the next instruction of the interrupted code.
    pub address: u64,
    /// The time, in ticks of a clock that never goes backwards.
    pub time: u64,
    /// The strand, 0 to 255.
    pub strand: u32,
    /// The mode of the interrupted code: VFPERF_SPARC_PCR_UT, _ST or _HT.
    pub mode: u32,
}

/// A sample: the overflow of a counter whose event is sampled.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_sample {
    /// Where and when the overflow interrupted the program.
    pub at: vfperf_interrupted,
    /// The event whose counter overflowed.
    pub event: u64,
    /// The number of events since the event's previous sample.
    pub period: u64,
}

/// A profiler's result for one event.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vfperf_report {
    /// The event's code, as in the profiler's request.
    pub event: u32,
    /// The counter: one of `enum vfperf_counter`.
    pub counter: u32,
    /// The number of events that were counted in the `running` ticks.
    pub counted: u64,
    /// Ticks in which the event was counted.
    pub running: u64,
    /// Ticks in which any event was counted.
    pub enabled: u64,
    /// The estimated number of events in `enabled` ticks.
    pub events: u64,
    /// One standard error of `events`, rounded up. UINT64_MAX: unknown, because the event had fewer than two turns.
    pub error: u64,
    /// The number of samples, including lost samples.
    pub samples: u64,
    /// The number of samples that were lost because there was no room.
    pub lost: u64,
    /// The number of periods that ended while the interrupt of an earlier period was pending.
    pub missed: u64,
    /// The number of times that throttling doubled the period.
    pub throttled: u64,
    /// The current period; 0 for an event without samples.
    pub period: u64,
}

/// A profiler, prepared by `vfperf_profiler_init`. The caller owns its 5120 bytes, may move them, and has nothing to release.
#[repr(C, align(16))]
pub struct vfperf_profiler {
    /// Private to the profiler functions.
    pub words: [u64; 640],
}
