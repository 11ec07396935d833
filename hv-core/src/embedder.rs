//! The hypervisor image around the services.

use guest_abi::trap::CONS_BREAK;
use guest_abi::{HvError, Registers};

use crate::{Caller, Reply};

/// What a guest sends to its console (`cons_putchar`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleOutput {
    /// A byte.
    Byte(u8),
    /// A break: the line is held, which is no byte.
    Break,
}

impl ConsoleOutput {
    /// Returns what an argument of `cons_putchar` stands for: 0 to 255 or -1. `None` for any other, of 64 bits.
    pub fn of(argument: u64) -> Option<Self> {
        match u8::try_from(argument) {
            Ok(byte) => Some(Self::Byte(byte)),
            Err(_) if argument == CONS_BREAK => Some(Self::Break),
            Err(_) => None,
        }
    }
}

/// The hypervisor image around the services: consoles, and hypercalls of its own.
pub trait Embedder {
    /// Sends a byte or a break to the console of the caller's guest. EWOULDBLOCK if it cannot be taken now.
    fn console(&self, caller: Caller, output: ConsoleOutput) -> Result<(), HvError>;

    /// The numbers of the functions that [`fast`](Self::fast) is asked for; `None`, as here, if it is asked for all that no
    /// service has. Other functions answer EBADTRAP: with a list, the trap entries of SPARC V9 do so without a call of Rust.
    const FAST: Option<&'static [u64]> = None;

    /// The numbers of the functions that [`core`](Self::core) is asked for, as with [`FAST`](Self::FAST).
    const CORE: Option<&'static [u64]> = None;

    /// A FAST call that no service claims.
    fn fast(&self, caller: Caller, function: u64, registers: &Registers) -> Result<Reply, HvError> {
        let _ = (caller, function, registers);
        Err(HvError::BadTrap)
    }

    /// A CORE call beyond the four of the specification.
    fn core(&self, caller: Caller, function: u64, registers: &Registers) -> Result<Reply, HvError> {
        let _ = (caller, function, registers);
        Err(HvError::BadTrap)
    }

    /// A software trap between FAST_TRAP and CORE_TRAP: `number` is 0x81 to 0xfe. Sun's hypervisor has `mmu_map_addr` at 0x83,
    /// `mmu_unmap_addr` at 0x84 and `ttrace_addentry` at 0x85.
    fn software_trap(
        &self,
        caller: Caller,
        number: u8,
        registers: &Registers,
    ) -> Result<Reply, HvError> {
        let _ = (caller, number, registers);
        Err(HvError::BadTrap)
    }
}
