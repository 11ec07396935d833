//! Measures the clocks of the host.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;
use guest_abi::clock::ClockSource;
use hv_core::time::{Frequency, FrequencyMeter, Reading};

use crate::cmd::clocks::fit::Fit;
use crate::cmd::clocks::host::HostClock;
use crate::interrupt::{self, Interrupted};

/// How long to measure the cycle counter's frequency.
const CALIBRATION: Duration = Duration::from_millis(250);

/// Measures the frequency of a clock against a reference clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    of: HostClock,
    by: HostClock,
    meter: FrequencyMeter,
}

impl Comparison {
    pub(crate) fn new(of: HostClock, by: HostClock) -> Self {
        let meter = FrequencyMeter::new(&of.describe(), &by.describe());
        Self { of, by, meter }
    }

    /// Reads both clocks together several times, and adds the quickest reading.
    pub(crate) fn read(&mut self) {
        let readings = (0..32).map(|_| Reading {
            before: self.by.now(),
            count: self.of.now(),
            after: self.by.now(),
        });
        let closest = readings.min_by_key(|reading| reading.after.saturating_sub(reading.before));
        closest.into_iter().for_each(|reading| self.meter.add(reading));
    }

    /// Waits until the clock steps to the next whole second, and adds a reading at this step. Adds
    /// none if the clock does not step within 1.5 s.
    pub(crate) fn read_at_step(&mut self) -> anyhow::Result<()> {
        const SECOND: u64 = 1_000_000_000;
        const LONGEST: Duration = Duration::from_millis(1500);
        const PAUSE: Duration = Duration::from_millis(1);
        let begun = Instant::now();
        let (mut before, last) = (self.by.now(), self.of.now());
        while begun.elapsed() < LONGEST {
            ensure!(!interrupt::happened(), Interrupted);
            let next = self.by.now();
            let count = self.of.now();
            let after = self.by.now();
            if count.checked_sub(last) == Some(SECOND) {
                self.meter.add(Reading { before, count, after });
                break;
            }
            before = next;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Returns the name of the reference clock, for the report.
    pub(crate) fn by(&self) -> &'static str {
        self.by.describe().name
    }

    /// Returns the measured frequency; `None` if the readings do not determine it.
    pub(crate) fn frequency(&self) -> Option<Frequency> {
        self.meter.frequency()
    }
}

/// Returns the frequency of a clock in Hz, measured against a reference clock. Returns 0 if the
/// frequency cannot be measured.
pub(crate) fn frequency(of: HostClock, by: HostClock) -> u64 {
    let mut comparison = Comparison::new(of, by);
    comparison.read();
    thread::sleep(CALIBRATION);
    comparison.read();
    let millihertz = comparison.frequency().map(Frequency::millihertz);
    millihertz.map_or(0, |millihertz| (millihertz + 500) / 1000)
}

/// Returns how far the clock steps back between threads, in ticks: the largest amount by which a
/// reading is below an earlier reading of any thread.
pub(crate) fn step_back(clock: &HostClock, threads: usize) -> u64 {
    const TIME: Duration = Duration::from_millis(30);
    let (latest, worst) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let begun = Instant::now();
                while begun.elapsed() < TIME {
                    for _ in 0..100 {
                        let before = latest.load(Ordering::SeqCst);
                        let now = clock.now();
                        worst.fetch_max(before.saturating_sub(now), Ordering::Relaxed);
                        latest.fetch_max(now, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    worst.into_inner()
}

/// Returns how long it takes to read the clock, in nanoseconds: the median over several batches of
/// reads.
pub(crate) fn cost(clock: &HostClock) -> f64 {
    const READS: u32 = 500;
    let mut batches: Vec<f64> = (0..51)
        .map(|_| {
            let begun = Instant::now();
            for _ in 0..READS {
                black_box(clock.now());
            }
            begun.elapsed().as_nanos() as f64 / f64::from(READS)
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    batches[batches.len() / 2]
}

/// Returns the clock's smallest step forward, in ticks. Returns `None` if the clock stands still
/// for 50 ms.
pub(crate) fn resolution(clock: &HostClock) -> Option<u64> {
    const TIME: Duration = Duration::from_millis(50);
    const STEPS: u32 = 2000;
    let begun = Instant::now();
    let (mut steps, mut smallest, mut last) = (0, None, clock.now());
    while steps < STEPS && begun.elapsed() < TIME {
        // Checking the elapsed time takes longer than reading the clock, so 100 reads share one
        // check.
        for _ in 0..100 {
            let now = clock.now();
            if now > last {
                let step = now - last;
                smallest = Some(smallest.map_or(step, |smallest: u64| smallest.min(step)));
                steps += 1;
            }
            last = now;
        }
    }
    smallest
}

/// Readings of all clocks. In each round, the clocks are read one after another. Times are in
/// nanoseconds since the first round.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    clocks: Vec<HostClock>,
    nanoseconds_per_tick: Vec<f64>,
    first: Vec<u64>,
    rounds: Vec<Vec<f64>>,
}

impl Rounds {
    pub(crate) fn new(clocks: Vec<HostClock>) -> Self {
        let rates = clocks.iter().map(|clock| 1e9 / clock.describe().hz as f64);
        Self {
            nanoseconds_per_tick: rates.collect(),
            clocks,
            first: Vec::new(),
            rounds: Vec::new(),
        }
    }

    /// Reads all clocks, one after another. Repeats this several times, and adds the quickest
    /// attempt as a round.
    pub(crate) fn read(&mut self) {
        let read = || {
            let begun = Instant::now();
            let shown: Vec<u64> = self.clocks.iter().map(HostClock::now).collect();
            (begun.elapsed(), shown)
        };
        let fastest = (0..5).map(|_| read()).min_by_key(|(time, _)| *time);
        let shown = fastest.map_or_else(Vec::new, |(_, shown)| shown);
        if self.first.is_empty() {
            self.first.clone_from(&shown);
        }
        let passed = shown.iter().zip(&self.first).zip(&self.nanoseconds_per_tick);
        let passed =
            passed.map(|((now, first), rate)| now.wrapping_sub(*first).cast_signed() as f64 * rate);
        self.rounds.push(passed.collect());
    }

    /// Returns the drift of `clock` relative to the clock `from`. The slope and its error are in
    /// parts per million, and the scatter is in nanoseconds.
    pub(crate) fn drift(&self, clock: usize, from: usize) -> Option<Fit> {
        // The horizontal position of a point is the first clock's time in the round, whichever
        // clocks are compared. Exchanging `clock` and `from` therefore changes only the sign of the
        // drift.
        let difference = |round: &Vec<f64>| {
            let apart = round.get(clock)? - round.get(from)?;
            Some((round.first()? / 1e9, apart))
        };
        let points: Option<Vec<_>> = self.rounds.iter().map(difference).collect();
        let line = Fit::through(&points?)?;
        Some(Fit { slope: line.slope / 1000.0, error: line.error / 1000.0, scatter: line.scatter })
    }
}
