//! A watch observes the references that a strand executes.

use super::moves::MovedLines;
use super::truth::{Served, ServedBy};
use crate::recording::Reference;

/// Observes what a quantum's references do. A method without the argument `instruction` is about the instruction that was last
/// passed to [`begins`](Self::begins), if any.
pub(crate) trait Watch {
    /// Whether the watch observes anything. If not, execution costs no more than without a watch.
    const WATCHES: bool = true;

    /// Tells the watch that an instruction begins, or that the next calls are about an earlier instruction's references.
    fn begins(&mut self, instruction: u64);

    /// Tells the watch that an instruction stored to a line without waiting. The L2 cache of the strand's node had the line.
    fn stored(&mut self, instruction: u64);

    /// Tells the watch what a reference requested from the L2 caches, and how many cycles the strand waited, for whatever reason.
    /// The strand continues at the time `now`.
    fn waited(&mut self, reference: &Reference, now: u64, served: &Served, cycles: u64);

    /// Tells the watch that a reference may have used a line that has moved.
    fn used(&mut self, reference: &Reference, moved: &MovedLines);
}

/// A watch that observes nothing.
impl Watch for () {
    const WATCHES: bool = false;

    fn begins(&mut self, _: u64) {}

    fn stored(&mut self, _: u64) {}

    fn waited(&mut self, _: &Reference, _: u64, _: &Served, _: u64) {}

    fn used(&mut self, _: &Reference, _: &MovedLines) {}
}

/// A strand's requests and waits that have not been reported to its [`Watch`] yet.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    /// Whether there is any request.
    pub(super) has_request: bool,
    pub(super) served: Served,
    /// The number of cycles that the strand waited.
    pub(super) cycles: u64,
}

impl Unreported {
    pub(super) fn served(&mut self, service: ServedBy) {
        self.has_request = true;
        let served = &mut self.served;
        *match service {
            ServedBy::Hit => &mut served.l2,
            ServedBy::Local => &mut served.local,
            ServedBy::Remote => &mut served.remote,
            ServedBy::CacheToCache => &mut served.c2c,
        } += 1;
    }
}
