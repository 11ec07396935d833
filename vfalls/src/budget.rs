//! Limits the memory that a command may take, so that no input can exhaust the computer's memory.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use crate::exit::CANNOT;
use crate::interrupt;
use crate::say::say;

const MB: u64 = 1_000_000;

/// The budget of a command, in bytes, unless the user sets one.
static DEFAULT: AtomicU64 = AtomicU64::new(1000 * MB);

/// The pause between two checks of the memory. A program can fill about 50 MB in this time.
const PAUSE: Duration = Duration::from_millis(20);

/// Adds `bytes` to the budget of the command, unless the user sets one.
pub(crate) fn allow(bytes: u64) {
    DEFAULT.fetch_add(bytes, Ordering::Relaxed);
}

/// From now on, ends the process if it takes more than `budget` MB of memory, with a one-line error and the exit status of bad input.
/// Systems other than Linux have no limit, because no file there says how much memory a process takes.
pub(crate) fn keep(budget: Option<u64>) -> anyhow::Result<()> {
    if memory().is_none() {
        return Ok(());
    }
    let watch = move || {
        loop {
            let most = budget.map_or_else(|| DEFAULT.load(Ordering::Relaxed), |mb| mb * MB);
            if memory().is_some_and(|taken| taken > most) {
                interrupt::end(|| {
                    say(format_args!(
                        "error: takes more than {} MB of memory; --memory-limit allows more",
                        most / MB
                    ));
                    CANNOT.into()
                });
            }
            thread::sleep(PAUSE);
        }
    };
    let thread = thread::Builder::new().stack_size(1 << 16).spawn(watch);
    thread.map(drop).context("no thread for the budget of memory")
}

/// Returns the memory that this process takes, including swapped-out memory, in bytes.
fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let field = |name| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some((field("VmRSS:")? + field("VmSwap:")?) << 10)
}
