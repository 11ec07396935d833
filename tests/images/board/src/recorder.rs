//! A tracer that is off at first, so that the checks of the image are valid for hypervisors that trace.

use guest_abi::{Clock, StrandId};
use hv_core::trace::{Clock19, Mode, Ring, Tracer};
use platform::TickRegisters;
use platform::sparc64::StrandRegs;
use spin::{Mutex, MutexGuard};

use crate::kept::Kept;

const PACKETS: usize = 4;
const WORDS: usize = 1015;

/// %stick of the only strand.
pub struct Stick(StrandRegs);

impl Clock for Stick {
    fn ticks(&self) -> u64 {
        const NPT: u64 = 1 << 63;
        StrandId::new(0).map_or(0, |strand| self.0.stick(strand) & !NPT)
    }
}

/// The tracer of the hypervisor and of the service.
pub type Recorder = &'static Tracer<'static, Stick, Clock19, PACKETS, WORDS>;

static RINGS: [Ring<Clock19, PACKETS, WORDS>; 1] = [Ring::new(Mode::Overwrite)];
static TRACER: Mutex<Option<Tracer<'static, Stick, Clock19, PACKETS, WORDS>>> = Mutex::new(None);
static RECORDER: Kept<Recorder> = Kept::new();

/// Returns the tracer, and makes it at the first call.
pub fn recorder() -> Recorder {
    if let Some(recorder) = RECORDER.get() {
        return recorder;
    }
    // SAFETY: this is a hypervisor with one strand.
    let registers = unsafe { StrandRegs::new(|_| {}) };
    let recorder = &*MutexGuard::leak(TRACER.lock()).insert(Tracer::new(Stick(registers), &RINGS));
    RECORDER.set(Some(recorder));
    recorder
}
