//! Places for values that are replaced while the image runs.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// A place for a value that is replaced.
pub struct Room<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: the image runs on one strand.
unsafe impl<T> Sync for Room<T> {}

impl<T> Room<T> {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Copies the bytes of another value, whether they are in use or not.
    ///
    /// # Safety
    /// Nobody uses the value meanwhile.
    #[cfg(feature = "memory")]
    pub unsafe fn copy(&'static self, other: &'static Self) {
        // SAFETY: two values of the same type. The caller promises that nobody uses this one.
        unsafe { self.0.get().copy_from_nonoverlapping(other.0.get(), 1) };
    }

    /// Replaces the value. The one before is not dropped.
    ///
    /// # Safety
    /// Nobody uses what an earlier call returned any more.
    pub unsafe fn put(&'static self, value: T) -> &'static T {
        // SAFETY: the caller promises that this is the only reference.
        unsafe { (*self.0.get()).write(value) }
    }
}
