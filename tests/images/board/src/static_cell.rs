use core::cell::Cell;

/// A value that the image keeps from one trap to the next.
pub struct StaticCell<T>(Cell<Option<T>>);

// SAFETY: the image runs on one strand.
unsafe impl<T> Sync for StaticCell<T> {}

impl<T: Copy> StaticCell<T> {
    pub const fn new() -> Self {
        Self(Cell::new(None))
    }

    pub fn get(&self) -> Option<T> {
        self.0.get()
    }

    pub fn set(&self, value: Option<T>) {
        self.0.set(value);
    }
}
