//! As much of ELF as a bare-metal SPARC V9 image has.

use std::ops::Range;

use anyhow::{Context, bail, ensure};

/// An image.
#[derive(Debug)]
pub struct Elf<'a> {
    file: &'a [u8],
    sections: Vec<Section<'a>>,
}

/// A section.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it is loaded.
    pub address: u64,
    kind: u32,
    flags: u64,
    offset: u64,
    size: u64,
    link: u32,
}

/// A symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name, as the linker has it.
    pub name: &'a str,
    /// Its value.
    pub address: u64,
}

/// EM_SPARCV9
const MACHINE: u16 = 43;
/// PT_LOAD
const LOADED: u32 = 1;
/// SHT_SYMTAB
const SYMBOLS: u32 = 2;
/// SHT_NOBITS
const NO_BITS: u32 = 8;
/// SHF_EXECINSTR
const EXECUTABLE: u64 = 4;

fn number<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

fn half(bytes: &[u8], offset: usize) -> Option<u16> {
    number(bytes, offset).map(u16::from_be_bytes)
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    number(bytes, offset).map(u32::from_be_bytes)
}

fn double(bytes: &[u8], offset: usize) -> Option<u64> {
    number(bytes, offset).map(u64::from_be_bytes)
}

fn text(bytes: &[u8], offset: u32) -> Option<&str> {
    let rest = bytes.get(offset as usize..)?;
    let length = rest.iter().position(|byte| *byte == 0)?;
    str::from_utf8(&rest[..length]).ok()
}

impl<'a> Elf<'a> {
    /// Reads the headers.
    ///
    /// # Errors
    /// This is no ELF file for SPARC V9, or a broken one.
    pub fn new(file: &'a [u8]) -> anyhow::Result<Self> {
        ensure!(
            file.starts_with(b"\x7fELF\x02\x02") && half(file, 18) == Some(MACHINE),
            "expected an ELF file for SPARC V9"
        );
        let sections = Self::headers(file).context("expected a whole ELF file")?;
        Ok(Self { file, sections })
    }

    fn headers(file: &'a [u8]) -> Option<Vec<Section<'a>>> {
        let table = usize::try_from(double(file, 40)?).ok()?;
        let count = usize::from(half(file, 60)?);
        let names = usize::from(half(file, 62)?);
        let header = |index: usize| file.get(table.checked_add(index * 64)?..);
        let bytes = |header| {
            let start = usize::try_from(double(header, 24)?).ok()?;
            file.get(start..start.checked_add(usize::try_from(double(header, 32)?).ok()?)?)
        };
        let names = if count == 0 {
            &[][..]
        } else {
            bytes(header(names)?)?
        };
        (0..count)
            .map(|index| {
                let header = header(index)?;
                Some(Section {
                    name: text(names, word(header, 0)?)?,
                    kind: word(header, 4)?,
                    flags: double(header, 8)?,
                    address: double(header, 16)?,
                    offset: double(header, 24)?,
                    size: double(header, 32)?,
                    link: word(header, 40)?,
                })
            })
            .collect()
    }

    /// Where execution begins, if this is a program whose every part is loaded into `memory`.
    ///
    /// # Errors
    /// It is not, or a part of it is not in the file.
    pub fn program(&self, memory: &Range<u64>) -> anyhow::Result<u64> {
        let parts = self.parts().context("expected a whole ELF file")?;
        let (first, last) = (memory.start, memory.end - 1);
        ensure!(
            !parts.is_empty(),
            "expected a program to load at {first:#x} to {last:#x}, found none"
        );
        for part in &parts {
            ensure!(
                memory.contains(&part.start) && part.end <= memory.end,
                "expected a program to load at {first:#x} to {last:#x}, found one for {:#x}",
                part.start
            );
        }
        let entry = double(self.file, 24).unwrap_or(0);
        ensure!(
            parts.iter().any(|part| part.contains(&entry)) && entry.is_multiple_of(4),
            "expected the entry at an instruction of the program, found {entry:#x}"
        );
        Ok(entry)
    }

    /// What is loaded to where. `None` if the file ends before.
    fn parts(&self) -> Option<Vec<Range<u64>>> {
        let table = usize::try_from(double(self.file, 32)?).ok()?;
        let count = usize::from(half(self.file, 56)?);
        let mut parts = Vec::new();
        for index in 0..count {
            let header = self.file.get(table.checked_add(index * 56)?..)?;
            let field = |offset| double(header, offset);
            let end_in_file = field(8)?.checked_add(field(32)?)?;
            if word(header, 0)? == LOADED && field(40)? > 0 {
                if end_in_file > self.file.len() as u64 || field(32)? > field(40)? {
                    return None;
                }
                parts.push(field(24)?..field(24)?.checked_add(field(40)?)?);
            }
        }
        Some(parts)
    }

    /// How many bytes of the file a section takes.
    #[must_use]
    pub fn size(&self, name: &str) -> u64 {
        let named = self.sections.iter().filter(|section| section.name == name);
        named.map(|section| section.size).sum()
    }

    fn bytes(&self, section: &Section<'_>) -> anyhow::Result<&'a [u8]> {
        if section.kind == NO_BITS {
            return Ok(&[]);
        }
        let end = section.offset.saturating_add(section.size);
        self.file
            .get(section.offset as usize..end as usize)
            .with_context(|| format!("section {} is not in the file", section.name))
    }

    /// All instructions: address and code.
    ///
    /// # Errors
    /// The file is broken.
    pub fn instructions(&self) -> anyhow::Result<Vec<(u64, u32)>> {
        let mut all = Vec::new();
        for section in &self.sections {
            if section.flags & EXECUTABLE != 0 {
                let words = self.bytes(section)?.chunks_exact(4);
                let addresses = (section.address..).step_by(4);
                all.extend(addresses.zip(words.filter_map(|bytes| word(bytes, 0))));
            }
        }
        Ok(all)
    }

    /// All symbols.
    ///
    /// # Errors
    /// The file is broken.
    pub fn symbols(&self) -> anyhow::Result<Vec<Symbol<'a>>> {
        let mut all = Vec::new();
        for section in &self.sections {
            if section.kind != SYMBOLS {
                continue;
            }
            let Some(names) = self.sections.get(section.link as usize) else {
                bail!("section {} has no names", section.name)
            };
            let names = self.bytes(names)?;
            all.extend(self.bytes(section)?.chunks_exact(24).filter_map(|symbol| {
                Some(Symbol {
                    name: text(names, word(symbol, 0)?)?,
                    address: double(symbol, 8)?,
                })
            }));
        }
        Ok(all)
    }
}

/// An ELF file of a program that is nothing but instructions, loaded and entered at an address.
#[must_use]
pub fn program(address: u64, instructions: &[u32]) -> Vec<u8> {
    const HEADERS: u64 = 64 + 56;
    let size = 4 * instructions.len() as u64;
    let mut file = b"\x7fELF\x02\x02\x01".to_vec();
    file.resize(16, 0);
    // An executable for SPARC V9; the program's header follows, and no sections.
    file.extend([2, MACHINE].map(u16::to_be_bytes).concat());
    file.extend(1_u32.to_be_bytes());
    file.extend([address, 64, 0].map(u64::to_be_bytes).concat());
    file.extend(0_u32.to_be_bytes());
    file.extend([64_u16, 56, 1, 64, 0, 0].map(u16::to_be_bytes).concat());
    // Read and executed.
    file.extend([LOADED, 5].map(u32::to_be_bytes).concat());
    let part = [HEADERS, address, address, size, size, 4];
    file.extend(part.map(u64::to_be_bytes).concat());
    file.extend(instructions.iter().flat_map(|code| code.to_be_bytes()));
    file
}
