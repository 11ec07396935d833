//! The rings in which the image records events while tracing is on. The operator switches tracing on and off.

use guest_abi::StrandId;
use hv_core::trace::{Clock27, HypervisorEvent, Mode, Ring, Tracer, assert_all_short};
use hypervisor::Stick;
use perfctr_service::trace::ServiceEvent;

/// How many packets a ring has. A full ring holds the events of about 800 register reads, or of about 20 with small rings.
const PACKETS: usize = if cfg!(feature = "small-rings") { 2 } else { 4 };
const WORDS: usize = if cfg!(feature = "small-rings") { 55 } else { 1015 };

type EventRing = Ring<Clock27, PACKETS, WORDS>;
const _: () = assert_all_short::<Clock27>(HypervisorEvent::CLASSES);
const _: () = assert_all_short::<Clock27>(ServiceEvent::CLASSES);

type EventTracer = Tracer<'static, Stick, Clock27, PACKETS, WORDS>;

/// The tracer that the hypervisor and the service share.
pub type SharedTracer = &'static EventTracer;

/// Each strand clears its own ring when it starts, so that strand 0 need not clear all rings.
#[unsafe(link_section = ".bss.uncleared")]
static RINGS: [EventRing; StrandId::COUNT] =
    [const { Ring::new(Mode::Overwrite) }; StrandId::COUNT];

// SAFETY: the image executes in hyperprivileged mode.
pub static TRACER: EventTracer = Tracer::new(unsafe { Stick::new() }, &RINGS);

/// Prepares a strand's ring, before the strand's first event.
pub fn begin(strand: StrandId) {
    if let Some(ring) = TRACER.ring(strand) {
        ring.clear(Mode::Overwrite);
    }
}
