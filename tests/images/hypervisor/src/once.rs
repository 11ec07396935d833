//! What is set once, before the guest begins.

use core::cell::OnceCell;

/// A value that the only strand sets while it starts.
pub struct Once<T>(OnceCell<T>);

// SAFETY: the image runs on one strand.
unsafe impl<T> Sync for Once<T> {}

impl<T> Once<T> {
    pub const fn new() -> Self {
        Self(OnceCell::new())
    }

    pub fn set(&'static self, value: T) -> &'static T {
        self.0.get_or_init(|| value)
    }

    pub fn get(&'static self) -> Option<&'static T> {
        self.0.get()
    }
}
