//! The map of the physical address space.

pub use platform::memory_map::{
    CONSOLE_STRIDE, CONSOLES, DESCRIPTION, HYPERVISOR, MAILBOX, PARTITION, RESET, ROM,
};

/// The device at a physical address that is not memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    /// A console: its number, and the offset of the register.
    Console(usize, u64),
    /// An address that is not a console's. A device on the chip or beyond a link may be there.
    Other,
}

impl Device {
    /// Returns the device at an address of a machine that has `consoles` consoles.
    pub(super) fn at(physical: u64, consoles: usize) -> Self {
        let offset = physical.wrapping_sub(CONSOLES);
        let number = (offset / CONSOLE_STRIDE) as usize;
        match offset % CONSOLE_STRIDE {
            register @ 0..8 if number < consoles => Self::Console(number, register),
            _ => Self::Other,
        }
    }
}
