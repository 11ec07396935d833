//! A guest that gets its own number with the hypercall that this hypervisor adds, and prints the number.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::fmt::Write;

use guest_abi::guest::{Core, Sun4v};
use guest_abi::{Hypercall, Trap};

core::arch::global_asm!(
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
    let answer = hypervisor.call(Trap::Fast, 0x300, [0; 5]);
    let number = answer.map_or(b'?', |[number, ..]| b'0' + number as u8);
    let _ = core.write_str("I am guest ");
    let _ = core.putchar(number).and_then(|()| core.putchar(b'\n'));
    let _ = core.exit(answer.is_err().into());
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
