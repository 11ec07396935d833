//! The debugging information of an ELF file. This module reads the files into memory itself,
//! because `addr2line` would open any path that a file names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use addr2line::{Context, FrameIter, Location, LookupContinuation, LookupResult, SplitDwarfLoad};
use anyhow::Context as _;
use gimli::{
    AbbreviationsCacheStrategy, Dwarf, EndianArcSlice, Reader as _, RunTimeEndian, SectionId,
};
use object::{Object, ObjectSection};
use simulator::input::{self, MAX_PROGRAM_BYTES};

type DebugSlice = EndianArcSlice<RunTimeEndian>;

/// The functions, inlined functions and source lines of an ELF file.
pub(crate) struct DebugInfo(Context<DebugSlice>);

impl DebugInfo {
    /// Reads the debugging information of an ELF file. `shared` holds debugging information that
    /// several ELF files share.
    pub(crate) fn new(elf: &[u8], shared: Option<&[u8]>) -> anyhow::Result<Self> {
        let mut dwarf = sections(elf, |id| Some(id.name()))?;
        if let Some(shared) = shared {
            dwarf.set_sup(sections(shared, |id| Some(id.name()))?);
        }
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        Ok(Self(Context::from_dwarf(dwarf)?))
    }

    /// Returns the source line of an address. If the instruction there comes from inlined
    /// functions, the line is in the innermost of them.
    pub(crate) fn location(&self, address: u64) -> Option<Location<'_>> {
        self.0.find_location(address).ok()?
    }

    /// Returns the functions at an address: the inlined ones, the innermost first, and then the
    /// function into which they are inlined.
    pub(crate) fn frames(&self, address: u64) -> Option<FrameIter<'_, DebugSlice>> {
        let mut found = self.0.find_frames(address);
        loop {
            let (load, next) = match found {
                LookupResult::Output(frames) => return frames.ok(),
                LookupResult::Load { load, continuation } => (load, continuation),
            };
            found = next.resume(split(&load).map(Arc::new));
        }
    }
}

/// Reads a file (`.dwo`) that contains the debugging information of one source file.
fn split(load: &SplitDwarfLoad<DebugSlice>) -> Option<Dwarf<DebugSlice>> {
    let mut path = PathBuf::new();
    for part in [load.comp_dir.as_ref(), Some(load.path.as_ref()?)].into_iter().flatten() {
        path.push(OsStr::from_bytes(&part.to_slice().ok()?));
    }
    let bytes = input::read_ordinary(&path, MAX_PROGRAM_BYTES).ok()?;
    let mut dwarf = sections(&bytes, SectionId::dwo_name).ok()?;
    let unit = dwarf.units().next().ok()??;
    if dwarf.unit(unit).ok()?.dwo_id != Some(load.dwo_id) {
        return None;
    }
    dwarf.make_dwo(&load.parent);
    Some(dwarf)
}

/// Copies the sections of an ELF file. Fails if the decompressed sections together have more than
/// [`MAX_PROGRAM_BYTES`] bytes.
fn sections(
    elf: &[u8],
    name: impl Fn(SectionId) -> Option<&'static str>,
) -> anyhow::Result<Dwarf<DebugSlice>> {
    let elf = object::File::parse(elf)?;
    let endian = if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let mut room = MAX_PROGRAM_BYTES;
    Dwarf::load(|id| {
        let data = match name(id).and_then(|name| elf.section_by_name(name)) {
            None => Arc::default(),
            Some(section) => {
                let data = section.compressed_data()?;
                let left = room.checked_sub(data.uncompressed_size);
                room = left.context("has too much debugging information")?;
                Arc::from(data.decompress()?)
            }
        };
        Ok(DebugSlice::new(data, endian))
    })
}
