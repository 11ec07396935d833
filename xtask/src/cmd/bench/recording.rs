//! Measures the cost of recording programs and of reading the recordings.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use nix::sys::resource::UsageWho::{RUSAGE_CHILDREN, RUSAGE_SELF};
use serde::Serialize;
use simulator::recording::{Chunk, Recording};

use super::instructions::collected as instructions_in;
use super::time::timed;
use crate::cargo;
use crate::tools::{self, QEMU_X86, VALGRIND};
use vfalls::output::OutputFile;
use vfalls::recorder::{self, Options};
use vfalls::table;

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

/// The two lengths of the text, in lines, for counting instructions. The difference between the two instruction counts excludes the start
/// of the program, and most of the emulator's translation.
const COUNTED_LINES: [u32; 2] = [500, 2000];

/// The maximum number of instructions that recording may add to the emulator's process for each reference.
const MAX_INSTRUCTIONS: f64 = 50.0;

/// The instructions for each recorded reference, counted by callgrind.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Instructions {
    /// The instructions that the emulator executes without the recorder.
    emulator: f64,
    /// The instructions that the recorder adds to the emulator's process.
    recorder: f64,
    /// The instructions of `vfalls record`, which compresses and writes the recording. Their number depends slightly on timing.
    tool: f64,
}

/// The cost of recording a program.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Cost {
    references: u64,
    /// The time that recording adds to the emulator's own time for each reference, in nanoseconds.
    recording_nanoseconds: f64,
    /// The time with recording, divided by the emulator's own time.
    times_the_emulator: f64,
    bytes: f64,
    reading_nanoseconds: f64,
    /// The instruction counts; `None` if the program does not read the text, because the length of its run then cannot be chosen.
    instructions: Option<Instructions>,
}

impl Cost {
    pub(super) fn cells(&self) -> [String; 7] {
        let cell = |count: fn(&Instructions) -> f64| {
            self.instructions.as_ref().map_or("-".into(), |all| format!("{:.1}", count(all)))
        };
        [
            format!("{:.0}", self.references as f64 / 1e6),
            format!("{:.1}", self.recording_nanoseconds),
            format!("{:.1}", self.times_the_emulator),
            format!("{:.2}", self.bytes),
            format!("{:.1}", self.reading_nanoseconds),
            cell(|all| all.recorder),
            cell(|all| all.tool),
        ]
    }
}

/// Measures the cost of recording a program, and returns the best of `rounds` rounds. Returns `None` if the program is not installed.
pub(super) fn cost(program: (&str, &[&str]), rounds: usize) -> anyhow::Result<Option<Cost>> {
    let directory = std::env::temp_dir();
    let measured = with_text(program, LINES, |command| measure(command, &directory, rounds))?;
    let Some(cost) = measured else { return Ok(None) };
    Ok(Some(Cost { instructions: instructions(program)?, ..cost }))
}

/// Counts and prints the instructions of recording. Fails if recording adds more than [`MAX_INSTRUCTIONS`] for each reference.
pub(super) fn within_budget() -> anyhow::Result<()> {
    let mut table = table::with_header(
        "instructions of a recorded reference|>emulator|>recorder|>to reach|>vfalls record",
    );
    let mut most: f64 = 0.0;
    for program @ (name, _) in PROGRAMS {
        let Some(Instructions { emulator, recorder, tool }) = instructions(program)? else {
            continue;
        };
        let numbers = [emulator, recorder, MAX_INSTRUCTIONS, tool];
        let numbers = numbers.map(|number| format!("{number:.1}"));
        table.add_row([name.to_owned()].into_iter().chain(numbers));
        most = most.max(recorder);
    }
    write!(io::stdout(), "{}", table::text(&table))?;
    ensure!(
        most <= MAX_INSTRUCTIONS,
        "recording adds {most:.1} instructions a reference, the budget is {MAX_INSTRUCTIONS}"
    );
    Ok(())
}

/// Calls `work` with the command of a program that reads a text of `lines` lines. Returns `None` if the program is not installed.
fn with_text<T>(
    (name, words): (&str, &[&str]),
    lines: u32,
    work: impl FnOnce(&[OsString]) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    // The program in PATH may be a version manager's script, which is not an ELF file.
    let places = [tools::find(name), Some(Path::new("/usr/bin").join(name))];
    let can_be_recorded =
        |program: &PathBuf| recorder::check(&[program.clone().into()], Options::default()).is_ok();
    let Some(program) = places.into_iter().flatten().find(can_be_recorded) else {
        return Ok(None);
    };
    let own = format!("xtask-bench-{}", std::process::id());
    let input = OutputFile::create(std::env::temp_dir().join(own), false)?;
    fs::write(input.temporary(), numbers(lines))?;
    let mut command = vec![program.into_os_string()];
    command.extend(words.iter().map(|word| match *word {
        "FILE" => input.temporary().into(),
        word => OsString::from(word),
    }));
    let result = work(&command).map(Some);
    let _ = fs::remove_file(format!("{}.gz", input.temporary().display()));
    result
}

/// Counts the instructions for each recorded reference. Returns `None` if the program does not read the text, or is not installed.
fn instructions(program: (&str, &[&str])) -> anyhow::Result<Option<Instructions>> {
    if !program.1.contains(&"FILE") {
        return Ok(None);
    }
    let [short, long] = COUNTED_LINES.map(|lines| with_text(program, lines, count));
    let (Some(short), Some(long)) = (short?, long?) else { return Ok(None) };
    let [references, alone, with, tool] =
        std::array::from_fn(|at| long[at].saturating_sub(short[at]) as f64);
    Ok(Some(Instructions {
        emulator: alone / references,
        recorder: (with - alone) / references,
        tool: tool / references,
    }))
}

/// Records a command. Returns the number of references, and the instructions of three processes: the emulator alone, the emulator with the
/// recorder, and `vfalls record`.
fn count(command: &[OsString]) -> anyhow::Result<[u64; 4]> {
    let name = format!("xtask-bench-{}.refs", std::process::id());
    let output = OutputFile::create(std::env::temp_dir().join(name), false)?;
    let file = output.temporary();
    let emulator = tools::path(&QEMU_X86)?;
    let vfalls = cargo::vfalls()?;
    let record = [
        "record".as_ref(),
        "--force".as_ref(),
        "--output".as_ref(),
        file.as_os_str(),
        "--".as_ref(),
    ];
    let alone = collected(&[&[emulator.into_os_string()], command].concat())?;
    let record = record.map(OsStr::to_owned);
    let with = collected(&[&[vfalls.into_os_string()], &record[..], command].concat())?;
    let references = Recording::open(file)?.references().context("the recording is incomplete")?;
    // The emulator's process ends before that of `vfalls record`.
    let ([alone], [with, tool]) = (&alone[..], &with[..]) else {
        anyhow::bail!("expected counts for the emulator and for vfalls record, found others");
    };
    Ok([references, *alone, *with, *tool])
}

/// Executes a command, and returns the instructions of each of its processes, in the order in which the processes end.
fn collected(command: &[OsString]) -> anyhow::Result<Vec<u64>> {
    let output = Command::new(tools::path(&VALGRIND)?)
        .args(["--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=/dev/null"])
        .args(command)
        .stdin(Stdio::null())
        .output()?;
    ensure!(output.status.success(), "valgrind failed with {}", output.status);
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(text.lines().filter_map(instructions_in).collect())
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
        instructions: None,
    })
}
