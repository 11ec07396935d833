//! The lock that a strand owns, and that another strand frees when the owner has died.
//!
//! `spin` has no such lock: a guard of a dead strand is never dropped, and its lock stays taken for ever.

use guest_abi::StrandId;
use static_assertions::assert_impl_all;

use super::{AtomicId, Ordering, spin_loop};

/// A lock that a strand owns. It is never waited for without a bound.
///
/// The owner alone frees it, by dropping the guard, or another strand by [`abandon`](Self::abandon) when the owner has died.
/// Whatever an owner has done before happens before whatever the next owner does.
#[derive(Debug, Default)]
pub struct OwnedLock {
    owner: AtomicId<StrandId>,
}

assert_impl_all!(OwnedLock: Send, Sync);

/// The lock is owned. Dropping this frees it.
#[derive(Debug)]
#[must_use]
pub struct OwnedGuard<'a> {
    lock: &'a OwnedLock,
}

impl OwnedLock {
    /// Takes the lock for a strand, which does not own it, in at most so many tries; `None` if another strand owned it at
    /// each of them.
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

    /// Frees the lock if this strand, which has died, owned it. Returns `true` if it did.
    pub fn abandon(&self, dead: StrandId) -> bool {
        self.owner.replace(Some(dead), None)
    }

    /// Frees the lock, whichever strand owns it. Call it only while every strand that may own the lock is dead.
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
