//! A guest for the tests of the production image. It prints its machine description, what it counts in loops and streams of known cost, and
//! the number of samples in each loop.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::slice;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guest_abi::clock::Clock;
use guest_abi::event::{DramEvent, SparcEvent};
use guest_abi::guest::{Core, StrandDriver, Sun4v};
use guest_abi::kernel::{CPU_START, MACH_DESC, MACH_EXIT};
use guest_abi::layout::{DramPic, SparcPcr, SparcPic};
use guest_abi::register::DramPmu;
use guest_abi::sampling::{
    InterruptPoint, OwnCounters, Pace, Period, Profiler, Request, SparcMode,
};
use guest_abi::{
    ApiGroup, Counter, HvError, Hypercall, Mcu, Node, PerfCounters, Pmu, StrandId, Trap, Version,
};
use platform::md::Md;

// `start.s` has the stacks, the trap tables and the window handlers.
global_asm!(include_str!("../../../../guest-abi/guests/rust/start.s"), options(raw));
// Each round of a loop has four instructions, one of them atomic. Two more instructions end the loop.
global_asm!(
    r#"
        .section .text
        .globl loop_0, loop_1, loop_2, loop_3, loop_end
        .irp n, 0, 1, 2, 3
loop_\n: ldstub [%o0], %g1
        subcc %o1, 1, %o1
        bne,pt %xcc, loop_\n
         nop
        retl
         nop
        .endr
loop_end:
"#,
    options(raw)
);

unsafe extern "C" {
    /// Writes a byte `times` times, as every loop does.
    fn loop_0(byte: *mut u8, times: u64);
    fn loop_1(byte: *mut u8, times: u64);
    fn loop_2(byte: *mut u8, times: u64);
    fn loop_3(byte: *mut u8, times: u64);
    /// The address after the last loop.
    static loop_end: u8;
    /// The entry point and the trap table of the strands that the first strand starts.
    static strand_start: u8;
    static strand_traps: u8;
}

/// The maximum number of strands that the guest uses. Each of them needs a record and a stack.
const MAX_STRANDS: usize = 8;
const STACK: usize = 0x8000;

/// The number of atomic instructions in a round: the four loops execute 16, 32, 64 and 128 of them. The overflow trap handler has no atomic
/// instruction.
const ROUND: u32 = 240;
const ROUNDS: u64 = 1000;

type Unit = OwnCounters<Sun4v>;
type Sampler = Profiler<Unit, 1, 1>;

/// A strand's record: its stack, session and results.
#[repr(C)]
struct Strand {
    /// The end of the stack. `start.s` reads this field.
    stack: *mut u8,
    cpu: usize,
    sampling: UnsafeCell<Option<(Unit, Sampler)>>,
    /// The numbers of atomic instructions, and of all instructions, in 2000 rounds of a loop.
    counted: [AtomicU64; 2],
    /// The number of samples in each loop and elsewhere. The first row is for a fixed period, and the second for random periods.
    samples: [[AtomicU64; 5]; 2],
    /// Whether the samples have random periods.
    random: AtomicBool,
    done: AtomicU64,
}

// SAFETY: other strands use only the atomic fields.
unsafe impl Sync for Strand {}

#[repr(align(64))]
struct Stacks(UnsafeCell<[[u8; STACK]; MAX_STRANDS]>);

// SAFETY: each strand uses a different stack.
unsafe impl Sync for Stacks {}

static STACKS: Stacks = Stacks(UnsafeCell::new([[0; STACK]; MAX_STRANDS]));

#[unsafe(export_name = "strand_records")]
static STRANDS: [Strand; MAX_STRANDS] = {
    let mut cpu = 0;
    let mut strands = [const {
        Strand {
            stack: core::ptr::null_mut(),
            cpu: 0,
            sampling: UnsafeCell::new(None),
            counted: [const { AtomicU64::new(0) }; 2],
            samples: [const { [const { AtomicU64::new(0) }; 5] }; 2],
            random: AtomicBool::new(false),
            done: AtomicU64::new(0),
        }
    }; MAX_STRANDS];
    while cpu < MAX_STRANDS {
        strands[cpu].cpu = cpu;
        // SAFETY: this is the address after the last byte of the stack.
        strands[cpu].stack = unsafe { STACKS.0.get().cast::<u8>().add((cpu + 1) * STACK) };
        cpu += 1;
    }
    strands
};

fn sun4v() -> Sun4v {
    // SAFETY: the guest runs in privileged mode of a sun4v virtual machine. Its calls do not change memory that the guest uses.
    unsafe { Sun4v::new() }
}

/// Every strand starts here, on its own stack.
#[unsafe(no_mangle)]
extern "C" fn strand_main(strand: &'static Strand) {
    if strand.cpu == 0 {
        first();
    } else {
        measure(strand);
    }
}

/// Starts all strands in the machine description except this one. Then measures, and prints the results.
fn first() -> ! {
    let console = Core::new(sun4v());
    let _ = console.api_set_version(ApiGroup::CORE, Version::V1_0);
    let cpus = description(&console).unwrap_or(0);
    for strand in STRANDS.iter().take(cpus).skip(1) {
        start(strand);
    }
    for strand in &STRANDS[..cpus.min(MAX_STRANDS)] {
        if strand.cpu == 0 {
            measure(strand);
        }
        while strand.done.load(Ordering::Acquire) == 0 {
            spin_loop();
        }
        let _ = write!(console, "cpu {}: counted", strand.cpu);
        for count in &strand.counted {
            let _ = write!(console, " {}", load(count));
        }
        for (period, samples) in ["fixed", "random"].into_iter().zip(&strand.samples) {
            let _ = write!(console, "; {period}");
            for count in samples {
                let _ = write!(console, " {}", load(count));
            }
        }
        let _ = writeln!(console);
    }
    memory(&console);
    let _ = sun4v().call(Trap::Fast, MACH_EXIT, [0; 5]);
    loop {
        let _ = console.exit(0);
    }
}

/// Reads the machine description and prints its content. Returns the number of CPUs.
fn description(console: &Core<Sun4v>) -> Option<usize> {
    const ROOM: usize = 4096;
    #[repr(align(16))]
    struct Room(UnsafeCell<[u8; ROOM]>);
    // SAFETY: only the first strand uses the room.
    unsafe impl Sync for Room {}
    static DESCRIPTION: Room = Room(UnsafeCell::new([0; ROOM]));
    let address = DESCRIPTION.0.get();
    // A call without a buffer returns the required buffer size.
    let needed = sun4v().call(Trap::Fast, MACH_DESC, [0; 5]);
    let size = sun4v().call(Trap::Fast, MACH_DESC, [address as u64, ROOM as u64, 0, 0, 0]);
    let [size, ..] = size.ok()?;
    let size = usize::try_from(size).ok()?;
    let _ = writeln!(
        console,
        "description: {size} bytes, refused without room: {}",
        matches!(needed, Err(HvError::Invalid))
    );
    // SAFETY: the hypervisor has written the bytes. Nothing writes them after that.
    let bytes = unsafe { slice::from_raw_parts(address.cast(), size.min(ROOM)) };
    let md = Md::new(bytes).ok()?;
    for node in md.nodes() {
        let _ = write!(console, "{}:", node.name());
        for name in ["base", "size", "max-cpus", "id", "pid"] {
            if let Ok(Some(number)) = node.number(name) {
                let _ = write!(console, " {name} {number}");
            }
        }
        let _ = writeln!(console);
    }
    Some(md.nodes_named("cpu").count())
}

fn load(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

fn start(strand: &'static Strand) {
    let pc = &raw const strand_start as u64;
    let traps = &raw const strand_traps as u64;
    let record = core::ptr::from_ref(strand) as u64;
    let arguments = [strand.cpu as u64, pc, traps, record, 0];
    // If a strand does not start, the report is incomplete, and the test fails.
    let _ = sun4v().call(Trap::Fast, CPU_START, arguments);
}

/// Returns the byte that a strand's loops write.
fn byte(cpu: usize) -> *mut u8 {
    STACKS.0.get().cast::<u8>().wrapping_add(cpu * STACK)
}

/// Counts the loops' events, and then samples the loops.
fn measure(strand: &'static Strand) {
    let [few, many] = [1000, 3000].map(|times| counted(strand, times));
    for (count, (few, many)) in strand.counted.iter().zip(few.into_iter().zip(many)) {
        count.store(many - few, Ordering::Relaxed);
    }
    let Some(round) = Period::new(ROUND).map(Pace::every) else {
        return;
    };
    sample(strand, round);
    strand.random.store(true, Ordering::Relaxed);
    // A random period is between half a round and one and a half rounds, so a sample's position in its round does not depend on the
    // previous position, and all positions are equally likely. The number of samples in a loop then has a binomial distribution.
    sample(strand, round.randomised(1, strand.cpu as u64));
    strand.done.store(1, Ordering::Release);
}

fn sample(strand: &'static Strand, pace: Pace) {
    let atomics = Request { event: SparcEvent::AtomicOperations.into(), pace: Some(pace) };
    let Ok(mut sampler) = Sampler::new(SparcMode::Privileged.into(), &[atomics]) else {
        return;
    };
    let mut unit = OwnCounters::new(sun4v());
    if sampler.start(&mut unit, sun4v().ticks()).is_err() {
        return;
    }
    let byte = byte(strand.cpu);
    // SAFETY: this is the strand's own record, and the record's handler is not active yet.
    unsafe { *strand.sampling.get() = Some((unit, sampler)) };
    interrupts(true);
    for _ in 0..ROUNDS {
        // SAFETY: each loop writes only the byte.
        unsafe {
            loop_0(byte, 16);
            loop_1(byte, 32);
            loop_2(byte, 64);
            loop_3(byte, 128);
        }
    }
    interrupts(false);
}

/// Returns two counts: a loop's atomic instructions, and all instructions of the loop and of the calls around it.
#[inline(never)]
fn counted(strand: &Strand, times: u64) -> [u64; 2] {
    let driver = StrandDriver::new(sun4v());
    let pcr = SparcPcr::OFF
        .with_system(true)
        .with_select(Counter::Pic0, SparcEvent::AtomicOperations.into())
        .with_select(Counter::Pic1, SparcEvent::Instructions.into());
    if driver.start(pcr, SparcPic::new()).is_err() {
        return [0; 2];
    }
    // SAFETY: the loop writes only the byte.
    unsafe { loop_0(byte(strand.cpu), times) };
    let _ = driver.stop();
    let counted = driver.read();
    [counted.pic0().into(), counted.pic1().into()]
}

/// Handles the overflow trap. The interrupted program continues at `address`.
#[unsafe(no_mangle)]
extern "C" fn strand_overflow(strand: &Strand, address: u64, _tstate: u64) {
    // SAFETY: clears bit 15 of %softint, which has caused this trap.
    unsafe { asm!("wr {bit}, 0, %asr21", bit = in(reg) 1_u64 << 15, options(nostack)) }
    let at = InterruptPoint {
        address,
        // The guest uses its CPU number in place of the strand number.
        strand: StrandId::new(strand.cpu).unwrap_or(const { StrandId::new(0).unwrap() }),
        time: sun4v().ticks(),
        mode: SparcMode::Privileged,
    };
    // SAFETY: the interrupted program does not use the field.
    if let Some((unit, sampler)) = unsafe { &mut *strand.sampling.get() } {
        let _ = sampler.handle(unit, &at);
        if let Some(sample) = sampler.pop() {
            let of_pace = &strand.samples[usize::from(strand.random.load(Ordering::Relaxed))];
            let count = &of_pace[loop_index(sample.at.address)];
            count.store(load(count) + 1, Ordering::Relaxed);
        }
    }
}

/// Returns the number of the loop at an address, or 4 if the address is outside all loops.
fn loop_index(address: u64) -> usize {
    let begin = loop_0 as *const () as u64;
    let end = &raw const loop_end as u64;
    if !(begin..end).contains(&address) {
        return 4;
    }
    ((address - begin) / ((end - begin) / 4)) as usize
}

/// Allows or blocks the overflow trap.
fn interrupts(on: bool) {
    let (pil, pstate) = if on { (0_u64, 0x16_u64) } else { (15, 0x14) };
    // SAFETY: the trap table has a handler for the overflow trap. No other interrupt is requested.
    unsafe {
        asm!(
            "wrpr {pil}, 0, %pil",
            "wrpr {pstate}, 0, %pstate",
            pil = in(reg) pil, pstate = in(reg) pstate, options(nostack),
        );
    }
}

/// Reads half a megabyte four times, and prints how many reads node 0's memory channels count in the last round. By then, code and stack
/// are in the caches, and the other guests have ended.
fn memory(console: &Core<Sun4v>) {
    const PART: usize = 512 << 10;
    static BLOCK: [AtomicU64; 4 * PART / 8] = [const { AtomicU64::new(0) }; _];
    let channels = Mcu::ALL.iter().map(|mcu| Pmu::from(DramPmu::new(Node::Node0, *mcu)));
    let Ok(service) = PerfCounters::negotiate_best(sun4v()) else {
        return;
    };
    for channel in Mcu::ALL {
        let selected =
            service.select(DramPmu::new(Node::Node0, *channel), Counter::Pic0, DramEvent::Reads);
        if let Err(error) = selected {
            let _ = writeln!(console, "no right to memory channels: {error:?}");
            return;
        }
    }
    let mut reads = [0; 2];
    for part in BLOCK.chunks(PART / 8) {
        let count = || {
            channels.clone().map(|channel| {
                let value = service.get(channel.pic(Counter::Pic0)).unwrap_or(0);
                u64::from(DramPic::from(value).counter(Counter::Pic0))
            })
        };
        let mut before = [0; 2];
        before.iter_mut().zip(count()).for_each(|(before, count)| *before = count);
        for word in part.iter().step_by(8) {
            load(word);
        }
        for (read, (before, after)) in reads.iter_mut().zip(before.into_iter().zip(count())) {
            *read = after - before;
        }
    }
    let [first, second] = reads;
    let _ = writeln!(console, "{} lines: reads {first} {second}", PART / 64);
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let console = Core::new(sun4v());
    let _ = writeln!(console, "guest: {info}");
    loop {
        let _ = console.exit(101);
    }
}
