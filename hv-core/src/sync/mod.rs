//! All atomics of the hypervisor's crates come from here, so that those of a model checker can take their place: of loom, under
//! `cfg(loom)`, or of shuttle, under `cfg(shuttle)`. Loom's constructors are no `const fn`, so what is modelled has none either.
//! What no model looks into, and a static has to hold, is in `plain`.

mod id;
mod owned_lock;

#[cfg(loom)]
pub mod model;
#[cfg(shuttle)]
pub mod schedules;
#[cfg(any(test, feature = "steps"))]
pub mod steps;
#[cfg(test)]
mod tests;

#[cfg(not(any(loom, shuttle)))]
use core::{hint, sync::atomic};
#[cfg(loom)]
use loom::{hint, sync::atomic};
#[cfg(shuttle)]
use shuttle::{hint, sync::atomic};

#[cfg(not(any(test, feature = "steps")))]
pub use atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};
pub use atomic::{Ordering, fence};
pub use hint::spin_loop;
#[cfg(any(test, feature = "steps"))]
pub use steps::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};

/// The ordering of a load that decides whether the strand accesses a device: [`Ordering::Acquire`], free on SPARC V9.
///
/// Every UltraSPARC T2 has total store order: no access of a strand overtakes an earlier load of it. The access is volatile, and
/// the value decides whether it is made, so no compiler moves it to before the load. LLVM 22 would add a `membar`.
pub const BEFORE_DEVICE: Ordering = if cfg!(target_arch = "sparc64") {
    Ordering::Relaxed
} else {
    Ordering::Acquire
};

/// The ordering of two accesses of a strand, of which the first exchanges a word and decides, with the second, whether the strand
/// accesses a device: [`Ordering::SeqCst`], free on SPARC V9 as in [`BEFORE_DEVICE`]. Between the two, call [`exchanged`].
pub const EXCHANGE_AND_LOOK: Ordering = if cfg!(target_arch = "sparc64") {
    Ordering::Relaxed
} else {
    Ordering::SeqCst
};

/// Keeps a strand's sequentially consistent exchange of a word before its later load of another. This is no instruction: the
/// accesses are ordered by themselves, or, if [they are not](EXCHANGE_AND_LOOK), by the processor, and then this binds the
/// compiler. Loom, which takes sequentially consistent accesses for acquire and release, is given a fence.
#[inline(always)]
pub fn exchanged() {
    if cfg!(loom) {
        fence(Ordering::SeqCst);
    } else {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}

pub use id::{AtomicId, Id};
pub use owned_lock::{OwnedGuard, OwnedLock};

/// Core's atomics in every build.
pub(crate) mod plain {
    pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
}
