//! The answer to a call, and the registers that receive it.

use core::fmt;
use core::ops::Deref;

use guest_abi::{HvError, Registers};

/// The values that a successful call returns, in %o1 and the registers after it. %o0 gets the status. The guest's other registers do not
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// EOK, without a value.
    Done,
    /// EOK, and a value in %o1.
    Value(u64),
    /// EOK, and values in %o1 and %o2.
    Values(u64, u64),
    /// EOK, and values in %o1 to %o5.
    All([u64; 5]),
}

/// The reason for refusing a call. Handlers return an [`HvError`], which converts to this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The status that the guest gets in %o0.
    pub status: HvError,
    /// The value for %o1; with `None`, %o1 keeps the value that the guest passed. For example, `mach_desc` returns the buffer size that it
    /// needs.
    pub value: Option<u64>,
}

impl CallError {
    /// Returns the status that the guest gets. The result is always `Some`: its type is an `Option` only because other error types have
    /// errors without a status.
    pub const fn status(&self) -> Option<HvError> {
        Some(self.status)
    }
}

impl From<HvError> for CallError {
    #[inline(always)]
    fn from(status: HvError) -> Self {
        Self { status, value: None }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            None => self.status.fmt(f),
            Some(value) => write!(f, "{}, with {value:#x}", self.status),
        }
    }
}

impl core::error::Error for CallError {}

/// The registers of a call. Only [`answer`](Self::answer) changes them.
#[derive(Debug)]
pub struct Frame<'a>(&'a mut Registers);

impl<'a> Frame<'a> {
    /// Returns the frame of a call, for code that calls a [`Context`](crate::Context) without a
    /// [`Hypervisor`](crate::Hypervisor).
    #[inline(always)]
    pub const fn new(registers: &'a mut Registers) -> Self {
        Self(registers)
    }

    /// Returns a frame for the same registers, for a function that takes a frame by value.
    #[inline(always)]
    pub const fn reborrow(&mut self) -> Frame<'_> {
        Frame(self.0)
    }

    /// Writes the status and the values into the guest's registers. This is the only function that writes them.
    #[inline(always)]
    pub fn answer(&mut self, result: Result<Reply, CallError>) {
        let Self(registers) = self;
        match result {
            Ok(reply) => {
                registers.o0 = guest_abi::status::EOK;
                match reply {
                    Reply::Done => {}
                    Reply::Value(value) => registers.o1 = value,
                    Reply::Values(first, second) => {
                        (registers.o1, registers.o2) = (first, second);
                    }
                    Reply::All([first, second, third, fourth, fifth]) => {
                        (registers.o1, registers.o2, registers.o3) = (first, second, third);
                        (registers.o4, registers.o5) = (fourth, fifth);
                    }
                }
            }
            Err(error) => {
                let CallError { status, value } = error;
                registers.o0 = status.number();
                if let Some(value) = value {
                    registers.o1 = value;
                }
            }
        }
    }
}

impl Deref for Frame<'_> {
    type Target = Registers;

    #[inline(always)]
    fn deref(&self) -> &Registers {
        self.0
    }
}
