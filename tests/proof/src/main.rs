//! Checks models of the service's decisions in all reachable states.

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;

use anyhow::bail;
use clap::Parser;
use proof::models::{CASES, Case};

/// Check models of the service's decisions in all reachable states
///
/// Prints a line for each model and size. If a property does not hold in a state, prints the actions that lead to this state, and exits
/// with status 1.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:
  cargo run --release -p proof                 the small sizes, which cargo test checks
  cargo run --release -p proof -- --all        all sizes
  cargo run --release -p proof -- gate-wait    all sizes of one model
  cargo run --release -p proof -- --list")]
struct Args {
    /// Models to check, in all sizes
    models: Vec<String>,
    /// Check all models in all sizes
    #[arg(long)]
    all: bool,
    /// List models and sizes
    #[arg(long)]
    list: bool,
}

fn named(args: &Args) -> anyhow::Result<Vec<Case>> {
    for model in &args.models {
        if !CASES.iter().any(|case| case.model == model) {
            bail!("there is no model {model}; --list names them");
        }
    }
    let named = |case: &&Case| {
        let small = case.small && args.models.is_empty();
        args.all || args.list || small || args.models.iter().any(|model| case.model == model)
    };
    Ok(CASES.iter().filter(named).copied().collect())
}

fn run(args: &Args) -> anyhow::Result<bool> {
    let mut out = io::stdout().lock();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut hold = true;
    for case in named(args)? {
        write!(out, "{:<20} {:<36}", case.model, case.size)?;
        if args.list {
            writeln!(out, "{}", if case.small { "small" } else { "large" })?;
            continue;
        }
        out.flush()?;
        let report = case.check(threads);
        let holds = report.violations.is_empty();
        let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
        let seconds = report.time.as_secs_f64();
        writeln!(out, "{:>12} states {seconds:>8.1} s  {verdict}", report.states)?;
        for violation in report.violations {
            writeln!(out, "{violation}")?;
        }
        hold &= holds;
    }
    Ok(hold)
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
