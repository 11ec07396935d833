//! The profiler: `guest_abi::sampling` on the calling strand's own counters.
#![allow(unsafe_code)]

use core::num::{NonZeroU32, NonZeroU64};
use core::ptr::{null, null_mut};
use core::slice;

use guest_abi::layout::{SparcPcr, SparcSelect};
use guest_abi::sampling::{
    Assignment, Cause, CounterSet, EventReport, InterruptPoint, ModeSet, OwnCounters, Pace, Period,
    Profiler, Program, Request, Sample, SparcMode, Throttle,
};
use guest_abi::status::EOK;
use guest_abi::{HvError, StrandId};

use crate::common::join_negotiated;
use crate::transport::{Route, call};
use crate::types::{
    VFPERF_PROFILER_EVENTS, VFPERF_PROFILER_SAMPLES, vfperf_interrupted, vfperf_profiler,
    vfperf_report, vfperf_request, vfperf_sample, vfperf_transport,
};

type Unit = OwnCounters<Route, Route>;
type Sampler = Profiler<Unit, { VFPERF_PROFILER_EVENTS / 2 }, VFPERF_PROFILER_SAMPLES>;

/// The content of a `vfperf_profiler`.
struct ProfilerState {
    /// Equals [`READY`] once `vfperf_profiler_init` has prepared the profiler.
    ready: u64,
    /// `true` if the profiler counts in hyperprivileged mode, which requires a call to the service.
    needs_service: bool,
    profiler: Sampler,
}

const READY: u64 = u64::from_be_bytes(*b"profiler");

const _: () = assert!(
    size_of::<ProfilerState>() <= size_of::<vfperf_profiler>()
        && align_of::<ProfilerState>() <= align_of::<vfperf_profiler>()
);

/// Returns the profiler at a pointer from C. Fails with EINVAL for NULL, a misaligned pointer, and a profiler that
/// `vfperf_profiler_init` has not prepared.
///
/// # Safety
/// The pointer is NULL, or valid and used by nobody else while the reference exists.
unsafe fn stored<'a>(profiler: *mut vfperf_profiler) -> Result<&'a mut ProfilerState, HvError> {
    let stored = profiler.cast::<ProfilerState>();
    if stored.is_null() || !stored.is_aligned() {
        return Err(HvError::Invalid);
    }
    // SAFETY: the pointer is valid and aligned, and every value is a valid u64. `vfperf_profiler_init` has
    // written all other fields before `ready`.
    unsafe {
        match (&raw const (*stored).ready).read() {
            READY => Ok(&mut *stored),
            _ => Err(HvError::Invalid),
        }
    }
}

/// Returns the bits of the PCR that enable counting in `modes`.
fn bits(modes: ModeSet<SparcMode>) -> u32 {
    let counting = Program { events: Assignment::NONE, modes, interrupts: CounterSet::NONE };
    let none = Program { modes: ModeSet::NONE, ..counting };
    let [counting, none] = [counting, none].map(|program| program.applied_to(SparcPcr::new()));
    (u64::from(counting) ^ u64::from(none)) as u32
}

fn modes(wanted: u32) -> Result<ModeSet<SparcMode>, HvError> {
    ModeSet::subsets().find(|modes| bits(*modes) == wanted).ok_or(HvError::Invalid)
}

impl TryFrom<vfperf_request> for Request<SparcSelect> {
    type Error = HvError;

    fn try_from(asked: vfperf_request) -> Result<Self, HvError> {
        let select = u16::try_from(asked.event).map(SparcSelect::from_code);
        let event = select.ok().filter(|select| u32::from(select.code()) == asked.event);
        let event = event.ok_or(HvError::Invalid)?;
        let unused = asked.interval | asked.spread | asked.throttle;
        if asked.period == 0 && unused == 0 {
            return Ok(Self { event, pace: None });
        }
        let first = Period::new(asked.period).ok_or(HvError::Invalid)?;
        let mut pace = match NonZeroU32::new(asked.interval) {
            Some(ticks) => Pace::interval(ticks, first),
            None => Pace::every(first),
        };
        if asked.spread != 0 {
            pace = pace.randomised(asked.spread, asked.seed);
        }
        if let Some(interrupts) = NonZeroU32::new(asked.throttle) {
            let ticks = NonZeroU64::new(asked.throttle_ticks).ok_or(HvError::Invalid)?;
            pace = pace.throttled(Throttle { interrupts, ticks });
        }
        Ok(Self { event, pace: Some(pace) })
    }
}

impl TryFrom<vfperf_interrupted> for InterruptPoint<SparcMode> {
    type Error = HvError;

    fn try_from(at: vfperf_interrupted) -> Result<Self, HvError> {
        let mut modes = modes(at.mode)?.iter();
        let (Some(mode), None) = (modes.next(), modes.next()) else {
            return Err(HvError::Invalid);
        };
        let strand = StrandId::new(at.strand as usize).ok_or(HvError::Invalid)?;
        Ok(Self { address: at.address, strand, time: at.time, mode })
    }
}

impl From<Sample<SparcSelect, SparcMode>> for vfperf_sample {
    fn from(Sample { at, event, period }: Sample<SparcSelect, SparcMode>) -> Self {
        let (strand, mode) = (at.strand.number().into(), bits(at.mode.into()));
        let at = vfperf_interrupted { address: at.address, time: at.time, strand, mode };
        Self { at, event: event.code().into(), period }
    }
}

impl From<EventReport<SparcSelect>> for vfperf_report {
    fn from(report: EventReport<SparcSelect>) -> Self {
        let known = report.estimate;
        Self {
            event: report.event.code().into(),
            counter: report.counter.index() as u32,
            counted: known.map_or(0, |known| known.counted),
            running: known.map_or(0, |known| known.running),
            enabled: known.map_or(0, |known| known.enabled),
            events: known.map_or(0, |known| known.events),
            error: known.and_then(|known| known.error).unwrap_or(u64::MAX),
            samples: report.samples,
            lost: report.lost,
            missed: report.missed,
            throttled: report.throttled,
            period: report.period.map_or(0, |period| period.events().into()),
        }
    }
}

/// Prepares a profiler that counts the events of `count` requests, in `modes` (VFPERF_SPARC_PCR_UT, _ST, _HT). The events of requests 2n
/// and 2n + 1 are counted at the same time, on counters 0 and 1. Returns EINVAL if there are more than VFPERF_PROFILER_EVENTS requests, if
/// a request's member is out of range, or if `profiler` is misaligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_profiler_init(
    profiler: *mut vfperf_profiler,
    modes: u32,
    requests: *const vfperf_request,
    count: u32,
) -> u64 {
    let count = count as usize;
    let to = profiler.cast::<ProfilerState>();
    if to.is_null() || !to.is_aligned() || requests.is_null() || count > VFPERF_PROFILER_EVENTS {
        return HvError::Invalid.number();
    }
    // SAFETY: promised by the caller.
    let requests = unsafe { slice::from_raw_parts(requests, count) };
    match prepare(modes, requests) {
        Ok(stored) => {
            // SAFETY: `to` is aligned, the structure is large enough, and the caller promises that it is valid.
            unsafe { to.write(stored) };
            EOK
        }
        Err(error) => error.number(),
    }
}

fn prepare(bits: u32, asked: &[vfperf_request]) -> Result<ProfilerState, HvError> {
    let modes = modes(bits)?;
    let mut requests = [Request { event: SparcSelect::OFF, pace: None }; VFPERF_PROFILER_EVENTS];
    for (request, asked) in requests.iter_mut().zip(asked) {
        *request = Request::try_from(*asked)?;
    }
    let requests = requests.get(..asked.len()).ok_or(HvError::Invalid)?;
    let profiler = Sampler::new(modes, requests).map_err(|_| HvError::Invalid)?;
    let needs_service = modes.contains(SparcMode::Hyperprivileged);
    Ok(ProfilerState { ready: READY, needs_service, profiler })
}

impl ProfilerState {
    fn unit(&self, route: Route) -> Unit {
        OwnCounters::with_service(
            route,
            self.needs_service.then(|| join_negotiated(route).ok()).flatten(),
        )
    }
}

/// Starts counting on the calling strand. `time` is the current time, in ticks. Returns ENOACCESS if `modes` includes HT, but the guest has
/// no right to HT or has not negotiated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_profiler_start(
    transport: *const vfperf_transport,
    profiler: *mut vfperf_profiler,
    time: u64,
) -> u64 {
    let start = |route| {
        // SAFETY: promised by the caller.
        let stored = unsafe { stored(profiler) }?;
        stored.profiler.start(&mut stored.unit(route), time)
    };
    // SAFETY: promised by the caller.
    unsafe { call(transport, null_mut(), start) }
}

/// A method of the profiler that handles an interrupt.
type Handler = fn(&mut Sampler, &mut Unit, &InterruptPoint<SparcMode>) -> Result<Cause, HvError>;

/// # Safety
/// See [`Route::new`] and [`stored`]. `at` is NULL or valid, and `cause` is NULL, or valid for a write.
unsafe fn interrupted(
    transport: *const vfperf_transport,
    profiler: *mut vfperf_profiler,
    at: *const vfperf_interrupted,
    cause: *mut u32,
    handler: Handler,
) -> u64 {
    let handle = |route| {
        // SAFETY: promised by the caller.
        let (stored, at) = unsafe { (stored(profiler)?, at.as_ref()) };
        let at = InterruptPoint::try_from(*at.ok_or(HvError::Invalid)?)?;
        let mut unit = stored.unit(route);
        let counters = handler(&mut stored.profiler, &mut unit, &at)?.counters;
        Ok(counters.iter().fold(0, |bits, counter| bits | 1 << counter.index()))
    };
    // SAFETY: promised by the caller.
    unsafe { call(transport, cause, handle) }
}

/// Takes a sample for each counter that has overflowed, and continues counting. The handler of the overflow trap (interrupt_level_15, 0x4f)
/// calls this function, and then clears bit 15 of %softint. Stores in `cause` a bit mask of the counters that had overflowed; 0 if the
/// interrupt is spurious. Returns ENOACCESS if the right to HT was revoked. If so, counting has ended, but counts and samples remain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_profiler_handle(
    transport: *const vfperf_transport,
    profiler: *mut vfperf_profiler,
    at: *const vfperf_interrupted,
    cause: *mut u32,
) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { interrupted(transport, profiler, at, cause, Sampler::handle) }
}

/// Begins the next two events' turn. Otherwise does the same as `vfperf_profiler_handle`. A timer calls this function if there are more
/// than two events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_profiler_rotate(
    transport: *const vfperf_transport,
    profiler: *mut vfperf_profiler,
    at: *const vfperf_interrupted,
    cause: *mut u32,
) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { interrupted(transport, profiler, at, cause, Sampler::rotate) }
}

/// Stops counting until the next `vfperf_profiler_start`. Handles pending overflows like `vfperf_profiler_handle`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_profiler_stop(
    transport: *const vfperf_transport,
    profiler: *mut vfperf_profiler,
    at: *const vfperf_interrupted,
    cause: *mut u32,
) -> u64 {
    // SAFETY: promised by the caller.
    unsafe {
        interrupted(
            transport,
            profiler,
            at,
            cause,
            |profiler, unit, at| Ok(profiler.stop(unit, at)),
        )
    }
}

/// Removes the oldest sample and stores it. Returns EUNAVAILABLE if there is no sample.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_profiler_pop(
    profiler: *mut vfperf_profiler,
    sample: *mut vfperf_sample,
) -> u64 {
    let pop = |_| {
        // SAFETY: promised by the caller.
        let stored = unsafe { stored(profiler) }?;
        stored.profiler.pop().map(vfperf_sample::from).ok_or(HvError::Unavailable)
    };
    // SAFETY: promised by the caller. `pop` makes no hypercall.
    unsafe { call(null(), sample, pop) }
}

/// Stores the report on request `number`, as of the last interrupt, rotation or stop. Returns EINVAL if there is no such request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfperf_profiler_report(
    profiler: *mut vfperf_profiler,
    number: u32,
    report: *mut vfperf_report,
) -> u64 {
    let find = |_| {
        // SAFETY: promised by the caller.
        let stored = unsafe { stored(profiler) }?;
        let found = stored.profiler.events().nth(number as usize);
        found.map(vfperf_report::from).ok_or(HvError::Invalid)
    };
    // SAFETY: promised by the caller. `find` makes no hypercall.
    unsafe { call(null(), report, find) }
}
