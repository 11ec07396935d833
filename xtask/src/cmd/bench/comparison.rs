//! Compares `vfalls` with other cache simulators on the same programs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::ensure;
use made::{Data, GeneratedProgram};
use nix::sys::resource::UsageWho::RUSAGE_CHILDREN;
use simulator::recording::{Chunk, Kind, Recording};
use vfalls::recorder::{self, Options};
use vfalls::table;

use super::cost::{Recorded, Stat};
use super::reading;
use super::recording::numbers;
use super::time::timed;
use crate::tools::{self, QEMU_X86, VALGRIND};

/// The number of rounds. Only the best round is reported.
const ROUNDS: usize = 3;

/// The number of lines that `sort` sorts, and the number of rounds that each thread of `threads.c` makes.
const LINES: u32 = 5_000;
const THREAD_ROUNDS: u32 = 20;

/// The number of references that pycachesim gets.
const MAX_REFERENCES: usize = 1_000_000;

/// Simulates caches as large as a T2 Plus's with pycachesim. A single call passes all references, because one call for each would take 17
/// times as long. All lines have the same size, and so do all references.
const PYCACHESIM: &str = "\
import array, cachesim, sys
memory = cachesim.MainMemory()
l2 = cachesim.Cache('L2', 4096, 16, 64, 'LRU')
l1 = cachesim.Cache('L1', 32, 4, 64, 'LRU', store_to=l2, load_from=l2)
memory.load_to(l2)
memory.store_from(l2)
caches = cachesim.CacheSimulator(l1, memory)
words = array.array('Q')
with open(sys.argv[1], 'rb') as file:
    words.frombytes(file.read())
references = [
    ((), (address,)) if stores else ((address,), ())
    for address, stores in zip(words[::2], words[1::2])
]
caches.loadstore(references, length=8)
";

/// Returns a command's processor time in the best of all rounds, in seconds.
fn seconds(command: &mut Command) -> anyhow::Result<f64> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (status, time) = timed(RUSAGE_CHILDREN, || Ok(command.status()?))?;
        ensure!(status.success(), "{} fails with {status}", command.get_program().display());
        best = best.min(time.cpu);
    }
    Ok(best)
}

/// Writes the first references of the first thread as pairs of words: the address, and 1 for a store.
fn write_words(recording: &Path, file: &Path) -> anyhow::Result<usize> {
    let mut recording = Recording::open(recording)?;
    let mut output = BufWriter::new(File::create(file)?);
    let (mut chunk, mut written) = (Chunk::default(), 0);
    while written < MAX_REFERENCES && recording.next_chunk(0, &mut chunk)? {
        for one in chunk.references().iter().take(MAX_REFERENCES - written) {
            let stores = u64::from(matches!(one.kind, Kind::Store | Kind::Modify));
            output.write_all(&one.address.to_le_bytes())?;
            output.write_all(&stores.to_le_bytes())?;
            written += 1;
        }
    }
    output.flush()?;
    Ok(written)
}

/// The tools that are compared with `vfalls`.
struct Comparison<'a> {
    stat: &'a Stat<'a>,
    /// Python with pycachesim, if it is installed.
    python: Option<PathBuf>,
}

impl Comparison<'_> {
    /// Returns a command that gives `words` to pycachesim; `None` if pycachesim is not installed.
    fn pycachesim(&self, words: &Path) -> Option<(Command, [OsString; 3])> {
        let python = self.python.as_ref()?;
        let arguments = ["-c".into(), PYCACHESIM.into(), words.into()];
        let mut command = Command::new(python);
        command.args(&arguments);
        Some((command, arguments))
    }

    /// Measures how many nanoseconds each tool takes for one of a program's references. Returns the rows of a table.
    fn times(&self, program: &[OsString]) -> anyhow::Result<Vec<(String, Option<f64>)>> {
        let [recording, words] = ["beside.refs", "beside.words"].map(|name| self.stat.at(name));
        let emulator = tools::path(&QEMU_X86)?;
        let (mut record, mut references) = (f64::INFINITY, 0);
        for _ in 0..ROUNDS {
            fs::write(&recording, [])?;
            let (recorded, time) = timed(RUSAGE_CHILDREN, || {
                recorder::record(program, &recording, Options::default())
            })?;
            (record, references) = (record.min(time.cpu), recorded.references);
        }
        let recorded = Recorded { file: recording.clone(), references };
        let mut replay = f64::INFINITY;
        for _ in 0..ROUNDS {
            let mut stat = Command::new(&self.stat.vfalls);
            stat.args(["stat", "-"]).stdin(File::open(&recorded.file)?).stdout(Stdio::null());
            let (status, time) = timed(RUSAGE_CHILDREN, || Ok(stat.status()?))?;
            ensure!(status.success(), "vfalls stat fails with {status}");
            replay = replay.min(time.cpu);
        }
        let valgrind = |options: &[&str]| {
            let mut command = Command::new(tools::path(&VALGRIND)?);
            command.arg("--command-line-only=yes").args(options).args(program);
            seconds(&mut command)
        };
        let few = write_words(&recording, &words)?;
        let python = self.pycachesim(&words).map(|(mut command, _)| seconds(&mut command));
        let each = |seconds: f64| Some(seconds / references as f64 * 1e9);
        Ok(vec![
            ("the emulator alone".into(), each(seconds(Command::new(emulator).args(program))?)),
            ("vfalls record".into(), each(record)),
            ("vfalls stat of the recording".into(), each(replay)),
            (
                "cachegrind".into(),
                each(valgrind(&[
                    "--tool=cachegrind",
                    "--cache-sim=yes",
                    "--cachegrind-out-file=/dev/null",
                ])?),
            ),
            (
                "lackey, which only lists references".into(),
                each(valgrind(&["--tool=lackey", "--trace-mem=yes"])?),
            ),
            ("pycachesim".into(), python.transpose()?.map(|seconds| seconds / few as f64 * 1e9)),
        ])
    }

    /// Counts the instructions that `vfalls stat` and pycachesim take for each reference of a generated program with one thread.
    fn instructions(&self, data: Data) -> anyhow::Result<[Option<u64>; 2]> {
        let recorded =
            self.stat.record(&GeneratedProgram { threads: 1, data, references: 2_000_000 })?;
        let stat = self.stat.instructions_per_reference(&recorded)?;
        let words = self.stat.at("beside.words");
        let few = write_words(&recorded.file, &words)? as u64;
        let pycachesim = self.pycachesim(&words).map(|(command, arguments)| {
            let count = self.stat.counter.whole(Path::new(command.get_program()), &arguments)?;
            anyhow::Ok(count / few)
        });
        Ok([Some(stat), pycachesim.transpose()?])
    }
}

/// Measures everything, and returns the tables.
pub(super) fn tables(stat: &Stat<'_>) -> anyhow::Result<String> {
    let python = tools::find("python3").filter(|python| {
        let mut import = Command::new(python);
        let import = import.args(["-c", "import cachesim"]).stderr(Stdio::null());
        import.status().is_ok_and(|status| status.success())
    });
    let beside = Comparison { stat, python };
    let input = stat.at("lines");
    fs::write(&input, numbers(LINES))?;
    let threads = reading::threads(&stat.at("threads"), THREAD_ROUNDS)?;
    let one = beside.times(&reading::sort(&input)?)?;
    let many = beside.times(&threads)?;
    let cell =
        |number: Option<f64>| number.map_or("(is not here)".into(), |one| format!("{one:.1}"));
    let mut times =
        table::with_header("ns of CPU time a reference|>sort, one thread|>threads.c, 64 threads");
    for ((name, one), (_, many)) in one.into_iter().zip(many) {
        // pycachesim has no threads, so it gets only the references of the first thread.
        times.add_row([name, cell(one), cell(many)]);
    }
    let mut counts =
        table::with_header("instructions a reference, one thread, made|>vfalls stat|>pycachesim");
    for (name, data) in [("in the caches", Data::Own), ("a stream", Data::Stream)] {
        let numbers = beside.instructions(data)?;
        let cells = numbers.map(|number| cell(number.map(|number| number as f64)));
        counts.add_row([name.to_owned()].into_iter().chain(cells));
    }
    Ok(format!("{}\n{}", table::text(&times), table::text(&counts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pycachesim_gets_each_reference() {
        let directory = tempfile::tempdir().unwrap();
        let [recording, words] = ["recording", "words"].map(|name| directory.path().join(name));
        // The recording has a load of 8 bytes, a store of 4 bytes, and a fetch.
        fs::write(&recording, "0 r 0x1000 8\n0 w 0x2004 4\n0 i 0x3000 4\n").unwrap();
        assert_eq!(write_words(&recording, &words).unwrap(), 3);
        let words = fs::read(words).unwrap();
        let words: Vec<_> =
            words.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [0x1000, 0, 0x2004, 1, 0x3000, 0]);
    }
}
