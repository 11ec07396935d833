//! The transport that C code passes to the functions.
#![allow(unsafe_code)]

use guest_abi::guest::StrandCounters;
use guest_abi::layout::{SparcPcr, SparcPic};
use guest_abi::status::EOK;
use guest_abi::{HvError, Hypercall, Registers, Trap};

use crate::types::vfperf_transport;

/// On SPARC V9, evaluates the first expression, in which `$machine` is the real machine. Elsewhere, evaluates the second
/// expression.
macro_rules! on_processor {
    ($machine:ident => $real:expr, else $other:expr) => {{
        #[cfg(target_arch = "sparc64")]
        let result = {
            // SAFETY: `Route::new` promises privileged mode. The calls of this crate are harmless; the caller of `vfperf_trap`
            // is responsible for its call.
            let $machine = unsafe { guest_abi::guest::Sun4v::new() };
            $real
        };
        #[cfg(not(target_arch = "sparc64"))]
        let result = $other;
        result
    }};
}

/// A transport; `None` stands for the real machine.
#[derive(Clone, Copy)]
pub(crate) struct Route(Option<&'static vfperf_transport>);

impl Route {
    /// # Safety
    /// The pointer and each function in the structure are NULL, or valid while the value is used. If one of them is NULL on SPARC V9,
    /// the code runs in privileged mode of a sun4v virtual machine.
    pub(crate) const unsafe fn new(transport: *const vfperf_transport) -> Self {
        // SAFETY: promised by the caller.
        Self(unsafe { transport.as_ref() })
    }

    fn read_asr(self, asr: u32, real: impl FnOnce() -> u64) -> u64 {
        match self.0.and_then(|route| Some((route.read_asr?, route.context))) {
            // SAFETY: the caller of `Route::new` promises a valid function. The function gets the context of the same transport.
            Some((read, context)) => unsafe { read(context, asr) },
            None => real(),
        }
    }

    fn write_asr(self, asr: u32, value: u64, real: impl FnOnce()) {
        match self.0.and_then(|route| Some((route.write_asr?, route.context))) {
            // SAFETY: as for `read_asr`.
            Some((write, context)) => unsafe { write(context, asr, value) },
            None => real(),
        }
    }
}

impl Hypercall for Route {
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        let given = self.0.and_then(|route| Some((route.trap?, route.context)));
        let Some((simulated, context)) = given else {
            return on_processor!(real => real.trap(trap, registers), else registers.o0 = HvError::BadTrap.number());
        };
        let mut words = registers.to_array();
        // SAFETY: the caller of `Route::new` promises a valid function. The function gets the context of the same transport, and six words.
        unsafe { simulated(context, trap.number().into(), words.as_mut_ptr()) };
        *registers = words.into();
    }
}

const PCR: u32 = 16;
const PIC: u32 = 17;

impl StrandCounters for Route {
    fn pcr(&self) -> SparcPcr {
        self.read_asr(PCR, || on_processor!(real => real.pcr().into(), else 0)).into()
    }

    fn set_pcr(&self, pcr: SparcPcr) {
        self.write_asr(PCR, pcr.into(), || on_processor!(real => real.set_pcr(pcr), else ()));
    }

    fn pic(&self) -> SparcPic {
        self.read_asr(PIC, || on_processor!(real => real.pic().into(), else 0)).into()
    }

    fn set_pic(&self, pic: SparcPic) {
        self.write_asr(PIC, pic.into(), || on_processor!(real => real.set_pic(pic), else ()));
    }
}

/// Makes a call through a transport, stores its result, and returns its status.
///
/// # Safety
/// See [`Route::new`] for `transport`. `to` is NULL, or valid for a write.
pub(crate) unsafe fn call<T>(
    transport: *const vfperf_transport,
    to: *mut T,
    call: impl FnOnce(Route) -> Result<T, HvError>,
) -> u64 {
    // SAFETY: promised by the caller.
    match call(unsafe { Route::new(transport) }) {
        Ok(value) => {
            if !to.is_null() {
                // SAFETY: `to` is not NULL, and the caller promises the rest.
                unsafe { to.write(value) };
            }
            EOK
        }
        Err(error) => error.number(),
    }
}
