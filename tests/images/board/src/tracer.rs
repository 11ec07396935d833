//! A tracer that is initially off. Each call checks whether it is on, as in a hypervisor that traces.

use hv_core::trace::{Clock19, Mode, Ring, Tracer};
use hypervisor::Stick;

const PACKETS: usize = 4;
const WORDS: usize = 1015;

type BoardTracer = Tracer<'static, Stick, Clock19, PACKETS, WORDS>;

/// The tracer that the hypervisor and the service share.
pub type SharedTracer = &'static BoardTracer;

static RINGS: [Ring<Clock19, PACKETS, WORDS>; 1] = [Ring::new(Mode::Overwrite)];

// SAFETY: the image executes in hyperprivileged mode.
pub static TRACER: BoardTracer = Tracer::new(unsafe { Stick::new() }, &RINGS);
