//! What [`AtomicId`](super::AtomicId) and [`OwnedLock`](super::OwnedLock) promise: on one strand, and in every order of several.

#[cfg(loom)]
mod loom_owned_lock;
mod one_strand;
