//! Tests that samples deviate from the truth as sampling theory predicts.

use std::f64::consts::PI;

use simulator::analysis::profile::SampledUnit;

use crate::{every, fetches, profile, randomised};

/// A generator of pseudo-random numbers (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// The number of instructions, out of every 36, on each of eight pages.
const SHARES: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// Returns the expected total variation: half the sum of |share - p| over all pages, where p is the true share. For n random samples,
/// the standard deviation of a share is sqrt(p (1 - p) / n). The mean absolute deviation of a normal variable is sqrt(2 / pi) times
/// the standard deviation.
fn expected(samples: f64) -> f64 {
    let apart = SHARES.map(|share| {
        let p = share as f64 / 36.0;
        (2.0 / PI * p * (1.0 - p) / samples).sqrt()
    });
    apart.iter().sum::<f64>() / 2.0
}

/// A program jumps randomly between its pages, so its samples are random whatever the period is.
#[test]
fn the_distance_falls_with_the_root_of_the_period() {
    const INSTRUCTIONS: usize = 80_000;
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut page = || {
        let mut left = random.below(36);
        for (page, share) in SHARES.iter().enumerate() {
            if left < *share {
                // Each page uses different cache sets, so the instructions of all pages wait equally long.
                return 0x1_0040 * (page as u64 + 1);
            }
            left -= share;
        }
        unreachable!()
    };
    let program = fetches((0..INSTRUCTIONS).map(|_| page()));
    for unit in SampledUnit::ALL {
        let mut before = 0.0;
        for period in [10_u32, 40, 160] {
            const SEEDS: u64 = 5;
            let sum: f64 = (0..SEEDS)
                .map(|seed| {
                    let rate = randomised(period, seed);
                    let report = profile(unit, &program, "instructions", rate).unwrap();
                    assert_eq!((report.first.lost, report.first.rows.len()), (0, 8));
                    report.first.total_variation
                })
                .sum();
            let mean = sum / SEEDS as f64;
            let theory = expected(INSTRUCTIONS as f64 / f64::from(period));
            let ratio = mean / theory;
            assert!((0.7..1.3).contains(&ratio), "{unit:?}, {period}: {ratio}");
            assert!(mean > before, "{unit:?}, {period}");
            before = mean;
        }
    }
}

/// A loop has 52 instructions on three pages. The periods are multiples of 52, so all samples hit the same page unless the periods vary
/// randomly. (An R10000 is interrupted only between cycles, so each page has a multiple of four instructions.)
#[test]
fn random_periods_are_not_in_step_with_a_loop() {
    let address = |step: u64| match step % 52 {
        step @ 0..4 => 0x1000 + 4 * step,
        step @ 4..20 => 0x2000 + 4 * step,
        step => 0x3000 + 4 * step,
    };
    let program = fetches((0..52_000).map(address));
    for unit in SampledUnit::ALL {
        for period in [260_u32, 520] {
            let in_step = profile(unit, &program, "instructions", every(period)).unwrap();
            // Every period ends at the beginning of the loop, on the page with 4 instructions.
            let apart = in_step.first.total_variation;
            assert!(apart > 0.85, "{unit:?}, {period}: {apart}");

            let mut hits = [0; 3];
            for seed in 0..6 {
                let rate = randomised(period, seed);
                let first = profile(unit, &program, "instructions", rate).unwrap().first;
                let bound = 4.0 * first.total_variation_by_chance;
                assert!(first.total_variation < bound, "{unit:?}, {period}, {seed}");
                for row in first.rows {
                    hits[(row.address >> 12) as usize - 1] += row.samples;
                }
            }
            let samples = hits.iter().sum::<u64>() as f64;
            assert!(samples > 0.99 * 6.0 * 52_000.0 / f64::from(period));
            // The samples are unbiased: over all runs, each share is within three standard errors of the truth.
            for (hits, share) in hits.into_iter().zip([1.0 / 13.0, 4.0 / 13.0, 8.0_f64 / 13.0]) {
                let error = (share * (1.0 - share) / samples).sqrt();
                let apart = (hits as f64 / samples - share).abs();
                assert!(apart < 3.0 * error, "{unit:?}, {period}: {share} by {apart}");
            }
        }
    }
}
