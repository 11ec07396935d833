//! The consoles: a 16550 for each guest.
//!
//! On the console of a machine without a description a guest's DLE is doubled, so that the guest cannot write the message by which
//! the hypervisor says that it has ended: see [`escape`](platform::memory_map::escape).

use core::fmt::{self, Write};

use guest_abi::HvError;
use hv_core::GuestId;
use platform::memory_map::CONSOLES;
use platform::memory_map::escape::{DLE, END};

use super::board::Board;

const LINE_STATUS: u64 = 5;
const RECEIVED: u8 = 1;
const READY: u8 = 0x20;

/// How often the hypervisor asks the device whether it accepts a byte.
const TRIES: usize = 100_000;

/// A console.
#[derive(Clone, Copy, Debug)]
pub(super) struct Console(u64);

impl Console {
    /// Returns the console of the hypervisor itself, and of the first guest.
    pub(super) const fn first() -> Self {
        Self(CONSOLES)
    }

    /// Returns the console of a guest on a board.
    pub(super) fn of<B: Board>(guest: GuestId) -> Self {
        Self(B::console(guest))
    }

    fn status(self) -> u8 {
        // SAFETY: a UART, which reads and writes of these two registers cannot upset.
        unsafe { ((self.0 + LINE_STATUS) as *const u8).read_volatile() }
    }

    /// Sends a byte.
    ///
    /// # Errors
    /// EWOULDBLOCK if the device does not take it.
    pub(super) fn put(self, byte: u8) -> Result<(), HvError> {
        if !(0..TRIES).any(|_| self.status() & READY != 0) {
            return Err(HvError::WouldBlock);
        }
        // SAFETY: as above.
        unsafe { (self.0 as *mut u8).write_volatile(byte) };
        Ok(())
    }

    /// Returns a byte that has been received; `None` if there is none.
    pub(super) fn get(self) -> Option<u8> {
        // SAFETY: as above.
        (self.status() & RECEIVED != 0).then(|| unsafe { (self.0 as *const u8).read_volatile() })
    }

    /// Reports to the program that runs the machine how the only guest, or the hypervisor itself, has ended.
    pub(super) fn end(mut self, code: u64) {
        // There is no other place to report to.
        let _ = writeln!(self, "{}{}{code}", char::from(DLE), char::from(END));
    }
}

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| self.put(byte).map_err(|_| fmt::Error))
    }
}
