//! Limits a command's memory use, so that no input can exhaust the computer's memory.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use crate::exit::FAILURE_STATUS;
use crate::interrupt;
use crate::say::say;

const MB: u64 = 1_000_000;

/// A command's default memory budget, in bytes.
static DEFAULT: AtomicU64 = AtomicU64::new(1000 * MB);

/// The pause between two checks. A program can fill about 50 MB of memory in this time.
const PAUSE: Duration = Duration::from_millis(20);

/// Adds `bytes` to the command's default budget. Has no effect on a budget that the user sets.
pub(crate) fn allow(bytes: u64) {
    DEFAULT.fetch_add(bytes, Ordering::Relaxed);
}

/// Watches this process's memory from now on. If the memory exceeds `budget` MB, ends the process
/// with a one-line error and the exit status for bad input. On systems other than Linux, sets no
/// limit, because this tool cannot tell how much memory a process takes there.
pub(crate) fn enforce(budget: Option<u64>) -> anyhow::Result<()> {
    if memory().is_none() {
        return Ok(());
    }
    let watch = move || {
        loop {
            let most = budget.map_or_else(|| DEFAULT.load(Ordering::Relaxed), |mb| mb * MB);
            if memory().is_some_and(|taken| taken > most) {
                interrupt::end(|| {
                    say(format_args!(
                        "error: the command takes more than {} MB of memory; --memory-limit allows more",
                        most / MB
                    ));
                    FAILURE_STATUS.into()
                });
            }
            thread::sleep(PAUSE);
        }
    };
    let thread = thread::Builder::new().stack_size(1 << 16).spawn(watch);
    thread.map(drop).context("the thread that watches memory cannot be started")
}

/// Returns the memory that this process takes, in bytes, including swapped-out memory; `None` on
/// systems without the file /proc/self/status.
fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    // Searching the whole text for the name is much faster than examining each line.
    let field = |name| {
        let (_, value) = status.split_once(name)?;
        let (value, _) = value.split_once(" kB")?;
        value.trim().parse::<u64>().ok()
    };
    Some((field("\nVmRSS:")? + field("\nVmSwap:")?) << 10)
}
