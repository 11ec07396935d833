//! How a program of this workspace ends: its exit status, and what it prints then.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::cmd::Mismatch;
use crate::interrupt::{self, Interrupted};

/// The exit status for bad input, and for whatever else a command cannot do.
const CANNOT: u8 = 2;

/// Parses the arguments and does the work of a program. Returns its exit status: 0 if all is well, 1 for a [`Mismatch`], 130
/// after an interrupt, 2 for any other error.
pub fn main<Arguments: Parser>(run: impl FnOnce(Arguments) -> anyhow::Result<()>) -> ExitCode {
    match Arguments::try_parse().map(run) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => failure(&error),
        Err(error) => usage(&error),
    }
}

/// One line on standard error for a failure, but for a reader of the output that has gone.
fn failure(error: &anyhow::Error) -> ExitCode {
    let gone = |cause: &&(dyn std::error::Error + 'static)| {
        let kind = match cause.downcast_ref::<io::Error>() {
            Some(error) => Some(error.kind()),
            None => cause
                .downcast_ref::<serde_json::Error>()
                .and_then(serde_json::Error::io_error_kind),
        };
        kind == Some(io::ErrorKind::BrokenPipe)
    };
    if error.chain().find(gone).is_some() {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error:#}");
    if error.is::<Mismatch>() {
        ExitCode::FAILURE
    } else if error.is::<Interrupted>() {
        ExitCode::from(interrupt::EXIT_STATUS as u8)
    } else {
        ExitCode::from(CANNOT)
    }
}

/// Help as clap prints it; what is wrong with the arguments on one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nothing is lost if nobody reads the help.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if matches!(
        error.kind(),
        clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        let _ = error.print();
        return ExitCode::from(CANNOT);
    }
    let text = error.render().to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect::<Vec<_>>();
    let _ = writeln!(io::stderr(), "{}", lines.join(" "));
    ExitCode::from(CANNOT)
}
