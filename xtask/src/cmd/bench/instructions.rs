//! How many instructions a call takes, from the guest's registers in memory to the answer in memory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::cmd::cargo;
use crate::tools;

/// How often `call-cost` makes each call.
const CALLS: u64 = 1000;

/// How many instructions a kind of call may take on x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// To reach: more is a defect.
    pub reach: u64,
    /// To aim for.
    pub aim: u64,
}

/// A kind of call.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, which `call-cost` takes.
    pub name: &'static str,
    /// The function whose instructions count, with all that it calls.
    function: &'static str,
    /// What it may take, where that is decided.
    pub budget: Option<Budget>,
}

const fn ours(name: &'static str, budget: Option<Budget>) -> Kind {
    Kind {
        name,
        function: "call_cost::hypercall",
        budget,
    }
}

/// Everything that is counted; the last one is rustsbi's nearest relative, for comparison.
pub const KINDS: [Kind; 11] = [
    ours("get_dram", Some(Budget { reach: 40, aim: 24 })),
    ours("set_dram", None),
    ours("get_pcr", None),
    ours("set_pcr", None),
    ours("get_zambezi", None),
    ours("set_zambezi", None),
    ours("refused", None),
    // Two more than without a tracer.
    ours("get_dram_tracer_off", Some(Budget { reach: 42, aim: 24 })),
    ours("get_dram_traced", None),
    Kind {
        name: "record_event",
        function: "call_cost::record_event",
        budget: Some(Budget { reach: 25, aim: 25 }),
    },
    Kind {
        name: "rustsbi_fw_read",
        function: "call_cost::rustsbi_fw_read",
        budget: None,
    },
];

/// The program that makes the calls, and the tool that counts.
pub struct Counter {
    valgrind: PathBuf,
    program: PathBuf,
}

impl Counter {
    /// Builds the program, and installs valgrind if need be.
    ///
    /// # Errors
    /// The program cannot be built, or valgrind is missing and cannot be installed.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self {
            valgrind: tools::require("valgrind", "valgrind")?,
            program: cargo::build("tests", "call-cost")?,
        })
    }

    /// The instructions of one call, rounded up. It repeats exactly.
    ///
    /// # Errors
    /// valgrind fails, or counts nothing.
    pub fn count(&self, kind: &Kind) -> anyhow::Result<u64> {
        let output = Command::new(&self.valgrind)
            .args([
                "--command-line-only=yes",
                "--tool=callgrind",
                "--callgrind-out-file=/dev/null",
            ])
            .arg(format!("--toggle-collect={}", kind.function))
            .arg(Path::new(&self.program))
            .arg(kind.name)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("{} cannot be run", self.valgrind.display()))?;
        let text = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "call-cost {} under valgrind failed with {}: {}",
            kind.name,
            output.status,
            text.trim().replace('\n', "; ")
        );
        let collected = collected(&text)
            .with_context(|| format!("callgrind does not say what {} collected", kind.name))?;
        ensure!(
            collected > 0,
            "callgrind found no call of {}",
            kind.function
        );
        Ok(collected.div_ceil(CALLS))
    }
}

/// The number in the line `==1== Collected : 26000`.
fn collected(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, number)| number.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_callgrind_says() {
        let text =
            "==7== Events    : Ir\n==7== Collected : 26000\n==7== \n==7== I   refs:      26,000\n";
        assert_eq!(collected(text), Some(26000));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
        assert_eq!(collected("==7== Collected : \n"), None);
    }
}
