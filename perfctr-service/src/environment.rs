//! The hardware and the tracer that a hypervisor image provides for the service.

use hv_core::GuestId;
use hv_core::trace::{NoTrace, Trace};
use platform::{Bus, StrandRegisters};

use crate::Outage;

/// What an image provides for the service: a tuple `(bus, registers)`, or `(bus, registers, tracer)` to record
/// [events](crate::trace::ServiceEvent).
pub trait Environment {
    /// The type that reads and writes device registers.
    type Bus: Bus;
    /// The type that reads and writes the strands' %pcr and %pic.
    type Registers: StrandRegisters;
    /// The type that records the service's events; [`NoTrace`] if no events are recorded.
    type Trace: Trace;

    /// Returns the bus, through which the service accesses every performance register except %pcr and %pic.
    fn bus(&self) -> &Self::Bus;

    /// Returns the accessor for the strands' %pcr and %pic.
    fn registers(&self) -> &Self::Registers;

    /// Returns the tracer, which may be [`NoTrace`].
    fn trace(&self) -> &Self::Trace;

    /// The service calls this function each time a strand takes a unit out of service, so that the image can tell the operator. The
    /// function must not call the service.
    fn out_of_service(&self, outage: Outage) {
        let _ = outage;
    }

    /// Returns a guest's name for log messages; with `None`, the messages give the guest's number instead.
    fn guest_name(&self, guest: GuestId) -> Option<&str> {
        let _ = guest;
        None
    }
}

impl<B: Bus, R: StrandRegisters> Environment for (B, R) {
    type Bus = B;
    type Registers = R;
    type Trace = NoTrace;

    #[inline(always)]
    fn bus(&self) -> &B {
        &self.0
    }

    #[inline(always)]
    fn registers(&self) -> &R {
        &self.1
    }

    #[inline(always)]
    fn trace(&self) -> &NoTrace {
        &NoTrace
    }
}

impl<B: Bus, R: StrandRegisters, T: Trace> Environment for (B, R, T) {
    type Bus = B;
    type Registers = R;
    type Trace = T;

    #[inline(always)]
    fn bus(&self) -> &B {
        &self.0
    }

    #[inline(always)]
    fn registers(&self) -> &R {
        &self.1
    }

    #[inline(always)]
    fn trace(&self) -> &T {
        &self.2
    }
}
