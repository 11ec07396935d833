//! Creates the hypervisor's services, and configures them for a layout.

use crate::services::{CoreGroup, DiagGroup, SoftStateGroup};
use heapless::Vec;
use hv_core::{GuestId, Hypervisor};
use perfctr_service::{ConfigError, Environment, GuestConfig, PerfCounterService};

use super::board::Board;
use super::guests::Guests;
use super::layout::Layout;
use super::record::ReportingEnvironment;

/// The services of the hypervisor. If two services had the same function, the first one would serve it.
pub type Services<B> = (
    PerfCounterService<ReportingEnvironment<<B as Board>::Environment>>,
    CoreGroup<Guests<B>>,
    SoftStateGroup<Guests<B>>,
    DiagGroup,
);

pub(super) type Trace<B> = <<B as Board>::Environment as Environment>::Trace;

/// The hypervisor of an image with board `B`: its services, its guests and its tracer.
pub type BoardHypervisor<B> = Hypervisor<Services<B>, Guests<B>, Trace<B>>;

/// Returns the hypervisor and its services for a layout, before they are [configured](configure).
#[inline(always)]
pub fn assemble<B: Board>(
    layout: &'static Layout,
    environment: B::Environment,
) -> BoardHypervisor<B> {
    let guests = Guests::new(layout);
    let trace = *environment.trace();
    let services = (
        PerfCounterService::new(ReportingEnvironment::new(environment, layout)),
        CoreGroup::new(guests),
        SoftStateGroup::new(guests),
        DiagGroup,
    );
    Hypervisor::with_trace(services, guests, trace)
}

/// Gives the counter service a layout's machine and guests. Fails if the guests do not fit the machine.
#[inline(always)]
pub fn configure<B: Board>(
    hypervisor: &BoardHypervisor<B>,
    layout: &Layout,
) -> Result<(), ConfigError> {
    let mut configs = Vec::<GuestConfig, { GuestId::COUNT }>::new();
    for guest in &layout.guests {
        // `push` cannot fail: there is room for all guests of a layout. (`collect` would add a panic to the image.)
        let _ = configs.push(guest.config);
    }
    hypervisor.services().0.configure(layout.machine, &configs)
}
