//! The names of a program's functions, from the ELF files that it had in memory.

mod binary;
mod separate;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::bail;
use simulator::analysis::profile::functions::Functions;
use simulator::input::{self, LONGEST_PROGRAM};
use simulator::recording::{BUNDLED_PROGRAM, Mapping};

use binary::Binary;

/// Where valgrind loads a program that can be loaded anywhere.
const VALGRIND_LOADS_AT: u64 = 0x10_8000;

/// Where distributions have debugging information apart from programs.
const SEPARATE: &str = "/usr/lib/debug";

/// A file that a program had in memory. It is read when a function of it is asked for.
struct File {
    path: String,
    /// What is in the file, if it is part of this program.
    contents: Option<&'static [u8]>,
    build_id: Vec<u8>,
    /// The lowest address at which it was mapped.
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

/// The code of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its first address in the recording.
    pub start: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it is for SPARC V9, and not for x86-64.
    pub is_sparc: bool,
}

/// The functions of a program, and its debugging information, if it has any.
pub struct Symbols {
    files: Vec<File>,
    /// Where debugging information is that is not in these files.
    separate: PathBuf,
    found: Found,
}

/// Which file is where.
enum Found {
    /// The only file, and the difference between addresses of the recording and of the file.
    Everywhere(u64),
    /// The parts of files, each with the file's place among the files.
    Mapped(Vec<(Mapping, usize)>),
}

impl Symbols {
    /// Returns the symbols of the program of the bundled recording.
    #[must_use]
    pub fn bundled() -> Self {
        let program =
            Binary::from_elf(BUNDLED_PROGRAM).expect("the symbols are part of the program");
        let mut symbols = Self::everywhere("the bundled program", program, 0);
        symbols.files[0].contents = Some(BUNDLED_PROGRAM);
        symbols
    }

    /// Reads the symbols of an ELF file that was loaded at `loaded_at`; if that is `None`, where the file says, or else where
    /// valgrind loads it.
    ///
    /// # Errors
    /// The file cannot be read, is no ELF file, or names no function.
    pub fn open(path: &Path, loaded_at: Option<u64>) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let binary = Binary::open(path, &[], Path::new(SEPARATE))?;
        let usual = if binary.anywhere { VALGRIND_LOADS_AT } else { 0 };
        Ok(Self::everywhere(&name, binary, loaded_at.unwrap_or(usual)))
    }

    fn everywhere(path: &str, binary: Binary, loaded_at: u64) -> Self {
        let file = File {
            path: path.to_owned(),
            contents: None,
            build_id: Vec::new(),
            lowest: 0,
            binary: OnceCell::from(Ok(binary)),
        };
        Self {
            files: vec![file],
            separate: PathBuf::from(SEPARATE),
            found: Found::Everywhere(loaded_at),
        }
    }

    /// Returns the symbols of the files that a program had in memory; `None` if there are none.
    #[must_use]
    pub fn mapped(mappings: &[Mapping]) -> Option<Self> {
        Self::with_separate(mappings, Path::new(SEPARATE))
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
            found: Found::Mapped(parts),
        })
    }

    /// Reads a file instead of the one with the same build id that the program had in memory.
    ///
    /// # Errors
    /// The file cannot be read or is no ELF file, or the program had none with this build id.
    pub fn with(mut self, path: &Path) -> anyhow::Result<Self> {
        let build_id = Binary::build_id(path)?;
        let name = path.display().to_string();
        let same = |file: &&mut File| !build_id.is_empty() && file.build_id == build_id;
        let Some(file) = self.files.iter_mut().find(same) else {
            bail!("{name}: the recorded program had no file with this build id in memory");
        };
        file.path = name;
        Ok(self)
    }

    /// Returns the difference between addresses of the recording and of its only file; `None` if the recording says which files
    /// are where.
    #[must_use]
    pub fn loaded_at(&self) -> Option<u64> {
        match self.found {
            Found::Everywhere(loaded_at) => Some(loaded_at),
            Found::Mapped(_) => None,
        }
    }

    /// Returns why files in which functions were asked for have none: a line for each.
    pub fn unusable(&self) -> impl Iterator<Item = &str> {
        let binaries = self.files.iter().filter_map(|file| file.binary.get());
        binaries.filter_map(|binary| binary.as_ref().err().map(String::as_str))
    }

    /// Returns the functions that are inlined at an address of the recording, the outermost first; none without debugging
    /// information.
    #[must_use]
    pub fn inlined(&self, address: u64) -> Vec<String> {
        let inlined = |(binary, at): (&Binary, u64)| binary.inlined(address.wrapping_sub(at));
        self.at(address).map(inlined).unwrap_or_default()
    }

    /// Returns the file and line of the source that an address is compiled from, if they are known: those in the innermost
    /// function that is inlined there.
    #[must_use]
    pub fn line(&self, address: u64) -> Option<(String, u32)> {
        let (binary, at) = self.at(address)?;
        binary.line(address.wrapping_sub(at))
    }

    /// Returns the names of the variables of the program that have bytes at these addresses, all of one mapping.
    pub fn variables(&self, addresses: Range<u64>) -> impl Iterator<Item = &str> {
        self.at(addresses.start).into_iter().flat_map(move |(binary, at)| {
            binary.variables(addresses.start.wrapping_sub(at)..addresses.end.wrapping_sub(at))
        })
    }

    /// Returns the code of the function that holds an address.
    #[must_use]
    pub fn code(&self, address: u64) -> Option<Code> {
        let (binary, at) = self.at(address)?;
        let file = match self.found {
            Found::Everywhere(_) => &self.files[0],
            Found::Mapped(_) => self.mapping(address)?.1,
        };
        let addresses = binary.range(address.wrapping_sub(at))?;
        let elf = match file.contents {
            Some(contents) => contents.to_vec(),
            None => input::read(Path::new(&file.path), LONGEST_PROGRAM).ok()?,
        };
        let (bytes, is_sparc) = binary::code(&elf, &addresses)?;
        Some(Code { start: addresses.start.wrapping_add(at), bytes, is_sparc })
    }

    /// Returns the mapping that holds an address, and the file.
    fn mapping(&self, address: u64) -> Option<(&Mapping, &File)> {
        let Found::Mapped(parts) = &self.found else {
            return None;
        };
        let holds = |(part, _): &&(Mapping, usize)| (part.start..part.end).contains(&address);
        // What was mapped last took the place of what was there.
        let (part, file) = parts.iter().rev().find(holds)?;
        Some((part, &self.files[*file]))
    }

    /// Returns the file that holds an address, and where it was loaded.
    fn at(&self, address: u64) -> Option<(&Binary, u64)> {
        match self.found {
            Found::Everywhere(loaded_at) => {
                Some((self.files[0].binary(&self.separate)?, loaded_at))
            }
            Found::Mapped(_) => {
                let (part, file) = self.mapping(address)?;
                let binary = file.binary(&self.separate)?;
                Some((binary, binary.loaded_at(part.start, part.offset, file.lowest)?))
            }
        }
    }
}

impl Functions for Symbols {
    fn function(&self, address: u64) -> Option<(u64, &str)> {
        let (binary, at) = self.at(address)?;
        let (start, name) = binary.function(address.wrapping_sub(at))?;
        Some((start.wrapping_add(at), name))
    }

    fn file(&self, address: u64) -> Option<&str> {
        self.mapping(address).map(|(_, file)| &*file.path)
    }

    fn source(&self, address: u64) -> Option<String> {
        let (binary, at) = self.at(address)?;
        binary.source(address.wrapping_sub(at))
    }
}
