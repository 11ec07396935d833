//! A guest that asks the hypervisor for its number, by the hypercall of this hypervisor, and prints the answer.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::arch::global_asm;
use core::fmt::Write;
use core::panic::PanicInfo;

use guest_abi::guest::{Core, Sun4v};
use guest_abi::{Hypercall, Trap};

global_asm!(
    ".section .text.entry, \"ax\"",
    ".globl _start",
    "_start: set __stack_top - 2047 - 192, %sp",
    "call guest_main",
    " nop",
);

#[unsafe(no_mangle)]
extern "C" fn guest_main() {
    // SAFETY: the program is a guest of a sun4v hypervisor, in privileged mode.
    let hypervisor = unsafe { Sun4v::new() };
    let mut core = Core::new(hypervisor);
    match hypervisor.call(Trap::Fast, 0x300, [0; 5]) {
        Ok([number, ..]) => {
            let _ = core.write_str("I am guest ");
            let _ = core.putchar(b'0' + number as u8);
            let _ = core.putchar(b'\n');
            let _ = core.exit(0);
        }
        Err(error) => drop(core.exit(error.number())),
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
