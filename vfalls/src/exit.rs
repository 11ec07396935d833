//! Exit statuses and error messages.

use std::io;
use std::process::ExitCode;

use clap::Parser;

use crate::interrupt::{self, Interrupted};
use crate::output;
use crate::say::say;

/// The exit status of bad input, and of every failure except [`Mismatch`] and [`Interrupted`].
pub(crate) const FAILURE_STATUS: u8 = 2;

/// Parses the arguments, and calls `run` with the result. Returns the exit status: 0 for success, 1 for a [`Mismatch`], 130 after an
/// interrupt, and 2 for any other error. A program must call this function before anything else, because it also sets up the handling of
/// interrupts.
pub fn main<Arguments: Parser>(run: impl FnOnce(Arguments) -> anyhow::Result<()>) -> ExitCode {
    if let Err(error) = interrupt::install_handlers(output::remove_incomplete) {
        return failure(&error.into());
    }
    match Arguments::try_parse().map(run) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => failure(&error),
        Err(error) => usage(&error),
    }
}

/// Prints an error on one line. If the error is that standard output is a closed pipe, prints it only if an output file is incomplete.
fn failure(error: &anyhow::Error) -> ExitCode {
    let gone = |cause: &&(dyn std::error::Error + 'static)| {
        let json = || cause.downcast_ref().and_then(serde_json::Error::io_error_kind);
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind).or_else(json);
        kind == Some(io::ErrorKind::BrokenPipe)
    };
    if error.chain().find(gone).is_some() {
        if !output::is_abandoned() {
            return ExitCode::SUCCESS;
        }
        say(format_args!("error: {error:#}; nothing was written"));
        return ExitCode::from(FAILURE_STATUS);
    }
    say(format_args!("error: {error:#}"));
    if error.is::<Mismatch>() {
        ExitCode::FAILURE
    } else if error.is::<Interrupted>() {
        ExitCode::from(interrupt::EXIT_STATUS as u8)
    } else {
        ExitCode::from(FAILURE_STATUS)
    }
}

/// Prints help as clap formats it. Prints an error in the arguments on one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // If the help cannot be printed, there is nobody to read it, so the error does not matter.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if matches!(error.kind(), clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand) {
        let _ = error.print();
        return ExitCode::from(FAILURE_STATUS);
    }
    let text = error.render().to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect::<Vec<_>>();
    say(lines.join(" ").replace(" tip: ", "; tip: "));
    ExitCode::from(FAILURE_STATUS)
}

/// The error of a command that did its work and found a defect. The exit status is then 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(pub String);
