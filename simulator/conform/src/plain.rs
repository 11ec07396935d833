//! Runs the sweep without ever setting HOLDOV in register 0.

use guest_abi::layout::SparcPcr;
use guest_abi::trap::VFALLS_SET_PERFREG;
use guest_abi::{CounterSet, StrandId, Trap};

use crate::tell::Machines;
use crate::{Change, Configuration, System};

/// A system that clears HOLDOV in writes to register 0. Without HOLDOV, a word of memory behaves like the register.
pub struct Plain<'a>(pub &'a mut dyn System);

impl System for Plain<'_> {
    fn call(&mut self, strand: StrandId, trap: Trap, mut registers: [u64; 6]) -> [u64; 6] {
        if let (Trap::Fast, [0, value, _, _, _, VFALLS_SET_PERFREG]) = (trap, &mut registers) {
            *value = SparcPcr::from(*value).with_holds(CounterSet::NONE).into();
        }
        self.0.call(strand, trap, registers)
    }

    fn change(&mut self, change: Change) {
        self.0.change(change);
    }

    fn state(&mut self) -> u64 {
        self.0.state()
    }

    fn counts(&mut self) -> u64 {
        self.0.counts()
    }
}

/// Switches on machines, and clears HOLDOV in writes to their register 0: see [`Plain`].
pub struct WithPlain<M>(pub M);

impl<M: Machines> Machines for WithPlain<M> {
    fn power_on(&mut self, configuration: &Configuration, work: &mut dyn FnMut(&mut dyn System)) {
        self.0.power_on(configuration, &mut |system| work(&mut Plain(system)));
    }
}
