//! Tests that a strand that asks at least once in [`ABSENCE_TICKS`] is served, however often other strands ask.

use proptest::prelude::*;

use super::strand;
use crate::hubs::{HubArbiter, HubGuard};
use crate::progress::{ABSENCE_TICKS, Stopwatch};

const VICTIM: usize = 9;
/// The number of ticks that pass with each step of a strand.
const ASK: u64 = 100;

/// A hub and its strands. A strand that is served keeps the hub until its own next step.
struct Hub<'a> {
    arbiter: &'a HubArbiter,
    watches: &'a [Stopwatch; 16],
    held: Option<(usize, Option<HubGuard<'a>>)>,
    now: u64,
}

impl Hub<'_> {
    /// Ends the strand's access if it has the hub, and otherwise asks. Returns `true` if the strand is served.
    fn step(&mut self, number: usize) -> bool {
        self.now += ASK;
        let now = self.now;
        if let Some((_, guard)) = self.held.take_if(|(holder, _)| *holder == number) {
            if guard.is_none() {
                self.arbiter.release_fast();
            }
            return false;
        }
        if self.arbiter.try_take_fast(strand(number)) {
            self.held = Some((number, None));
        } else if let Ok(guard) = self.arbiter.ask(strand(number), &self.watches[number], || now) {
            self.held = Some((number, Some(guard)));
        } else {
            return false;
        }
        true
    }
}

/// Takes the rivals' steps. The victim asks after every `pace` of these steps, until it has been served `waits` times. Returns the largest
/// number of accesses of others between a refusal of the victim and the victim's next access, or `None` if the victim is not served in 100
/// asks.
fn max_accesses(rivals: impl Iterator<Item = usize>, pace: usize, waits: usize) -> Option<usize> {
    let (arbiter, watches) = (HubArbiter::new(), core::array::from_fn(|_| Stopwatch::new()));
    let mut hub = Hub { arbiter: &arbiter, watches: &watches, held: None, now: 0 };
    let (mut most, mut others, mut asks, mut served) = (0, None, 0, 0);
    for (step, rival) in rivals.enumerate() {
        if step % pace == 0 {
            if hub.step(VICTIM) {
                most = most.max(others.take().unwrap_or(0));
                served += 1;
                asks = 0;
                hub.step(VICTIM);
            } else {
                others = others.or(Some(0));
                asks += 1;
            }
        }
        if served == waits {
            return Some(most);
        }
        if asks == 100 {
            return None;
        }
        if hub.step(rival) {
            others = others.map(|others| others + 1);
        }
    }
    None
}

/// The rivals ask 50 times as often as the victim, or as often as they can while the victim asks once per [`ABSENCE_TICKS`].
#[test]
fn a_strand_that_asks_seldom_is_served() {
    for (rivals, pace) in [(1, 51), (2, 51), (3, 50), (3, (ABSENCE_TICKS / ASK) as usize - 2)] {
        let most = max_accesses((0..rivals).cycle(), pace, 20);
        assert!(most.is_some_and(|most| most <= rivals), "{rivals} rivals: {most:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_strand_is_served_after_an_access_of_each_other(
        rivals in prop::collection::vec(0..5_usize, 100..2_000),
        pace in 1..(ABSENCE_TICKS / ASK) as usize - 1,
    ) {
        let count = rivals.iter().collect::<std::collections::BTreeSet<_>>().len();
        let most = max_accesses(rivals.into_iter().cycle(), pace, 5);
        prop_assert!(most.is_some_and(|most| most <= count), "{:?}", most);
    }
}

/// A strand that no longer asks delays another strand by at most twice [`ABSENCE_TICKS`]. If the clock stands still, the other strand is
/// refused r = 4 times.
#[test]
fn a_strand_that_has_gone_is_forgotten() {
    const OTHER: usize = VICTIM + 1;
    for (ticks, fewest, most) in
        [(ASK, ABSENCE_TICKS / ASK, 2 * ABSENCE_TICKS / ASK + 4), (0, 4, 4)]
    {
        let (arbiter, watch, mut now) = (HubArbiter::new(), Stopwatch::new(), 0);
        assert!(arbiter.try_take_fast(strand(0)));
        assert!(arbiter.ask(strand(VICTIM), &Stopwatch::new(), || 0).is_err());
        arbiter.release_fast();
        let mut refused = 0;
        while arbiter.ask(strand(OTHER), &watch, || now).is_err() {
            now += ticks;
            refused += 1;
        }
        assert!((fewest..=most).contains(&refused), "{refused} refusals");
    }
}
