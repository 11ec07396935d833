//! What the service reaches: the devices, or models of them.

use platform::Machine;
use platform::sparc64::StrandBlock;

#[cfg(not(feature = "models"))]
mod real {
    use platform::sparc64::{Mmio, StrandRegs};

    pub type Board = Mmio;
    pub type Registers = StrandRegs;

    pub fn new(_: super::Machine, block: &'static super::StrandBlock) -> (Board, Registers) {
        // SAFETY: this is a hypervisor with the MMU off and one strand. What the service asks for are device registers.
        unsafe { (Mmio::new(), StrandRegs::new(block)) }
    }
}

#[cfg(feature = "models")]
mod models {
    use platform::models::Devices;

    use crate::once::Once;

    pub type Board = &'static Devices;
    pub type Registers = &'static Devices;

    static DEVICES: Once<Devices> = Once::new();

    pub fn new(machine: super::Machine, _: &super::StrandBlock) -> (Board, Registers) {
        let devices = DEVICES.set(Devices::new(machine));
        (devices, devices)
    }
}

#[cfg(feature = "models")]
pub use models::*;
#[cfg(not(feature = "models"))]
pub use real::*;

const _: fn(Machine, &'static StrandBlock) -> (Board, Registers) = new;
