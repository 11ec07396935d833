//! Makes a page of a report. `cargo xtask sim --html`, `run --html` and `profile --html` run it.
#![deny(clippy::print_stderr, clippy::print_stdout)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::Parser;
use page::picture;
use page::report::Report;
use xtask::exit;
use xtask::output::Force;

/// Make a page of a report: one file that any browser opens, with charts and their numbers
#[derive(Parser, Debug)]
#[command(
    name = "page",
    after_help = "Examples:\n  cargo xtask sim --html page.html              # a run and its page\n  \
                  cargo xtask sim --details --json report.json  # a report, and its page later:\n  \
                  cargo run --release --package page -- report.json -o page.html\n  \
                  cargo run --release --package page -- report.json --picture map -o map.svg"
)]
struct Args {
    /// The report, which cargo xtask sim, run or profile has written with --json; `-` for standard input
    #[arg(value_name = "REPORT")]
    report: PathBuf,

    /// The page [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write one picture of the page, as SVG: that of this name
    #[arg(long, value_name = "NAME")]
    picture: Option<String>,

    #[command(flatten)]
    force: Force,
}

fn main() -> ExitCode {
    exit::main(run)
}

fn run(args: Args) -> anyhow::Result<()> {
    let name = args.report.display().to_string();
    let mut text = Vec::new();
    let read = match &*name {
        "-" => io::stdin().lock().read_to_end(&mut text),
        _ => File::open(&args.report).and_then(|mut file| file.read_to_end(&mut text)),
    };
    read.with_context(|| format!("{name}: cannot be read"))?;
    let page = match &args.picture {
        None => page::of(&text).with_context(|| name)?,
        Some(picture_name) => {
            let report = Report::parse(&text).with_context(|| name)?;
            picture(&report, picture_name).map_err(|names| {
                anyhow!(
                    "there is no picture '{}'; there are {}",
                    picture_name.escape_debug(),
                    names.join(", ")
                )
            })?
        }
    };
    match args.force.create_if_wanted(args.output.as_ref())? {
        None => Ok(io::stdout().lock().write_all(page.as_bytes())?),
        Some(mut file) => {
            file.write_all(page.as_bytes())?;
            file.complete()
        }
    }
}
