//! `page`: makes a page of a run that a command has written with `--json`.

use crate::plain;
use simulator::text::lines;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use simulator::input;
use simulator::run::{MAX_BYTES, Run};

use crate::output::Force;
use crate::page::Page;

/// Make a page of a run: one file that any browser opens, with charts and their numbers
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  vfalls stat --html page.html           # a replay and its page\n  \
                  vfalls stat --details --json run.json  # a replay, and its page later:\n  \
                  vfalls page run.json -o page.html\n  \
                  vfalls page run.json --picture map -o map.svg"
)]
pub(crate) struct PageArgs {
    /// The run that vfalls stat, boot or report wrote with --json; `-` for standard input
    #[arg(value_name = "RUN.json")]
    run: PathBuf,

    /// The page [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write only the picture with this name, as SVG
    #[arg(long, value_name = "NAME")]
    picture: Option<String>,

    #[command(flatten)]
    force: Force,
}

pub(crate) fn run(args: PageArgs) -> anyhow::Result<()> {
    let page = Page::new(&read(&args.run)?).with_context(|| args.run.display().to_string())?;
    let text = match &args.picture {
        None => page.html(),
        Some(name) => page.picture(name).map_err(|names| {
            anyhow!(
                "there is no picture '{}'; the pictures are {}",
                name.escape_debug(),
                names.join(", ")
            )
        })?,
    };
    match args.force.create_if_wanted(args.output.as_ref())? {
        None => {
            let mut output = plain::stdout();
            output.write_all(text.as_bytes())?;
            Ok(output.flush()?)
        }
        Some(mut file) => {
            file.write_all(lines(&text).as_bytes())?;
            file.complete()
        }
    }
}

fn read(path: &Path) -> anyhow::Result<Run> {
    if path != Path::new("-") {
        return Ok(Run::read(path)?);
    }
    let text = input::read_stream("-", io::stdin().lock(), MAX_BYTES)?;
    Run::parse(&text).context("-")
}
