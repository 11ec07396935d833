//! A guest that checks the performance counter service with real traps.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod calls;
mod contract;
mod counts;
mod faults;
mod hubs;
mod preserved;
mod probes;
mod report;
mod sampled;
mod swept;
mod traps;

use conform::control::Control;
use conform::tell::Detail;
use guest_abi::guest::{Core, Sun4v};

use contract::Machine;
use preserved::Devices;
use report::Report;
use swept::control;

/// Bits 7:0 are the task, and bits 23:16 are the machine's number of nodes. Bit 24 is set if the machine has no hubs. Bits 32 and up are
/// the level of detail of the sweep's report.
const TASK: *const u64 = 0x87ff_fff8 as *const u64;

fn sun4v() -> Sun4v {
    // SAFETY: the guest runs in privileged mode of a sun4v machine, and makes only calls of this service.
    unsafe { Sun4v::new() }
}

core::arch::global_asm!(include_str!("../../assembly/entry.s"), options(raw));

#[unsafe(no_mangle)]
extern "C" fn guest_main() -> ! {
    // SAFETY: the word is in the partition's memory, outside of the image.
    let task = unsafe { TASK.read_volatile() };
    let machine = Machine { nodes: task >> 16 & 0xff, hubs: task >> 24 & 1 == 0 };
    let mut report = Report::new(sun4v());
    match task & 0xff {
        0 => {
            calls::run(&mut report, machine);
            preserved::run(&mut report, machine, Devices::Models);
            preserved::software_traps(&mut report);
        }
        1 => {
            preserved::run(&mut report, machine, Devices::Mmio);
            preserved::software_traps(&mut report);
        }
        15 => counts::run(&mut report, machine),
        16 if machine.hubs => hubs::count(&mut report),
        16 => {}
        2 => {
            faults::run(&mut report, machine);
            counts::traced(&mut report.check("calls that are traced come to Rust"));
        }
        3 => preserved::leaks(&mut report.check("leaks of a hypervisor that leaks")),
        4 => swept::run(&mut report, Detail::from_word(task >> 32)),
        12 => swept::plain(&mut report, Detail::from_word(task >> 32)),
        14 => {
            preserved::run(&mut report, machine, Devices::Memory);
            if machine.hubs {
                hubs::run(&mut report);
            }
            counts::refused(&mut report);
            control(Control::Trace(true));
            swept::plain(&mut report, Detail::from_word(task >> 32));
        }
        5 => {
            swept::impossible(&mut report);
            swept::exhaust(&mut report);
        }
        7 => sampled::run(&mut report),
        13 => preserved::trap_at_access(&mut report),
        _ => preserved::trap_in_handlers(&mut report),
    }
    report.end()
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let console = Core::new(sun4v());
    // If the console fails, there is nowhere else to report to.
    let _ = writeln!(console, "guest: {info}");
    loop {
        let _ = console.exit(101);
    }
}
