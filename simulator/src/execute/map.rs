//! Maps the physical address space to devices.

pub use platform::memory_map::{
    CONSOLE_STRIDE, CONSOLES, DESCRIPTION, HYPERVISOR, LOG, MAILBOX, PARTITION, RESET, ROM, ptimer,
};

/// The device at a physical address that is not memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    /// A guest's console: its number, and the register's offset.
    Console(usize, u64),
    /// The hypervisor's console: the register's offset.
    Log(u64),
    /// The PTIMER or its target register.
    Ptimer,
    /// Any other address, perhaps that of a device on the chip or beyond a link.
    Other,
}

impl Device {
    /// Returns the device at a physical address. The machine has consoles for `consoles` guests. `log` is the address of the hypervisor's
    /// console, if it has one.
    pub(super) fn at(physical: u64, consoles: usize, log: Option<u64>) -> Self {
        let offset = physical.wrapping_sub(CONSOLES);
        let number = (offset / CONSOLE_STRIDE) as usize;
        match (offset % CONSOLE_STRIDE, log.map(|log| physical.wrapping_sub(log))) {
            (_, Some(register @ 0..8)) => Self::Log(register),
            (register @ 0..8, _) if number < consoles => Self::Console(number, register),
            _ if super::ptimer::has(physical) => Self::Ptimer,
            _ => Self::Other,
        }
    }
}
