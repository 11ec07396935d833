//! Simulates several methods of locking a drifting clock to a system time. The hypervisor uses the
//! method [`TimeOfDay`](hv_core::time::TimeOfDay). The others are here for comparison only.

mod methods;
mod situation;
#[cfg(test)]
mod tests;

use std::io::Write;

use serde::Serialize;

use self::methods::LockMethod;
use self::situation::{Situation, Trouble};
use crate::table;

/// The result of simulating one method in one situation. Times are in nanoseconds.
#[derive(Debug, Serialize)]
pub(super) struct LockResult {
    way: &'static str,
    trouble: Trouble,
    drift_ppm: i64,
    /// The largest difference from the true time, as an absolute value.
    largest_error: i64,
    /// The smallest and the largest difference from the true time in the last quarter of the
    /// simulation.
    last_quarter: [i64; 2],
    /// Whether the difference from the true time stays within [`CONVERGED`] throughout the last
    /// quarter.
    converges: bool,
    steps_back: u32,
    largest_step_back: i64,
    /// The percentage of readings at which the method's [limit](LockMethod::limit) caps the rate
    /// correction.
    percent_at_limit: i64,
    /// How often the rate correction changes its direction.
    turns: u32,
}

/// The number of wake-ups of the correcting thread. The wake-ups are due one second apart.
const WAKE_UPS: i64 = 1000;
/// The number of times that the clock is read for each wake-up.
const READS_PER_WAKE_UP: i64 = 10;
const CONVERGED: i64 = 100_000;
/// The rounding error of the time between two readings, in nanoseconds.
const ROUNDING: i64 = 2;

/// Simulates every method of locking in every situation, and returns all results.
pub(super) fn compare() -> Vec<LockResult> {
    let all =
        |way: LockMethod| Situation::ALL.map(|situation| LockResult::simulate(way, situation));
    LockMethod::ALL.into_iter().flat_map(all).collect()
}

impl LockResult {
    fn simulate(way: LockMethod, situation: Situation) -> Self {
        let mut found = Self {
            way: way.text(),
            trouble: situation.trouble,
            drift_ppm: situation.drift,
            largest_error: 0,
            last_quarter: [i64::MAX, i64::MIN],
            converges: false,
            steps_back: 0,
            largest_step_back: 0,
            percent_at_limit: 0,
            turns: 0,
        };
        let mut locked = way.start(situation);
        // The true time and the shown time at the latest reading, and the latest correction's
        // direction.
        let (mut last, mut shown, mut direction) = (0, 0, 0);
        let mut at_limit = 0;
        for second in 1..=WAKE_UPS {
            let (slept, wake) = (last, situation.wake_up(second));
            for look in 1..=READS_PER_WAKE_UP {
                let now = slept + (wake - slept) * look / READS_PER_WAKE_UP;
                let time = locked.at(situation.clock(now));
                let passed = situation.clock(now) - situation.clock(last);
                let correction = time - shown - passed;
                let most = passed * way.limit() / 1_000_000_000;
                if correction.abs() > ROUNDING {
                    at_limit += i64::from(correction.abs() + ROUNDING >= most);
                    found.turns += u32::from(correction.signum() == -direction);
                    direction = correction.signum();
                }
                found.note_error(second, time - now);
                (last, shown) = (now, time);
            }
            let clock = situation.clock(wake);
            locked.follow(clock, situation.system(wake));
            let back = shown - locked.at(clock);
            shown -= back;
            found.steps_back += u32::from(back > 0);
            found.largest_step_back = found.largest_step_back.max(back);
            found.note_error(second, shown - wake);
        }
        found.converges = found.last_quarter.iter().all(|error| error.abs() <= CONVERGED);
        found.percent_at_limit = at_limit * 100 / (WAKE_UPS * READS_PER_WAKE_UP);
        found
    }

    fn note_error(&mut self, second: i64, error: i64) {
        self.largest_error = self.largest_error.max(error.abs());
        if second > WAKE_UPS * 3 / 4 {
            let [least, greatest] = self.last_quarter;
            self.last_quarter = [least.min(error), greatest.max(error)];
        }
    }
}

/// Prints the results of the simulations as a table.
pub(super) fn print(results: &[LockResult], output: &mut impl Write) -> anyhow::Result<()> {
    let mut table = table::with_header(
        "way|trouble|>drift ppm|>largest error us|>last quarter us|converges|>steps back|>largest us|>at limit|>turns",
    );
    for result in results {
        let [least, greatest] = result.last_quarter.map(microseconds);
        table.add_row([
            result.way.to_owned(),
            result.trouble.text().to_owned(),
            result.drift_ppm.to_string(),
            microseconds(result.largest_error),
            format!("{least} to {greatest}"),
            if result.converges { "yes" } else { "no" }.to_owned(),
            result.steps_back.to_string(),
            microseconds(result.largest_step_back),
            format!("{}%", result.percent_at_limit),
            result.turns.to_string(),
        ]);
    }
    writeln!(output, "{}", table::text(&table))?;
    writeln!(
        output,
        "{WAKE_UPS} s; the clock is compared with the system time each second. converges: within {} us of the true\n\
         time. at limit: the share of the time in which the rate is corrected by the maximum. turns: how often a\n\
         correction of the rate changed its direction. \"time of day\" is the way that a hypervisor uses: it corrects\n\
         nothing within the accuracy of the system time.",
        microseconds(CONVERGED)
    )?;
    Ok(())
}

fn microseconds(nanoseconds: i64) -> String {
    let rounded = (nanoseconds.abs() + 500) / 1000 * nanoseconds.signum();
    rounded.to_string()
}
