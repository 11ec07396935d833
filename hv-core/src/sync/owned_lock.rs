//! A lock that other strands can free after its owner has died.
//!
//! The locks of the `spin` crate cannot do this: a dead strand's guard is never dropped, and the lock stays taken forever.

use guest_abi::StrandId;
use static_assertions::assert_impl_all;

use super::{AtomicId, Ordering, const_unless_loom, spin_loop};

/// A lock that one strand owns at a time. A strand tries to take it a limited number of times.
///
/// The owner frees the lock when it drops the guard. If the owner has died, another strand frees the lock
/// with [`abandon`](Self::abandon). All accesses of an owner happen before all accesses of the next
/// owner.
#[derive(Debug, Default)]
pub struct OwnedLock {
    owner: AtomicId<StrandId>,
}

assert_impl_all!(OwnedLock: Send, Sync);

/// Proves that a strand owns the lock. Dropping the guard frees the lock.
#[derive(Debug)]
#[must_use]
pub struct OwnedGuard<'a> {
    lock: &'a OwnedLock,
}

impl OwnedLock {
    const_unless_loom! {
        /// Returns a lock that no strand owns.
        #[must_use]
        pub fn new() -> Self {
            Self { owner: AtomicId::none() }
        }
    }

    /// Takes the lock for a strand that does not already own it. Returns `None` if another strand owned the lock at each of `tries` tries.
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

    /// Returns the guard of a strand that has taken the lock in assembly; `None` if the strand does not own the lock.
    pub fn held(&self, strand: StrandId) -> Option<OwnedGuard<'_>> {
        (self.owner() == Some(strand)).then(|| OwnedGuard { lock: self })
    }

    /// Returns the strand that owns the lock; `None` if the lock is free.
    pub fn owner(&self) -> Option<StrandId> {
        self.owner.load()
    }

    /// Frees the lock if `dead`, a strand that has died, owned it. Returns `true` if the lock was freed.
    pub fn abandon(&self, dead: StrandId) -> bool {
        self.owner.replace(Some(dead), None)
    }

    /// Frees the lock, whichever strand owns it. Call this method only while every strand that may own the lock is dead.
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
