//! Counts the instructions that `vfalls stat` takes for each reference of generated programs and of the bundled recording. Also counts the
//! instructions of runs with its views (the details and the page), as a percentage of a run without views.
//!
//! The recording comes from standard input, which can be read only once. Therefore, `stat` makes no second replay to see whether the order
//! of threads matters.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use made::{Data, GeneratedProgram};
use tempfile::TempDir;

use super::instructions::Counter;
use super::replay;
use crate::budgets::{STAT_BUDGETS, VIEW_BUDGETS};
use crate::cargo;

const fn made(threads: u32, data: Data, references: u64) -> GeneratedProgram {
    GeneratedProgram { threads, data, references }
}

/// The generated programs and their names.
const PROGRAMS: [(&str, GeneratedProgram); 6] = [
    ("one_thread", made(1, Data::Own, 3_000_000)),
    ("stream", made(1, Data::Stream, 2_000_000)),
    ("8_threads", made(8, Data::Own, 1_000_000)),
    ("64_threads", made(64, Data::Own, 1_000_000)),
    ("200_threads", made(200, Data::Own, 1_000_000)),
    ("false_sharing", made(8, Data::Line, 1_000_000)),
];

/// The views that show more of a replay than the summary. A row has the name of the count, the program (`None` for the bundled
/// recording), and the option of `vfalls stat` that shows the view.
const VIEWS: [(&str, Option<GeneratedProgram>, &str); 3] = [
    ("details_one_thread", Some(made(1, Data::Own, 1_000_000)), "--details"),
    ("details_8_threads", Some(made(8, Data::Own, 1_000_000)), "--details"),
    ("html_bundled", None, "--html"),
];

/// A recording, and its number of references.
pub(super) struct Recorded {
    pub(super) file: PathBuf,
    pub(super) references: u64,
}

/// Runs `vfalls stat`, and counts its instructions.
pub(super) struct Stat<'a> {
    pub(super) counter: &'a Counter,
    pub(super) vfalls: PathBuf,
    directory: TempDir,
}

impl<'a> Stat<'a> {
    pub(super) fn new(counter: &'a Counter) -> anyhow::Result<Self> {
        Ok(Self { counter, vfalls: cargo::vfalls()?, directory: tempfile::tempdir()? })
    }

    /// Returns the path of a file that is removed when `self` is dropped.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Generates the recording of a program. Overwrites the recording of the previous call.
    pub(super) fn record(&self, made: &GeneratedProgram) -> anyhow::Result<Recorded> {
        let file = self.at("made.refs");
        let references = made.write(&file)?;
        Ok(Recorded { file, references })
    }

    /// Counts the instructions of `vfalls stat` from the start of the process to its end.
    pub(super) fn instructions(
        &self,
        recorded: &Recorded,
        options: &[OsString],
    ) -> anyhow::Result<u64> {
        let mut arguments: Vec<OsString> = vec!["stat".into(), "--force".into(), "--json".into()];
        arguments.push(self.at("run.json").into());
        arguments.extend_from_slice(options);
        arguments.push("-".into());
        self.counter.with_input(&self.vfalls, &arguments, File::open(&recorded.file)?)
    }

    /// Counts the instructions of `vfalls stat` for each reference, rounded to the nearest number. The start of the process is included.
    pub(super) fn instructions_per_reference(&self, recorded: &Recorded) -> anyhow::Result<u64> {
        let instructions = self.instructions(recorded, &[])?;
        Ok(nearest(instructions, recorded.references))
    }
}

fn nearest(dividend: u64, divisor: u64) -> u64 {
    (dividend + divisor / 2) / divisor
}

fn bundled() -> anyhow::Result<Recorded> {
    let file = cargo::root().join("simulator/bundled/workload.refs");
    Ok(Recorded { file, references: replay::recording()?.len() as u64 })
}

/// The costs of `vfalls stat`, by the names of their budgets.
pub(super) struct Costs {
    /// The instructions for each reference.
    pub(super) references: BTreeMap<&'static str, u64>,
    /// The instructions of runs with a view, as a percentage of a run without views.
    pub(super) views: BTreeMap<&'static str, u64>,
}

impl Costs {
    pub(super) fn count(counter: &Counter) -> anyhow::Result<Self> {
        let stat = Stat::new(counter)?;
        let bundled = bundled()?;
        let (mut references, mut views) = (BTreeMap::new(), BTreeMap::new());
        for (name, made) in PROGRAMS {
            references.insert(name, stat.instructions_per_reference(&stat.record(&made)?)?);
        }
        let plain_bundled = stat.instructions(&bundled, &[])?;
        references.insert("bundled", nearest(plain_bundled, bundled.references));
        for (name, made, option) in VIEWS {
            let made = made.map(|made| stat.record(&made)).transpose()?;
            let (recorded, plain) = match &made {
                None => (&bundled, plain_bundled),
                Some(made) => (made, stat.instructions(made, &[])?),
            };
            let mut options = vec![OsString::from(option)];
            if option == "--html" {
                options.push(stat.at("page.html").into());
            }
            views.insert(name, nearest(100 * stat.instructions(recorded, &options)?, plain));
        }
        Ok(Self { references, views })
    }

    pub(super) fn tables(&self) -> String {
        format!("{}\n{}", STAT_BUDGETS.table(&self.references), VIEW_BUDGETS.table(&self.views))
    }
}

/// Counts and prints all costs. On x86-64, fails if a cost is above its budget.
pub(super) fn within_budget(counter: &Counter) -> anyhow::Result<()> {
    let costs = Costs::count(counter)?;
    write!(io::stdout(), "{}", costs.tables())?;
    if !cfg!(target_arch = "x86_64") {
        return Ok(());
    }
    STAT_BUDGETS.check(&costs.references)?;
    VIEW_BUDGETS.check(&costs.views)
}
