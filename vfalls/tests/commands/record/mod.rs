//! Tests `record` with the real emulator. `cargo xtask test` runs these tests, which need the emulator and compilers.

mod classes;
mod ends;
mod messages;
mod processes;
mod programs;
mod threads;

use std::path::Path;
use std::process::Command;

use simulator::recording::{Chunk, Order, Recording, Reference};

use crate::program::{ProgramOutput, TestDirectory};

/// A compiler's command, and the arguments that it always gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compiler(&'static str, &'static [&'static str]);

pub(super) const HOST: Compiler = Compiler("gcc", &[]);
pub(super) const SPARC: Compiler = Compiler("sparc64-linux-gnu-gcc", &[]);
const SPARC_STATIC: Compiler = Compiler("sparc64-linux-gnu-gcc", &["-static"]);

impl Compiler {
    pub(super) fn compile(self, place: &TestDirectory, name: &str, source: &str, flags: &[&str]) {
        place.file(&format!("{name}.c"), source);
        let compiled = Command::new(self.0)
            .args(["-O1", "-g", "-o", name, &format!("{name}.c")])
            .args(self.1)
            .args(flags)
            .arg("-pthread")
            .current_dir(place.path())
            .status();
        assert!(compiled.unwrap().success());
    }
}

/// Runs `record -o refs`, followed by the words of `line`.
fn record(place: &TestDirectory, line: &str) -> ProgramOutput {
    place.run(&format!("record --force -o refs {line}"))
}

/// A recorded process.
pub(super) struct Read {
    pub(super) notes: Vec<String>,
    recording: Recording,
    pub(super) threads: Vec<Thread>,
}

#[derive(Default)]
pub(super) struct Thread {
    pub(super) references: Vec<Reference>,
    /// The thread's orders, each with the index of the reference that follows it.
    order: Vec<(usize, Order)>,
}

impl Read {
    /// Reads the first process of a file.
    pub(super) fn new(file: &Path) -> Self {
        Self::all(file).remove(0)
    }

    /// Reads all processes of a file.
    fn all(file: &Path) -> Vec<Self> {
        Recording::open_all(file).unwrap().into_iter().map(Self::process).collect()
    }

    fn process(mut recording: Recording) -> Self {
        let mut chunk = Chunk::default();
        let mut threads = Vec::new();
        for number in 0..recording.threads() {
            let mut thread = Thread::default();
            while recording.next_chunk(number, &mut chunk).unwrap() {
                let before = thread.references.len();
                thread.order.extend(chunk.order.iter().map(|&(at, order)| (before + at, order)));
                thread.references.extend(chunk.references().iter());
            }
            threads.push(thread);
        }
        let notes = recording.notes().to_vec();
        Self { notes, recording, threads }
    }

    fn from_place(place: &TestDirectory) -> Self {
        Self::new(&place.path().join("refs"))
    }

    fn references(&self) -> usize {
        self.threads.iter().map(|thread| thread.references.len()).sum()
    }
}

/// Returns the number that a program printed after `word`.
pub(super) fn printed(ended: &ProgramOutput, word: &str) -> u64 {
    let mut words = ended.stdout.split_whitespace().skip_while(|found| *found != word);
    let number = words.nth(1).unwrap_or_else(|| panic!("{word}: {}", ended.stdout));
    u64::from_str_radix(number.trim_start_matches("0x"), 16).unwrap()
}

/// Returns the recordings in a place, whose names contain `refs`.
fn recordings(place: &TestDirectory) -> Vec<String> {
    let mut names = place.names(".");
    names.retain(|name| name.contains("refs"));
    names
}
