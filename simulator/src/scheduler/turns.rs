//! Which strand executes next.

use guest_abi::StrandId;

/// How many strands share a pipeline: strands 0 to 3 of a core share one, and strands 4 to 7 the other.
const SHARING: usize = StrandId::PER_CORE / 2;
const PIPELINES: usize = StrandId::COUNT / SHARING;

/// The time of a strand that cannot execute.
const NEVER: u64 = u64::MAX;

/// A pipeline, which issues one instruction a cycle.
#[derive(Clone, Copy, Debug)]
struct Pipeline {
    /// When it can issue the next instruction.
    free: u64,
    /// When each strand can execute its next instruction.
    ready: [u64; SHARING],
}

/// The turn of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) strand: StrandId,
    /// When it can issue an instruction.
    pub(super) at: u64,
    /// From when on it is another strand's turn.
    pub(super) until: u64,
}

/// The times of all strands.
///
/// A pipeline issues the instruction of the strand that has been ready longest. Of the strands that can issue instructions
/// at the same time in different pipelines, or have been ready equally long in the same, the one with the lowest number
/// comes first.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    pipelines: [Pipeline; PIPELINES],
    /// A tournament of the pipelines: item n is the lesser of items 2n and 2n + 1. The leaves begin at item `PIPELINES`,
    /// each with the time at which the pipeline can issue an instruction of one of its strands, and its number below.
    lesser: [u64; 2 * PIPELINES],
}

impl Turns {
    pub(super) const fn new() -> Self {
        Self {
            pipelines: [Pipeline {
                free: 0,
                ready: [NEVER; SHARING],
            }; PIPELINES],
            lesser: [NEVER; 2 * PIPELINES],
        }
    }

    /// Returns the turn of the strand that comes first, if any strand can execute.
    #[inline]
    pub(super) fn first(&self) -> Option<Turn> {
        let (at, number) = split(self.lesser[1])?;
        let ready = &self.pipelines[number].ready;
        let mut first = 0;
        for other in 1..SHARING {
            if ready[other] < ready[first] {
                first = other;
            }
        }
        let mut until = NEVER;
        for (other, ready) in ready
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != first)
        {
            until = until.min(ready.saturating_add(u64::from(first < other)));
        }
        let mut item = PIPELINES + number;
        let mut next = NEVER;
        while item > 1 {
            next = next.min(self.lesser[item ^ 1]);
            item /= 2;
        }
        if let Some((at, other)) = split(next) {
            until = until.min(at + u64::from(number < other));
        }
        let strand = StrandId::new(number * SHARING + first)?;
        Some(Turn { strand, at, until })
    }

    /// Sets when a strand can execute its next instruction; `None` if it cannot.
    pub(super) fn set(&mut self, strand: StrandId, ready: Option<u64>) {
        let number = strand.index() / SHARING;
        self.pipelines[number].ready[strand.index() % SHARING] = ready.unwrap_or(NEVER);
        self.renew(number);
    }

    /// The strand has issued its latest instruction at the time `issued`, and can execute the next at the time `ready`.
    #[inline]
    pub(super) fn issued(&mut self, strand: StrandId, issued: u64, ready: u64) {
        let number = strand.index() / SHARING;
        let pipeline = &mut self.pipelines[number];
        pipeline.free = pipeline.free.max(issued + 1);
        pipeline.ready[strand.index() % SHARING] = ready;
        self.renew(number);
    }

    #[inline]
    fn renew(&mut self, number: usize) {
        let Pipeline { free, ready } = &self.pipelines[number];
        let ready = ready.iter().fold(NEVER, |first, ready| first.min(*ready));
        let mut item = PIPELINES + number;
        self.lesser[item] = match ready {
            NEVER => NEVER,
            ready => ready.max(*free) * PIPELINES as u64 + number as u64,
        };
        while item > 1 {
            let lesser = self.lesser[item].min(self.lesser[item ^ 1]);
            item /= 2;
            self.lesser[item] = lesser;
        }
    }
}

/// The time and the number of a pipeline.
fn split(item: u64) -> Option<(u64, usize)> {
    let pipelines = PIPELINES as u64;
    (item != NEVER).then_some((item / pipelines, (item % pipelines) as usize))
}
