//! All atomics of the hypervisor's crates come from here, so that a model checker can take their place.

pub use core::hint::spin_loop;
pub use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
