//! The answer to a call, and the registers that receive it.

use core::ops::Deref;

use guest_abi::{HvError, Registers};

/// The values that a call returns from %o1 on. The guest's other registers do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// EOK, without a value.
    Done,
    /// EOK, and a value in %o1.
    Value(u64),
    /// EOK, and values in %o1 and %o2.
    Values(u64, u64),
    /// The status of an error, with a value in %o1. An example is `mach_desc`, which returns the size of the buffer that it needs.
    Refused(HvError, u64),
}

/// The registers of a call. Only [`answer`](Self::answer) changes them.
#[derive(Debug)]
pub struct Frame<'a>(&'a mut Registers);

impl<'a> Frame<'a> {
    /// Returns the frame of a call that a [`Context`](crate::Context) serves without a [`Hypervisor`](crate::Hypervisor).
    #[inline(always)]
    pub const fn new(registers: &'a mut Registers) -> Self {
        Self(registers)
    }

    /// Returns a frame for the same registers, for a function that takes a frame by value.
    #[inline(always)]
    pub const fn reborrow(&mut self) -> Frame<'_> {
        Frame(self.0)
    }

    /// Writes the status and the values into the guest's registers. No other function writes them.
    #[inline(always)]
    pub fn answer(&mut self, result: Result<Reply, HvError>) {
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
                    Reply::Refused(error, value) => {
                        (registers.o0, registers.o1) = (error.number(), value);
                    }
                }
            }
            Err(error) => registers.o0 = error.number(),
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
