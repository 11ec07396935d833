//! All cores, as a strand reaches them.

use std::cmp::Ordering;

use crate::memory::figures::Variant;
use crate::memory::system::CoreState;

/// All cores. The strand's own core is separate, so that no index is needed to reach it.
pub(super) struct Cores<'w, V: Variant> {
    before: &'w mut [CoreState<V>],
    pub(super) own: &'w mut CoreState<V>,
    after: &'w mut [CoreState<V>],
}

impl<'w, V: Variant> Cores<'w, V> {
    #[inline(always)]
    pub(super) fn new(cores: &'w mut [CoreState<V>], own: usize) -> Self {
        let (before, rest) = cores.split_at_mut(own);
        let (own, after) = rest.split_first_mut().expect("the strand has a core");
        Self { before, own, after }
    }

    #[inline(always)]
    pub(super) fn get(&mut self, number: usize) -> &mut CoreState<V> {
        let own = self.before.len();
        match number.cmp(&own) {
            Ordering::Less => &mut self.before[number],
            Ordering::Equal => self.own,
            Ordering::Greater => &mut self.after[number - own - 1],
        }
    }
}
