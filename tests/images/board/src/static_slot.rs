use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// Room for a value that the image can replace while it runs.
pub struct StaticSlot<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: the image runs on one strand.
unsafe impl<T> Sync for StaticSlot<T> {}

impl<T> StaticSlot<T> {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Copies the bytes of another value. The other value may be in use.
    ///
    /// # Safety
    /// The caller must no longer use references to the replaced value.
    #[cfg(feature = "memory")]
    pub unsafe fn copy(&'static self, other: &'static Self) {
        // SAFETY: both places are valid. The caller promises that it does not use references to this value.
        unsafe { self.0.get().copy_from_nonoverlapping(other.0.get(), 1) };
    }

    /// Replaces the value without dropping the old value.
    ///
    /// # Safety
    /// The caller must no longer use the reference that an earlier call returned.
    pub unsafe fn put(&'static self, value: T) -> &'static T {
        // SAFETY: the caller promises that it does not use other references.
        unsafe { (*self.0.get()).write(value) }
    }
}
