//! A call by which a guest changes its machine and the strand that it calls from. Only the hypervisor image for tests serves it.
//! Guest and image are built together, so that both have the same layout of the effect in memory.

use core::ptr;

use guest_abi::{PerfReg, Registers, StrandId};

use crate::counters::Counters;
use crate::{Change, Configuration};

/// The number of the software trap, which hypervisor images for tests claim.
pub const TRAP: u8 = 0xfe;

/// The number of the function in %o5. All other numbers are another call.
pub const FUNCTION: u64 = 0x5eed_c0de;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Switches another machine on in place of this one.
    PowerOn(Configuration),
    /// Makes the next calls come from this strand.
    Caller(StrandId),
    /// Changes the machine.
    Change(Change),
    /// Returns [`System::state`](crate::System::state) in %o1.
    State,
    /// Returns [`System::counts`](crate::System::counts) in %o1.
    Counts,
    /// Returns in %o1 the number of calls that took the slow path.
    SlowCalls,
    /// Makes the hypervisor call itself this number of times, which uses up the register windows.
    Recurse(u64),
    /// Begins a get of a hub's register by a strand, which does not end.
    Hold(PerfReg, StrandId),
    /// Reports that a strand has died.
    Died(StrandId),
    /// Turns the tracer of this machine and of later machines on or off.
    Trace(bool),
    /// Uses the counters of the strand that calls.
    Counters(Counters),
}

impl Control {
    /// Returns the registers of the call: the address of the effect is in %o0.
    pub fn registers(&self) -> Registers {
        let address = ptr::from_ref(self).expose_provenance() as u64;
        Registers::call(FUNCTION, [address, 0, 0, 0, 0])
    }
}
