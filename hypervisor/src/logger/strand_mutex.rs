//! A value that strands share. No strand waits for the value, and no dead strand keeps it.

use guest_abi::StrandId;
use hv_core::sync::OwnedLock;
use spin::Mutex;

/// Unlocks the mutexes that a dead strand has locked.
pub trait Unlock {
    /// Unlocks a mutex if it is locked. Called only if no living strand can have locked the mutex.
    fn unlock<T>(&self, mutex: &Mutex<T>);
}

#[derive(Debug)]
pub(super) struct StrandMutex<T> {
    /// A strand takes this lock before `value`, so that the owner of the value is known.
    owner: OwnedLock,
    value: Mutex<T>,
}

impl<T> StrandMutex<T> {
    pub(super) const fn new(value: T) -> Self {
        Self { owner: OwnedLock::new(), value: Mutex::new(value) }
    }

    /// Calls `act` with the value, on the strand `on`. If another strand is using the value, returns `None` without calling `act`.
    pub(super) fn with<R>(&self, on: StrandId, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        let _owner = self.owner.lock(on, 1)?;
        self.value.try_lock().map(|mut value| act(&mut value))
    }

    /// Releases the value if the strand `dead` was using it. First calls `tidy` with the value.
    pub(super) fn abandon(&self, dead: StrandId, unlock: &impl Unlock, tidy: impl FnOnce(&mut T)) {
        if self.owner.owner() == Some(dead) {
            unlock.unlock(&self.value);
            if let Some(mut value) = self.value.try_lock() {
                tidy(&mut value);
            }
            self.owner.abandon(dead);
        }
    }
}

#[cfg(test)]
impl<T> StrandMutex<T> {
    /// Lets a strand die while it uses the value. If `locked` is `false`, the strand has taken `owner` but has not locked `value` yet.
    pub(super) fn die_with(&self, on: StrandId, locked: bool) {
        core::mem::forget(self.owner.lock(on, 1).unwrap());
        if locked {
            core::mem::forget(self.value.lock());
        }
    }
}
