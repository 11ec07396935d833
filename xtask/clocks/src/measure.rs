//! Measures the clocks of the host.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use guest_abi::clock::ClockSource;
use hv_core::time::{Frequency, FrequencyMeter, Reading};

use crate::fit::Line;
use crate::host::HostClock;

/// The time that measuring the frequency of the cycle counter takes.
pub(crate) const CALIBRATION: Duration = Duration::from_millis(250);

/// Measures the frequency of a clock by another one, whose frequency is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    of: HostClock,
    by: HostClock,
    meter: FrequencyMeter,
}

impl Comparison {
    /// Returns a comparison without readings.
    #[must_use]
    pub(crate) fn new(of: HostClock, by: HostClock) -> Self {
        let meter = FrequencyMeter::new(&of.describe(), &by.describe());
        Self { of, by, meter }
    }

    /// Reads both clocks: the closest of several tries.
    pub(crate) fn read(&mut self) {
        let readings = (0..32).map(|_| Reading {
            before: self.by.now(),
            count: self.of.now(),
            after: self.by.now(),
        });
        let closest = readings.min_by_key(|reading| reading.after.saturating_sub(reading.before));
        closest
            .into_iter()
            .for_each(|reading| self.meter.add(reading));
    }

    /// Returns the name of the other clock, and the frequency that it has measured.
    #[must_use]
    pub(crate) fn frequency(&self) -> Option<(&'static str, Frequency)> {
        Some((self.by.describe().name, self.meter.frequency()?))
    }
}

/// Returns the frequency of a clock in Hz, measured by another clock; 0 if it cannot be measured.
#[must_use]
pub(crate) fn frequency(of: HostClock, by: HostClock) -> u64 {
    let mut comparison = Comparison::new(of, by);
    comparison.read();
    thread::sleep(CALIBRATION);
    comparison.read();
    let millihertz = comparison.frequency().map(|(_, found)| found.millihertz());
    millihertz.map_or(0, |millihertz| (millihertz + 500) / 1000)
}

/// Returns the largest step back, in ticks, that threads on different processors see.
#[must_use]
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

/// Returns the time that a read takes, in nanoseconds: the median of several batches.
#[must_use]
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

/// Returns the smallest step forward that is seen, in ticks, or `None` if the clock does not advance for 50 ms.
#[must_use]
pub(crate) fn resolution(clock: &HostClock) -> Option<u64> {
    const TIME: Duration = Duration::from_millis(50);
    const STEPS: u32 = 2000;
    let begun = Instant::now();
    let (mut steps, mut smallest, mut last) = (0, None, clock.now());
    while steps < STEPS && begun.elapsed() < TIME {
        // Many reads between two checks of the time limit, which cost more than a read.
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

/// Rounds in which several clocks are read together. Times are in nanoseconds since the first round.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    clocks: Vec<HostClock>,
    nanoseconds_per_tick: Vec<f64>,
    first: Vec<u64>,
    rounds: Vec<Vec<f64>>,
}

impl Rounds {
    /// Returns no rounds of these clocks.
    #[must_use]
    pub(crate) fn new(clocks: Vec<HostClock>) -> Self {
        let rates = clocks.iter().map(|clock| 1e9 / clock.describe().hz as f64);
        Self {
            nanoseconds_per_tick: rates.collect(),
            clocks,
            first: Vec::new(),
            rounds: Vec::new(),
        }
    }

    /// Adds a round: reads all clocks a few times, and keeps the fastest try.
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
        let passed = shown
            .iter()
            .zip(&self.first)
            .zip(&self.nanoseconds_per_tick);
        let passed =
            passed.map(|((now, first), rate)| now.wrapping_sub(*first).cast_signed() as f64 * rate);
        self.rounds.push(passed.collect());
    }

    /// Returns how much faster one clock is than another, in parts per million, and the scatter of their difference, in
    /// nanoseconds.
    #[must_use]
    pub(crate) fn apart(&self, clock: usize, from: usize) -> Option<Line> {
        // Over the time of the first clock of all, so that swapping the two clocks only changes the sign.
        let difference = |round: &Vec<f64>| {
            let apart = round.get(clock)? - round.get(from)?;
            Some((round.first()? / 1e9, apart))
        };
        let points: Option<Vec<_>> = self.rounds.iter().map(difference).collect();
        let line = Line::through(&points?)?;
        Some(Line {
            slope: line.slope / 1000.0,
            error: line.error / 1000.0,
            scatter: line.scatter,
        })
    }
}
