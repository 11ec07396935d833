//! The names of functions and source lines of a replay's programs.

use crate::symbols::{Symbols, without_directory};
use simulator::analysis::details::ProgramDetails;
use simulator::analysis::profile::functions::Functions;
use simulator::recording::bundled;
use simulator::run::Replayed;

/// The symbols of each program; `None` if the program's files are not on this computer.
pub(super) struct Names(Vec<Option<Symbols>>);

impl Names {
    pub(super) fn new(run: &Replayed) -> Self {
        let symbols = |program: &ProgramDetails| match program.name == bundled().name() {
            true => Some(Symbols::bundled()),
            false => Symbols::mapped(&program.mappings),
        };
        Self(run.programs().iter().map(symbols).collect())
    }

    /// Returns the name of an instruction's function, or the address if no function is known.
    pub(super) fn function(&self, program: usize, address: Option<u64>) -> String {
        let Some(address) = address else {
            return "no instruction".to_owned();
        };
        let known = self.symbols(program).and_then(|symbols| symbols.function(address));
        known.map_or_else(|| format!("{address:#x}"), |(_, name)| name.to_owned())
    }

    /// Returns the source file and the line of an instruction, without the file's directory.
    /// Returns an empty string if they are unknown.
    pub(super) fn source(&self, program: usize, address: Option<u64>) -> String {
        let symbols = self.symbols(program).zip(address);
        let source = symbols.and_then(|(symbols, address)| symbols.source(address));
        without_directory(&source.unwrap_or_default()).to_owned()
    }

    fn symbols(&self, program: usize) -> Option<&Symbols> {
        self.0.get(program)?.as_ref()
    }
}

/// Returns the number of the program to which a thread belongs. Threads are numbered across all
/// programs.
pub(super) fn program_of(run: &Replayed, thread: usize) -> usize {
    let ends = run.programs().iter().scan(0, |end, program| {
        *end += program.threads;
        Some(*end)
    });
    ends.take_while(|end| *end <= thread).count()
}
