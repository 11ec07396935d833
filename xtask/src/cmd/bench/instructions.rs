//! Counts the instructions of a call, from the guest's registers in memory to the answer in memory, and of a sample, from
//! the entry of the guest's overflow handler to its end; and those of a reference that `sim` replays.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::cargo;
use crate::tools::VALGRIND;

/// How many times `call-cost` makes a call, and `sample-cost` takes a sample.
const CALLS: u64 = 1000;

/// A program of the tests whose instructions are counted.
#[derive(Clone, Copy, Debug)]
enum Program {
    Calls,
    Samples,
}

impl Program {
    const fn name(self) -> &'static str {
        match self {
            Self::Calls => "call-cost",
            Self::Samples => "sample-cost",
        }
    }
}

/// A kind of call.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name, which is the argument of the program.
    pub name: &'static str,
    program: Program,
    /// The function whose instructions are counted, with those of all that it calls.
    function: &'static str,
}

const fn ours(name: &'static str) -> Kind {
    Kind {
        name,
        program: Program::Calls,
        function: "call_cost::hypercall",
    }
}

const fn sampling(name: &'static str) -> Kind {
    Kind {
        name,
        program: Program::Samples,
        function: "sample_cost::sample",
    }
}

/// All kinds: calls; the nearest function of rustsbi, for comparison; and samples with one counter, with random periods,
/// and with both counters overflowing at once.
pub const KINDS: [Kind; 14] = [
    ours("get_dram"),
    ours("set_dram"),
    ours("get_pcr"),
    ours("set_pcr"),
    ours("get_zambezi"),
    ours("set_zambezi"),
    ours("refused"),
    ours("get_dram_tracer_off"),
    ours("get_dram_traced"),
    Kind {
        name: "record_event",
        program: Program::Calls,
        function: "call_cost::record_event",
    },
    Kind {
        name: "rustsbi_fw_read",
        program: Program::Calls,
        function: "call_cost::rustsbi_fw_read",
    },
    sampling("sample"),
    sampling("sample_randomised"),
    sampling("sample_both"),
];

/// The programs that make the calls and take the samples, and valgrind.
pub struct Counter {
    valgrind: PathBuf,
    calls: PathBuf,
    samples: PathBuf,
}

impl Counter {
    /// Builds the programs, and installs valgrind if it is missing.
    ///
    /// # Errors
    /// A program cannot be built, or valgrind is missing and cannot be installed.
    pub fn new() -> anyhow::Result<Self> {
        let build = |program: Program| cargo::build("tests", program.name());
        Ok(Self {
            valgrind: VALGRIND.require()?,
            calls: build(Program::Calls)?,
            samples: build(Program::Samples)?,
        })
    }

    /// Returns the instructions of one call or sample, rounded up. The number repeats exactly.
    ///
    /// # Errors
    /// valgrind fails, or counts nothing.
    pub fn count(&self, kind: &Kind) -> anyhow::Result<u64> {
        let program = match kind.program {
            Program::Calls => &self.calls,
            Program::Samples => &self.samples,
        };
        let collect = format!("--toggle-collect={}", kind.function);
        let collected = self.collected(&[&collect], program, &[kind.name], Stdio::null())?;
        ensure!(
            collected > 0,
            "callgrind found no call of {}",
            kind.function
        );
        Ok(collected.div_ceil(CALLS))
    }

    /// Returns the instructions for each of the references of the bundled recording: what `sim` takes with these arguments, but for
    /// what it takes for a recording of one reference.
    ///
    /// # Errors
    /// valgrind fails, or counts nothing.
    pub fn replay(&self, arguments: &[&str], references: u64) -> anyhow::Result<u64> {
        let own = env::current_exe()?;
        let bundled = cargo::root().join("simulator/bundled/workload.refs");
        // A pipe holds so little at once.
        let (short, mut end) = io::pipe()?;
        end.write_all(b"0 r 0x1000\n")?;
        drop(end);
        let sim = |recording: Stdio| {
            let arguments = [&["sim"], arguments, &["-"]].concat();
            self.collected(&[], &own, &arguments, recording)
        };
        let whole = sim(File::open(bundled)?.into())?;
        Ok(whole.saturating_sub(sim(short.into())?) / references)
    }

    /// Returns the instructions of this program with these arguments, from its start to its end.
    pub(super) fn own(&self, arguments: &[OsString]) -> anyhow::Result<u64> {
        self.collected(&[], &env::current_exe()?, arguments, Stdio::null())
    }

    /// Returns the instructions that callgrind counts of a program, with these options.
    fn collected(
        &self,
        options: &[&str],
        program: &Path,
        arguments: &[impl AsRef<OsStr>],
        input: Stdio,
    ) -> anyhow::Result<u64> {
        let output = Command::new(&self.valgrind)
            .args([
                "--command-line-only=yes",
                "--tool=callgrind",
                "--callgrind-out-file=/dev/null",
            ])
            .args(options)
            .arg(program)
            .args(arguments)
            .stdin(input)
            .output()
            .with_context(|| format!("{} cannot be run", self.valgrind.display()))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let name = || {
            let words = arguments.iter().map(|word| word.as_ref().to_string_lossy());
            let words = words.collect::<Vec<_>>().join(" ");
            format!("{} {words}", program.display())
        };
        ensure!(
            output.status.success(),
            "{} under valgrind failed with {}: {}",
            name(),
            output.status,
            text.trim().replace('\n', "; ")
        );
        collected(&text).with_context(|| format!("callgrind reports no count for {}", name()))
    }
}

/// Returns the number in the line `==1== Collected : 26000`.
fn collected(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, number)| number.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_callgrind_is_parsed() {
        let text =
            "==7== Events    : Ir\n==7== Collected : 26000\n==7== \n==7== I   refs:      26,000\n";
        assert_eq!(collected(text), Some(26000));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
        assert_eq!(collected("==7== Collected : \n"), None);
    }
}
