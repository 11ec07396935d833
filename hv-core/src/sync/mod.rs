//! All atomics of the hypervisor's crates come from here, so that a model checker can take their place: loom, under
//! `cfg(loom)`. Its constructors are no `const fn`, so what is modelled has none either.
//! What no model looks into, and a static has to hold, is in `plain`.

mod id;
mod owned_lock;

#[cfg(loom)]
pub mod model;
#[cfg(test)]
mod tests;

#[cfg(not(loom))]
pub use core::hint::spin_loop;
#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(loom)]
pub use loom::hint::spin_loop;
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

pub use id::{AtomicId, Id};
pub use owned_lock::{OwnedGuard, OwnedLock};

/// Core's atomics in every build.
pub(crate) mod plain {
    pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
}
