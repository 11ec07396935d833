//! A watch, which observes the references that a strand executes.

use super::moves::MovedLines;
use super::truth::{ServedBy, Wait, Waited};
use crate::recording::Reference;

/// Observes what the references of a quantum do. A method without the argument `instruction` is about the instruction of the
/// latest call of [`begins`](Self::begins), if there was a call.
pub(crate) trait Watch {
    /// Whether the watch observes anything. If it does not, execution costs no more than without a watch.
    const WATCHES: bool = true;

    /// Tells the watch that an instruction begins, or that the next calls are about references of an earlier instruction.
    fn begins(&mut self, instruction: u64);

    /// Tells the watch that an instruction stored to a line without any wait. The L2 cache of the strand's node had the line.
    fn stored(&mut self, instruction: u64);

    /// Tells the watch that a reference requested lines of an L2 cache and may have waited. The strand continues at the time
    /// `now`.
    fn waited(&mut self, reference: &Reference, now: u64, waited: &Waited);

    /// Tells the watch that a reference may have used a line that has moved.
    fn used(&mut self, reference: &Reference, moved: &MovedLines);
}

/// A watch that observes nothing.
impl Watch for () {
    const WATCHES: bool = false;

    fn begins(&mut self, _: u64) {}

    fn stored(&mut self, _: u64) {}

    fn waited(&mut self, _: &Reference, _: u64, _: &Waited) {}

    fn used(&mut self, _: &Reference, _: &MovedLines) {}
}

/// The requests and waits of a strand that the strand's [`Watch`] does not know yet.
#[derive(Debug, Default)]
pub(super) struct Untold {
    /// Whether there is any request.
    pub(super) any: bool,
    pub(super) waited: Waited,
}

impl Untold {
    pub(super) fn served(&mut self, service: ServedBy) {
        self.any = true;
        let served = &mut self.waited.served;
        *match service {
            ServedBy::Hit => &mut served.l2,
            ServedBy::Local => &mut served.local,
            ServedBy::Remote => &mut served.remote,
            ServedBy::CacheToCache => &mut served.c2c,
        } += 1;
    }

    pub(super) fn waits(&mut self, wait: Wait, cycles: u64) {
        let Waited { requests, arriving, stores, atomics, .. } = &mut self.waited;
        *match wait {
            Wait::Request(ServedBy::Hit) => &mut requests.l2,
            Wait::Request(ServedBy::Local) => &mut requests.local,
            Wait::Request(ServedBy::Remote) => &mut requests.remote,
            Wait::Request(ServedBy::CacheToCache) => &mut requests.c2c,
            Wait::Arriving => arriving,
            Wait::Stores => stores,
            Wait::Atomic => atomics,
        } += cycles;
    }
}
