//! The leaf functions.
//!
//! Each is given the guest's %o0 to %o3. It needs few registers and leaves %o2 and %o3 alone, which the guest gets back: a function
//! that returns them needs no code for it. Both hold on the linked image only, where they are checked.

use core::hint::assert_unchecked;
use core::ptr;

use guest_abi::Registers;
use platform::Bus;
use platform::sparc64::FastPath;

use crate::PerfCounterContext;
use crate::environment::Environment;
use crate::hubs::HubArbiter;
use crate::statistics::Operation::{self, Get, Set};

/// Numbers for the veneers.
#[doc(hidden)]
pub mod layout {
    use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
    pub use platform::sparc64::layout::{CONTEXT, FAST, O0, PCR};

    pub const GET: u64 = VFALLS_GET_PERFREG;
    pub const GET_TO_SET: u64 = VFALLS_GET_PERFREG ^ VFALLS_SET_PERFREG;
    pub const SET: u64 = VFALLS_SET_PERFREG;
    /// Registers from this on are those of hubs.
    pub const FIRST_OF_HUB: u64 = crate::rights::access::SINGLE_REGISTERS;
}

/// The verdict on a call that is done: EOK. Other verdicts are the status of a call that is refused, [`layout::FAST`] if
/// nothing was done, and what the fault handler of `platform::sparc64` returns in the function's place.
const DONE: u64 = guest_abi::status::EOK;

/// What a leaf function returns, in %o0 to %o3.
#[derive(Debug)]
#[repr(C)]
pub struct Return {
    verdict: u64,
    value: u64,
    o2: u64,
    o3: u64,
}

/// What the leaf functions `set_hub` and `release_hub` return, in %o0 to %o3.
#[derive(Debug)]
#[repr(C)]
pub struct Stored {
    verdict: u64,
    value: u64,
    hub: *const (),
    o3: u64,
}

/// The functions that the veneers call. Where the verdict is not [`DONE`], the veneer gives %o1 back as it was.
pub trait Leaf: Sized {
    /// VFALLS_GET_PERFREG of a DRAM register.
    ///
    /// # Safety
    /// `id` is from 1 to 17.
    unsafe extern "C" fn get(id: u64, _: u64, o2: u64, o3: u64, context: &Self) -> Return;

    /// VFALLS_SET_PERFREG of a DRAM register. Returns `value` as it was given.
    ///
    /// # Safety
    /// `id` is from 1 to 17.
    unsafe extern "C" fn set(id: u64, value: u64, o2: u64, o3: u64, context: &Self) -> Return;

    /// VFALLS_GET_PERFREG of a register number from 18 on, however large.
    extern "C" fn get_hub(id: u64, _: u64, o2: u64, o3: u64, context: &Self) -> Return;

    /// The first half of VFALLS_SET_PERFREG of a register number from 18 on, however large. Returns `value` as it was given, and
    /// in %o2, which the veneer keeps, the hub that [`release_hub`](Self::release_hub) is to release if the call was served.
    extern "C" fn set_hub(id: u64, value: u64, _: u64, o3: u64, context: &Self) -> Stored;

    /// The second half, when the store is complete. (Compiled code with the barrier in it would have a register window.) Returns
    /// what it is given.
    ///
    /// # Safety
    /// `hub` is what [`set_hub`](Self::set_hub) returned with the verdict [`DONE`] for the same context, once.
    unsafe extern "C" fn release_hub(
        verdict: u64,
        value: u64,
        hub: *const (),
        o3: u64,
        context: &Self,
    ) -> Stored;

    /// Decides whether the strand may read register 0. If it may, the veneer reads %pcr. Returns `value` as it was given. `id` is 0.
    extern "C" fn get_pcr(id: u64, value: u64, o2: u64, o3: u64, context: &Self) -> Return;

    /// Decides whether the strand may write `value` to register 0. If it may, the veneer writes the value that is returned to
    /// %pcr. `id` is 0.
    extern "C" fn set_pcr(id: u64, value: u64, o2: u64, o3: u64, context: &Self) -> Return;
}

impl<E: Environment> Leaf for PerfCounterContext<'_, E> {
    #[unsafe(link_section = ".text.leaf")]
    unsafe extern "C" fn get(id: u64, _: u64, o2: u64, o3: u64, context: &Self) -> Return {
        // SAFETY: the caller promises it.
        unsafe { assert_unchecked(id > 0 && id < layout::FIRST_OF_HUB) };
        let value = context.direct(|| context.leaf_get_dram(id));
        context.got(id, value, o2, o3)
    }

    #[unsafe(link_section = ".text.leaf")]
    unsafe extern "C" fn set(id: u64, value: u64, o2: u64, o3: u64, context: &Self) -> Return {
        // SAFETY: the caller promises it.
        unsafe { assert_unchecked(id > 0 && id < layout::FIRST_OF_HUB) };
        let done = context.direct(|| context.leaf_set_dram(id, value));
        Return {
            verdict: context.verdict(done, Set, id),
            value,
            o2,
            o3,
        }
    }

    #[unsafe(link_section = ".text.leaf")]
    extern "C" fn get_hub(id: u64, _: u64, o2: u64, o3: u64, context: &Self) -> Return {
        let value = context.direct(|| context.leaf_get_hub(id));
        context.got(id, value, o2, o3)
    }

    #[unsafe(link_section = ".text.leaf")]
    extern "C" fn set_hub(id: u64, value: u64, _: u64, o3: u64, context: &Self) -> Stored {
        let (verdict, hub) = match context.direct(|| context.leaf_begin_set_hub(id, value)) {
            Some(arbiter) => (DONE, ptr::from_ref(arbiter).cast()),
            None => (context.refusal(Set, id), ptr::null()),
        };
        Stored {
            verdict,
            value,
            hub,
            o3,
        }
    }

    #[unsafe(link_section = ".text.leaf")]
    unsafe extern "C" fn release_hub(
        verdict: u64,
        value: u64,
        hub: *const (),
        o3: u64,
        context: &Self,
    ) -> Stored {
        // SAFETY: the caller promises that `set_hub` has returned this reference to an arbiter, which the context holds too.
        context.leaf_end_set_hub(unsafe { &*hub.cast::<HubArbiter>() });
        Stored {
            verdict,
            value,
            hub,
            o3,
        }
    }

    #[unsafe(link_section = ".text.leaf")]
    extern "C" fn get_pcr(id: u64, value: u64, o2: u64, o3: u64, context: &Self) -> Return {
        let verdict = match context.direct(|| context.leaf_get_pcr().then_some(())) {
            // It is 0, and so is DONE.
            Some(()) => id,
            None => context.refusal(Get, 0),
        };
        Return {
            verdict,
            value,
            o2,
            o3,
        }
    }

    #[unsafe(link_section = ".text.leaf")]
    extern "C" fn set_pcr(id: u64, value: u64, o2: u64, o3: u64, context: &Self) -> Return {
        let (verdict, value) = match context.direct(|| context.leaf_set_pcr(value)) {
            Some(value) => (id, value),
            None => (context.refusal(Set, 0), value),
        };
        Return {
            verdict,
            value,
            o2,
            o3,
        }
    }
}

impl<E: Environment> PerfCounterContext<'_, E> {
    /// Serves a call, if this bus can be used by a function without a stack. Where it cannot, the device may be a model of one,
    /// and then the strand's registers may be, too.
    #[inline(always)]
    fn direct<V>(&self, serve: impl FnOnce() -> Option<V>) -> Option<V> {
        if !E::Bus::is_direct() {
            return None;
        }
        serve()
    }

    #[inline(always)]
    fn got(&self, id: u64, value: Option<u64>, o2: u64, o3: u64) -> Return {
        match value {
            Some(value) => Return {
                verdict: DONE,
                value,
                o2,
                o3,
            },
            None => Return {
                verdict: self.refusal(Get, id),
                value: 0,
                o2,
                o3,
            },
        }
    }

    #[inline(always)]
    fn verdict(&self, done: Option<()>, operation: Operation, id: u64) -> u64 {
        match done {
            Some(()) => DONE,
            None => self.refusal(operation, id),
        }
    }

    #[inline(always)]
    fn refusal(&self, operation: Operation, id: u64) -> u64 {
        self.leaf_refusal(operation, id)
            .map_or(layout::FAST, |status| status.number())
    }
}

impl<E: Environment> FastPath for PerfCounterContext<'_, E> {
    fn faulted(&self, registers: &Registers) {
        self.leaf_faulted(registers.o0);
    }
}
