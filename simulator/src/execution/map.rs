//! Where things are in the physical address space. RAM, ROM and the first console are where QEMU's machine `niagara` has them.

use std::ops::Range;

/// The hypervisor's memory.
pub const HYPERVISOR: Range<u64> = 0x10_0000..0x400_0000;

/// The mailbox: a page of the hypervisor's memory in which the operator's steps and the states of guests are.
pub const MAILBOX: u64 = 0x3fe_0000;

/// Where the memory of guests begins.
pub const PARTITION: u64 = 0x8000_0000;

/// Where consoles begin: one 16550 UART after the other. (That there is more than one is *assumed*.)
pub const CONSOLES: u64 = 0x1f_1000_0000;

/// From one console to the next.
pub const CONSOLE_STRIDE: u64 = 0x1000;

/// The machine description: memory that the program which starts the machine fills.
pub const DESCRIPTION: Range<u64> = 0x1f_1200_0000..0x1f_1208_0000;

/// The memory in which execution begins after power on.
pub const ROM: Range<u64> = 0xff_f000_0000..0xff_f040_0000;

/// The first instruction after power on.
pub const RESET: u64 = ROM.start + 0x20;

/// What answers at a physical address that is not memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    /// A register of the console with this number, by its offset.
    Console(usize, u64),
    /// Something on the chip or beyond a link.
    Other,
}

impl Device {
    /// Returns what is at an address that is not memory, if there are so many consoles.
    pub(super) fn at(physical: u64, consoles: usize) -> Self {
        let offset = physical.wrapping_sub(CONSOLES);
        let number = (offset / CONSOLE_STRIDE) as usize;
        match offset % CONSOLE_STRIDE {
            register @ 0..8 if number < consoles => Self::Console(number, register),
            _ => Self::Other,
        }
    }
}
