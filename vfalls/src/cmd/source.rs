//! Finds or makes the recordings that a command replays.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use simulator::recording::{self, Recording, RecordingError};

use crate::budget;
use crate::interrupt::{self, Interrupted};
use crate::numbers::counted_plainly;
use crate::output::OutputFile;
use crate::plain;
use crate::recorder::{self, Options};
use crate::say::say;
use crate::table::{WIDTH, cut};

/// The file name for recordings that are written or replayed, if the user names no file.
pub(crate) const DEFAULT: &str = "vfalls.refs";

/// The largest recording, in bytes, that adds nothing to the memory budget.
const FREE: u64 = 10_000_000;

/// The recording size, in bytes, beyond which the memory budget no longer grows.
const LARGE: u64 = 1 << 40;

/// The name that an older recording gets when a new recording takes the name [`DEFAULT`].
const OLDER: &str = "vfalls.refs.old";

#[derive(clap::Args, Debug)]
pub(crate) struct SourceArgs {
    /// Replay these recordings; `-` is standard input. A recording is a file from vfalls record or valgrind's lackey, a directory or file
    /// from DynamoRIO's drmemtrace, a file for ChampSim, or a text with lines such as 64 r 0x1000 8: strand, kind of reference, address
    /// and number of bytes. The strand can also be written as P64, and the number of bytes can be left out (default: 8 bytes, or 4 for the
    /// kind i). The kinds are r (read), w (write), m (modify), a (modify atomically) and i (instruction). A file can be compressed with
    /// gzip or zstd, or be a zip archive. A recording can have at most 65536 threads [default: ./vfalls.refs if it exists, otherwise a
    /// bundled recording]
    #[arg(value_name = "FILE")]
    recordings: Vec<PathBuf>,

    /// Replay the bundled recording
    #[arg(long, conflicts_with_all = ["recordings", "command"])]
    bundled: bool,

    /// Record this program and its threads into ./vfalls.refs, then replay the recording; the program uses this command's standard
    /// input and output
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "recordings")]
    command: Vec<OsString>,
}

impl SourceArgs {
    /// Returns the recordings to replay. Records a program if the arguments name one.
    pub(crate) fn resolve(&self) -> anyhow::Result<ReplaySource> {
        if !self.command.is_empty() {
            return record(&self.command);
        }
        let inputs = self.recordings.iter().filter(|path| path.as_os_str() == "-").count();
        ensure!(inputs <= 1, "standard input is named {inputs} times, expected at most once");
        Ok(match &self.recordings[..] {
            [] if self.bundled || !Path::new(DEFAULT).is_file() => ReplaySource::Bundled,
            [] => files(vec![DEFAULT.into()]),
            paths => files(paths.to_vec()),
        })
    }
}

impl SourceArgs {
    /// Records the program that the arguments name into a temporary file. Prints that this is recording `number` of `all`.
    pub(crate) fn record_aside(&self, number: u32, all: u32) -> anyhow::Result<ReplaySource> {
        recorder::check(&self.command, Options::default())?;
        let path = env::temp_dir().join(format!("vfalls.{number}.refs"));
        let file = OutputFile::create(path, true)?;
        let recorded = recorder::record(&self.command, file.temporary(), Options::default())?;
        interrupt::release();
        ensure!(!interrupt::happened(), Interrupted);
        say(format_args!("recorded {recorded} (recording {number} of {all})"));
        Ok(ReplaySource::Temporary(file))
    }
}

/// Returns the recordings in these files. For each byte of a file beyond [`FREE`], adds 100 bytes to the memory budget.
fn files(paths: Vec<PathBuf>) -> ReplaySource {
    allow(paths.iter().map(|path| size(path)));
    ReplaySource::Files(paths)
}

fn allow(sizes: impl Iterator<Item = u64>) {
    sizes.for_each(|bytes| budget::allow(100 * bytes.min(LARGE).saturating_sub(FREE)));
}

/// Returns the size of a file, or of all files in a directory and in its folder `trace`. Returns 0 if the size is unknown.
fn size(path: &Path) -> u64 {
    let files = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let sum = |path: &Path| {
        files(path).filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    };
    match path.is_dir() {
        true => [path, &path.join("trace")].map(sum).iter().sum::<u64>(),
        false => path.metadata().map_or(0, |file| file.len()),
    }
}

/// The recordings to replay. A [`stream`](Self::stream) can be opened only once. Other recordings
/// can be opened several times.
pub(crate) enum ReplaySource {
    Bundled,
    /// The paths of files; `-` stands for standard input.
    Files(Vec<PathBuf>),
    /// A recording in a temporary file, which is removed when this value is dropped.
    Temporary(OutputFile),
    /// The paths of files and streams. A stream comes with a temporary file that holds its content.
    Copied(Vec<(PathBuf, Option<OutputFile>)>),
}

/// Copies a stream to a temporary file. `number` is different for each stream of the command.
fn copied(path: &Path, number: usize) -> anyhow::Result<OutputFile> {
    let name = format!("vfalls.copy{number}.refs");
    let mut file = OutputFile::create(env::temp_dir().join(name), true)?;
    let cannot = || format!("{}: cannot be copied to a temporary file", path.display());
    match path.as_os_str() == "-" {
        true => io::copy(&mut io::stdin().lock(), &mut file),
        false => File::open(path).and_then(|mut stream| io::copy(&mut stream, &mut file)),
    }
    .with_context(cannot)?;
    Ok(file)
}

impl ReplaySource {
    pub(crate) fn is_bundled(&self) -> bool {
        matches!(self, Self::Bundled)
    }

    /// Returns the path of a recording that can be opened only once, because it is a pipe or standard input. Returns `None` if all
    /// recordings are files.
    pub(crate) fn stream(&self) -> Option<&Path> {
        match self {
            Self::Files(paths) => paths.iter().map(PathBuf::as_path).find(|path| is_stream(path)),
            Self::Bundled | Self::Temporary(_) | Self::Copied(_) => None,
        }
    }

    /// Copies streams to temporary files, so that the recordings can be opened several times.
    pub(crate) fn rereadable(self) -> anyhow::Result<Self> {
        let paths = match self {
            Self::Files(paths) if paths.iter().any(|path| is_stream(path)) => paths,
            source => return Ok(source),
        };
        let copies = paths.into_iter().enumerate().map(|(number, path)| {
            let copy = is_stream(&path).then(|| copied(&path, number)).transpose()?;
            Ok((path, copy))
        });
        let copies: Vec<(PathBuf, Option<OutputFile>)> = copies.collect::<anyhow::Result<_>>()?;
        allow(copies.iter().filter_map(|(_, copy)| Some(size(copy.as_ref()?.temporary()))));
        Ok(Self::Copied(copies))
    }

    /// Opens the recordings of all processes.
    pub(crate) fn open(&self) -> Result<Vec<Recording>, RecordingError> {
        let all: Result<Vec<_>, _> = match self {
            Self::Bundled => return Ok(vec![recording::bundled()]),
            Self::Files(paths) => paths.iter().map(Recording::open_all).collect(),
            Self::Copied(copies) => copies.iter().map(open_copy).collect(),
            Self::Temporary(file) => {
                return Recording::open_all_as(file.temporary(), "not kept");
            }
        };
        Ok(all?.into_iter().flatten().collect())
    }

    /// Opens the recordings of all processes of one file. Fails if there are several files.
    pub(crate) fn open_one(&self) -> anyhow::Result<Vec<Recording>> {
        match self {
            Self::Files(paths) if paths.len() != 1 => {
                bail!("expected one recording, found {}", paths.len())
            }
            Self::Copied(copies) if copies.len() != 1 => {
                bail!("expected one recording, found {}", copies.len())
            }
            _ => Ok(self.open()?),
        }
    }
}

/// Returns `true` if the recording at this path can be opened only once. Returns `false` for a path that does not exist, so that opening it
/// later reports an error that names the path.
fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-" || path.metadata().is_ok_and(|file| !file.is_file() && !file.is_dir())
}

/// Opens the recordings in a file, or in the copy of a stream. Recordings from a copy get the name of the stream.
fn open_copy(
    (path, copy): &(PathBuf, Option<OutputFile>),
) -> Result<Vec<Recording>, RecordingError> {
    match (copy, path.to_str()) {
        (None, _) => Recording::open_all(path),
        (Some(copy), Some("-")) => Recording::open_all_as(copy.temporary(), "standard input"),
        (Some(copy), _) => Recording::open_all_as(copy.temporary(), &path.to_string_lossy()),
    }
}

/// Starts to count the references of recordings ahead of their replay, for the progress bar. Without a terminal, counts nothing.
pub(crate) fn counted(recordings: Vec<Recording>) -> Vec<Recording> {
    match plain::raw_stderr().is_terminal() || plain::is_terminal() {
        true => recordings.into_iter().map(Recording::count_ahead).collect(),
        false => recordings,
    }
}

/// Returns a line that names these recordings. Processes that another recorded process started are counted, but not named.
pub(crate) fn line(recordings: &[Recording]) -> String {
    let is_first =
        |one: &&Recording| one.process().number == 0 || std::ptr::eq(*one, &recordings[0]);
    let first = recordings.iter().filter(is_first);
    let names: Vec<_> = first
        .map(|recording| match recording.command() {
            Some(command) => format!("{} ({})", recording.name(), cut(command, WIDTH)),
            None => recording.name().to_owned(),
        })
        .collect();
    let line = format!("recording: {}", names.join(", "));
    match recordings.len() - names.len() {
        0 => line,
        more => format!("{line}, and {} that it started", counted_plainly(more as u64, "process")),
    }
}

/// Records a program into the file [`DEFAULT`]. If this file cannot be written, records into a
/// temporary file.
fn record(command: &[OsString]) -> anyhow::Result<ReplaySource> {
    recorder::check(command, Options::default())?;
    let (file, kept) = match OutputFile::create(DEFAULT, true) {
        Ok(file) => (file, true),
        Err(error) => {
            say(format_args!("note: the recording is not kept: {error:#}"));
            (OutputFile::create(env::temp_dir().join(DEFAULT), true)?, false)
        }
    };
    let recorded = recorder::record(command, file.temporary(), Options::default())?;
    interrupt::release();
    ensure!(!interrupt::happened(), Interrupted);
    if !kept {
        say(format_args!("recorded {recorded}"));
        return Ok(ReplaySource::Temporary(file));
    }
    keep(file)?;
    say(format_args!("recorded {recorded} in {DEFAULT}"));
    Ok(files(vec![DEFAULT.into()]))
}

/// Gives a complete recording the name [`DEFAULT`]. If a recording with this name exists, it
/// becomes [`OLDER`].
pub(crate) fn keep(file: OutputFile) -> anyhow::Result<()> {
    if Path::new(DEFAULT).exists() {
        fs::rename(DEFAULT, OLDER)
            .with_context(|| format!("{DEFAULT}: cannot be renamed to {OLDER}"))?;
    }
    file.complete()
}
