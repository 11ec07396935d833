//! Which files the program has in memory.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};

use object::Object;
use object::read::ReadCache;
use simulator::recording::Mapping;

/// The mappings of the program's code that were found so far.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    /// The mappings of the emulator, which shares the program's addresses: start and end.
    emulator: Vec<(u64, u64)>,
    found: HashSet<(u64, u64, u64, String)>,
    /// The build ids of the files; `None` for those that are not ELF files.
    files: HashMap<String, Option<Vec<u8>>>,
}

impl Mappings {
    /// Returns the mappings of a process in which there is only the emulator yet.
    pub(crate) fn before_the_program() -> Self {
        let emulator = all()
            .map(|(mapping, _)| (mapping.start, mapping.end))
            .collect();
        Self {
            emulator,
            ..Self::default()
        }
    }

    /// Returns the files with code that have been mapped since the last time.
    pub(crate) fn look(&mut self) -> Vec<Mapping> {
        let mut new = Vec::new();
        for (mut mapping, key) in all() {
            let own = |&(start, end): &(u64, u64)| mapping.start < end && start < mapping.end;
            if self.emulator.iter().any(own) || !self.found.insert(key) {
                continue;
            }
            let path = mapping.path.clone();
            let build_id = self
                .files
                .entry(path)
                .or_insert_with(|| build_id(&mapping.path));
            if let Some(build_id) = build_id {
                mapping.build_id.clone_from(build_id);
                new.push(mapping);
            }
        }
        new
    }
}

/// Returns the mappings of files in this process.
fn all() -> impl Iterator<Item = (Mapping, (u64, u64, u64, String))> {
    let text = fs::read("/proc/self/maps").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().filter_map(parse).collect();
    lines.into_iter().map(|mapping| {
        let Mapping {
            start, end, offset, ..
        } = mapping;
        let key = (start, end, offset, mapping.path.clone());
        (mapping, key)
    })
}

/// Parses a line of `/proc/self/maps`: "START-END PERMISSIONS OFFSET DEVICE INODE PATH".
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

/// Returns the build id of an ELF file, empty if it has none; `None` for any other file.
fn build_id(path: &str) -> Option<Vec<u8>> {
    let file = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&file).ok()?;
    Some(file.build_id().ok()?.unwrap_or_default().to_vec())
}
