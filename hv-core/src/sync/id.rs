//! An atomic that holds a strand's or a guest's number, or nothing.

use core::marker::PhantomData;

use guest_abi::StrandId;

use super::{AtomicU32, Ordering, const_unless_loom};
use crate::GuestId;

/// An identifier that [`AtomicId`] can hold. Its number is below `u32::MAX`.
pub trait Id: Copy {
    #[allow(missing_docs)]
    fn index(self) -> usize;

    /// Returns the identifier with the number `index`, or `None` if there is none.
    fn from_index(index: usize) -> Option<Self>;
}

macro_rules! ids {
    ($($name:ty)*) => {$(
        impl Id for $name {
            #[inline(always)]
            fn index(self) -> usize {
                self.index()
            }

            fn from_index(index: usize) -> Option<Self> {
                Self::new(index)
            }
        }
    )*};
}

ids!(StrandId GuestId);

/// Holds a [`StrandId`], a [`GuestId`] or nothing. Accesses are sequentially consistent unless their documentation says otherwise.
#[derive(Debug)]
pub struct AtomicId<T>(AtomicU32, PhantomData<T>);

impl<T> Default for AtomicId<T> {
    fn default() -> Self {
        Self(AtomicU32::new(0), PhantomData)
    }
}

/// Returns the number plus one; 0 for `None`.
#[inline(always)]
fn number<T: Id>(id: Option<T>) -> u32 {
    id.map_or(0, |id| id.index() as u32 + 1)
}

impl<T: Id> AtomicId<T> {
    /// Returns an atomic that holds `id`, or nothing for `None`.
    pub fn new(id: Option<T>) -> Self {
        Self(AtomicU32::new(number(id)), PhantomData)
    }

    const_unless_loom! {
        /// Returns an atomic that holds nothing.
        pub fn none() -> Self {
            Self(AtomicU32::new(0), PhantomData)
        }
    }

    /// Returns the held identifier, or `None` if the atomic holds nothing.
    pub fn load(&self) -> Option<T> {
        let number = self.0.load(Ordering::SeqCst);
        T::from_index(number.checked_sub(1)? as usize)
    }

    /// Replaces the held identifier with `id`, or removes it if `id` is `None`.
    pub fn store(&self, id: Option<T>) {
        self.store_ordered(id, Ordering::SeqCst);
    }

    pub(super) fn store_ordered(&self, id: Option<T>, ordering: Ordering) {
        self.0.store(number(id), ordering);
    }

    /// If the held identifier is `old`, replaces it with `new` and returns `true`. Otherwise returns `false`.
    pub fn replace(&self, old: Option<T>, new: Option<T>) -> bool {
        self.0
            .compare_exchange(
                number(old),
                number(new),
                Ordering::SeqCst,
                // Relaxed is enough for a failed exchange, because the caller then reads no memory that the holder has written.
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// Removes the held identifier. Returns `true` if there was one.
    pub fn clear(&self) -> bool {
        self.0.swap(0, Ordering::SeqCst) != 0
    }
}
