//! A sun4v guest to copy. It starts all its strands. Each strand counts and samples a program of known cost, and the first strand
//! prints the results. `README.md` says how to build the guest.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU64, Ordering};

use guest_abi::clock::Clock;
use guest_abi::event::{DramEvent, SparcEvent};
use guest_abi::guest::{Core, SnapshotLimits, StrandDriver, Sun4v};
use guest_abi::kernel::{CPU_START, MACH_EXIT};
use guest_abi::layout::{SparcPcr, SparcPic};
use guest_abi::sampling::{
    InterruptPoint, OwnCounters, Pace, Period, Profiler, Request, SparcMode,
};
use guest_abi::{ApiGroup, Counter, Error, Hypercall, PerfCounters, Pmu, StrandId, Trap, Version};

global_asm!(include_str!("../start.s"), options(raw));

unsafe extern "C" {
    /// Two loops: `work_once` has one load in each iteration, `work_twice` has two.
    fn work_once(address: *const u64, times: u64);
    fn work_twice(address: *const u64, times: u64);
    /// The first address after both loops.
    static work_end: u8;
    /// The code at which the other strands start. Their trap table is `strand_traps`.
    static strand_start: u8;
    static strand_traps: u8;
}

/// The maximum number of strands that the guest uses. Each strand needs a record and a stack.
const MAX_STRANDS: usize = 64;

/// The number of rounds of the measured program. A round calls `work_once` and `work_twice`; each performs `TIMES` iterations.
const ROUNDS: u64 = 20;
const TIMES: u64 = 1000;

/// The number of loads between two samples. A round has 3000 loads, far from a multiple of 347, so samples fall everywhere in a round.
const PERIOD: u32 = 347;

type Unit = OwnCounters<Sun4v>;
type Sampler = Profiler<Unit, 1, 256>;

#[repr(C)]
struct StrandRecord {
    /// The end of the stack. Must be the first field, because `start.s` reads it.
    stack: *mut u8,
    cpu: usize,
    sampling: UnsafeCell<Option<(Unit, Sampler)>>,
    loads: AtomicU64,
    instructions: AtomicU64,
    /// The number of samples in `work_once`, in `work_twice`, and elsewhere.
    samples: [AtomicU64; 3],
    done: AtomicU64,
}

// SAFETY: strands use only the atomic fields of another strand's record.
unsafe impl Sync for StrandRecord {}

#[repr(align(64))]
struct Stacks(UnsafeCell<[[u8; 0x8000]; MAX_STRANDS]>);

// SAFETY: each strand uses its own stack.
unsafe impl Sync for Stacks {}

static STACKS: Stacks = Stacks(UnsafeCell::new([[0; 0x8000]; MAX_STRANDS]));

#[unsafe(export_name = "strand_records")]
static STRANDS: [StrandRecord; MAX_STRANDS] = {
    let mut cpu = 0;
    let mut strands = [const {
        StrandRecord {
            stack: core::ptr::null_mut(),
            cpu: 0,
            sampling: UnsafeCell::new(None),
            loads: AtomicU64::new(0),
            instructions: AtomicU64::new(0),
            samples: [const { AtomicU64::new(0) }; 3],
            done: AtomicU64::new(0),
        }
    }; MAX_STRANDS];
    while cpu < MAX_STRANDS {
        strands[cpu].cpu = cpu;
        // SAFETY: the result is the address after the last byte of this stack.
        strands[cpu].stack = unsafe { STACKS.0.get().cast::<u8>().add((cpu + 1) * 0x8000) };
        cpu += 1;
    }
    strands
};

fn sun4v() -> Sun4v {
    // SAFETY: the guest runs in privileged mode of a sun4v virtual machine, and its calls change no memory.
    unsafe { Sun4v::new() }
}

/// Each strand calls this function from `start.s`, on its own stack.
#[unsafe(no_mangle)]
extern "C" fn strand_main(strand: &'static StrandRecord) {
    if strand.cpu == 0 {
        run_first();
    } else {
        measure(strand);
    }
}

/// Starts the other strands, measures, and prints the results.
fn run_first() -> ! {
    let console = Core::new(sun4v());
    // cpu_start and mach_exit need group CORE. All strands of a guest share one negotiation.
    let _ = console.api_set_version(ApiGroup::CORE, Version::V1_0);
    // CPUs are numbered from 0. The first refusal means that there are no more CPUs, or that the hypervisor does not support cpu_start.
    let mut cpus = 1;
    while let Some(strand) = STRANDS.get(cpus)
        && start(strand)
    {
        cpus += 1;
    }
    let _ = writeln!(console, "{cpus} strands, {} loads each", ROUNDS * TIMES * 3);
    for strand in &STRANDS[..cpus] {
        if strand.cpu == 0 {
            measure(strand);
        }
        while strand.done.load(Ordering::Acquire) == 0 {
            spin_loop();
        }
        let [once, twice, elsewhere] = strand.samples.each_ref().map(load);
        let _ = writeln!(
            console,
            "cpu {}: {} loads, {} instructions; a sample every {PERIOD} loads: {once} in work_once, {twice} in work_twice, {elsewhere} elsewhere",
            strand.cpu,
            load(&strand.loads),
            load(&strand.instructions),
        );
    }
    if let Err(error) = memory(&console) {
        let _ = writeln!(console, "memory: {error}");
    }
    // Reached only if the hypervisor has no mach_exit.
    let _ = sun4v().call(Trap::Fast, MACH_EXIT, [0; 5]);
    loop {
        let _ = console.exit(0);
    }
}

fn load(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Starts another strand. Returns `false` if the hypervisor refuses.
fn start(strand: &'static StrandRecord) -> bool {
    let pc = &raw const strand_start as u64;
    let traps = &raw const strand_traps as u64;
    let record = core::ptr::from_ref(strand) as u64;
    let arguments = [strand.cpu as u64, pc, traps, record, 0];
    sun4v().call(Trap::Fast, CPU_START, arguments).is_ok()
}

fn program() {
    static DATA: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    for _ in 0..ROUNDS {
        // SAFETY: both loops read the 16 bytes of `DATA`.
        unsafe {
            work_once(DATA[0].as_ptr(), TIMES);
            work_twice(DATA[0].as_ptr(), TIMES);
        }
    }
}

fn measure(strand: &'static StrandRecord) {
    // Starts both counters at the same time, in privileged mode, with direct writes to %pcr and %pic.
    let driver = StrandDriver::new(sun4v());
    let pcr = SparcPcr::OFF
        .with_system(true)
        .with_select(Counter::Pic0, SparcEvent::Loads.into())
        .with_select(Counter::Pic1, SparcEvent::Instructions.into());
    if driver.start(pcr, SparcPic::new()).is_ok() {
        program();
        let _ = driver.stop();
        let counted = driver.read();
        strand.loads.store(counted.pic0().into(), Ordering::Relaxed);
        strand.instructions.store(counted.pic1().into(), Ordering::Relaxed);
    }

    let loads =
        Request { event: SparcEvent::Loads.into(), pace: Period::new(PERIOD).map(Pace::every) };
    if let Ok(mut sampler) = Sampler::new(SparcMode::Privileged.into(), &[loads]) {
        let mut unit = OwnCounters::new(sun4v());
        if sampler.start(&mut unit, sun4v().ticks()).is_ok() {
            // SAFETY: only this strand and its handler use the field, and interrupts are off.
            unsafe { *strand.sampling.get() = Some((unit, sampler)) };
            set_interrupts(true);
            program();
            set_interrupts(false);
            // SAFETY: only this strand and its handler use the field, and interrupts are off again.
            if let Some((mut unit, mut sampler)) = unsafe { (*strand.sampling.get()).take() } {
                sampler.stop(&mut unit, &interrupt_point(strand, 0));
                while let Some(sample) = sampler.pop() {
                    let bucket = bucket(sample.at.address);
                    strand.samples[bucket].fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
    strand.done.store(1, Ordering::Release);
}

/// Returns the index in [`StrandRecord::samples`] at which to count a sample with this address.
fn bucket(address: u64) -> usize {
    let end = &raw const work_end as u64;
    if (work_once as *const () as u64..work_twice as *const () as u64).contains(&address) {
        0
    } else if (work_twice as *const () as u64..end).contains(&address) {
        1
    } else {
        2
    }
}

fn interrupt_point(strand: &StrandRecord, address: u64) -> InterruptPoint<SparcMode> {
    InterruptPoint {
        address,
        // The guest uses its CPU number as the strand's number.
        strand: StrandId::new(strand.cpu).unwrap_or(const { StrandId::new(0).unwrap() }),
        time: sun4v().ticks(),
        mode: SparcMode::Privileged,
    }
}

/// Handles the overflow trap. `address` is the next instruction of the interrupted program, a few instructions after the counted load.
#[unsafe(no_mangle)]
extern "C" fn strand_overflow(strand: &StrandRecord, address: u64, _tstate: u64) {
    // SAFETY: the write clears bit 15 of %softint, the cause of this trap.
    unsafe { asm!("wr {bit}, 0, %asr21", bit = in(reg) 1_u64 << 15, options(nostack)) }
    // SAFETY: the interrupted program does not use the field while interrupts are on.
    if let Some((unit, sampler)) = unsafe { &mut *strand.sampling.get() } {
        // If the unit refuses to continue, the samples taken so far remain.
        let _ = sampler.handle(unit, &interrupt_point(strand, address));
    }
}

/// Enables or disables the overflow trap, through PIL and PSTATE.IE (bit 1). PSTATE.PEF and PSTATE.PRIV stay set.
fn set_interrupts(on: bool) {
    let (pil, pstate) = if on { (0_u64, 0x16_u64) } else { (15, 0x14) };
    // SAFETY: the trap table has a handler for the overflow, and no other interrupt occurs.
    unsafe {
        asm!(
            "wrpr {pil}, 0, %pil",
            "wrpr {pstate}, 0, %pstate",
            pil = in(reg) pil, pstate = in(reg) pstate, options(nostack),
        );
    }
}

/// Reads a megabyte once, and prints the number of reads that the DRAM channels counted. The guest
/// needs the `global` right for these calls.
fn memory(console: &Core<Sun4v>) -> Result<(), Error> {
    const SIZE: usize = 1 << 20;
    static BLOCK: [AtomicU64; SIZE / 8] = [const { AtomicU64::new(0) }; SIZE / 8];
    let service = PerfCounters::negotiate_best(sun4v())?;
    let mut counts = [None; Pmu::COUNT];
    for (pmu, count) in service.probe()?.usable().iter().zip(&mut counts) {
        if let Pmu::Dram(channel) = pmu {
            service.select(channel, Counter::Pic0, DramEvent::Reads)?;
            *count = Some(service.snapshot(channel, SnapshotLimits::ONCE)?.count(Counter::Pic0));
        }
    }
    for word in BLOCK.iter().step_by(8) {
        load(word);
    }
    let (mut reads, mut used) = (0, 0);
    for count in counts.iter_mut().flatten() {
        reads += count.update(&service.snapshot(count.pmu(), SnapshotLimits::ONCE)?)?;
        used += 1;
    }
    writeln!(console, "{} lines read, {reads} reads in {used} memory channels", SIZE / 64)?;
    Ok(())
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let console = Core::new(sun4v());
    let _ = writeln!(console, "guest: {info}");
    loop {
        let _ = console.exit(101);
    }
}
