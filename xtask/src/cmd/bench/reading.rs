//! Measures the cost of each reference that `vfalls stat` reads from a file, from the file to the counters.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use nix::sys::resource::UsageWho::RUSAGE_CHILDREN;
use ruzstd::encoding::{CompressionLevel, compress};
use serde::{Deserialize, Serialize};

use super::instructions::Counter;
use super::recording::numbers;
use super::time::timed;
use crate::budgets::X86_BUDGETS;
use crate::cargo;
use crate::tools::{self, VALGRIND};
use vfalls::output::OutputFile;
use vfalls::recorder::{self, Options};

/// A kind of file that `vfalls stat` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A recording of a program with one thread.
    OneThread,
    /// A recording of a program with 64 threads.
    ManyThreads,
    /// Lackey's output, which is text.
    Lackey,
    /// Lackey's output, compressed.
    LackeyZstd,
}

/// All kinds of files, and the names of their figures and budgets. Programs can be recorded only on x86-64.
pub(super) const KINDS: &[(FileKind, &str)] = match cfg!(target_arch = "x86_64") {
    true => &[
        (FileKind::OneThread, "reference_own"),
        (FileKind::ManyThreads, "reference_own_64_threads"),
        (FileKind::Lackey, "reference_lackey"),
        (FileKind::LackeyZstd, "reference_lackey_zstd"),
    ],
    false => &[],
};

/// The cost of a reference in a file.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Figures {
    references: u64,
    instructions: u64,
    cpu_nanoseconds: f64,
    wall_nanoseconds: f64,
}

impl Figures {
    /// Returns the cells of a row in the table. `name` is the name of the budget.
    pub(super) fn cells(&self, name: &str) -> [String; 5] {
        let budget = X86_BUDGETS.budget(name);
        [
            format!("{:.1}", self.references as f64 / 1e6),
            self.instructions.to_string(),
            budget.map_or("-".to_owned(), |budget| budget.limit.to_string()),
            format!("{:.1}", self.cpu_nanoseconds),
            format!("{:.1}", self.wall_nanoseconds),
        ]
    }
}

/// A short and a long file of one kind, and the path of the file that `vfalls stat --json` writes.
pub(super) struct Files {
    vfalls: PathBuf,
    short: OutputFile,
    long: OutputFile,
    json: OutputFile,
}

/// The part of `vfalls stat --json` that this module reads.
#[derive(Deserialize)]
struct Replayed {
    references: u64,
}

struct Lengths {
    /// The number of lines that `sort` sorts.
    numbers: u32,
    /// The number of rounds that each thread of `threads.c` makes.
    rounds: u32,
    /// The number of lines of lackey's output in the file.
    lackey: usize,
}

const SHORT: Lengths = Lengths { numbers: 50, rounds: 1, lackey: 100_000 };
const LONG: Lengths = Lengths { numbers: 2_000, rounds: 25, lackey: 2_000_000 };

impl Files {
    pub(super) fn new(kind: FileKind) -> anyhow::Result<Self> {
        let file = |name: &str| {
            let name = format!("xtask-bench-{}-{name}", std::process::id());
            OutputFile::create(std::env::temp_dir().join(name), false)
        };
        let files = Self {
            vfalls: cargo::vfalls()?,
            short: file("short")?,
            long: file("long")?,
            json: file("json")?,
        };
        let input = file("input")?;
        let scratch = input.temporary();
        for (file, lengths) in [(&files.short, SHORT), (&files.long, LONG)] {
            make(kind, &lengths, file.temporary(), scratch)?;
        }
        Ok(files)
    }

    /// Returns the number of instructions for each reference. Computes it from the difference between the long and the short file, which
    /// excludes the start of the program. Rounds to the nearest integer, because the result varies by 0.3%: `vfalls` divides its work
    /// between two threads differently each time.
    fn instructions(&self, counter: &Counter) -> anyhow::Result<u64> {
        let count = |file: &OutputFile| {
            let instructions = counter.whole(&self.vfalls, &self.arguments(file))?;
            anyhow::Ok((instructions, self.references()?))
        };
        let (short, long) = (count(&self.short)?, count(&self.long)?);
        ensure!(long.1 > short.1, "the longer recording is not longer");
        let references = long.1 - short.1;
        Ok((long.0.saturating_sub(short.0) + references / 2) / references)
    }

    /// Measures the time to replay the long file, and returns the best of `rounds` rounds.
    pub(super) fn figures(&self, counter: &Counter, rounds: usize) -> anyhow::Result<Figures> {
        let (mut cpu, mut wall) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..rounds {
            let mut stat = Command::new(&self.vfalls);
            stat.args(self.arguments(&self.long)).stdout(Stdio::null());
            let (status, time) = timed(RUSAGE_CHILDREN, || Ok(stat.status()?))?;
            ensure!(status.success(), "vfalls stat fails with {status}");
            (cpu, wall) = (cpu.min(time.cpu), wall.min(time.wall));
        }
        let references = self.references()?;
        let nanoseconds = |seconds: f64| seconds / references as f64 * 1e9;
        Ok(Figures {
            references,
            instructions: self.instructions(counter)?,
            cpu_nanoseconds: nanoseconds(cpu),
            wall_nanoseconds: nanoseconds(wall),
        })
    }

    fn arguments(&self, file: &OutputFile) -> Vec<OsString> {
        let [file, json] = [file, &self.json].map(|file| file.temporary().into());
        vec!["stat".into(), file, "--force".into(), "--json".into(), json]
    }

    /// Returns the number of references that `vfalls stat` has replayed.
    fn references(&self) -> anyhow::Result<u64> {
        let run: Replayed = serde_json::from_slice(&fs::read(self.json.temporary())?)?;
        Ok(run.references)
    }
}

/// Counts and prints the instructions per reference for each kind of file that has a budget. Fails
/// if a count is above its budget.
pub(super) fn within_budget(counter: &Counter) -> anyhow::Result<()> {
    let mut counts = BTreeMap::new();
    for (kind, name) in KINDS.iter().filter(|(_, name)| X86_BUDGETS.budget(name).is_some()) {
        counts.insert((*name).to_owned(), Files::new(*kind)?.instructions(counter)?);
    }
    write!(io::stdout(), "{}", X86_BUDGETS.table(&counts))?;
    X86_BUDGETS.check(&counts)
}

/// Creates a file of this kind. `scratch` is a file for intermediate results.
fn make(kind: FileKind, lengths: &Lengths, file: &Path, scratch: &Path) -> anyhow::Result<()> {
    match kind {
        FileKind::OneThread => {
            fs::write(scratch, numbers(lengths.numbers))?;
            record(&sort(scratch)?, file)
        }
        FileKind::ManyThreads => record(&threads(scratch, lengths.rounds)?, file),
        FileKind::Lackey => lackey(lengths.lackey, file, scratch),
        FileKind::LackeyZstd => {
            lackey(lengths.lackey, scratch, file)?;
            let (text, file) = (File::open(scratch)?, File::create(file)?);
            compress(BufReader::new(text), file, CompressionLevel::Fastest);
            Ok(())
        }
    }
}

/// Compiles `threads.c`, and returns the command that executes the program.
pub(super) fn threads(program: &Path, rounds: u32) -> anyhow::Result<[OsString; 2]> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cmd/bench/threads.c");
    let status = Command::new("cc")
        .args(["-O2", "-pthread", "-o"])
        .args([program, Path::new(source)])
        .status()
        .context("cc cannot be run")?;
    ensure!(status.success(), "cc failed with {status}");
    Ok([program.into(), rounds.to_string().into()])
}

pub(super) fn sort(input: &Path) -> anyhow::Result<[OsString; 4]> {
    let sort = tools::find("sort").context("there is no sort")?;
    Ok([sort.into(), "--numeric-sort".into(), "--output=/dev/null".into(), input.into()])
}

fn record(command: &[OsString], file: &Path) -> anyhow::Result<()> {
    fs::write(file, [])?;
    recorder::record(command, file, Options::default()).map(drop)
}

/// Writes the first `lines` lines of lackey's output for `sort`.
fn lackey(lines: usize, file: &Path, scratch: &Path) -> anyhow::Result<()> {
    fs::write(scratch, numbers((lines / 400) as u32))?;
    let mut lackey = Command::new(tools::path(&VALGRIND)?)
        .args("--command-line-only=yes --tool=lackey --trace-mem=yes".split(' '))
        .args(sort(scratch)?)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let text = lackey.stderr.take().context("lackey says nothing")?;
    let mut output = BufWriter::new(File::create(file)?);
    for line in BufReader::new(text).split(b'\n').take(lines) {
        output.write_all(&[&line?[..], b"\n"].concat())?;
    }
    output.flush()?;
    lackey.kill()?;
    lackey.wait()?;
    Ok(())
}
