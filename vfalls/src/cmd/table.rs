//! `table`: shows many runs in one table.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use simulator::nearest::unknown;
use simulator::run::Run;
use simulator::text::{line, lines};

use crate::compared::{RunComparison, Runs};
use crate::numbers::counted_plainly;
use crate::output::{self, Force, OutputFile};
use crate::page;
use crate::plain;
use crate::say::say;
use crate::table;

/// Show in one table what differs between many runs, and what it does to events
///
/// Reads runs that stat, top, report, c2c or boot have written with --json. The table has a row for each run, a column for each setting
/// that differs, and columns for the events, summed over all units. Each % is the change from the first run. Replays and executions are
/// deterministic: what differs comes from the settings. Files of another version of vfalls are refused.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  vfalls stat --place spread --json spread.json\n  \
                  vfalls stat --place pack --json pack.json\n  vfalls table spread.json pack.json\n  \
                  vfalls table runs/*.json --sort cycles --html table.html\n  \
                  vfalls table runs/*.json -e CPI,dram:mem_reads --csv table.csv\n\n\
                  The guide (simulator/README.md, Many runs) has sweeps of 200 runs with GNU parallel and with Slurm.")]
pub(crate) struct TableArgs {
    /// The runs
    #[arg(value_name = "RUN.json", required = true)]
    runs: Vec<PathBuf>,

    /// Show these numbers: events as CLASS:EVENT, cycles, references, instructions, CPI, MPKI (L2 misses per thousand instructions), local,
    /// remote, c2c (what served these misses) and hypercalls; several are separated by commas (may be repeated) [default: those of cycles,
    /// references, CPI, MPKI and all counted events that differ]
    #[arg(short, long, value_name = "EVENT", value_delimiter = ',')]
    event: Vec<String>,

    /// Sort the rows by a column, the smallest number first [default: the order of the arguments]
    #[arg(long, value_name = "COLUMN")]
    sort: Option<String>,

    /// Reverse the order of the rows
    #[arg(long)]
    reverse: bool,

    /// The run that changes are relative to [default: the first argument]
    #[arg(long, value_name = "RUN.json")]
    base: Option<PathBuf>,

    /// Write the table to a file, as CSV; `-` is standard output, in place of the text
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write the table to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Make a page of the table, whose rows any browser can sort
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

pub(crate) fn run(args: TableArgs) -> anyhow::Result<()> {
    let to_stdout = args.csv.as_deref() == Some(Path::new("-"));
    let csv = args.force.create_if_wanted(args.csv.as_ref().filter(|_| !to_stdout))?;
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let html = args.force.create_if_wanted(args.html.as_ref())?;
    let base = base(&args)?;
    let runs = read(&args.runs)?;
    let mut compared = RunComparison::new(runs, &args.event, base)?;
    if let Some(column) = &args.sort {
        let names = || compared.columns().map(|(name, _)| name);
        let place = names().position(|name| name == column);
        compared.sort(place.with_context(|| unknown("column", column, names()))?);
    }
    if args.reverse {
        compared.reverse();
    }
    let mut output = plain::stdout();
    match to_stdout {
        true => write!(output, "{}", table::csv(&compared.exact()))?,
        false => write!(output, "{}", compared.text())?,
    }
    output.flush()?;
    if let Some(file) = csv {
        complete(file, &table::csv(&compared.exact()))?;
    }
    output::complete_json(json, &compared)?;
    html.map_or(Ok(()), |file| complete(file, &page::runs(&compared)))
}

fn complete(mut file: OutputFile, text: &str) -> anyhow::Result<()> {
    file.write_all(lines(text).as_bytes())?;
    file.complete()
}

/// Returns the index of the run that changes are relative to.
fn base(args: &TableArgs) -> anyhow::Result<usize> {
    let Some(base) = &args.base else {
        return Ok(0);
    };
    let place = args.runs.iter().position(|run| run == base);
    place.with_context(|| format!("{}: is not one of the runs", base.display()))
}

/// Reads the runs one after the other, and keeps only the parts that the table shows.
fn read(paths: &[PathBuf]) -> anyhow::Result<Runs> {
    let mut files = HashMap::new();
    let mut runs = Runs::default();
    let (mut wrong, mut stopped) = (Vec::new(), Vec::new());
    for path in paths {
        let name = line(&path.display().to_string());
        if let Ok(file) = fs::metadata(path) {
            let earlier = files.insert((file.dev(), file.ino()), path);
            ensure!(
                earlier.is_none(),
                "{name}: is the same file as {}",
                earlier.unwrap_or(path).display()
            );
        }
        let run = Run::read(path)?;
        if !run.truth_matches() {
            wrong.push(name.clone());
        }
        if run.is_stopped() {
            stopped.push(name.clone());
        }
        runs.add(name, &run);
    }
    note(&wrong, "counters that do not show what happened");
    note(&stopped, "been stopped before the end of the program");
    if let Some((number, later, earlier)) = runs.repeated() {
        let runs = match number {
            1 => "1 run has".to_owned(),
            _ => format!("{number} runs have"),
        };
        say(format_args!(
            "note: {runs} the settings of an earlier run, such as {later} those of {earlier}"
        ));
    }
    Ok(runs)
}

/// Prints a note that names the runs with a flaw. `what` names the flaw, such as counters that do not show what happened.
fn note(runs: &[String], what: &str) {
    match runs {
        [] => {}
        [run] => say(format_args!("note: {run} has {what}")),
        [first, ..] => {
            let number = counted_plainly(runs.len() as u64, "run");
            say(format_args!("note: {number} have {what}, such as {first}"));
        }
    }
}
