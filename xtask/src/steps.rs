//! Commands that are a list of steps: each is named, timed, and the last if it fails.

use std::io::{self, Write};
use std::time::Instant;
use std::{fmt, iter};

use anyhow::bail;

use crate::cmd::Mismatch;

/// What is printed of a step, and the step. It changes what the steps share.
pub type Step<'a, T> = (&'a str, fn(&mut T) -> anyhow::Result<()>);

/// Runs steps in order.
///
/// # Errors
/// [`Mismatch`] if one fails; those after it are not run.
pub fn run<T>(steps: &[Step<'_, T>], shared: &mut T) -> anyhow::Result<()> {
    for (passed, (name, step)) in iter::zip(0.., steps) {
        say(format_args!("[{}/{}] {name}", passed + 1, steps.len()));
        let start = Instant::now();
        let result = step(shared);
        let seconds = start.elapsed().as_secs_f64();
        if let Err(error) = result {
            say(format_args!("failed after {seconds:.1} s\n"));
            say(format_args!("{passed} passed, 1 failed"));
            bail!(Mismatch(format!("{name}: {error:#}")));
        }
        say(format_args!("passed in {seconds:.1} s\n"));
    }
    say(format_args!("{} passed, 0 failed", steps.len()));
    Ok(())
}

/// Prints a line. An error is ignored: the steps run even if nobody reads what they print.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}
