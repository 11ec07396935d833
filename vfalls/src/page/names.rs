//! The names of the code of a replay's programs.

use crate::symbols::Symbols;
use simulator::analysis::profile::functions::Functions;
use simulator::recording::bundled;

use simulator::analysis::details::ProgramDetails;
use simulator::run::Replayed;

/// The symbols of each program, if its files are here.
pub(super) struct Names(Vec<Option<Symbols>>);

impl Names {
    /// Looks for the files of the programs.
    #[must_use]
    pub(super) fn new(run: &Replayed) -> Self {
        let symbols = |program: &ProgramDetails| match program.name == bundled().name() {
            true => Some(Symbols::bundled()),
            false => Symbols::mapped(&program.mappings),
        };
        Self(run.programs().iter().map(symbols).collect())
    }

    /// Returns the name of the function that has an instruction. The address stands for a function that is not known.
    #[must_use]
    pub(super) fn function(&self, program: usize, address: Option<u64>) -> String {
        let Some(address) = address else {
            return "no instruction".to_owned();
        };
        let known = self.symbols(program).and_then(|symbols| symbols.function(address));
        known.map_or_else(|| format!("{address:#x}"), |(_, name)| name.to_owned())
    }

    /// Returns the file, without its directory, and the line of an instruction; nothing if they are not known.
    #[must_use]
    pub(super) fn source(&self, program: usize, address: Option<u64>) -> String {
        let symbols = self.symbols(program).zip(address);
        let source = symbols.and_then(|(symbols, address)| symbols.source(address));
        let source = source.unwrap_or_default();
        source.rsplit('/').next().unwrap_or_default().to_owned()
    }

    fn symbols(&self, program: usize) -> Option<&Symbols> {
        self.0.get(program)?.as_ref()
    }
}

/// Returns the program of a thread: threads have numbers of their own over all programs.
#[must_use]
pub(super) fn program_of(run: &Replayed, thread: usize) -> usize {
    let ends = run.programs().iter().scan(0, |end, program| {
        *end += program.threads;
        Some(*end)
    });
    ends.take_while(|end| *end <= thread).count()
}
