//! A call with which a guest controls its machine, and chooses the strand that makes its next calls. Only test images of the hypervisor
//! serve this call. Guest and image are built together, so both use the same memory layout of [`Control`].

use core::ptr;

use guest_abi::{PerfReg, Registers, StrandId};

use crate::counters::Counters;
use crate::{Change, Configuration};

/// The number of the software trap that test images of the hypervisor claim for this call.
pub const TRAP: u8 = 0xfe;

/// The function number in %o5. With any other number, the call is not a control call.
pub const FUNCTION: u64 = 0x5eed_c0de;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Switches on another machine in place of the current one.
    PowerOn(Configuration),
    /// Makes this strand the caller of the next calls.
    Caller(StrandId),
    Change(Change),
    /// Returns [`System::state`](crate::System::state) in %o1.
    State,
    /// Returns [`System::counts`](crate::System::counts) in %o1.
    Counts,
    /// Returns, in %o1, the number of calls that took the slow path.
    SlowCalls,
    /// Makes the hypervisor nest this many internal function calls, which use up the register windows.
    Recurse(u64),
    /// Makes a strand begin a read of a hub register. The read never ends.
    Hold(PerfReg, StrandId),
    /// Starts the service's clock, if it does not run yet.
    Clock,
    /// Reports that a strand has died.
    Died(StrandId),
    /// Switches the tracer on or off, for this machine and all later machines.
    Trace(bool),
    /// Reads or changes the model of the calling strand's counters.
    Counters(Counters),
}

impl Control {
    /// Returns the registers of the call. %o0 holds the address of `self`.
    pub fn registers(&self) -> Registers {
        let address = ptr::from_ref(self).expose_provenance() as u64;
        Registers::call(FUNCTION, [address, 0, 0, 0, 0])
    }
}
