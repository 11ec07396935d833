//! The service. Each of its parts guards its own state. The service itself performs accesses and cross-calls, and writes the log and the
//! events.

mod call;
mod log;
pub(crate) mod operator;
mod record;
mod scrub;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
pub mod transfer;
#[cfg(target_arch = "sparc64")]
mod words;

use core::fmt;

use guest_abi::status::EOK;
use guest_abi::{Hub, Node, StrandId};
use hv_core::sync::{array_of, const_unless_loom};
use hv_core::trace::Trace;
use hv_core::{Caller, GuestId, Negotiated, Service};
use platform::{Bus, Machine, StrandRegisters};
use static_assertions::assert_impl_all;

use crate::hubs::{HubArbiter, Token};
use crate::l2::L2Arbiter;
use crate::progress::Stopwatches;
use crate::rights::guest::GuestRights;
use crate::rights::versions::Vfalls;
use crate::rights::{Rights, STRANDS};
use crate::statistics::{CallCounts, Statistics};
use crate::table::{self, Rows};
use crate::units::{Unit, UnitState, Units};
use crate::{ConfigError, Environment, GuestConfig, StrandSet};

#[derive(Debug)]
struct StrandState {
    counts: CallCounts,
    stopwatches: Stopwatches,
}

impl StrandState {
    const_unless_loom! {
        fn new() -> Self {
            Self { counts: CallCounts::new(), stopwatches: Stopwatches::new() }
        }
    }
}

/// The performance counter service (API group 0x205) of one machine. It serves several strands' calls concurrently, in an [`Environment`].
///
/// Its size is 212 KB plus its environment. The service adds 1 KB to a `hv_core::Hypervisor`, whose own size is 2 KB. [`new`](Self::new)
/// and `Hypervisor::new` are `const`, so that a static can hold both, and [`configure`](Self::configure) fills in the service in place. An
/// image that moves both to a heap needs a stack with room for several copies.
///
/// The environment is the last field, so that the offsets of the other fields do not depend on its type.
#[derive(Debug)]
#[repr(C)]
pub struct PerfCounterService<E> {
    units: Units,
    hubs: [HubArbiter; Hub::ALL.len()],
    l2: [L2Arbiter; Node::ALL.len()],
    strands: [StrandState; STRANDS],
    rights: Rights,
    environment: E,
}

type AnyEnvironment = (&'static (dyn Bus + Sync), &'static (dyn StrandRegisters + Sync));

assert_impl_all!(PerfCounterService<()>: Send, Sync);
assert_impl_all!(PerfCounterContext<'static, AnyEnvironment>: Send, Sync);

impl<E: Environment> PerfCounterService<E> {
    const_unless_loom! {
        /// Returns a service without guests, which serves no call until it is [configured](Self::configure).
        pub fn new(environment: E) -> Self {
            Self {
                units: Units::new(),
                hubs: array_of!(HubArbiter::new(); Hub::ALL.len()),
                l2: array_of!(L2Arbiter::new(); Node::ALL.len()),
                strands: array_of!(StrandState::new(); STRANDS),
                rights: Rights::new(),
                environment,
            }
        }
    }

    /// Gives the service its machine and its guests. Succeeds only once. Guests are numbered in the given order. All registers of the
    /// machine must be 0, as after power-on. A configuration that fails changes nothing. No strand may call another method of the service
    /// meanwhile.
    pub fn configure(&self, machine: Machine, guests: &[GuestConfig]) -> Result<(), ConfigError> {
        self.rights.configure(machine, guests)?;
        self.tracer_switched();
        Ok(())
    }

    /// Applies the tracer's setting to calls that begin later. The image must call this function after it has switched the tracer on or
    /// off.
    pub fn tracer_switched(&self) {
        self.rights.set_traced(|| self.trace().is_on(), self.units.out());
    }

    /// Returns `true` if the unit exists on this machine. A memory channel must also be enabled.
    pub fn has_unit(&self, unit: Unit) -> bool {
        self.rights.has_unit(unit)
    }

    /// Returns the bus through which the service accesses devices.
    #[inline(always)]
    pub fn bus(&self) -> &E::Bus {
        self.environment.bus()
    }

    #[inline(always)]
    fn registers(&self) -> &E::Registers {
        self.environment.registers()
    }

    #[inline(always)]
    fn trace(&self) -> &E::Trace {
        self.environment.trace()
    }

    /// Returns the counts of the calls that a guest's strands have made.
    pub fn statistics(&self, guest: GuestId) -> Statistics {
        self.statistics_of(self.rights.guest(guest).strands())
    }

    /// Returns the counts of the calls that these strands have made.
    pub fn statistics_of(&self, strands: StrandSet) -> Statistics {
        let mut sum = Statistics::default();
        for strand in strands.iter() {
            self.strands[strand.index()].counts.add_to(&mut sum);
        }
        sum
    }

    /// Returns the state of a unit: whether it is in service and clean, and how often it has failed.
    pub fn unit(&self, unit: Unit) -> UnitState {
        self.units.state(unit)
    }
}

impl<E: Environment> Service for PerfCounterService<E> {
    type Group = Vfalls;

    type Context<'a>
        = PerfCounterContext<'a, E>
    where
        Self: 'a;

    fn is_valid_caller(&self, caller: Caller) -> bool {
        self.knows_caller(caller)
    }

    fn context<'a>(
        &'a self,
        caller: Caller,
        version: &'a Negotiated<Vfalls>,
    ) -> PerfCounterContext<'a, E> {
        PerfCounterContext { strand: self.strand(caller), version }
    }

    fn version_changed(&self, guest: GuestId, version: &Negotiated<Vfalls>) {
        self.rights.guest(guest).version_changed(version, self.units.out());
    }

    fn guest_reset(&self, guest: GuestId, on: StrandId) {
        self.reset(guest, on);
    }
}

impl<E: Environment> PerfCounterService<E> {
    fn knows_caller(&self, caller: Caller) -> bool {
        caller.guest.index() < self.rights.guest_count()
            && self.rights.guest(caller.guest).strands().contains(caller.strand)
    }

    fn strand(&self, caller: Caller) -> StrandContext<'_, E> {
        let strand = &self.strands[caller.strand.index()];
        StrandContext {
            service: self,
            guest: self.rights.guest(caller.guest),
            event_header: u32::from_le_bytes([
                0,
                EOK as u8,
                caller.guest.number(),
                caller.strand.number(),
            ]),
            hubs: self.hubs.each_ref(),
            rows: table::rows(caller.strand.node()),
            counts: &strand.counts,
            caller,
            token: caller.strand.into(),
            node: caller.strand.node(),
            watches: &strand.stopwatches,
            ring: self.trace().ring(caller.strand),
        }
    }
}

/// The data of a strand and its guest that the calls of any group use.
struct StrandContext<'a, E: Environment> {
    service: &'a PerfCounterService<E>,
    guest: &'a GuestRights,
    /// The first four bytes of a served call's event, little-endian: the register (0 here), EOK, the guest, and the strand.
    event_header: u32,
    hubs: [&'a HubArbiter; Hub::ALL.len()],
    rows: &'static Rows,
    counts: &'a CallCounts,
    caller: Caller,
    token: Token,
    node: Node,
    watches: &'a Stopwatches,
    ring: Option<&'a <E::Trace as Trace>::Ring>,
}

/// Everything that the calls of group 0x205 need on one strand, looked up once per strand.
pub struct PerfCounterContext<'a, E: Environment> {
    strand: StrandContext<'a, E>,
    version: &'a Negotiated<Vfalls>,
}

impl<E: Environment> fmt::Debug for PerfCounterContext<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerfCounterContext")
            .field("guest", &self.strand.guest)
            .field("caller", &self.strand.caller)
            .finish_non_exhaustive()
    }
}
