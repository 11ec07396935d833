//! The transport: how a call reaches a hypervisor.

use core::convert::Infallible;

use static_assertions::assert_obj_safe;

use crate::status::HvError;
use crate::trap::{Registers, Trap, VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};

/// A way to trap into a hypervisor, real or simulated.
pub trait Hypercall {
    /// Traps with `registers` in %o0 to %o5, and stores the values of %o0 to %o5 after the trap in `registers`.
    fn trap(&self, trap: Trap, registers: &mut Registers);

    /// Calls `function` with `arguments` in %o0 to %o4. Returns %o1 to %o5. Fails with the status in %o0 if it is not 0.
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

/// No hypervisor: the type has no values, so no call is made.
impl Hypercall for Infallible {
    fn trap(&self, _: Trap, _: &mut Registers) {
        match *self {}
    }
}

/// Reads performance register `id`. The hypervisor refuses an unknown `id`.
pub(crate) fn get_perfreg(route: &impl Hypercall, id: u64) -> Result<u64, HvError> {
    let [value, ..] = route.call(Trap::Fast, VFALLS_GET_PERFREG, [id, 0, 0, 0, 0])?;
    Ok(value)
}

/// Writes performance register `id`. The hypervisor refuses an unknown `id`.
pub(crate) fn set_perfreg(route: &impl Hypercall, id: u64, value: u64) -> Result<(), HvError> {
    route.call(Trap::Fast, VFALLS_SET_PERFREG, [id, value, 0, 0, 0])?;
    Ok(())
}
