//! Consoles: 16550 UARTs.
#![allow(unsafe_code)]

use core::fmt::{self, Display, Write};

use guest_abi::HvError;

use super::{End, interrupt};
use crate::memory_map::escape::{DLE, END, NOT_STARTED, PANICKED, TRAPPED};
use crate::memory_map::{CONSOLE_STRIDE, CONSOLES};

const LINE_STATUS: u64 = 5;
const RECEIVED: u8 = 1;
const READY: u8 = 0x20;

/// How many times the hypervisor asks the UART whether it accepts a byte before giving up.
const TRIES: usize = 100_000;

/// One of the machine's consoles, for hyperprivileged code.
#[derive(Clone, Copy, Debug)]
pub struct Uart(u64);

impl Uart {
    /// Returns the UART at a physical address.
    ///
    /// # Safety
    /// There is a 16550 at the address.
    #[must_use]
    pub const unsafe fn new(address: u64) -> Self {
        Self(address)
    }

    /// Returns a guest's console in the [memory map](crate::memory_map).
    #[must_use]
    pub const fn for_guest(number: u8) -> Self {
        Self(CONSOLES + number as u64 * CONSOLE_STRIDE)
    }

    fn status(self) -> u8 {
        // SAFETY: this is a UART's line status register. A read changes nothing that the hypervisor needs.
        unsafe { ((self.0 + LINE_STATUS) as *const u8).read_volatile() }
    }

    /// Sends a byte.
    ///
    /// # Errors
    /// EWOULDBLOCK if the device does not accept the byte in time.
    pub fn put(self, byte: u8) -> Result<(), HvError> {
        if !(0..TRIES).any(|_| self.status() & READY != 0) {
            return Err(HvError::WouldBlock);
        }
        // SAFETY: a write to the data register of a UART only sends a byte.
        unsafe { (self.0 as *mut u8).write_volatile(byte) };
        Ok(())
    }

    /// Sends a guest's byte; sends it twice if it is DLE. See [`escape`](crate::memory_map::escape).
    ///
    /// # Errors
    /// Fails like [`put`](Self::put).
    pub fn put_escaped(self, byte: u8) -> Result<(), HvError> {
        if byte == DLE {
            self.put(DLE)?;
        }
        self.put(byte)
    }

    /// Returns the next received byte; `None` if there is none.
    #[must_use]
    pub fn get(self) -> Option<u8> {
        // SAFETY: a read of the data register of a UART only removes a byte.
        (self.status() & RECEIVED != 0).then(|| unsafe { (self.0 as *const u8).read_volatile() })
    }

    /// Reports on the guest's console how the guest has ended, and stops the calling strand forever. An image without a mailbox calls
    /// this function: see [`escape`](crate::memory_map::escape). An exit code above `u32::MAX` is reported as `u32::MAX`.
    pub fn ended(mut self, end: End) -> ! {
        self.end(match end {
            End::Exit(code) => code.min(u32::MAX.into()),
            End::Trap(trap) => {
                let who = if trap.is_in_hypervisor() { "hypervisor" } else { "guest" };
                // If the console does not work, there is no other place to report to.
                let _ = write!(self, "{who}: {trap}");
                TRAPPED
            }
            End::Interrupted | End::Panic(_) => PANICKED,
        });
        stop()
    }

    /// Writes the message that the guest, or the image itself, has ended with this code: see [`escape`](crate::memory_map::escape).
    pub fn end(mut self, code: u64) {
        // If the console does not work, there is no other place to report to.
        let _ = writeln!(self, "{}{}{code}", char::from(DLE), char::from(END));
    }
}

impl Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| self.put(byte).map_err(|_| fmt::Error))
    }
}

/// Writes to the first console why the image cannot start, and stops the strand forever. An image calls this function in
/// [`TrapHandler::start`](super::TrapHandler::start). `vfalls boot` shows the reason and ends.
pub fn cannot_start(why: &dyn Display) -> ! {
    let mut console = Uart::for_guest(0);
    // If the console does not work, there is no other place to report to.
    let _ = writeln!(console, "hypervisor: {why}");
    console.end(NOT_STARTED);
    stop()
}

/// Halts the strand forever. Interrupts have no effect.
pub fn stop() -> ! {
    loop {
        // A strand does not halt while an interrupt is pending.
        while interrupt::take().is_some() {}
        interrupt::halt();
    }
}
