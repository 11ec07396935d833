//! The interface between the hypervisor image and the call dispatcher.

use guest_abi::trap::CONS_BREAK;
use guest_abi::{HvError, Registers};

use crate::{CallError, Caller, Reply};

/// The output that one `cons_putchar` call sends to the guest's console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleOutput {
    /// A character, 0 to 255.
    Byte(u8),
    /// The break condition of a serial line. A break is not a character.
    Break,
}

impl ConsoleOutput {
    /// Decodes the argument of `cons_putchar`: 0 to 255, or -1 for a break. Returns `None` for any other 64-bit value.
    pub fn from_argument(argument: u64) -> Option<Self> {
        match u8::try_from(argument) {
            Ok(byte) => Some(Self::Byte(byte)),
            Err(_) if argument == CONS_BREAK => Some(Self::Break),
            Err(_) => None,
        }
    }
}

/// The hypervisor image that embeds the services: its consoles, and the hypercalls that it serves itself.
pub trait Embedder {
    /// Sends a byte or a break to the console of the caller's guest. Fails with EWOULDBLOCK if the console cannot take output now.
    fn console(&self, caller: Caller, output: ConsoleOutput) -> Result<(), HvError>;

    /// The function numbers that [`fast`](Self::fast) serves. A service that has one of these functions takes precedence. A call returns
    /// EBADTRAP if neither this list nor a service has its function; on SPARC V9, the trap entries return this status without calling Rust
    /// code. With `None`, the default, `fast` gets every call that no service serves.
    const FAST_FUNCTIONS: Option<&'static [u64]> = None;

    /// The function numbers that [`core`](Self::core) serves. With `None`, the default, `core` gets every call.
    const CORE_FUNCTIONS: Option<&'static [u64]> = None;

    /// Serves a FAST call of a function that no service serves.
    fn fast(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        let _ = (caller, function, registers);
        Err(HvError::BadTrap.into())
    }

    /// Serves a CORE call of any function other than the specification's four.
    fn core(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        let _ = (caller, function, registers);
        Err(HvError::BadTrap.into())
    }

    /// Serves a software trap between FAST_TRAP and CORE_TRAP: `number` is 0x81 to 0xfe. Sun's hypervisor has `mmu_map_addr` at 0x83,
    /// `mmu_unmap_addr` at 0x84 and `ttrace_addentry` at 0x85.
    fn software_trap(
        &self,
        caller: Caller,
        number: u8,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        let _ = (caller, number, registers);
        Err(HvError::BadTrap.into())
    }
}

/// An image that has no console and serves no hypercalls itself. `cons_putchar` returns EWOULDBLOCK.
#[derive(Clone, Copy, Debug)]
pub struct NoConsole;

impl Embedder for NoConsole {
    fn console(&self, _: Caller, _: ConsoleOutput) -> Result<(), HvError> {
        Err(HvError::WouldBlock)
    }
}
