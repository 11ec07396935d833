//! What a thread of a recorded program did, piece by piece.

use super::Reference;

/// References of one thread, and where other threads order them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The references, in the order of the program. An instruction is in one chunk with all its data.
    pub references: Vec<Reference>,
    /// What orders the threads, each before the reference with this index (or after all of them, if there are as many), in
    /// the order of the program.
    pub order: Vec<(usize, Order)>,
}

impl Chunk {
    /// Removes everything.
    pub fn clear(&mut self) {
        self.references.clear();
        self.order.clear();
    }

    /// Returns `true` if there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.references.is_empty() && self.order.is_empty()
    }
}

/// What puts a place of one thread before a place of another: a thread waits until another has signalled.
///
/// One thread signals each number, once; any number of threads wait for it. Each wait comes after its signal in the order in
/// which the program ran, so that waits never form a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// What this thread did before comes before what waits for this number. (It starts a thread, wakes one, or ends.)
    Signal(u64),
    /// What this thread does next comes after the signal with this number.
    Wait(u64),
}
