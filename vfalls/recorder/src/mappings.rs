//! The files that the program maps into memory.

use std::collections::{HashMap, HashSet};
use std::fs;

use refs::Mapping;

use crate::elf::{Elf, Segment};

/// The mappings of the program's code that have been found so far.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    /// The start and the end of each of the emulator's own mappings, which share the program's address space.
    emulator: Vec<(u64, u64)>,
    found: HashSet<(u64, u64, u64, String)>,
    /// The build id of each file, or `None` if the file is not an ELF file.
    files: HashMap<String, Option<Vec<u8>>>,
}

impl Mappings {
    /// Records the emulator's own mappings. Must be called before the emulator loads the program.
    pub(crate) fn before_the_program() -> Self {
        let emulator =
            current_mappings().map(|(mapping, _)| (mapping.start, mapping.end)).collect();
        Self { emulator, ..Self::default() }
    }

    /// Forgets the mappings that have been found, so that [`take_new`](Self::take_new) returns them again.
    pub(crate) fn forget(&mut self) {
        self.found.clear();
    }

    /// Returns the mappings of ELF files that have appeared since the previous call.
    pub(crate) fn take_new(&mut self) -> Vec<Mapping> {
        let mut new = Vec::new();
        for (mut mapping, key) in current_mappings() {
            let own = |&(start, end): &(u64, u64)| mapping.start < end && start < mapping.end;
            if self.emulator.iter().any(own) || !self.found.insert(key) {
                continue;
            }
            let path = mapping.path.clone();
            let build_id = self.files.entry(path).or_insert_with(|| build_id(&mapping.path));
            if let Some(build_id) = build_id {
                mapping.build_id.clone_from(build_id);
                new.push(mapping);
            }
        }
        new
    }
}

fn current_mappings() -> impl Iterator<Item = (Mapping, (u64, u64, u64, String))> {
    let text = fs::read("/proc/self/maps").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().filter_map(parse).collect();
    lines.into_iter().map(|mapping| {
        let Mapping { start, end, offset, .. } = mapping;
        let key = (start, end, offset, mapping.path.clone());
        (mapping, key)
    })
}

/// Parses a line of `/proc/self/maps`: `START-END PERMISSIONS OFFSET DEVICE INODE PATH`.
fn parse(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let offset = words.nth(1)?;
    let path = words.nth(2)?.trim_start();
    let number = |text| u64::from_str_radix(text, 16).ok();
    path.starts_with('/').then_some(())?;
    Some(Mapping {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        path: path.to_owned(),
        build_id: Vec::new(),
    })
}

/// Returns the build id of a 64-bit ELF file, or an empty one if the file has none. Returns `None` for any other file.
fn build_id(path: &str) -> Option<Vec<u8>> {
    const BUILD_ID: u64 = 3;
    /// The maximum size of a note segment that is searched for the build id, in bytes.
    const MAX_NOTES_BYTES: u64 = 1 << 16;
    let elf = Elf::open(path)?;
    for segment in elf.segments().unwrap_or_default() {
        if segment.kind != Segment::NOTE || segment.length > MAX_NOTES_BYTES {
            continue;
        }
        let Some(notes) = elf.bytes(segment.offset, segment.length) else {
            continue;
        };
        let mut rest = &notes[..];
        while let [Some(name), Some(content), Some(kind)] =
            [0, 4, 8].map(|at| elf.number(rest, at, 4))
        {
            let (name, content) = (name as usize, content as usize);
            let start = 12 + name.next_multiple_of(4);
            let Some(found) = rest.get(start..start.saturating_add(content)) else {
                break;
            };
            if kind == BUILD_ID && rest[12..].starts_with(b"GNU\0") {
                return Some(found.to_vec());
            }
            rest = rest.get(start + content.next_multiple_of(4)..).unwrap_or_default();
        }
    }
    Some(Vec::new())
}
