//! A tracer that is off at first. Each call tests whether the tracer is on, as in a hypervisor that traces.

use guest_abi::{Clock, StrandId};
use hv_core::trace::{Clock19, Mode, Ring, Tracer};
use platform::TickRegisters;
use platform::sparc64::StrandRegs;
use spin::{Mutex, MutexGuard};

use crate::kept::Kept;

const PACKETS: usize = 4;
const WORDS: usize = 1015;

/// A clock that reads %stick of the only strand.
pub struct Stick(StrandRegs);

impl Clock for Stick {
    fn ticks(&self) -> u64 {
        const NPT: u64 = 1 << 63;
        StrandId::new(0).map_or(0, |strand| self.0.stick(strand) & !NPT)
    }
}

/// The tracer that the hypervisor and the service share.
pub type SharedTracer = &'static Tracer<'static, Stick, Clock19, PACKETS, WORDS>;

static RINGS: [Ring<Clock19, PACKETS, WORDS>; 1] = [Ring::new(Mode::Overwrite)];
static TRACER: Mutex<Option<Tracer<'static, Stick, Clock19, PACKETS, WORDS>>> = Mutex::new(None);
static KEPT: Kept<SharedTracer> = Kept::new();

/// Returns the tracer. The first call makes it.
pub fn tracer() -> SharedTracer {
    if let Some(tracer) = KEPT.get() {
        return tracer;
    }
    // SAFETY: this is a hypervisor with one strand.
    let registers = unsafe { StrandRegs::new(|_| {}) };
    let tracer = &*MutexGuard::leak(TRACER.lock()).insert(Tracer::new(Stick(registers), &RINGS));
    KEPT.set(Some(tracer));
    tracer
}
