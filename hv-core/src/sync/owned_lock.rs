//! A lock that another strand can free when its owner has died.
//!
//! The locks of `spin` cannot do this: the guard of a dead strand is never dropped, and the lock stays taken for ever.

use guest_abi::StrandId;
use static_assertions::assert_impl_all;

use super::{AtomicId, Ordering, spin_loop};

/// A lock that a strand owns. No strand waits for it without a bound.
///
/// The owner frees the lock by dropping the guard. When the owner has died, another strand frees the lock by
/// [`abandon`](Self::abandon). What an owner has done happens before what the next owner does.
#[derive(Debug, Default)]
pub struct OwnedLock {
    owner: AtomicId<StrandId>,
}

assert_impl_all!(OwnedLock: Send, Sync);

/// Frees the lock when it is dropped.
#[derive(Debug)]
#[must_use]
pub struct OwnedGuard<'a> {
    lock: &'a OwnedLock,
}

impl OwnedLock {
    /// Returns a lock that nobody owns: for statics.
    #[cfg(not(any(loom, shuttle, test, feature = "steps")))]
    #[must_use]
    pub const fn free() -> Self {
        Self { owner: AtomicId::none() }
    }

    /// Takes the lock for a strand that does not own it; `None` if another strand owned it at each of `tries` tries.
    #[inline(always)]
    pub fn lock(&self, strand: StrandId, tries: usize) -> Option<OwnedGuard<'_>> {
        for _ in 0..tries {
            if self.owner.replace(None, Some(strand)) {
                return Some(OwnedGuard { lock: self });
            }
            spin_loop();
        }
        None
    }

    /// Returns the strand that owns the lock.
    pub fn owner(&self) -> Option<StrandId> {
        self.owner.load()
    }

    /// Frees the lock if this strand, which has died, owned it. Returns `true` if the lock was freed.
    pub fn abandon(&self, dead: StrandId) -> bool {
        self.owner.replace(Some(dead), None)
    }

    /// Frees the lock for certain. Call it only while every strand that may own the lock is dead.
    pub fn reset(&self) {
        self.owner.store(None);
    }
}

impl Drop for OwnedGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.owner.store_ordered(None, Ordering::Release);
    }
}
