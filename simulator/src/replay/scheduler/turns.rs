//! Decides which strand executes next.

use guest_abi::StrandId;

pub(crate) use super::calendar::Due;
use super::calendar::{Calendar, PIPELINES};

/// The number of strands that share a pipeline: strands 0 to 3 of a core share one, and strands 4 to 7 share the other.
const STRANDS_PER_PIPELINE: usize = StrandId::PER_CORE / 2;
const _: () = assert!(PIPELINES == StrandId::COUNT / STRANDS_PER_PIPELINE);

/// The ready time of a strand that cannot execute.
const NEVER: u64 = u64::MAX;

impl Due {
    /// Returns the place of a strand's turn in the turn order. The turn begins at the time `at`.
    pub(crate) fn for_strand(at: u64, strand: StrandId) -> Self {
        Self::new(at, strand.index() / STRANDS_PER_PIPELINE)
    }

    /// Returns the same pipeline's place at another time.
    pub(crate) fn at_time(self, at: u64) -> Self {
        Self::new(at, self.pipeline())
    }

    /// Returns the pipeline's core.
    pub(crate) fn core(self) -> usize {
        self.pipeline() / (StrandId::PER_CORE / STRANDS_PER_PIPELINE)
    }
}

/// A pipeline, which issues one instruction per cycle.
#[derive(Clone, Copy, Debug)]
struct Pipeline {
    /// The time at which the pipeline can issue its next instruction.
    free: u64,
    /// For each strand, the time of its next instruction multiplied by [`STRANDS_PER_PIPELINE`], plus the strand's number in the pipeline. The
    /// lowest value comes first.
    ready: [u64; STRANDS_PER_PIPELINE],
    /// The lowest value of `ready`. `second` is the second lowest.
    first: u64,
    second: u64,
}

impl Pipeline {
    const IDLE: Self =
        Self { free: 0, ready: [NEVER; STRANDS_PER_PIPELINE], first: NEVER, second: NEVER };

    #[inline]
    fn set(&mut self, strand: usize, ready: u64) {
        self.ready[strand] = ready;
        let [a, b, c, d] = self.ready;
        self.first = a.min(b).min(c.min(d));
        self.second = a.max(b).min(c.max(d)).min(a.min(b).max(c.min(d)));
    }

    /// Finds the strand that comes first, and returns its number within the pipeline. At least one strand must be able to execute.
    #[inline]
    fn next_strand(&self) -> usize {
        self.first as usize % STRANDS_PER_PIPELINE
    }

    /// Returns the time at which another strand of the pipeline has its turn, if this strand executes now.
    #[inline]
    fn until(&self, strand: usize) -> u64 {
        let other = if self.next_strand() == strand { self.second } else { self.first };
        other.saturating_sub(strand as u64).div_ceil(STRANDS_PER_PIPELINE as u64)
    }

    /// Returns the time of the next turn; [`NEVER`] if no strand can execute.
    #[inline]
    fn at(&self) -> u64 {
        match self.first {
            NEVER => NEVER,
            first => (first / STRANDS_PER_PIPELINE as u64).max(self.free),
        }
    }

    #[inline]
    fn due(&self, number: usize) -> Due {
        match self.at() {
            NEVER => Due::NEVER,
            at => Due::new(at, number),
        }
    }

    /// Records that a strand issued its latest instruction at the time `issued`, and can issue its next one at the time `ready`.
    #[inline]
    fn issued(&mut self, strand: usize, issued: u64, ready: u64) {
        self.free = self.free.max(issued + 1);
        self.set(strand, ready * STRANDS_PER_PIPELINE as u64 + strand as u64);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) strand: StrandId,
    /// The time at which the strand can issue an instruction.
    pub(crate) at: u64,
    /// The time at which another strand's turn begins.
    pub(crate) until: u64,
}

/// The state of a core's two pipelines.
#[derive(Clone, Copy, Debug)]
pub(super) struct CorePipelines([Pipeline; 2]);

impl CorePipelines {
    /// Two pipelines whose strands cannot execute.
    pub(super) const IDLE: Self = Self([Pipeline::IDLE; 2]);
}

/// A core's turns while no other core executes.
#[derive(Debug)]
pub(super) struct CoreTurns<'a> {
    pipelines: &'a mut [Pipeline; 2],
    /// The time of each pipeline's next turn; [`NEVER`] if it has none.
    at: [u64; 2],
    /// For each pipeline, the time before which its turns must begin.
    before: [u64; 2],
}

/// A turn of a core.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoreTurn {
    pipeline: usize,
    /// The strand's number in its core.
    pub(super) strand: usize,
    /// The time at which the strand can issue an instruction.
    pub(super) at: u64,
    /// The time at which another strand's turn begins.
    pub(super) until: u64,
}

impl CoreTurns<'_> {
    /// Returns the turn that comes first; `None` if there is no further turn.
    #[inline]
    pub(super) fn first(&self) -> Option<CoreTurn> {
        let [lower, upper] = self.at;
        // If both are due at the same time, the lower pipeline comes first.
        let is_upper = upper < lower;
        let other = if is_upper { lower } else { upper.saturating_add(1) };
        let number = usize::from(is_upper);
        let (at, before) = (self.at[number], self.before[number]);
        if at >= before {
            return None;
        }
        let pipeline = &self.pipelines[number];
        let strand = pipeline.next_strand();
        let until = pipeline.until(strand).min(other).min(before);
        Some(CoreTurn {
            pipeline: number,
            strand: number * STRANDS_PER_PIPELINE + strand,
            at,
            until,
        })
    }

    /// Records that the strand of this turn issued its latest instruction at the time `issued`, and can issue its next one at the
    /// time `ready`.
    #[inline]
    pub(super) fn issued(&mut self, turn: &CoreTurn, issued: u64, ready: u64) {
        let pipeline = &mut self.pipelines[turn.pipeline];
        pipeline.issued(turn.strand % STRANDS_PER_PIPELINE, issued, ready);
        self.at[turn.pipeline] = pipeline.at();
    }
}

/// The times of all strands.
///
/// A pipeline issues an instruction of the strand that has been ready longest. Strands in different pipelines can issue at the same
/// time, and strands of one pipeline can have been ready equally long. In both cases, the strand with the lowest number comes
/// first.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    pipelines: [Pipeline; PIPELINES],
    /// For each pipeline, the turn of its strands' first deferred store; [`Due::NEVER`] if there is none.
    stores: [Due; PIPELINES],
    /// The pipeline whose strand has the next turn. `next` is the pipeline after that, and `others` holds all pipelines except the
    /// first.
    first: Due,
    next: Due,
    others: Calendar,
}

impl Turns {
    pub(crate) const fn new() -> Self {
        Self {
            pipelines: [Pipeline::IDLE; PIPELINES],
            stores: [Due::NEVER; PIPELINES],
            first: Due::NEVER,
            next: Due::NEVER,
            others: Calendar::new(),
        }
    }

    /// Returns the turn of the strand that comes first; `None` if no strand can execute.
    #[inline]
    pub(crate) fn first(&self) -> Option<Turn> {
        if self.first == Due::NEVER {
            return None;
        }
        let number = self.first.pipeline();
        let strand =
            StrandId::new(number * STRANDS_PER_PIPELINE + self.pipelines[number].next_strand())?;
        Some(Turn { strand, at: self.first.at(), until: self.until(strand) })
    }

    /// Returns the time at which another strand's turn begins, if `strand` executes now.
    #[inline]
    pub(crate) fn until(&self, strand: StrandId) -> u64 {
        let number = strand.index() / STRANDS_PER_PIPELINE;
        let others = if self.first.pipeline() == number { self.next } else { self.first };
        self.pipelines[number]
            .until(strand.index() % STRANDS_PER_PIPELINE)
            .min(others.earliest_for(number))
    }

    /// Returns the place of the first turn in the turn order.
    pub(super) fn first_due(&self) -> Due {
        self.first
    }

    /// Returns the place of a core's first turn in the turn order; [`Due::NEVER`] if none of its strands can execute.
    pub(super) fn core_due(&self, core: usize) -> Due {
        let [lower, upper] =
            [2 * core, 2 * core + 1].map(|number| self.pipelines[number].due(number));
        lower.min(upper)
    }

    /// Returns a core's turns up to `before`, a place in the turn order. After the core has executed, the caller must call
    /// [`renew_core`](Self::renew_core).
    #[inline]
    pub(super) fn core_turns(&mut self, core: usize, before: Due) -> CoreTurns<'_> {
        let pipelines = self.pipelines[2 * core..].first_chunk_mut().expect("a core has two");
        let at = [0, 1].map(|number: usize| Pipeline::at(&pipelines[number]));
        CoreTurns {
            pipelines,
            at,
            before: [0, 1].map(|number| before.earliest_for(2 * core + number)),
        }
    }

    /// Updates the order of a core's turns relative to other cores' turns. `store` is the turn of the first deferred store of the
    /// core's strands.
    #[inline]
    pub(super) fn renew_core(&mut self, core: usize, store: Due) {
        for number in [2 * core, 2 * core + 1] {
            self.stores[number] = store_of(number, store);
            self.reorder(number);
        }
    }

    /// Does the same as [`renew_core`](Self::renew_core) for a core whose turns have not changed, except for the turn of the first
    /// deferred store.
    #[inline]
    pub(super) fn replace_store(&mut self, core: usize, store: Due) {
        for number in [2 * core, 2 * core + 1] {
            let store = store_of(number, store);
            if self.stores[number] != store {
                self.stores[number] = store;
                self.reorder(number);
            }
        }
    }

    /// Returns `true` if the first turn is a deferred store's turn.
    #[inline]
    pub(super) fn is_store(&self) -> bool {
        self.first != Due::NEVER && self.stores[self.first.pipeline()] == self.first
    }

    /// Returns a core's pipelines.
    pub(super) fn core(&self, core: usize) -> CorePipelines {
        CorePipelines(*self.pipelines[2 * core..].first_chunk().expect("a core has two"))
    }

    /// Sets a core's pipelines to an earlier state.
    pub(super) fn restore_core(&mut self, core: usize, pipelines: CorePipelines) {
        [self.pipelines[2 * core], self.pipelines[2 * core + 1]] = pipelines.0;
        self.renew_core(core, Due::NEVER);
    }

    /// Sets the time at which a strand can execute its next instruction; `None` if it cannot execute.
    pub(crate) fn set(&mut self, strand: StrandId, ready: Option<u64>) {
        let number = strand.index() / STRANDS_PER_PIPELINE;
        self.renew(number, strand.index() % STRANDS_PER_PIPELINE, ready);
    }

    /// Records that a strand issued its latest instruction at the time `issued`, and can issue its next one at the time `ready`.
    #[inline]
    pub(crate) fn issued(&mut self, strand: StrandId, issued: u64, ready: u64) {
        self.issued_without_reorder(strand, issued, ready);
        self.renew_strand(strand);
    }

    /// Does the same as [`issued`](Self::issued), except for the order of the strand's turns relative to other cores' turns. To
    /// update this order, the caller must then call [`renew_strand`](Self::renew_strand) or [`renew_core`](Self::renew_core).
    #[inline]
    pub(super) fn issued_without_reorder(&mut self, strand: StrandId, issued: u64, ready: u64) {
        self.pipelines[strand.index() / STRANDS_PER_PIPELINE].issued(
            strand.index() % STRANDS_PER_PIPELINE,
            issued,
            ready,
        );
    }

    /// Updates the order of a strand's turns relative to other strands' turns.
    #[inline]
    pub(super) fn renew_strand(&mut self, strand: StrandId) {
        self.reorder(strand.index() / STRANDS_PER_PIPELINE);
    }

    #[inline]
    fn renew(&mut self, number: usize, strand: usize, ready: Option<u64>) {
        let pipeline = &mut self.pipelines[number];
        let ready =
            ready.map_or(NEVER, |ready| ready * STRANDS_PER_PIPELINE as u64 + strand as u64);
        pipeline.set(strand, ready);
        self.reorder(number);
    }

    /// Updates the order of a pipeline's turn relative to other pipelines' turns.
    #[inline]
    fn reorder(&mut self, number: usize) {
        let due = self.pipelines[number].due(number).min(self.stores[number]);
        if self.first == Due::NEVER || self.first.pipeline() == number {
            self.first = due;
        } else if self.others.due(number) == due {
            return;
        } else {
            self.others.set(number, due);
            self.next = self.others.first();
        }
        if self.next < self.first {
            self.others.replace(self.next, self.first);
            self.first = self.next;
            self.next = self.others.first();
        }
    }
}

/// Returns the turn of a core's first deferred store if a strand of this pipeline has the turn, and [`Due::NEVER`] otherwise.
#[inline]
fn store_of(pipeline: usize, store: Due) -> Due {
    if store != Due::NEVER && store.pipeline() == pipeline { store } else { Due::NEVER }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A strand of the reference model: its number, and the time at which it is ready.
    type Ready = (usize, u64);

    /// Searches for the strand that issues first. Returns the issue time and the strand's index.
    fn first(ready: &[Ready], free: &[u64; PIPELINES]) -> Option<(u64, usize)> {
        let all = ready.iter().map(|(strand, ready)| {
            let pipeline = strand / 4;
            (free[pipeline].max(*ready), pipeline, *ready, *strand)
        });
        all.min().map(|(at, _, _, strand)| (at, strand))
    }

    #[test]
    fn the_first_store_of_a_core_is_replaced() {
        let [lower, upper, other] = [0, 4, 8].map(|strand| StrandId::new(strand).unwrap());
        let mut turns = Turns::new();
        for (strand, ready) in [(lower, 10), (upper, 20), (other, 7)] {
            turns.set(strand, Some(ready));
        }
        turns.renew_core(0, Due::for_strand(3, upper));
        assert_eq!((turns.first_due(), turns.is_store()), (Due::for_strand(3, upper), true));
        // The next store is in the core's other pipeline, and the one after that in the same pipeline.
        for store in [Due::for_strand(5, lower), Due::for_strand(6, lower)] {
            turns.replace_store(0, store);
            assert_eq!((turns.first_due(), turns.is_store()), (store, true));
        }
        turns.replace_store(0, Due::for_strand(8, upper));
        assert_eq!((turns.first_due(), turns.is_store()), (Due::for_strand(7, other), false));
        turns.set(other, None);
        assert_eq!((turns.first_due(), turns.is_store()), (Due::for_strand(8, upper), true));
        turns.replace_store(0, Due::NEVER);
        assert_eq!((turns.first_due(), turns.is_store()), (Due::for_strand(10, lower), false));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Strands take turns to issue instructions, wait, and are woken. The turns are the same as those found by a search of all
        /// strands.
        #[test]
        fn matches_a_search_of_all_strands(
            steps in prop::collection::vec((0..8_u8, 0..256_usize, 0..12_u64), 1..200),
            spread in prop::sample::select(vec![1, 4, 17, 64]),
        ) {
            let mut turns = Turns::new();
            let mut ready: Vec<Ready> = Vec::new();
            let mut free = [0; PIPELINES];
            for (what, strand, cycles) in steps {
                let turn = turns.first();
                let (at, executes) = first(&ready, &free).unzip();
                prop_assert_eq!(turn.map(|turn| (turn.at, turn.strand.index())), at.zip(executes));
                let now = at.unwrap_or(0);
                if let Some(turn) = turn.filter(|_| what > 1) {
                    // The strand executes until the search would choose another one.
                    let executes = executes.unwrap();
                    let others: Vec<Ready> = ready.iter().copied().filter(|(other, _)| *other != executes).collect();
                    let goes_on = |at: u64| {
                        let mut all = others.clone();
                        all.push((executes, at));
                        let mut free = free;
                        free[executes / 4] = at;
                        first(&all, &free).unwrap().1 == executes
                    };
                    prop_assert!((now + 1..now + 40).all(|at| goes_on(at) == (at < turn.until)));
                    free[executes / 4] = now + 1;
                    let far = if what == 7 { 5_000 } else { 1 };
                    let ends = now + 1 + cycles * far;
                    ready.retain(|(other, _)| *other != executes);
                    ready.push((executes, ends));
                    turns.issued(turn.strand, now, ends);
                } else {
                    let strand = strand / spread;
                    let known = ready.iter().position(|(other, _)| *other == strand);
                    let wakes = known.map(|known| ready.swap_remove(known)).is_none().then_some(now + cycles);
                    ready.extend(wakes.map(|at| (strand, at)));
                    turns.set(StrandId::new(strand).unwrap(), wakes);
                }
            }
        }
    }
}
