//! Ctrl-C, SIGTERM and SIGHUP: a flag that long work looks at, so that nothing half-written is left.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output;

/// The status a shell gives a program that ended by Ctrl-C.
pub const EXIT_STATUS: i32 = 130;

static CAUGHT: AtomicBool = AtomicBool::new(false);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();

/// From now on an interrupt removes the [files that are not complete](crate::output) before it ends the process.
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

/// From now on an interrupt sets a flag and ends nothing. A second interrupt ends the process at once.
///
/// # Errors
/// The signals cannot be caught.
pub fn catch() -> anyhow::Result<()> {
    CAUGHT.store(true, Ordering::SeqCst);
    clean_up()
}

/// Whether there was an interrupt since [`catch`].
#[must_use]
pub fn happened() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// The error of work that was given up for an interrupt; the process ends with [`EXIT_STATUS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted, nothing was written")
    }
}

impl std::error::Error for Interrupted {}
