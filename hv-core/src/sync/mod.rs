//! The atomics of the hypervisor's crates, and what is built of them.
//!
//! Under `cfg(loom)` and `cfg(shuttle)` the atomics are those of the model checker. Their constructors are not `const fn`, because
//! loom's are not. Statics, which need such constructors, and data of which there is no model use core's atomics, from `plain`.

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
/// Every UltraSPARC T2 has total store order: no access of a strand overtakes one of its earlier loads. The compiler cannot move
/// the access to the device before the load either, because the access is volatile and depends on the loaded value. For
/// `Acquire`, LLVM 22 would add a `membar`.
pub const BEFORE_DEVICE: Ordering =
    if cfg!(target_arch = "sparc64") { Ordering::Relaxed } else { Ordering::Acquire };

/// The ordering of two accesses of a strand, an exchange of one word and then a load of another, which decide whether the strand
/// accesses a device: [`Ordering::SeqCst`], free on SPARC V9 as in [`BEFORE_DEVICE`]. Between the two, call [`exchanged`].
pub const EXCHANGE_AND_LOOK: Ordering =
    if cfg!(target_arch = "sparc64") { Ordering::Relaxed } else { Ordering::SeqCst };

/// Keeps a strand's exchange of a word before its later load of another, both with the ordering [`EXCHANGE_AND_LOOK`]. Takes no
/// instruction: either the ordering suffices, or the processor keeps the order and this function keeps the compiler from
/// changing it. Loom takes sequentially consistent accesses for acquire and release, and therefore gets a fence.
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

/// Core's atomics, also under loom and shuttle.
pub(crate) mod plain {
    pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
}
