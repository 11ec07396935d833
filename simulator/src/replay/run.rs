//! Replays programs to their end.

use std::ops::ControlFlow;

use guest_abi::Pmu;

use super::compared::{counters, counts, guest_calls, names};
use super::error::RunError;
use super::measure::{Bystander, CounterPair, Measurement};
use super::program::Replay;
use super::progress::Progress;
use super::setup::{Prepared, Setup};
use crate::analysis::details::SeriesPoint;
use crate::machine::board::Board;
use crate::memory::Truth;
use crate::run::{CounterResult, Hypercalls, Replayed, Time};
use crate::setters::opaque;

/// The number of hypercalls up to which details keep all events. After that, they keep only the events that fit into the rings.
const MAX_RECORDED_CALLS: u64 = 1 << 19;

/// A point in a replay at which the observer is called.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Stage<'a> {
    /// The guest has programmed all counters except those of these units, which it may not use.
    Started(&'a [Pmu]),
    /// The replay has made this progress, and continues.
    Progress(Progress),
    /// The guest has read its counters after this number of references.
    #[allow(missing_docs, reason = "the names say it")]
    Sample { references: u64, counters: &'a [CounterPair], now: PausedReplay<'a> },
}

/// A paused replay. It computes a result only when the observer requests it.
#[derive(Clone, Copy)]
pub struct PausedReplay<'a> {
    replay: &'a Replay,
    truth: &'a Truth,
    so_far: &'a dyn Fn() -> Replayed,
}

impl<'a> PausedReplay<'a> {
    /// Returns the record of all events so far.
    #[must_use]
    pub fn truth(self) -> &'a Truth {
        self.truth
    }

    /// Returns the result that the replay would have if it ended now.
    #[must_use]
    pub fn run(self) -> Replayed {
        (self.so_far)()
    }

    /// Returns how far the replay has come.
    #[must_use]
    pub fn progress(self) -> Progress {
        self.replay.progress()
    }
}

opaque!(PausedReplay<'_>, "PausedReplay");

/// Returns the note about a replay that its observer has stopped.
pub(crate) fn stopped_after(references: u64) -> String {
    format!("the replay was stopped after {references} references, before the end of its programs")
}

impl Prepared {
    /// Replays the programs to their end, while the measuring guest samples its counters. Calls `observe` at each stage. If
    /// `observe` returns [`ControlFlow::Break`], the replay ends early; its result then covers the references so far, and says that
    /// the replay was [stopped](Replayed::stopped).
    ///
    /// # Errors
    /// Returns an error if a recording cannot be read to its end, or if the guest cannot measure.
    pub fn run(
        self,
        mut observe: impl FnMut(Stage<'_>) -> ControlFlow<()>,
    ) -> Result<Replayed, RunError> {
        self.observed(&mut observe)
    }

    /// Does the work of [`run`](Self::run). This function is not generic, so it is compiled in this crate.
    fn observed(
        mut self,
        observe: &mut dyn FnMut(Stage<'_>) -> ControlFlow<()>,
    ) -> Result<Replayed, RunError> {
        let mut replay = Replay::new(&mut self);
        replay.enter(&self, &mut |progress| observe(Stage::Progress(progress)))?;
        let interval = self.setup.interval.unwrap_or(u64::MAX);
        let (mut run, trace) = self.boot(|board| {
            let Setup { selection, perf_config, .. } = &self.setup;
            let (measuring, strands) = (self.measuring, &self.strands);
            let mut guest = Measurement::start(board, measuring, strands, selection, *perf_config)?;
            let others = self.callers().filter(|(guest, _)| *guest != measuring);
            let bystanders =
                others.map(|(guest, strand)| Bystander::new(board.strand(guest, strand)));
            let bystanders: Vec<_> = bystanders.collect::<Result<_, _>>()?;
            let mut ended = false;
            let mut stopped =
                observe(Stage::Started(&guest.refused)).is_break() || replay.is_stopped();
            if let Some(watcher) = replay.watcher() {
                let guests = self.setup.guests.iter().map(|guest| guest.name.clone());
                watcher.name(guests.collect(), guest.pairs.iter().flat_map(names).collect());
            }
            let mut sampled: u64 = 0;
            while !(ended || stopped) {
                let sample_at = sampled.saturating_add(interval);
                let due = replay.watcher().map_or(u64::MAX, |watcher| watcher.due());
                let next = sample_at.min(due) - replay.references;
                ended = !replay.next(next, board)?;
                let references = replay.references;
                stopped = observe(Stage::Progress(replay.progress())).is_break();
                let sample = !stopped && (references == sample_at || ended && references > sampled);
                // After the last reference, time passes until the last strand has the data that it waits for, so the series gets
                // one more point.
                let point = references == due || ended && due < u64::MAX;
                let without_details = sample || ended || stopped || replay.is_long_unread();
                if point || without_details {
                    let calls = || -> u64 { calls(board).iter().sum() };
                    let before = calls();
                    replay.update_counters(board)?;
                    guest.sample()?;
                    replay.note_read();
                    if let Some(watcher) = replay.watcher().filter(|_| !without_details) {
                        watcher.note_read(calls() - before);
                    }
                }
                if sample {
                    bystanders.iter().for_each(Bystander::read_registers);
                    let so_far = || self.so_far(&replay, &guest.pairs, board);
                    let truth = &*replay.truth();
                    let now = PausedReplay { replay: &replay, truth, so_far: &so_far };
                    let counters = &*guest.pairs;
                    stopped = observe(Stage::Sample { references, counters, now }).is_break();
                    guest.pairs.iter_mut().for_each(CounterPair::end_sample);
                    sampled = references;
                }
                if point {
                    self.add_point(&mut replay, &guest.pairs, board);
                }
            }
            if ended {
                replay.ensure_ended()?;
            }
            let outcome = self.so_far(&replay, &guest.pairs, board);
            Ok(Replayed { stopped: stopped && !ended, ..outcome })
        })?;
        if let Some((details, trace)) = run.details.as_mut().zip(trace.as_ref()) {
            details.add_events(trace);
        }
        if run.stopped {
            run.notes.push(stopped_after(run.references));
        }
        run.trace = trace.filter(|_| self.setup.tracing.is_some());
        Ok(run)
    }

    /// Returns the result that the replay would have if it ended now.
    fn so_far(&self, replay: &Replay, pairs: &[CounterPair], board: &Board<'_>) -> Replayed {
        let truth = &*replay.truth();
        let counters = self.counters(pairs, truth);
        Replayed {
            machine: self.setup.machine.model().name().into(),
            nodes: self.setup.machine.nodes(),
            configuration: self.configuration(),
            conditions: self.conditions.clone(),
            region: replay.region(),
            references: replay.references,
            cycles: truth.cycles(),
            placement: self.placement.to_string(),
            processes: replay.processes(),
            missing: replay.missing(),
            threads: replay.threads(),
            waits: replay.waits(),
            orders: None,
            repeats: None,
            time: Time::new(truth.cycles()),
            usage: replay.usage(),
            notes: replay.notes(),
            stopped: false,
            hypercalls: Hypercalls::sum(&board.tallies()),
            guests: guest_calls(&self.setup.guests, board),
            truth_matches: (counters.iter()).all(|counter| counter.measured == counter.truth),
            counters,
            details: replay.details(),
            trace: None,
        }
    }

    /// Adds a point to the details' time series.
    fn add_point(&self, replay: &mut Replay, pairs: &[CounterPair], board: &Board<'_>) {
        let calls = calls(board);
        if self.setup.tracing.is_none() && calls.iter().sum::<u64>() > MAX_RECORDED_CALLS {
            board.stop_collecting();
        }
        let truth = &*replay.truth();
        let counters = pairs.iter().flat_map(|pair| counts(pair, truth, self.setup.perf_config));
        let point = SeriesPoint {
            references: replay.references,
            cycles: truth.cycles(),
            clock: board.devices().now(),
            calls,
            counters: counters.collect(),
            usage: replay.usage(),
        };
        if let Some(watcher) = replay.watcher() {
            watcher.add(point);
        }
    }

    fn counters(&self, pairs: &[CounterPair], truth: &Truth) -> Vec<CounterResult> {
        pairs.iter().flat_map(|pair| counters(pair, truth, self.setup.perf_config)).collect()
    }
}

fn calls(board: &Board<'_>) -> Vec<u64> {
    let tallies = board.tallies();
    (tallies.iter()).map(|tally| tally.values().sum()).collect()
}
