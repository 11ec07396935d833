//! An ELF file: its functions and variables, and its debugging information if there is any.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use object::{
    Architecture, Object, ObjectKind, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind,
};
use simulator::input::{self, MAX_PROGRAM_BYTES};
use simulator::text::line;

use super::debugging::DebugInfo;
use super::separate::SeparateDebugFile;

/// The name of a function or variable, and the addresses of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    start: u64,
    end: u64,
    name: String,
}

/// Returns the bytes at `addresses` in an ELF file, and whether the file is for SPARC V9.
pub(super) fn code(elf: &[u8], addresses: &Range<u64>) -> Option<(Vec<u8>, bool)> {
    let elf = parse(elf).ok()?;
    let size = addresses.end.checked_sub(addresses.start)?;
    let bytes = (elf.sections())
        .find_map(|section| section.data_range(addresses.start, size).ok().flatten())?;
    Some((bytes.to_vec(), elf.architecture() == Architecture::Sparc64))
}

/// A part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug)]
struct Segment {
    address: u64,
    offset: u64,
    length: u64,
}

/// The functions and variables of an ELF file, by their addresses in the file.
pub(super) struct Binary {
    /// Whether the file is position-independent and can therefore be loaded at any address.
    pub(super) anywhere: bool,
    segments: Vec<Segment>,
    /// The size of a page of memory, in bytes.
    page: u64,
    /// The functions, sorted by address, without overlaps. `variables` is sorted in the same way.
    functions: Vec<Named>,
    variables: Vec<Named>,
    /// The address and the name of each marker. A marker can be in several places.
    markers: Vec<(u64, String)>,
    debugging: Option<DebugInfo>,
}

impl Binary {
    /// Reads a file and its separate debug file. The debug file is below `root`, or at the path
    /// that the file names. Fails if the file's build id differs from `build_id`, unless `build_id`
    /// is empty.
    pub(super) fn open(path: &Path, build_id: &[u8], root: &Path) -> anyhow::Result<Self> {
        let bytes = input::read_ordinary(path, MAX_PROGRAM_BYTES)?;
        Self::with_debugging(&bytes, path, build_id, root)
            .with_context(|| path.display().to_string())
    }

    fn with_debugging(
        bytes: &[u8],
        path: &Path,
        build_id: &[u8],
        root: &Path,
    ) -> anyhow::Result<Self> {
        let elf = parse(bytes)?;
        let found = elf.build_id().ok().flatten().unwrap_or_default();
        ensure!(
            build_id.is_empty() || build_id == found,
            "has changed since the program was recorded: its build id differs"
        );
        let separate = match elf.section_by_name(".debug_info") {
            Some(_) => None,
            None => SeparateDebugFile::find(&elf, path, root),
        };
        let (binary, debugging) = match &separate {
            Some(separate) => (
                Self::new(&[&elf, &parse(&separate.bytes)?])?,
                DebugInfo::new(&separate.bytes, separate.shared(root).as_deref()),
            ),
            None => (Self::new(&[&elf])?, DebugInfo::new(bytes, None)),
        };
        binary.debugged_by(debugging)
    }

    fn debugged_by(mut self, debugging: anyhow::Result<DebugInfo>) -> anyhow::Result<Self> {
        self.debugging = Some(debugging.context("debugging information")?);
        Ok(self)
    }

    /// Returns the build id of a file; empty if the file has no build id.
    pub(super) fn build_id(path: &Path) -> anyhow::Result<Vec<u8>> {
        let bytes = input::read_ordinary(path, MAX_PROGRAM_BYTES)?;
        let elf = parse(&bytes).with_context(|| path.display().to_string())?;
        Ok(elf.build_id().ok().flatten().unwrap_or_default().to_vec())
    }

    /// Reads an ELF file from memory, without any separate debug file.
    pub(super) fn from_elf(bytes: &[u8]) -> anyhow::Result<Self> {
        Self::new(&[&parse(bytes)?])?.debugged_by(DebugInfo::new(bytes, None))
    }

    /// Collects the functions and variables that the symbol tables of `files` name. The first file
    /// is the one that the program loaded.
    fn new(files: &[&object::File<'_>]) -> anyhow::Result<Self> {
        let functions = named(files, SymbolKind::Text);
        ensure!(!functions.is_empty(), "names no function: it is stripped of its symbols");
        let elf = files[0];
        let segment = |segment: object::Segment<'_, '_>| {
            let (offset, length) = segment.file_range();
            Segment { address: segment.address(), offset, length }
        };
        Ok(Self {
            anywhere: elf.kind() == ObjectKind::Dynamic,
            segments: elf.segments().map(segment).collect(),
            page: match elf.architecture() {
                Architecture::Sparc64 => 0x2000,
                _ => 0x1000,
            },
            functions,
            variables: named(files, SymbolKind::Data),
            markers: markers(files),
            debugging: None,
        })
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = (u64, &str)> {
        self.functions.iter().map(|function| (function.start, &*function.name))
    }

    /// Returns the address and the name of each marker. A marker can be in several places.
    pub(super) fn markers(&self) -> impl Iterator<Item = (u64, &str)> {
        self.markers.iter().map(|(address, name)| (*address, &**name))
    }

    /// Returns the names of the variables that overlap the range `addresses`.
    pub(super) fn variables(&self, addresses: Range<u64>) -> impl Iterator<Item = &str> {
        let first = (self.variables).partition_point(|variable| variable.end <= addresses.start);
        let within = move |variable: &&Named| variable.start < addresses.end;
        self.variables[first..].iter().take_while(within).map(|variable| &*variable.name)
    }

    /// Returns the load bias, which is the difference between an address in memory and the address
    /// in the file. The byte at `offset` was mapped at `start`, and `lowest` is the lowest address
    /// of the file's mappings. Returns `None` if no segment has this offset.
    pub(super) fn loaded_at(&self, start: u64, offset: u64, lowest: u64) -> Option<u64> {
        if !self.anywhere {
            return Some(0);
        }
        let page = |number: u64| number / self.page * self.page;
        // If several segments share a page of the file, the loader maps that page once for each segment.
        let begins = |one: &&Segment| page(one.offset) == offset;
        let holds = |one: &&Segment| (one.offset..one.offset + one.length).contains(&offset);
        let at = |one: &Segment| {
            let address = one.address.wrapping_sub(one.offset).wrapping_add(offset);
            start.wrapping_sub(address)
        };
        let segments = || self.segments.iter();
        let first = segments().map(|one| page(one.address)).min()?;
        let likely = lowest.wrapping_sub(first);
        let mut possible = segments().filter(begins).chain(segments().filter(holds)).map(at);
        let any = possible.clone().next();
        possible.find(|at| *at == likely).or(any)
    }

    /// Returns the start address and the name of the function that contains `address`.
    pub(super) fn function(&self, address: u64) -> Option<(u64, &str)> {
        let after = (self.functions).partition_point(|function| function.start <= address);
        let found = &self.functions[after.checked_sub(1)?];
        (address < found.end).then_some((found.start, &*found.name))
    }

    /// Returns the address range of the function that contains `address`.
    pub(super) fn range(&self, address: u64) -> Option<Range<u64>> {
        let (start, _) = self.function(address)?;
        let at = (self.functions).partition_point(|function| function.start < start);
        Some(start..self.functions[at].end)
    }

    /// Returns the source file and line of an instruction. If the instruction comes from inlined
    /// functions, the line is in the innermost of them.
    pub(super) fn line(&self, address: u64) -> Option<(String, u32)> {
        let location = self.debugging.as_ref()?.location(address)?;
        Some((location.file?.to_owned(), location.line?))
    }

    /// Returns the source file and line of an instruction. If the instruction comes from inlined functions, the line is in the function
    /// into which they are inlined.
    pub(super) fn source(&self, address: u64) -> Option<String> {
        let mut frames = self.debugging.as_ref()?.frames(address)?;
        let mut outermost = None;
        while let Ok(Some(frame)) = frames.next() {
            outermost = frame.location;
        }
        let location = outermost?;
        Some(format!("{}:{}", line(location.file?), location.line?))
    }

    /// Returns the functions that are inlined at an address, the outermost first. Without debugging
    /// information, the list is empty.
    pub(super) fn inlined(&self, address: u64) -> Vec<String> {
        let mut names = Vec::new();
        let debugging = self.debugging.as_ref();
        let Some(mut frames) = debugging.and_then(|debugging| debugging.frames(address)) else {
            return names;
        };
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref();
            let name = function.and_then(|name| name.raw_name().ok());
            names.push(name.map_or_else(|| "?".to_owned(), |name| demangled(&name)));
        }
        // The last frame is not inlined: it is the function into which the others are inlined.
        names.pop();
        names.reverse();
        names
    }
}

fn parse(bytes: &[u8]) -> anyhow::Result<object::File<'_>> {
    ensure!(
        bytes.starts_with(b"\x7fELF"),
        "found no ELF file, expected the program that was recorded"
    );
    object::File::parse(bytes).map_err(|error| anyhow!("{error}"))
}

/// Collects the functions or variables in the symbol tables of `files`, one for each address.
fn named(files: &[&object::File<'_>], kind: SymbolKind) -> Vec<Named> {
    let mut named: Vec<_> = (files.iter())
        .flat_map(|elf| elf.symbols().chain(elf.dynamic_symbols()))
        .filter(|symbol| symbol.kind() == kind && symbol.is_definition())
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some((symbol.address(), symbol.size(), symbol.is_local(), name))
        })
        .collect();
    // If several symbols have the same address, the longest function comes first. For equal lengths, global symbols come before local ones,
    // and shorter names before longer ones.
    named.sort_by_key(|&(start, size, local, name)| {
        (start, std::cmp::Reverse(size), local, name.len(), name)
    });
    named.dedup_by_key(|(start, ..)| *start);
    let ends: Vec<u64> = (0..named.len())
        .map(|at| {
            let (start, size, ..) = named[at];
            let next = named.get(at + 1).map(|(next, ..)| *next);
            let end = match size {
                0 => section_end(files[0], start),
                size => Some(start.saturating_add(size)),
            };
            // Assembly code can define a symbol without a size. Such a symbol ends where the next
            // one begins.
            end.into_iter().chain(next).min().unwrap_or(start)
        })
        .collect();
    let named = named.into_iter().zip(ends);
    named.map(|((start, _, _, name), end)| Named { start, end, name: demangled(name) }).collect()
}

/// Returns the address and the name of each marker. A compiler can emit a marker in several places, so the header `vfalls-marker.h` appends
/// a dot and a number to the marker's name.
fn markers(files: &[&object::File<'_>]) -> Vec<(u64, String)> {
    let symbols = files.iter().flat_map(|elf| elf.symbols());
    let marker = |symbol: object::Symbol<'_, '_>| {
        let name = symbol.name().ok()?.strip_prefix("vfalls_marker_")?;
        let (name, _) = name.rsplit_once('.')?;
        symbol.is_definition().then(|| (symbol.address(), line(name)))
    };
    symbols.filter_map(marker).collect()
}

/// Returns `true` if a file has a symbol whose name contains `part`.
pub(super) fn has_symbol(path: &Path, part: &str) -> bool {
    let Ok(bytes) = input::read_ordinary(path, MAX_PROGRAM_BYTES) else { return false };
    let Ok(elf) = parse(&bytes) else { return false };
    let mut symbols = elf.symbols().chain(elf.dynamic_symbols());
    symbols.any(|symbol| symbol.name().is_ok_and(|name| name.contains(part)))
}

/// Demangles C++ and Rust names. C names stay as they are, although some names such as `f` are also mangled C++ types.
pub(crate) fn demangled(name: &str) -> String {
    match name.starts_with("_Z") || name.starts_with("_R") {
        true => line(&addr2line::demangle_auto(name.into(), None)),
        false => line(name),
    }
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

    fn binary(segments: &[(u64, u64, u64)]) -> Binary {
        let segment = |&(address, offset, length)| Segment { address, offset, length };
        Binary {
            anywhere: true,
            segments: segments.iter().map(segment).collect(),
            page: 0x1000,
            functions: Vec::new(),
            variables: Vec::new(),
            markers: Vec::new(),
            debugging: None,
        }
    }

    #[test]
    fn names_of_cpp_and_rust_are_demangled() {
        for (name, expected) in [
            ("_ZN5queue4pushEi", "queue::push(int)"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvC4main3run", "main::run"),
            // These names are also mangled C++ types: float, int, and char const*.
            ("f", "f"),
            ("i", "i"),
            ("PKc", "PKc"),
            ("_Zebra", "_Zebra"),
        ] {
            assert_eq!(demangled(name), expected);
        }
    }

    /// A linker can place a segment at an address that differs from its file offset by whole pages. A mapping of the file still shows where
    /// the library is loaded.
    #[test]
    fn where_a_file_is_loaded_follows_from_a_mapping() {
        let base = 0x7f00_0000_0000;
        let shared = binary(&[(0, 0, 0x5f0), (0x1000, 0x1000, 0x345), (0x2de8, 0x1de8, 0x240)]);
        for (address, offset) in [(0, 0), (0x1000, 0x1000), (0x2000, 0x1000)] {
            let at = shared.loaded_at(base + address, offset, base);
            assert_eq!(at, Some(base), "{address:#x}");
        }
        // All segments of this file are within one page.
        let small = binary(&[(0, 0, 0x4c0), (0x14c0, 0x4c0, 0x150), (0x2610, 0x610, 0x1b0)]);
        for address in [0, 0x1000, 0x2000] {
            assert_eq!(small.loaded_at(base + address, 0, base), Some(base), "{address:#x}");
        }
        // In the first case, the mapping does not contain the start of its segment. In the second
        // case, the file is mapped twice.
        let two = binary(&[(0, 0, 0x1345), (0x2345, 0x1345, 0x2000)]);
        assert_eq!(two.loaded_at(base + 0x3000, 0x2000, base), Some(base));
        assert_eq!(two.loaded_at(base + 0x3000, 0x2000, 0x1000), Some(base));
        assert_eq!(two.loaded_at(base, 0x4000, base), None, "beyond the end");
        let fixed = Binary { anywhere: false, ..shared };
        assert_eq!(fixed.loaded_at(0x40_1000, 0x1000, 0x40_0000), Some(0));
    }

    #[test]
    fn what_is_no_program() {
        let error = |bytes: &[u8]| format!("{:#}", Binary::from_elf(bytes).err().unwrap());
        assert!(error(b"#!/bin/sh\n").starts_with("found no ELF file"));
        assert!(!error(b"\x7fELF").is_empty());
    }
}
