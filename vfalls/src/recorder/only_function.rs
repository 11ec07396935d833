use std::path::Path;

use anyhow::{Context, anyhow, bail};
use object::{Object, ObjectSymbol, SymbolKind};
use simulator::input::{self, MAX_PROGRAM_BYTES};
use simulator::nearest::unknown;

use crate::symbols::{demangled, is_named};

/// A function that is recorded alone.
#[derive(Debug)]
pub(super) struct OnlyFunction {
    pub(super) function: String,
    /// The names of the function's symbols.
    pub(super) symbols: Vec<String>,
    /// The message that the program has no such function; `None` if it has one.
    unknown: Option<String>,
}

impl OnlyFunction {
    /// Finds a function of a program. If the program itself lacks the function, one of its shared libraries may have it. Fails if the
    /// program has no shared libraries.
    pub(super) fn find(program: &Path, function: &str) -> anyhow::Result<Self> {
        let shown = || program.display().to_string();
        let bytes = input::read_ordinary(program, MAX_PROGRAM_BYTES)?;
        let elf = object::File::parse(&*bytes).map_err(|error| anyhow!("{error}"));
        let elf = elf.with_context(shown)?;
        let all = elf.symbols().chain(elf.dynamic_symbols());
        let functions = all.filter(|one| one.kind() == SymbolKind::Text && one.is_definition());
        let names = functions.filter_map(|one| one.name().ok());
        let names: Vec<_> = names.map(|name| (name, demangled(name))).collect();
        let meant = names.iter().filter(|(_, shown)| is_named(shown, function));
        let mut symbols: Vec<_> = meant.map(|(name, _)| (*name).to_owned()).collect();
        symbols.sort_unstable();
        symbols.dedup();
        let mut missing = None;
        if symbols.is_empty() {
            let message = unknown("function", function, names.iter().map(|(_, shown)| &**shown));
            if elf.section_by_name(".interp").is_none() {
                bail!("{}: {message}", shown());
            }
            symbols.push(function.to_owned());
            missing = Some(message);
        }
        Ok(Self { function: function.to_owned(), symbols, unknown: missing })
    }

    /// Returns the message for a program that never called the function.
    pub(super) fn never_called(&self, program: &str) -> String {
        let function = &self.function;
        let unknown =
            self.unknown.as_ref().map(|unknown| format!(". In the program itself, {unknown}"));
        format!("{program} never called {function}{}", unknown.unwrap_or_default())
    }

    /// Returns a note that says which part of a program is recorded.
    pub(super) fn note(&self, program: &str) -> String {
        format!("{program} is recorded only while a thread executes {}", self.function)
    }
}
