//! The functions and variables of a program, read from the ELF files that the program had in
//! memory.

mod binary;
pub(crate) mod debugging;
mod separate;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::bail;
use simulator::analysis::profile::functions::Functions;
use simulator::input::{self, MAX_PROGRAM_BYTES};
use simulator::recording::{BUNDLED_PROGRAM, CodeImage, Mapping, Recording};
use simulator::text::line;

use crate::say::say;
use binary::Binary;
pub(crate) use binary::demangled;

/// The address where valgrind loads a position-independent program.
const VALGRIND_LOADS_AT: u64 = 0x10_8000;

/// The directory where distributions keep separate debugging information.
const DEBUG_FILE_ROOT: &str = "/usr/lib/debug";

/// A file that a program had in memory. It is read when an address or a name is first looked up in it.
struct File {
    path: String,
    /// The path with control characters escaped, so that it fits on one line.
    name: String,
    /// The content of a file that is bundled with this tool; `None` for a file on disk.
    contents: Option<&'static [u8]>,
    build_id: Vec<u8>,
    /// The lowest address where a part of the file was mapped.
    lowest: u64,
    binary: OnceCell<Result<Binary, String>>,
}

impl File {
    fn binary(&self, root: &Path) -> Option<&Binary> {
        let open = || {
            let binary = Binary::open(Path::new(&self.path), &self.build_id, root);
            binary.map_err(|error| format!("{error:#}"))
        };
        self.binary.get_or_init(open).as_ref().ok()
    }
}

/// The machine code of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    /// The address of the function's first instruction in the recorded program.
    pub(crate) start: u64,
    pub(crate) bytes: Vec<u8>,
    /// `true` for SPARC V9, `false` for x86-64.
    pub(crate) is_sparc: bool,
}

/// The functions and variables of a program, and any debugging information.
pub(crate) struct Symbols {
    files: Vec<File>,
    /// The directory of separate debugging information.
    separate: PathBuf,
    places: FileLocations,
}

/// Returns the mappings of all processes, without duplicates. The addresses are those in the processes' code images.
fn in_images(recordings: &[Recording]) -> Vec<Mapping> {
    let mut all: Vec<Mapping> = Vec::new();
    let images = CodeImage::of_all(recordings.iter().map(Recording::mappings));
    for (recording, image) in recordings.iter().zip(images) {
        let mapping = |one: &Mapping| Mapping {
            start: image.address(one.start),
            end: image.address(one.end),
            ..one.clone()
        };
        let new = recording.mappings().iter().map(mapping).filter(|one| !all.contains(one));
        all.extend(new.collect::<Vec<_>>());
    }
    all
}

/// Where the files are in the program's memory.
enum FileLocations {
    /// One file for all addresses. The number is what to subtract from an address in the recording to get the address in the file.
    Everywhere(u64),
    /// The mappings, each with the index of its file.
    Mapped(Vec<(Mapping, usize)>),
}

impl Symbols {
    /// Returns the symbols of the bundled recording's program.
    pub(crate) fn bundled() -> Self {
        let program = Binary::from_elf(BUNDLED_PROGRAM).expect("the bundled program has symbols");
        let mut symbols = Self::everywhere("the bundled program", program, 0);
        symbols.files[0].contents = Some(BUNDLED_PROGRAM);
        symbols
    }

    /// Reads the symbols of an ELF file that was loaded at `loaded_at`. Without `loaded_at`, assumes the address in the file, or valgrind's
    /// address if the file is position-independent.
    fn open(path: &Path, loaded_at: Option<u64>) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let binary = Binary::open(path, &[], Path::new(DEBUG_FILE_ROOT))?;
        let usual = if binary.anywhere { VALGRIND_LOADS_AT } else { 0 };
        Ok(Self::everywhere(&name, binary, loaded_at.unwrap_or(usual)))
    }

    fn everywhere(path: &str, binary: Binary, loaded_at: u64) -> Self {
        let file = File {
            path: path.to_owned(),
            name: line(path),
            contents: None,
            build_id: Vec::new(),
            lowest: 0,
            binary: OnceCell::from(Ok(binary)),
        };
        Self {
            files: vec![file],
            separate: PathBuf::from(DEBUG_FILE_ROOT),
            places: FileLocations::Everywhere(loaded_at),
        }
    }

    /// Returns the symbols of a recorded program; `None` if its files are not known. The files are those that the recordings of its
    /// processes name. If `file` is given, it replaces one of these files, or is the only file if the recordings name none. All addresses
    /// are [addresses in code images](CodeImage::address).
    pub(crate) fn of_recordings(
        recordings: &[Recording],
        is_bundled: bool,
        file: Option<&Path>,
        loaded_at: Option<u64>,
    ) -> anyhow::Result<Option<Self>> {
        let mapped = Self::mapped(&in_images(recordings)).filter(|_| !is_bundled);
        Ok(match (file, mapped) {
            (Some(path), Some(mapped)) => Some(mapped.with_file(path)?),
            (Some(path), None) => Some(Self::open(path, loaded_at)?),
            (None, mapped) => mapped.or_else(|| is_bundled.then(Self::bundled)),
        })
    }

    /// Returns the symbols of the files that a program had in memory; `None` if it had no files.
    pub(crate) fn mapped(mappings: &[Mapping]) -> Option<Self> {
        Self::with_separate(mappings, Path::new(DEBUG_FILE_ROOT))
    }

    fn with_separate(mappings: &[Mapping], separate: &Path) -> Option<Self> {
        let mut files: Vec<File> = Vec::new();
        let mut parts = Vec::new();
        for mapping in mappings.iter().filter(|mapping| mapping.path.starts_with('/')) {
            let same =
                |file: &File| (&file.path, &file.build_id) == (&mapping.path, &mapping.build_id);
            let number = files.iter().position(same).unwrap_or(files.len());
            if number == files.len() {
                files.push(File {
                    path: mapping.path.clone(),
                    name: line(&mapping.path),
                    contents: None,
                    build_id: mapping.build_id.clone(),
                    lowest: mapping.start,
                    binary: OnceCell::new(),
                });
            }
            files[number].lowest = files[number].lowest.min(mapping.start);
            parts.push((mapping.clone(), number));
        }
        (!files.is_empty()).then(|| Self {
            files,
            separate: separate.to_owned(),
            places: FileLocations::Mapped(parts),
        })
    }

    /// Uses the file at `path` instead of the mapped file that has the same build id.
    fn with_file(mut self, path: &Path) -> anyhow::Result<Self> {
        let build_id = Binary::build_id(path)?;
        let name = path.display().to_string();
        let same = |file: &&mut File| !build_id.is_empty() && file.build_id == build_id;
        let Some(file) = self.files.iter_mut().find(same) else {
            bail!("{name}: the recorded program had no file with this build id in memory");
        };
        (file.name, file.path) = (line(&name), name);
        Ok(self)
    }

    /// Returns the load address of the only file; `None` if the recording contains the address of
    /// each file.
    pub(crate) fn loaded_at(&self) -> Option<u64> {
        match self.places {
            FileLocations::Everywhere(loaded_at) => Some(loaded_at),
            FileLocations::Mapped(_) => None,
        }
    }

    /// Prints a note about each file that cannot be used.
    pub(crate) fn note_unusable(&self) {
        for line in self.unusable() {
            say(format_args!("note: functions without names: {line}"));
        }
    }

    /// Returns a line about each file that cannot be used. Skips files that have not been read yet.
    fn unusable(&self) -> impl Iterator<Item = &str> {
        let binaries = self.files.iter().filter_map(|file| file.binary.get());
        binaries.filter_map(|binary| binary.as_ref().err().map(String::as_str))
    }

    /// Returns the functions that are inlined at an address, the outermost first. Without debugging
    /// information, the list is empty.
    pub(crate) fn inlined(&self, address: u64) -> Vec<String> {
        let inlined = |(binary, at): (&Binary, u64)| binary.inlined(address.wrapping_sub(at));
        self.file_at(address).map(inlined).unwrap_or_default()
    }

    /// Returns the source file and line of an instruction. If the instruction comes from inlined
    /// functions, the line is in the innermost of them.
    pub(crate) fn line(&self, address: u64) -> Option<(String, u32)> {
        let (binary, at) = self.file_at(address)?;
        binary.line(address.wrapping_sub(at))
    }

    /// Returns the names of the variables that overlap the range `addresses`. The range must be in
    /// one mapping.
    pub(crate) fn variables(&self, addresses: Range<u64>) -> impl Iterator<Item = &str> {
        self.file_at(addresses.start).into_iter().flat_map(move |(binary, at)| {
            binary.variables(addresses.start.wrapping_sub(at)..addresses.end.wrapping_sub(at))
        })
    }

    /// Returns the first address and the name of each function. If `part` is given, reads only the files that have a symbol whose name
    /// contains `part`.
    pub(crate) fn functions(&self, part: Option<&str>) -> Vec<(u64, &str)> {
        self.located(part, Binary::functions)
    }

    /// Returns the address and the name of each marker (see the header `vfalls-marker.h`). A marker can be in several places. If `part` is
    /// given, reads only the files that have a symbol whose name contains `part`.
    pub(crate) fn markers(&self, part: Option<&str>) -> Vec<(u64, &str)> {
        self.located(part, Binary::markers)
    }

    /// Calls `all` for each file, and returns the names that `all` finds, each with its address in the recording. Reading all symbols and
    /// the debugging information of a file takes long, so this reads only the files that have a symbol whose name contains `part`.
    fn located<'a, I: Iterator<Item = (u64, &'a str)>>(
        &'a self,
        part: Option<&str>,
        all: impl Fn(&'a Binary) -> I,
    ) -> Vec<(u64, &'a str)> {
        let FileLocations::Mapped(parts) = &self.places else {
            let named = self.files[0].binary(&self.separate).into_iter().flat_map(all);
            let at = self.loaded_at().unwrap_or(0);
            return named.map(|(address, name)| (address.wrapping_add(at), name)).collect();
        };
        let has =
            |file: &File| part.is_none_or(|part| binary::has_symbol(Path::new(&file.path), part));
        let has: Vec<bool> = self.files.iter().map(has).collect();
        let mut found = Vec::new();
        for (mapping, number) in parts.iter().filter(|(_, number)| has[*number]) {
            let file = &self.files[*number];
            let Some(binary) = file.binary(&self.separate) else { continue };
            let at = binary.loaded_at(mapping.start, mapping.offset, file.lowest);
            let Some(at) = at else { continue };
            let named = all(binary).map(|(address, name)| (address.wrapping_add(at), name));
            found.extend(named.filter(|(at, _)| (mapping.start..mapping.end).contains(at)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the code of the function that contains `address`.
    pub(crate) fn code(&self, address: u64) -> Option<Code> {
        let (binary, at) = self.file_at(address)?;
        let file = match self.places {
            FileLocations::Everywhere(_) => &self.files[0],
            FileLocations::Mapped(_) => self.mapping(address)?.1,
        };
        let addresses = binary.range(address.wrapping_sub(at))?;
        let elf = match file.contents {
            Some(contents) => contents.to_vec(),
            None => input::read_ordinary(Path::new(&file.path), MAX_PROGRAM_BYTES).ok()?,
        };
        let (bytes, is_sparc) = binary::code(&elf, &addresses)?;
        Some(Code { start: addresses.start.wrapping_add(at), bytes, is_sparc })
    }

    /// Returns the mapping that contains `address`, and its file.
    fn mapping(&self, address: u64) -> Option<(&Mapping, &File)> {
        let FileLocations::Mapped(parts) = &self.places else {
            return None;
        };
        let holds = |(part, _): &&(Mapping, usize)| (part.start..part.end).contains(&address);
        // If mappings overlap, the later mapping has replaced the earlier one.
        let (part, file) = parts.iter().rev().find(holds)?;
        Some((part, &self.files[*file]))
    }

    /// Returns the file that contains `address`, and what to subtract from an address in the recording to get the address in the file.
    fn file_at(&self, address: u64) -> Option<(&Binary, u64)> {
        match self.places {
            FileLocations::Everywhere(loaded_at) => {
                Some((self.files[0].binary(&self.separate)?, loaded_at))
            }
            FileLocations::Mapped(_) => {
                let (part, file) = self.mapping(address)?;
                let binary = file.binary(&self.separate)?;
                Some((binary, binary.loaded_at(part.start, part.offset, file.lowest)?))
            }
        }
    }
}

/// Returns `true` if a function has this name, or if its C++ or Rust path ends with it.
pub(crate) fn is_named(function: &str, name: &str) -> bool {
    function == name || function.rsplit("::").next() == Some(name)
}

/// Returns the last part of a path. A line number at the end of the path stays.
pub(crate) fn without_directory(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Functions for Symbols {
    fn function(&self, address: u64) -> Option<(u64, &str)> {
        let (binary, at) = self.file_at(address)?;
        let (start, name) = binary.function(address.wrapping_sub(at))?;
        Some((start.wrapping_add(at), name))
    }

    fn file(&self, address: u64) -> Option<&str> {
        self.mapping(address).map(|(_, file)| &*file.name)
    }

    fn source(&self, address: u64) -> Option<String> {
        let (binary, at) = self.file_at(address)?;
        binary.source(address.wrapping_sub(at))
    }
}
