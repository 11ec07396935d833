//! The names of functions and source lines of a replay's programs.

use crate::symbols::{Symbols, without_directory};
use simulator::analysis::details::ProgramDetails;
use simulator::analysis::profile::functions::Functions;
use simulator::recording::{Recording, bundled};
use simulator::run::Replayed;

/// The symbols of each program, indexed by program; `None` if the program's files are not on this
/// computer.
pub(crate) struct Names(Vec<Option<Symbols>>);

impl Names {
    pub(crate) fn new(run: &Replayed) -> Self {
        let symbols = |program: &ProgramDetails| match program.name == bundled().name() {
            true => Some(Symbols::bundled()),
            false => Symbols::mapped(&program.mappings),
        };
        Self(run.programs().iter().map(symbols).collect())
    }

    /// Returns the names of these programs. If `is_bundled` is `true`, returns the names of the bundled program instead.
    pub(crate) fn of_recordings(programs: &[Recording], is_bundled: bool) -> Self {
        let symbols = |program: &Recording| match is_bundled {
            true => Some(Symbols::bundled()),
            false => Symbols::mapped(program.mappings()),
        };
        Self(programs.iter().map(symbols).collect())
    }

    /// Describes where a call is made. `returns_to` is the address to which the called function returns. The text is the name of the
    /// calling function, which may be inlined, with its source file and line if they are known. If the function is unknown, the text is the
    /// address.
    pub(crate) fn call(&self, program: usize, returns_to: u64) -> String {
        let address = returns_to.saturating_sub(1);
        let caller = self.symbols(program).and_then(|symbols| {
            let function = || symbols.function(address).map(|(_, name)| name.to_owned());
            let name = symbols.inlined(address).pop().or_else(function)?;
            Some(match symbols.line(address) {
                Some((file, line)) => format!("{name} ({}:{line})", without_directory(&file)),
                None => name,
            })
        });
        caller.unwrap_or_else(|| format!("{returns_to:#x}"))
    }

    /// Returns the name of the variable that contains an address, or the address if no variable is
    /// known.
    pub(crate) fn variable(&self, program: usize, address: u64) -> String {
        let symbols = self.symbols(program);
        let mut names =
            symbols.into_iter().flat_map(|symbols| symbols.variables(address..address + 1));
        names.next().map_or_else(|| format!("{address:#x}"), str::to_owned)
    }

    /// Returns the name of an instruction's function, or the address if no function is known.
    pub(crate) fn function(&self, program: usize, address: Option<u64>) -> String {
        let Some(address) = address else {
            return "no instruction".to_owned();
        };
        let known = self.symbols(program).and_then(|symbols| symbols.function(address));
        known.map_or_else(|| format!("{address:#x}"), |(_, name)| name.to_owned())
    }

    /// Returns the source file of an instruction, without its directory, and the line. Returns an
    /// empty string if they are unknown.
    pub(crate) fn source(&self, program: usize, address: Option<u64>) -> String {
        let symbols = self.symbols(program).zip(address);
        let source = symbols.and_then(|(symbols, address)| symbols.source(address));
        without_directory(&source.unwrap_or_default()).to_owned()
    }

    fn symbols(&self, program: usize) -> Option<&Symbols> {
        self.0.get(program)?.as_ref()
    }
}

/// Returns the index of the program that a thread executes. Threads are numbered consecutively across all programs.
pub(crate) fn program_of(run: &Replayed, thread: usize) -> usize {
    let ends = run.programs().iter().scan(0, |end, program| {
        *end += program.threads;
        Some(*end)
    });
    ends.take_while(|end| *end <= thread).count()
}
