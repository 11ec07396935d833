//! Replays programs to their end.

use std::ops::ControlFlow;

use guest_abi::Pmu;

use super::compared::{counters, names, of_guests};
use super::error::RunError;
use super::measure::{Bystander, Measurement, Pair};
use super::program::Replay;
use super::setup::{Prepared, Setup};
use crate::analysis::details::Point;
use crate::machine::board::Board;
use crate::memory::Truth;
use crate::run::{CounterResult, Hypercalls, Replayed, Time};

/// Up to this number of hypercalls, details contain all events. Later, they contain only events that fit into the rings.
const MOST_CALLS: u64 = 1 << 19;

/// A point in a replay at which the observer is called.
#[derive(Clone, Copy)]
pub enum Progress<'a> {
    /// The guest has programmed all counters. It may not use the counters of these units.
    Started(&'a [Pmu]),
    /// How many bytes of the recordings have been read.
    Read(u64),
    /// The guest has read its counters after this number of references.
    #[allow(missing_docs, reason = "the names say it")]
    Sample { references: u64, counters: &'a [Pair], now: Now<'a> },
}

/// A paused replay. A result is computed only when the observer requests it.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    replay: &'a Replay,
    so_far: &'a dyn Fn() -> Replayed,
}

impl<'a> Now<'a> {
    /// Returns the record of all events so far.
    #[must_use]
    pub fn truth(self) -> &'a Truth {
        self.replay.truth()
    }

    /// Returns the result that the replay would have if it ended now.
    #[must_use]
    pub fn run(self) -> Replayed {
        (self.so_far)()
    }

    /// Returns how many bytes of the recordings have been read.
    #[must_use]
    pub fn bytes_read(self) -> u64 {
        self.replay.bytes_read()
    }
}

/// Calls the observer. The observer may stop the replay.
pub(super) fn tell<P>(
    observe: &mut dyn FnMut(P) -> ControlFlow<()>,
    progress: P,
) -> Result<(), RunError> {
    match observe(progress) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(RunError::Stopped),
    }
}

impl Prepared {
    /// Replays the programs to their end. Meanwhile, the measuring guest samples its counters. Calls `observe` at each
    /// stage, and stops if `observe` returns [`ControlFlow::Break`].
    pub fn run(
        mut self,
        observe: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Replayed, RunError> {
        let mut replay = Replay::new(&mut self);
        let interval = self.setup.interval.unwrap_or(u64::MAX);
        let (mut outcome, trace) = self.boot(|board| {
            let Setup { selection, perf_config, .. } = &self.setup;
            let (measuring, strands) = (self.measuring, &self.strands);
            let mut guest = Measurement::start(board, measuring, strands, selection, *perf_config)?;
            let others = self.callers().filter(|(guest, _)| *guest != measuring);
            let bystanders =
                others.map(|(guest, strand)| Bystander::new(board.strand(guest, strand)));
            let bystanders: Vec<_> = bystanders.collect::<Result<_, _>>()?;
            tell(observe, Progress::Started(&guest.refused))?;
            if let Some(watcher) = replay.watcher() {
                let guests = self.setup.guests.iter().map(|guest| guest.name.clone());
                watcher.name(guests.collect(), guest.pairs.iter().flat_map(names).collect());
            }
            let mut sampled: u64 = 0;
            loop {
                let sample_at = sampled.saturating_add(interval);
                let due = replay.watcher().map_or(u64::MAX, |watcher| watcher.due());
                let next = sample_at.min(due) - replay.references;
                let ended = !replay.next(next, board)?;
                let references = replay.references;
                tell(observe, Progress::Read(replay.bytes_read()))?;
                let sample = references == sample_at || ended && references > sampled;
                // At the end, time passes until the last strand has the data that it waits for.
                let point = references == due || ended && due < u64::MAX;
                let without_details = sample || ended || replay.is_long_unread();
                if point || without_details {
                    let calls = || -> u64 { calls(board).iter().sum() };
                    let before = calls();
                    replay.catch_up(board)?;
                    guest.sample()?;
                    replay.note_read();
                    if let Some(watcher) = replay.watcher().filter(|_| !without_details) {
                        watcher.note_read(calls() - before);
                    }
                }
                if sample {
                    bystanders.iter().for_each(Bystander::ask);
                    let so_far = || self.so_far(&replay, &guest.pairs, board);
                    let (counters, now) = (&*guest.pairs, Now { replay: &replay, so_far: &so_far });
                    tell(observe, Progress::Sample { references, counters, now })?;
                    guest.pairs.iter_mut().for_each(Pair::shown);
                    sampled = references;
                }
                if point {
                    self.add_point(&mut replay, &guest.pairs, board);
                }
                if ended {
                    break;
                }
            }
            Ok(self.so_far(&replay, &guest.pairs, board))
        })?;
        if let Some((details, trace)) = outcome.details.as_mut().zip(trace.as_ref()) {
            details.add_events(trace);
        }
        outcome.trace = trace.filter(|_| self.setup.tracing.is_some());
        Ok(outcome)
    }

    /// Returns the result that the replay would have if it ended now.
    fn so_far(&self, replay: &Replay, pairs: &[Pair], board: &Board<'_>) -> Replayed {
        let truth = replay.truth();
        let counters = self.counters(pairs, truth);
        Replayed {
            machine: self.setup.machine.model().name().into(),
            nodes: self.setup.machine.nodes(),
            configuration: self.configuration(),
            references: replay.references,
            cycles: truth.cycles(),
            placement: self.placement.to_string(),
            threads: replay.threads(),
            time: Time::new(truth.cycles()),
            usage: replay.usage(),
            notes: replay.notes(),
            hypercalls: Hypercalls::sum(&board.tallies()),
            guests: of_guests(&self.setup.guests, board),
            truth_matches: (counters.iter()).all(|counter| counter.measured == counter.truth),
            counters,
            details: replay.details(),
            trace: None,
        }
    }

    /// Adds a point to the time series of the details.
    fn add_point(&self, replay: &mut Replay, pairs: &[Pair], board: &Board<'_>) {
        let calls = calls(board);
        if self.setup.tracing.is_none() && calls.iter().sum::<u64>() > MOST_CALLS {
            board.keep_no_more();
        }
        let truth = replay.truth();
        let counters = self.counters(pairs, truth).into_iter();
        let point = Point {
            references: replay.references,
            cycles: truth.cycles(),
            clock: board.devices().now(),
            calls,
            counters: counters.map(|counter| [counter.measured, counter.truth]).collect(),
            usage: replay.usage(),
        };
        if let Some(watcher) = replay.watcher() {
            watcher.add(point);
        }
    }

    fn counters(&self, pairs: &[Pair], truth: &Truth) -> Vec<CounterResult> {
        pairs.iter().flat_map(|pair| counters(pair, truth, self.setup.perf_config)).collect()
    }
}

fn calls(board: &Board<'_>) -> Vec<u64> {
    let tallies = board.tallies();
    (tallies.iter()).map(|tally| tally.values().sum()).collect()
}
