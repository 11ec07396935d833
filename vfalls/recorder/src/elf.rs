//! Reads 64-bit ELF files, in either byte order (System V Application Binary Interface, "Object Files"). The recorder cannot use a crate
//! for this, because `build.rs` compiles the recorder with `rustc` alone.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The maximum size of a table that is read from a file, in bytes.
const MAX_READ_BYTES: u64 = 1 << 28;

#[derive(Debug)]
pub(crate) struct Elf {
    file: File,
    is_big: bool,
    header: [u8; 64],
}

/// A part of a file that is loaded into memory, or that holds notes.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) kind: u64,
    pub(crate) offset: u64,
    address: u64,
    pub(crate) length: u64,
}

/// An entry of the section table, which describes a part of a file to linkers.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) kind: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// The index of a related section. For a symbol table, that section contains the symbols' names.
    pub(crate) link: u64,
}

impl Segment {
    const LOAD: u64 = 1;
    pub(crate) const NOTE: u64 = 4;

    /// Returns the position in the file of the byte that is loaded at `address`; `None` if this segment has no byte at `address`.
    pub(crate) fn position(&self, address: u64) -> Option<u64> {
        let within = address.wrapping_sub(self.address);
        (self.kind == Self::LOAD && within < self.length).then(|| self.offset.wrapping_add(within))
    }
}

impl Elf {
    /// Opens the file at `path`; `None` if it is not a 64-bit ELF file.
    pub(crate) fn open(path: &str) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut header = [0; 64];
        file.read_exact_at(&mut header, 0).ok()?;
        let is_elf = header.starts_with(b"\x7fELF\x02");
        is_elf.then_some(Self { file, is_big: header[5] == 2, header })
    }

    pub(crate) fn bytes(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= MAX_READ_BYTES)?];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    /// Reads an integer of `size` bytes at position `at` of `bytes`, in the file's byte order. Returns `None` if the integer extends beyond
    /// the end of `bytes`.
    pub(crate) fn number(&self, bytes: &[u8], at: usize, size: usize) -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(size)?)?;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(match self.is_big {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        })
    }

    /// Returns the bytes of a table, and the size of an entry. Each argument is the position of a header field:
    ///
    /// - `offset`: the table's position in the file.
    /// - `size`: the size of an entry.
    /// - `count`: the number of entries.
    fn table(&self, offset: usize, size: usize, count: usize) -> Option<(Vec<u8>, usize)> {
        let size = self.number(&self.header, size, 2)?;
        let length = size * self.number(&self.header, count, 2)?;
        let table = self.bytes(self.number(&self.header, offset, 8)?, length)?;
        Some((table, usize::try_from(size).ok()?.max(1)))
    }

    pub(crate) fn segments(&self) -> Option<Vec<Segment>> {
        let (table, size) = self.table(32, 54, 56)?;
        let segment = |header: &[u8]| {
            let field = |at| self.number(header, at, 8);
            let kind = self.number(header, 0, 4)?;
            Some(Segment { kind, offset: field(8)?, address: field(16)?, length: field(32)? })
        };
        table.chunks_exact(size).map(segment).collect()
    }

    pub(crate) fn sections(&self) -> Option<Vec<Section>> {
        let (table, size) = self.table(40, 58, 60)?;
        let section = |header: &[u8]| {
            let field = |at| self.number(header, at, 8);
            let half = |at| self.number(header, at, 4);
            Some(Section {
                kind: half(4)?,
                offset: field(24)?,
                length: field(32)?,
                link: half(40)?,
            })
        };
        table.chunks_exact(size).map(section).collect()
    }
}
