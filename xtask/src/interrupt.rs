//! Ctrl-C, SIGTERM and SIGHUP: a flag that long work polls, so that it leaves nothing half-written.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output;

/// The exit status that shells report for a program that Ctrl-C ended.
pub const EXIT_STATUS: i32 = 130;

static CAUGHT: AtomicBool = AtomicBool::new(false);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();

/// Makes interrupts remove the [files that are not complete](crate::output) before they end the process.
///
/// # Errors
/// The signals cannot be caught.
pub fn clean_up() -> anyhow::Result<()> {
    let handle = || {
        if !CAUGHT.load(Ordering::SeqCst) || INTERRUPTED.swap(true, Ordering::SeqCst) {
            output::remove_incomplete(|| std::process::exit(EXIT_STATUS));
        }
    };
    let installed =
        HANDLER.get_or_init(|| ctrlc::set_handler(handle).map_err(|error| error.to_string()));
    installed.clone().map_err(anyhow::Error::msg)
}

/// Makes the first interrupt only set a flag. A second one ends the process at once.
///
/// # Errors
/// The signals cannot be caught.
pub fn catch() -> anyhow::Result<()> {
    CAUGHT.store(true, Ordering::SeqCst);
    clean_up()
}

/// Returns whether there was an interrupt since [`catch`].
#[must_use]
pub fn happened() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// The error of work that an interrupt stopped. The process ends with [`EXIT_STATUS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted, nothing was written")]
pub struct Interrupted;
