//! The names of a program's functions, from its ELF file.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context as _, anyhow, ensure};
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind};
use simulator::input::{self, LONGEST_PROGRAM};
use simulator::profile::rows::Functions;
use simulator::recording::BUNDLED_PROGRAM;

/// Where valgrind loads a program that can be loaded anywhere.
const VALGRIND_LOADS_AT: u64 = 0x10_8000;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Function {
    start: u64,
    end: u64,
    name: String,
}

/// The functions of a program, and its debugging information, if it has any.
pub(crate) struct Symbols {
    /// The difference between addresses of the recording and of the file.
    pub(crate) loaded_at: u64,
    /// Sorted by address, without overlaps.
    functions: Vec<Function>,
    debugging: Option<addr2line::Loader>,
}

impl Symbols {
    /// Returns the symbols of the program of the bundled recording.
    #[must_use]
    pub(crate) fn bundled() -> Self {
        Self::from_elf(BUNDLED_PROGRAM, None).expect("the symbols are part of the program")
    }

    /// Reads the symbols of an ELF file that was loaded at `loaded_at`; if that is `None`, where the file says, or else where
    /// valgrind loads it.
    ///
    /// # Errors
    /// The file cannot be read, is no ELF file, or names no function.
    pub(crate) fn open(path: &Path, loaded_at: Option<u64>) -> anyhow::Result<Self> {
        let name = path.display();
        let bytes = input::read(path, LONGEST_PROGRAM)?;
        let mut symbols = Self::from_elf(&bytes, loaded_at).with_context(|| name.to_string())?;
        let debugging = addr2line::Loader::new(path);
        symbols.debugging =
            Some(debugging.map_err(|error| anyhow!("{name}: debugging information: {error}"))?);
        Ok(symbols)
    }

    fn from_elf(bytes: &[u8], loaded_at: Option<u64>) -> anyhow::Result<Self> {
        ensure!(
            bytes.starts_with(b"\x7fELF"),
            "found no ELF file, expected the program that was recorded"
        );
        let elf = object::File::parse(bytes).map_err(|error| anyhow!("{error}"))?;
        let functions = functions(&elf);
        ensure!(
            !functions.is_empty(),
            "names no function: it is stripped of its symbols"
        );
        let anywhere = elf.kind() == ObjectKind::Dynamic;
        let usual = if anywhere { VALGRIND_LOADS_AT } else { 0 };
        Ok(Self {
            loaded_at: loaded_at.unwrap_or(usual),
            functions,
            debugging: None,
        })
    }

    /// Returns the functions that are inlined at an address of the recording, the outermost first; none without debugging
    /// information.
    #[must_use]
    pub(crate) fn inlined(&self, address: u64) -> Vec<String> {
        let address = address.wrapping_sub(self.loaded_at);
        let mut names = Vec::new();
        let debugging = self.debugging.as_ref();
        let Some(Ok(mut frames)) = debugging.map(|debugging| debugging.find_frames(address)) else {
            return names;
        };
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref();
            let name = function.and_then(|name| name.demangle().ok());
            names.push(name.map_or_else(|| "?".to_owned(), Cow::into_owned));
        }
        // The outermost is the function itself.
        names.pop();
        names.reverse();
        names
    }
}

impl Functions for Symbols {
    fn function(&self, address: u64) -> Option<(u64, &str)> {
        let address = address.wrapping_sub(self.loaded_at);
        let after = (self.functions).partition_point(|function| function.start <= address);
        let found = &self.functions[after.checked_sub(1)?];
        let start = found.start.wrapping_add(self.loaded_at);
        (address < found.end).then_some((start, &*found.name))
    }
}

/// Returns all functions that the symbol tables name, one for each address.
fn functions(elf: &object::File<'_>) -> Vec<Function> {
    let mut named: Vec<_> = elf
        .symbols()
        .chain(elf.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some((symbol.address(), symbol.size(), symbol.is_local(), name))
        })
        .collect();
    // Of several names for one address the longest function is taken, then a global name, then the shortest name.
    named.sort_by_key(|&(start, size, local, name)| {
        (start, std::cmp::Reverse(size), local, name.len(), name)
    });
    named.dedup_by_key(|(start, ..)| *start);
    let ends: Vec<u64> = (0..named.len())
        .map(|at| {
            let (start, size, ..) = named[at];
            let next = named.get(at + 1).map(|(next, ..)| *next);
            let end = match size {
                0 => section_end(elf, start),
                size => Some(start.saturating_add(size)),
            };
            // Assembly has no sizes: up to the next function.
            let end = end.into_iter().chain(next).min();
            end.unwrap_or(start)
        })
        .collect();
    let functions = named.into_iter().zip(ends);
    functions
        .map(|((start, _, _, name), end)| Function {
            start,
            end,
            name: addr2line::demangle_auto(name.into(), None).into_owned(),
        })
        .collect()
}

fn section_end(elf: &object::File<'_>, address: u64) -> Option<u64> {
    elf.sections()
        .map(|section| (section.address(), section.address() + section.size()))
        .find(|(start, end)| (*start..*end).contains(&address))
        .map(|(_, end)| end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_symbols() {
        let symbols = Symbols::bundled();
        let name = |address| symbols.function(address);
        let index = (0x23_c820, "workload::build_index");
        assert_eq!(name(0x23_c820), Some(index));
        assert_eq!(name(0x23_c820 + 0xa4), Some(index));
        assert_eq!(name(0x23_c820 + 0xa5), None, "padding");
        assert_eq!(name(0x23_ccef), Some((0x23_cce0, "workload::find")));
        assert_eq!((name(0), name(u64::MAX)), (None, None));
        assert!(symbols.inlined(0x23_c820).is_empty());
    }

    /// The list beside the recording is made by `nm`, from the whole program.
    #[test]
    fn the_bundled_symbols_are_those_of_the_list() {
        let symbols = Symbols::bundled();
        let list = include_str!("../../../simulator/bundled/workload.symbols");
        assert!(list.lines().count() > 60);
        for line in list.lines() {
            let fields: Vec<&str> = line.splitn(3, ' ').collect();
            let number = |field: &str| u64::from_str_radix(field, 16).unwrap();
            let (start, size) = (number(fields[0]), number(fields[1]));
            for address in [start, start + size - 1] {
                let (found, name) = symbols.function(address).unwrap();
                assert_eq!(found, start, "{line}");
                // Of several names for one function each takes one.
                if fields[2].starts_with("workload::") {
                    assert_eq!(name, fields[2]);
                }
            }
        }
    }

    #[test]
    fn what_is_no_program() {
        let error = |bytes: &[u8]| format!("{:#}", Symbols::from_elf(bytes, None).err().unwrap());
        assert!(error(b"#!/bin/sh\n").starts_with("found no ELF file"));
        assert!(!error(b"\x7fELF").is_empty());
    }
}
