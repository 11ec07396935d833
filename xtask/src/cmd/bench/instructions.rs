//! Counts the instructions of three things:
//! - a call, from the guest's registers in memory to the answer in memory
//! - a sample, from the entry to the end of the guest's overflow handler
//! - a reference that `vfalls stat` replays

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::cargo;
use crate::tools::{self, VALGRIND};

/// The number of calls that `call-cost` makes, and of samples that `sample-cost` takes.
const REPETITIONS: u64 = 1000;

/// The programs of `tests` that make calls and take samples.
const PROGRAMS: [&str; 2] = ["call-cost", "sample-cost"];

/// A call or a sample whose instructions are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallKind {
    /// The name that the program takes as its argument, and that reports show.
    pub(crate) name: &'static str,
    /// The index of the program in [`PROGRAMS`].
    program: usize,
    /// The function whose instructions are counted, together with those of the functions that it calls.
    function: &'static str,
}

const fn call(name: &'static str, function: &'static str) -> CallKind {
    CallKind { name, program: 0, function }
}

const fn ours(name: &'static str) -> CallKind {
    call(name, "call_cost::hypercall")
}

const fn sampling(name: &'static str) -> CallKind {
    CallKind { program: 1, ..call(name, "sample_cost::sample") }
}

/// All kinds of calls and samples. For comparison, the calls include rustsbi's most similar function. The samples are taken with one
/// counter, with random periods, and with both counters overflowing at the same time.
pub(crate) const CALLS: [CallKind; 21] = [
    ours("get_dram"),
    ours("set_dram"),
    ours("get_pcr"),
    ours("set_pcr"),
    ours("get_zambezi"),
    ours("set_zambezi"),
    ours("get_bad_trap"),
    ours("set_bad_trap"),
    ours("get_invalid"),
    ours("set_invalid"),
    ours("get_not_supported"),
    ours("set_not_supported"),
    ours("get_no_access"),
    ours("set_no_access"),
    ours("get_dram_tracer_off"),
    ours("get_dram_traced"),
    call("record_event", "call_cost::record_event"),
    call("rustsbi_fw_read", "call_cost::rustsbi_fw_read"),
    sampling("sample"),
    sampling("sample_randomised"),
    sampling("sample_both"),
];

/// The programs that make the calls and take the samples.
pub(crate) struct Counter {
    valgrind: PathBuf,
    programs: [PathBuf; 2],
}

impl Counter {
    /// Builds the programs, and installs valgrind if it is missing.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let [calls, samples] = PROGRAMS.map(|program| cargo::build("tests", program));
        Ok(Self { valgrind: tools::path(&VALGRIND)?, programs: [calls?, samples?] })
    }

    /// Returns the number of instructions of one call or sample, rounded up. The number does not vary between runs.
    pub(crate) fn count(&self, kind: &CallKind) -> anyhow::Result<u64> {
        let program = &self.programs[kind.program];
        let collect = format!("--toggle-collect={}", kind.function);
        let collected = self.collected(&[&collect], program, &[kind.name], Stdio::null())?;
        ensure!(collected > 0, "callgrind found no call of {}", kind.function);
        Ok(collected.div_ceil(REPETITIONS))
    }

    /// Counts the instructions that a program executes from its start to its end.
    pub(super) fn whole(&self, program: &Path, arguments: &[OsString]) -> anyhow::Result<u64> {
        self.collected(&[], program, arguments, Stdio::null())
    }

    /// Counts the instructions that a program executes with this standard input, from its start to its end.
    pub(super) fn with_input(
        &self,
        program: &Path,
        arguments: &[OsString],
        input: File,
    ) -> anyhow::Result<u64> {
        self.collected(&[], program, arguments, input.into())
    }

    /// Counts a program's instructions with callgrind and these options.
    fn collected(
        &self,
        options: &[&str],
        program: &Path,
        arguments: &[impl AsRef<OsStr>],
        input: Stdio,
    ) -> anyhow::Result<u64> {
        let output = Command::new(&self.valgrind)
            .args(["--command-line-only=yes", "--tool=callgrind", "--callgrind-out-file=/dev/null"])
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

/// Parses the number in the line `==1== Collected : 26000`.
pub(super) fn collected(text: &str) -> Option<u64> {
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
