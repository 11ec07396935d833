//! The atomics that the hypervisor's crates use, and tools built from them. Models and tests substitute other types of the same names. Any
//! release may change this module.
//!
//! Under `cfg(loom)` and `cfg(shuttle)`, the model checker provides the atomics. Statics need `const` constructors, which loom's atomics
//! lack, so statics always use core's atomics, from the module `plain`. So does data that no model covers.

mod constructors;
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
#[cfg(not(any(test, feature = "steps")))]
pub use hint::spin_loop;
#[cfg(any(test, feature = "steps"))]
pub use steps::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, spin_loop};

/// The ordering of a load that decides whether the strand accesses a device: [`Ordering::Acquire`], or `Relaxed` on SPARC V9.
///
/// Every UltraSPARC T2 has total store order: none of a strand's accesses overtakes an earlier load of that strand. The compiler cannot
/// move the access to the device before the load, because the access is volatile and depends on the loaded value. With `Acquire`, LLVM 22
/// would add a `membar`.
pub const BEFORE_DEVICE: Ordering =
    if cfg!(target_arch = "sparc64") { Ordering::Relaxed } else { Ordering::Acquire };

/// The ordering of two accesses that together decide whether a strand accesses a device: the strand exchanges one word, and then loads
/// another word. The ordering is [`Ordering::SeqCst`], or `Relaxed` on SPARC V9 (see [`BEFORE_DEVICE`]). Call [`fence_after_exchange`] between the
/// exchange and the load.
pub const EXCHANGE_THEN_LOAD: Ordering =
    if cfg!(target_arch = "sparc64") { Ordering::Relaxed } else { Ordering::SeqCst };

/// Stops the compiler from moving a load before an earlier exchange of another word. Both accesses use the ordering [`EXCHANGE_THEN_LOAD`],
/// which stops the processor from doing the same (on SPARC V9, the processor never does). Under loom, this function is a fence, because
/// loom treats sequentially consistent accesses as acquire and release.
#[inline(always)]
pub fn fence_after_exchange() {
    if cfg!(loom) {
        fence(Ordering::SeqCst);
    } else {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}

pub use crate::{array_of, const_unless_loom};
pub use id::{AtomicId, Id};
pub use owned_lock::{OwnedGuard, OwnedLock};

/// core's atomics, even under loom and shuttle.
pub mod plain {
    pub use core::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}
