//! The console: a 16550, which the guest shares with the program that runs the machine.
//!
//! The bytes of the guest are passed on. Only the byte DLE (0x10) is doubled, so that the guest cannot write the message with
//! which the hypervisor ends a run: DLE, `X`, a decimal number and LF.

use core::fmt::{self, Write};

use guest_abi::{HvError, Registers};
use hv_core::{Caller, ConsoleOutput, Embedder, Reply};

/// Codes of the hypervisor itself, which are larger than any code of a guest (32 bits).
pub const NOT_STARTED: u64 = 1 << 32;
pub const TRAPPED: u64 = NOT_STARTED + 1;
pub const PANICKED: u64 = NOT_STARTED + 2;
pub const INTERRUPTED: u64 = NOT_STARTED + 3;

const DLE: u8 = 0x10;

const DATA: *mut u8 = 0x1f_1000_0000 as *mut u8;
const LINE_STATUS: *const u8 = 0x1f_1000_0005 as *const u8;
const READY: u8 = 0x20;

/// How often the hypervisor asks the device whether it accepts a byte.
const TRIES: usize = 100_000;

/// Reports to the program that runs the machine that the guest has ended.
pub fn end(code: u64) {
    // There is no other place to report to.
    let _ = write!(Console, "\x10X{code}\n");
}

/// The device itself.
pub struct Console;

impl Console {
    fn byte(&self, byte: u8) -> Result<(), HvError> {
        // SAFETY: the machine's UART, which reads and writes of these two registers cannot upset.
        unsafe {
            if (0..TRIES).any(|_| LINE_STATUS.read_volatile() & READY != 0) {
                DATA.write_volatile(byte);
                return Ok(());
            }
        }
        Err(HvError::WouldBlock)
    }
}

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes()
            .try_for_each(|byte| self.byte(byte).map_err(|_| fmt::Error))
    }
}

/// The console of the guest, and the functions and software traps that the image claims.
pub struct Escaped;

impl Embedder for Escaped {
    fn console(&self, _: Caller, output: ConsoleOutput) -> Result<(), HvError> {
        match output {
            ConsoleOutput::Byte(DLE) => {
                Console.byte(DLE)?;
                Console.byte(DLE)
            }
            ConsoleOutput::Byte(byte) => Console.byte(byte),
            // The program that runs the machine sees bytes only.
            ConsoleOutput::Break => Ok(()),
        }
    }

    // Where the guest makes the calls of the sweep, none: on the host nobody has these functions.
    const FAST: Option<&'static [u64]> = match cfg!(feature = "control") {
        true => Some(&[]),
        false => Some(&[0x84, 1 << 40 | 0x84]),
    };

    const CORE: Option<&'static [u64]> = match cfg!(feature = "control") {
        true => Some(&[]),
        false => Some(&[0x84]),
    };

    fn fast(&self, _: Caller, function: u64, registers: &Registers) -> Result<Reply, HvError> {
        Ok(number_and_sum(function, registers))
    }

    fn core(&self, _: Caller, function: u64, registers: &Registers) -> Result<Reply, HvError> {
        Ok(number_and_sum(function, registers))
    }

    fn software_trap(
        &self,
        _: Caller,
        number: u8,
        registers: &Registers,
    ) -> Result<Reply, HvError> {
        Ok(number_and_sum(number.into(), registers))
    }
}

/// Returns the number and the sum of %o0 to %o5.
fn number_and_sum(number: u64, registers: &Registers) -> Reply {
    let sum = registers.to_array().into_iter().fold(0, u64::wrapping_add);
    Reply::Values(number, sum)
}
