//! The transport: how a call reaches a hypervisor.

use static_assertions::assert_obj_safe;

use crate::status::HvError;
use crate::trap::{Registers, Trap};

/// A way to trap into a hypervisor, real or simulated.
pub trait Hypercall {
    /// Makes the trap with %o0 to %o5 as in `registers`, and stores there what the hypervisor left in them.
    fn trap(&self, trap: Trap, registers: &mut Registers);

    /// Calls `function` with `arguments` in %o0 to %o4. Returns %o1 to %o5.
    ///
    /// # Errors
    /// The status in %o0, if it is not 0.
    #[inline]
    fn call(&self, trap: Trap, function: u64, arguments: [u64; 5]) -> Result<[u64; 5], HvError> {
        let mut registers = Registers::call(function, arguments);
        self.trap(trap, &mut registers);
        HvError::check(registers.o0)?;
        let [_, values @ ..] = registers.to_array();
        Ok(values)
    }
}

assert_obj_safe!(Hypercall);

impl<H: Hypercall + ?Sized> Hypercall for &H {
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        (**self).trap(trap, registers);
    }
}
