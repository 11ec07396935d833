//! Samples threads by the machine's time.
//!
//! Each thread has a clock that takes the samples. The clock counts the cycles that the scheduler reports. The true count comes from
//! other sources: the time that the memory system returns for each reference, and the record of the threads' states. So an error in
//! either the samples or the true count shows as a difference between the two.

use super::events::{CYCLES, Rate, Selected, StrandEvent};
use super::functions::wait_address;
use super::guest::{Samples, Weight};
use super::processor::Truth;
use super::sampled::SampledEvent;
use super::stacks::{CallEdge, Point, Stacks};
use crate::replay::scheduler::Scheduler;
use crate::run::{State, States};

/// A random period deviates from the usual period by at most the usual period divided by this number.
const SPREAD_DIVISOR: u64 = 8;

/// The number of samples in one wait after which the periods no longer vary.
const MAX_VARIED: u64 = 1 << 16;

/// The clocks of all threads, and the samples that they have taken.
pub(crate) struct ThreadClocks {
    /// The index of the event `cycles` among all sampled events.
    event: usize,
    period: u64,
    /// Whether the clocks also count the cycles in which threads wait.
    waits: bool,
    threads: Vec<ThreadClock>,
    /// The call stacks of waits. Empty if there is an unwinder, because the unwinder then holds these stacks.
    stacks: Stacks,
    taken: Samples,
    cycles: u64,
    /// The time at which the clocks start to count, in cycles.
    since: u64,
}

struct ThreadClock {
    random: Option<Random>,
    period: u64,
    /// The number of cycles until the next sample.
    due: u64,
    /// The thread's latest instruction.
    at: Option<Point>,
    /// The time up to which this clock has counted the thread's cycles.
    time: u64,
    /// The time up to which the true count includes the thread's cycles.
    known: u64,
    /// The time at which the thread's latest running state began.
    began: u64,
    /// The number of cycles that the thread had spent in each state by the end of the latest counted wait.
    spent: States,
}

impl ThreadClocks {
    /// Returns the clocks of `threads` threads, which count from the time `since`; `None` if cycles are not sampled.
    pub(super) fn new(
        selected: &[Selected<StrandEvent>],
        rate: Rate,
        threads: usize,
        waits: bool,
        since: u64,
    ) -> Option<Self> {
        let event = selected.iter().position(|one| one.event == StrandEvent::Cycles)?;
        let period = u64::from(rate.period(&selected[event]).events());
        let clock = |thread| ThreadClock::new(period, rate.seed, thread, since);
        Some(Self {
            event,
            period,
            waits,
            threads: (0..threads as u64).map(clock).collect(),
            stacks: Stacks::default(),
            taken: Samples::new(),
            cycles: 0,
            since,
        })
    }

    /// Counts the cycles of an instruction that a thread has executed. If `at` is `None`, the cycles belong to the thread's latest
    /// instruction. `took` is the number of cycles since the thread's strand was ready.
    pub(super) fn executed(
        &mut self,
        thread: usize,
        at: Option<Point>,
        took: u64,
        scheduler: &Scheduler,
        unwound: Option<&mut Stacks>,
        truth: &mut Truth,
    ) {
        let (began, spent) = scheduler.account(thread);
        let clock = &mut self.threads[thread];
        // The first wait of a thread belongs to its first instruction.
        clock.at = clock.at.or(at);
        if self.waits && clock.began != began {
            self.wait(thread, began, spent, unwound, truth);
        }
        let clock = &mut self.threads[thread];
        clock.at = at.or(clock.at);
        let at = clock.at.unwrap_or_default();
        clock.pass(took, at, &mut self.taken);
        self.cycles += took;
        clock.time += took;
        truth.add(self.event, at, truth.now - clock.known.max(began));
        (clock.began, clock.known) = (began, truth.now);
    }

    /// Stops all clocks. Also counts threads' waits since their latest instruction.
    pub(super) fn finish(
        &mut self,
        scheduler: &Scheduler,
        mut unwound: Option<&mut Stacks>,
        truth: &mut Truth,
    ) {
        for (thread, spent) in scheduler.states().iter().enumerate() {
            let runs = scheduler.account(thread).0 == self.threads[thread].began;
            if self.waits && !runs {
                let until = scheduler.now() - spent.ended;
                self.wait(thread, until, spent, unwound.as_deref_mut(), truth);
            }
        }
    }

    /// Counts the cycles of a thread's latest waits, which end at `until`. `spent` has the cycles that the thread has spent in each state
    /// up to this time.
    fn wait(
        &mut self,
        thread: usize,
        until: u64,
        spent: &States,
        unwound: Option<&mut Stacks>,
        truth: &mut Truth,
    ) {
        let clock = &mut self.threads[thread];
        let stacks = unwound.unwrap_or(&mut self.stacks);
        let Point { stack, address: site } = clock.at.unwrap_or_default();
        // After a wait, a thread is in the state Ready until its strand executes it, so this state's cycles come last.
        let (ready, others): (Vec<_>, Vec<_>) =
            State::ALL.into_iter().partition(|state| *state == State::Ready);
        for state in others.into_iter().chain(ready) {
            let cycles = spent.of(state) - clock.spent.of(state);
            let Some(entry) = wait_address(state).filter(|_| cycles > 0) else { continue };
            let stack = stacks.with(stack, CallEdge { site, entry });
            let at = Point { stack, address: entry };
            clock.pass(cycles, at, &mut self.taken);
            truth.add(self.event, at, cycles);
        }
        let lives_since = clock.time.max(self.since + spent.not_begun);
        self.cycles += until.saturating_sub(lives_since);
        (clock.time, clock.spent) = (until, *spent);
    }

    /// Returns the event's index, its samples, and the call stacks of waits (empty if there is an unwinder).
    pub(super) fn into_sampled(self) -> (usize, SampledEvent, Stacks) {
        let sampled = SampledEvent {
            name: CYCLES,
            absence: None,
            period: self.period as u32,
            lost: 0,
            missed: 0,
            count: self.cycles,
            count_error: Some(0),
            counted: self.cycles,
            taken: self.taken,
        };
        (self.event, sampled, self.stacks)
    }
}

impl ThreadClock {
    fn new(period: u64, seed: Option<u64>, thread: u64, since: u64) -> Self {
        // The threads' first samples are spread over the period. Otherwise, threads with equal code would be sampled at the same
        // instructions, and threads shorter than the period would not be sampled at all.
        let turned = u64::from((thread as u32).wrapping_mul(0x9e37_79b9));
        Self {
            random: seed.map(|seed| Random(seed ^ thread << 32)),
            period,
            due: period - ((turned * period) >> 32),
            at: None,
            time: since,
            known: since,
            began: u64::MAX,
            spent: States::default(),
        }
    }

    /// Counts cycles that the thread spends at one point, and takes the samples that are due.
    fn pass(&mut self, mut cycles: u64, at: Point, taken: &mut Samples) {
        if cycles < self.due {
            self.due -= cycles;
            return;
        }
        let mut samples = 0;
        while cycles >= self.due && samples < MAX_VARIED {
            samples += 1;
            cycles -= self.due;
            self.due = self.draw();
        }
        if cycles >= self.due {
            cycles -= self.due;
            samples += 1 + cycles / self.period;
            cycles %= self.period;
            self.due = self.period;
        }
        self.due -= cycles;
        *taken.entry(at).or_default() += Weight { samples, events: samples * self.period };
    }

    fn draw(&mut self) -> u64 {
        let most = self.period.div_ceil(SPREAD_DIVISOR).min(self.period - 1);
        match &mut self.random {
            None => self.period,
            Some(random) => self.period - most + random.below(2 * most + 1),
        }
    }
}

/// A random number generator (SplitMix64). The field is its state.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed >> 32) * end) >> 32
    }
}
