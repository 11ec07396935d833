//! The consoles: a 16550 for each guest.
//!
//! On the console of a machine without a description, the byte DLE (0x10) is doubled, so that the guest cannot write the message with
//! which the hypervisor ends a run there: DLE, `X`, a decimal number and LF.

use core::fmt::{self, Write};

use guest_abi::HvError;
use hv_core::GuestId;

/// Codes of the hypervisor itself, which are larger than any code of a guest (32 bits).
pub const NOT_STARTED: u64 = 1 << 32;
pub const TRAPPED: u64 = NOT_STARTED + 1;
pub const PANICKED: u64 = NOT_STARTED + 2;

const FIRST: u64 = 0x1f_1000_0000;
/// From one console to the next.
const STRIDE: u64 = 0x1000;
const LINE_STATUS: u64 = 5;
const RECEIVED: u8 = 1;
const READY: u8 = 0x20;

pub const DLE: u8 = 0x10;

/// How often the hypervisor asks the device whether it accepts a byte.
const TRIES: usize = 100_000;

/// A console.
#[derive(Clone, Copy, Debug)]
pub struct Console(u64);

impl Console {
    /// Returns that of the hypervisor itself, and of the first guest.
    pub const fn first() -> Self {
        Self(FIRST)
    }

    /// Returns that of a guest.
    pub const fn of(guest: GuestId) -> Self {
        Self(FIRST + guest.index() as u64 * STRIDE)
    }

    fn status(self) -> u8 {
        // SAFETY: a UART, which reads and writes of these two registers cannot upset.
        unsafe { ((self.0 + LINE_STATUS) as *const u8).read_volatile() }
    }

    /// Sends a byte.
    ///
    /// # Errors
    /// EWOULDBLOCK if the device does not take it.
    pub fn put(self, byte: u8) -> Result<(), HvError> {
        if !(0..TRIES).any(|_| self.status() & READY != 0) {
            return Err(HvError::WouldBlock);
        }
        // SAFETY: as above.
        unsafe { (self.0 as *mut u8).write_volatile(byte) };
        Ok(())
    }

    /// Returns a byte that has been received; `None` if there is none.
    pub fn get(self) -> Option<u8> {
        // SAFETY: as above.
        (self.status() & RECEIVED != 0).then(|| unsafe { (self.0 as *const u8).read_volatile() })
    }

    /// Reports to the program that runs the machine how the only guest, or the hypervisor itself, has ended.
    pub fn end(mut self, code: u64) {
        // There is no other place to report to.
        let _ = write!(self, "\x10X{code}\n");
    }
}

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes()
            .try_for_each(|byte| self.put(byte).map_err(|_| fmt::Error))
    }
}
