//! Measures the cost of recording programs and of reading the recordings.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::ensure;
use nix::sys::resource::UsageWho::{RUSAGE_CHILDREN, RUSAGE_SELF};
use serde::Serialize;
use simulator::recording::{Chunk, Recording};

use super::time::timed;
use crate::tools::{self, QEMU_X86};
use vfalls::output::OutputFile;
use vfalls::recorder::{self, Options};

/// The programs to record, if they are installed: their names and arguments. `FILE` stands for a text file of [`LINES`] lines.
pub(super) const PROGRAMS: [(&str, &[&str]); 3] = [
    ("sort", &["--numeric-sort", "--output=/dev/null", "FILE"]),
    ("gzip", &["--keep", "--force", "FILE"]),
    (
        "python3",
        &["-c", "print(len({str(i * 7919) for i in range(100000)}), file=open('/dev/null', 'w'))"],
    ),
];

const LINES: u32 = 50_000;

/// The cost of recording a program.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Cost {
    references: u64,
    /// How many nanoseconds recording adds to the emulator's own time for each reference.
    recording_nanoseconds: f64,
    /// The time with recording, divided by the emulator's own time.
    times_the_emulator: f64,
    bytes: f64,
    reading_nanoseconds: f64,
}

impl Cost {
    pub(super) fn cells(&self) -> [String; 5] {
        [
            format!("{:.0}", self.references as f64 / 1e6),
            format!("{:.1}", self.recording_nanoseconds),
            format!("{:.1}", self.times_the_emulator),
            format!("{:.2}", self.bytes),
            format!("{:.1}", self.reading_nanoseconds),
        ]
    }
}

/// Measures the cost of recording a program, and returns the best of `rounds` rounds. Returns `None` if the program is not installed.
pub(super) fn cost((name, words): (&str, &[&str]), rounds: usize) -> anyhow::Result<Option<Cost>> {
    // The program in PATH may be the script of a version manager, which is not an ELF file.
    let places = [tools::find(name), Some(Path::new("/usr/bin").join(name))];
    let can_be_recorded =
        |program: &PathBuf| recorder::check(&[program.clone().into()], Options::default()).is_ok();
    let Some(program) = places.into_iter().flatten().find(can_be_recorded) else {
        return Ok(None);
    };
    let directory = std::env::temp_dir();
    let own = format!("xtask-bench-{}", std::process::id());
    let input = OutputFile::create(directory.join(own), false)?;
    fs::write(input.temporary(), numbers(LINES))?;
    let mut command = vec![program.into_os_string()];
    command.extend(words.iter().map(|word| match *word {
        "FILE" => input.temporary().into(),
        word => OsString::from(word),
    }));
    let cost = measure(&command, &directory, rounds).map(Some);
    let _ = fs::remove_file(format!("{}.gz", input.temporary().display()));
    cost
}

/// Returns a text of `lines` lines, each with a number.
pub(super) fn numbers(lines: u32) -> String {
    let mut text = String::new();
    let mut number = 1_u32;
    for _ in 0..lines {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let _ = writeln!(text, "{}", number >> 8);
    }
    text
}

fn measure(command: &[OsString], directory: &Path, rounds: usize) -> anyhow::Result<Cost> {
    let name = format!("xtask-bench-{}.refs", std::process::id());
    let output = OutputFile::create(directory.join(name), false)?;
    let file = output.temporary();
    let emulator = tools::path(&QEMU_X86)?;
    let (mut alone, mut with, mut reading) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let (mut references, mut bytes) = (0, 0);
    for _ in 0..rounds {
        let (status, time) = timed(RUSAGE_CHILDREN, || {
            let mut emulator = Command::new(&emulator);
            Ok(emulator.args(command).stdin(Stdio::null()).status()?)
        })?;
        ensure!(status.success(), "{status}");
        alone = alone.min(time.cpu);
        fs::write(file, [])?;
        let (recorded, time) =
            timed(RUSAGE_CHILDREN, || recorder::record(command, file, Options::default()))?;
        (references, bytes) = (recorded.references, recorded.bytes);
        with = with.min(time.cpu);
        let ((), time) = timed(RUSAGE_SELF, || {
            let mut recording = Recording::open(file)?;
            let mut chunk = Chunk::default();
            for thread in 0..recording.threads() {
                while recording.next_chunk(thread, &mut chunk)? {}
            }
            Ok(())
        })?;
        reading = reading.min(time.cpu);
    }
    let count = references as f64;
    Ok(Cost {
        references,
        recording_nanoseconds: (with - alone) / count * 1e9,
        times_the_emulator: with / alone,
        bytes: bytes as f64 / count,
        reading_nanoseconds: reading / count * 1e9,
    })
}
