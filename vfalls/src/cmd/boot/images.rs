//! The images that `boot` loads: the hypervisor and the guests.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::read::GzDecoder;
use simulator::execute::{Execution, Interfaces, map};
use simulator::input;
use simulator::text::line;

use crate::cmd::boot::elf;

/// The maximum size of an image file, in bytes. Larger files are rejected.
const MAX_IMAGE_BYTES: u64 = 1 << 30;

// Images compressed with gzip. bundled/README.md says where they come from.
const HYPERVISOR: &[u8] = include_bytes!("../../../bundled/hypervisor.elf.gz");
const GUEST: &[u8] = include_bytes!("../../../bundled/guest.elf.gz");

/// An ELF file for SPARC V9, and its origin.
#[derive(Clone)]
pub(crate) struct ImageFile {
    /// The name of the image in messages.
    pub(crate) name: String,
    /// The path; `None` for a bundled image.
    pub(crate) path: Option<PathBuf>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) entry: u64,
}

impl ImageFile {
    /// Reads an image that must fit into `memory`.
    pub(crate) fn read(path: &Path, memory: &Range<u64>) -> anyhow::Result<Self> {
        let bytes = input::read(path, MAX_IMAGE_BYTES)?;
        Self::new(path.display().to_string(), Some(path), bytes, memory)
    }

    pub(crate) fn bundled_hypervisor() -> anyhow::Result<Self> {
        Self::bundled("the bundled hypervisor", HYPERVISOR, &map::HYPERVISOR)
    }

    /// Returns the bundled guest. Fails if `memory` is too small for it.
    pub(crate) fn bundled_guest(memory: &Range<u64>) -> anyhow::Result<Self> {
        Self::bundled("the bundled guest", GUEST, memory)
    }

    fn bundled(name: &str, compressed: &[u8], memory: &Range<u64>) -> anyhow::Result<Self> {
        let mut bytes = Vec::new();
        GzDecoder::new(compressed).read_to_end(&mut bytes)?;
        Self::new(name.to_owned(), None, bytes, memory)
    }

    fn new(
        name: String,
        path: Option<&Path>,
        bytes: Vec<u8>,
        memory: &Range<u64>,
    ) -> anyhow::Result<Self> {
        let entry = elf::parse(&bytes).and_then(|elf| elf::entry(&elf, memory));
        let entry = entry.with_context(|| name.clone())?;
        Ok(Self { name, path: path.map(Path::to_owned), bytes, entry })
    }

    /// Returns the interfaces that a hypervisor's image declares.
    pub(crate) fn interfaces(&self) -> anyhow::Result<Interfaces> {
        let found = elf::parse(&self.bytes).and_then(|elf| elf::interfaces(&elf));
        found.with_context(|| self.name.clone())
    }

    /// Loads the image. Each segment is loaded at its address plus `moved`.
    pub(crate) fn load(&self, execution: &mut Execution, moved: u64) -> anyhow::Result<()> {
        elf::load(&self.bytes, execution, moved).with_context(|| self.name.clone())
    }

    /// Returns the file's name without its directory and extension; `guest` for a bundled image.
    pub(crate) fn short(&self) -> String {
        let stem = self.path.as_deref().and_then(Path::file_stem);
        stem.map_or_else(|| "guest".to_owned(), |stem| line(&stem.to_string_lossy()))
    }
}
