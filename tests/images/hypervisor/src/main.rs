//! A sun4v hypervisor: one strand, one guest, the performance counter service. For QEMU's niagara machine.
//!
//! What it runs on is said by two words at the end of its memory, each 0 if not given: see [`parameters`].
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod board;
mod console;
#[cfg(feature = "control")]
mod control;
mod leaf;
#[cfg(feature = "leaks")]
mod leaks;
mod once;
mod parameters;
mod recorder;

use core::fmt::Write;
use core::panic::PanicInfo;

use guest_abi::StrandId;
use hv_core::{After, Caller, GuestId, Hypervisor, Strand};
use perfctr_service::{Grant, GuestConfig, PerfCounterService};
use platform::sparc64::{Call, StrandBlock, start_over};

use board::{Board, Registers};
use console::{Console, Escaped};
use once::Once;
use recorder::Recorder;

type Service = PerfCounterService<Board, Registers, Recorder>;

static BLOCK: StrandBlock = StrandBlock::new();
static HYPERVISOR: Once<Hypervisor<(Service,), Escaped, Recorder>> = Once::new();
static STRAND: Once<Strand<'static, (Service,), Escaped, Recorder>> = Once::new();

platform::sun4v_image! {
    main: main,
    block: BLOCK,
    get: leaf::get,
    set: leaf::set,
    get_hub: leaf::get_hub,
    set_hub: leaf::set_hub,
    get_pcr: leaf::get_pcr,
    set_pcr: leaf::set_pcr,
    trap: trap,
    fatal: fatal,
}

unsafe extern "C" {
    static __stack_top: u8;
}

/// Sets the strand up, and says where the guest begins.
extern "C" fn main() -> u64 {
    let parameters = parameters::read();
    let (Some(guest), Some(strand)) = (GuestId::new(0), StrandId::new(0)) else {
        ended(console::NOT_STARTED)
    };
    let guests = [GuestConfig {
        strands: [strand].into_iter().collect(),
        grant: Grant::ALL,
        compatible: false,
    }];
    let (bus, registers) = board::new(parameters.machine, &BLOCK);
    let recorder = recorder::new(&BLOCK);
    let service =
        PerfCounterService::with_trace(parameters.machine, bus, registers, &guests, recorder);
    let service = match service {
        Ok(service) => service,
        Err(error) => {
            // Nobody reads a console that does not work.
            let _ = writeln!(Console, "hypervisor: {error}");
            ended(console::NOT_STARTED)
        }
    };
    let hypervisor = HYPERVISOR.set(Hypervisor::with_trace((service,), Escaped, recorder));
    let strand = STRAND.set(hypervisor.strand(Caller { guest, strand }));
    // SAFETY: the leaf functions take the seat, and the linker script provides the stack.
    unsafe { BLOCK.prepare(&strand.contexts().0, (&raw const __stack_top) as u64) };
    parameters.entry
}

/// Cross-calls are sent by what the operator does, and this image has none.
#[cfg(not(feature = "models"))]
fn cross_call(_: StrandId) {}

/// The general path.
extern "C" fn trap(block: &StrandBlock, call: u64) {
    // SAFETY: once in a trap.
    let registers = unsafe { block.registers() };
    #[cfg(feature = "control")]
    if control::trap(registers, call) {
        return;
    }
    let Some(strand) = STRAND.get() else {
        ended(console::NOT_STARTED)
    };
    #[cfg(feature = "leaks")]
    leaks::leave_a_mark();
    match Call::from_number(call) {
        Call::Fast | Call::Refused => strand.fast_trap(registers),
        Call::Faulted => {
            strand.contexts().0.leaf_faulted(registers.o0);
            strand.fast_trap(registers);
        }
        Call::Core => {
            if let After::Exit(code) = strand.core_trap(registers) {
                // SAFETY: the strand's block is prepared. Printing takes more windows than a trap has.
                unsafe { start_over(guest_ended, code) }
            }
        }
    }
}

/// Trap types of a `save` for which there is no window left: see [`platform::sparc64`].
const SPILL_OTHER: u64 = 0xa0;
const SPILL_OTHER_END: u64 = 0xbf;

/// A trap that is no hypercall: in the hypervisor, a defect; in the guest, one that privileged code cannot take.
extern "C" fn fatal(tt: u64, tpc: u64, tl: u64) -> ! {
    let whose = if parameters::is_ours(tpc) {
        "hypervisor"
    } else {
        "guest"
    };
    let what = match tt {
        SPILL_OTHER..=SPILL_OTHER_END if whose == "hypervisor" => ", out of register windows",
        _ => "",
    };
    // Nobody reads a console that does not work.
    let _ = writeln!(Console, "{whose}: trap {tt:#x} at {tpc:#x}, TL {tl}{what}");
    ended(console::TRAPPED)
}

/// The end: tells whoever runs the machine, and waits.
fn ended(code: u64) -> ! {
    console::end(code);
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let line = info.location().map_or(0, |location| location.line());
    // SAFETY: the strand's block is in its scratchpad from the first instructions on.
    unsafe { start_over(panicked, line.into()) }
}

unsafe extern "C" fn guest_ended(code: u64) -> ! {
    ended(code)
}

unsafe extern "C" fn panicked(line: u64) -> ! {
    // Nobody reads a console that does not work.
    let _ = writeln!(Console, "hypervisor: panic in line {line}");
    ended(console::PANICKED)
}
