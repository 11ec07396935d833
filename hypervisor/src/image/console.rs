//! The consoles: a 16550 for each guest.
//!
//! A machine without a description has one console. On this console, the hypervisor doubles each DLE that the guest sends, so that
//! the guest cannot fake the message that reports its end: see [`escape`](platform::memory_map::escape).

use core::fmt::{self, Write};

use guest_abi::HvError;
use hv_core::GuestId;
use platform::memory_map::CONSOLES;
use platform::memory_map::escape::{DLE, END};

use super::board::Board;

const LINE_STATUS: u64 = 5;
const RECEIVED: u8 = 1;
const READY: u8 = 0x20;

/// The maximum number of times that the hypervisor asks the UART whether it accepts a byte.
const TRIES: usize = 100_000;

/// A console, as the address of its UART.
#[derive(Clone, Copy, Debug)]
pub(super) struct Console(u64);

impl Console {
    /// Returns the console that the hypervisor shares with the first guest.
    pub(super) const fn first() -> Self {
        Self(CONSOLES)
    }

    pub(super) fn for_guest<B: Board>(guest: GuestId) -> Self {
        Self(B::console(guest))
    }

    fn status(self) -> u8 {
        // SAFETY: this is a UART's line status register. A read changes nothing that the hypervisor
        // needs.
        unsafe { ((self.0 + LINE_STATUS) as *const u8).read_volatile() }
    }

    /// Sends a byte. Fails with EWOULDBLOCK if the device does not accept the byte in time.
    pub(super) fn put(self, byte: u8) -> Result<(), HvError> {
        if !(0..TRIES).any(|_| self.status() & READY != 0) {
            return Err(HvError::WouldBlock);
        }
        // SAFETY: a write to the data register of a UART only sends a byte.
        unsafe { (self.0 as *mut u8).write_volatile(byte) };
        Ok(())
    }

    /// Returns the next received byte; `None` if there is none.
    pub(super) fn get(self) -> Option<u8> {
        // SAFETY: a read of the data register of a UART only removes a byte.
        (self.status() & RECEIVED != 0).then(|| unsafe { (self.0 as *const u8).read_volatile() })
    }

    /// Reports the end of the only guest, or of the hypervisor, to the program that runs the
    /// machine.
    pub(super) fn end(mut self, code: u64) {
        // If the console does not work, there is no other place to report to.
        let _ = writeln!(self, "{}{}{code}", char::from(DLE), char::from(END));
    }
}

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| self.put(byte).map_err(|_| fmt::Error))
    }
}
