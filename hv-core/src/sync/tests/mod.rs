//! What [`AtomicId`](super::AtomicId) and [`OwnedLock`](super::OwnedLock) promise: on one strand, if a strand dies, and in every
//! order of several.

#[cfg(not(any(loom, shuttle)))]
mod deaths;
#[cfg(loom)]
mod loom_owned_lock;
mod one_strand;
