//! What a strand tells of the references that it executes.

use super::moves::MovedLines;
use super::truth::{ServedBy, Wait, Waited};
use crate::recording::Reference;

/// Is told what the references of a quantum do. What is told without an instruction is of the instruction that began last, if there is any.
pub(crate) trait Watch {
    /// Whether anything is told at all. If not, execution costs no more than without a watch.
    const WATCHES: bool = true;

    /// An instruction begins, or some of its references are told of next.
    fn begins(&mut self, instruction: u64);

    /// This instruction stored to a line that the L2 cache of its node had, and nothing waited for this.
    fn stored(&mut self, instruction: u64);

    /// A reference requested lines of an L2 cache. It may have waited. The strand continues at the time `now`.
    fn waited(&mut self, reference: &Reference, now: u64, waited: &Waited);

    /// A reference may have used one of the moved lines.
    fn used(&mut self, reference: &Reference, moved: &MovedLines);
}

/// Nothing is told.
impl Watch for () {
    const WATCHES: bool = false;

    fn begins(&mut self, _: u64) {}

    fn stored(&mut self, _: u64) {}

    fn waited(&mut self, _: &Reference, _: u64, _: &Waited) {}

    fn used(&mut self, _: &Reference, _: &MovedLines) {}
}

/// The requests and waits of a strand that its [`Watch`] has not been told of.
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
