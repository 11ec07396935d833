//! One atomic that holds a strand, or a guest, or nobody.

use core::marker::PhantomData;

use guest_abi::StrandId;

use super::{AtomicU32, Ordering};
use crate::GuestId;

/// What [`AtomicId`] can hold: a number from 0.
pub trait Id: Copy {
    /// Its number.
    fn index(self) -> usize;

    /// The one with this number, if there is one.
    fn from_index(index: usize) -> Option<Self>;
}

impl Id for StrandId {
    #[inline(always)]
    fn index(self) -> usize {
        self.index()
    }

    fn from_index(index: usize) -> Option<Self> {
        Self::new(index)
    }
}

impl Id for GuestId {
    fn index(self) -> usize {
        self.index()
    }

    fn from_index(index: usize) -> Option<Self> {
        Self::new(index)
    }
}

/// A [`StrandId`] or [`GuestId`], or nobody at first. Accesses are sequentially consistent unless they say otherwise.
#[derive(Debug)]
pub struct AtomicId<T>(AtomicU32, PhantomData<T>);

impl<T> Default for AtomicId<T> {
    fn default() -> Self {
        Self(AtomicU32::new(0), PhantomData)
    }
}

/// The number plus one; 0 for nobody.
#[inline(always)]
fn number<T: Id>(id: Option<T>) -> u32 {
    id.map_or(0, |id| id.index() as u32 + 1)
}

impl<T: Id> AtomicId<T> {
    /// Holds this one, or nobody.
    pub fn new(id: Option<T>) -> Self {
        Self(AtomicU32::new(number(id)), PhantomData)
    }

    /// Returns who is held.
    pub fn load(&self) -> Option<T> {
        let number = self.0.load(Ordering::SeqCst);
        T::from_index(number.checked_sub(1)? as usize)
    }

    /// Holds this one, or nobody, from now on.
    pub fn store(&self, id: Option<T>) {
        self.store_ordered(id, Ordering::SeqCst);
    }

    pub(super) fn store_ordered(&self, id: Option<T>, ordering: Ordering) {
        self.0.store(number(id), ordering);
    }

    /// Holds `new` from now on if it holds `old`. Returns `true` if it did.
    pub fn replace(&self, old: Option<T>, new: Option<T>) -> bool {
        self.0
            .compare_exchange(
                number(old),
                number(new),
                Ordering::SeqCst,
                // On failure nothing is taken over from whoever is held.
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// Holds nobody from now on. Returns `true` if it held somebody.
    pub fn clear(&self) -> bool {
        self.0.swap(0, Ordering::SeqCst) != 0
    }
}
