//! Places for values that the image replaces.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// A place for a value that the image replaces while it runs.
pub struct Room<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: the image runs on one strand.
unsafe impl<T> Sync for Room<T> {}

impl<T> Room<T> {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Copies the bytes of another value, which may be in use.
    ///
    /// # Safety
    /// No reference to the replaced value is used any more.
    #[cfg(feature = "memory")]
    pub unsafe fn copy(&'static self, other: &'static Self) {
        // SAFETY: both places are valid. The caller promises that no reference to this value is used.
        unsafe { self.0.get().copy_from_nonoverlapping(other.0.get(), 1) };
    }

    /// Replaces the value, and does not drop the old one.
    ///
    /// # Safety
    /// The reference that an earlier call returned is not used any more.
    pub unsafe fn put(&'static self, value: T) -> &'static T {
        // SAFETY: the caller promises that no other reference is used.
        unsafe { (*self.0.get()).write(value) }
    }
}
