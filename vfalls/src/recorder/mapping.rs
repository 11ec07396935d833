//! What large mappings cost the emulator.

use std::path::{Path, PathBuf};
use std::process::Command;

use indicatif::HumanBytes;

/// The time in nanoseconds that QEMU 7.2 needs to map one page of the program. An idle host takes 10 s to map 1 TiB for an x86-64 program,
/// whose pages have 4 KiB. A host that is busy or short of memory takes two to three times as long.
const NANOSECONDS_PER_PAGE: u64 = 40;

/// The size of QEMU's record of a page, in bytes (`PageDesc` in QEMU 7.2's `accel/tcg/translate-all.c`).
const BYTES_PER_PAGE: u64 = 24;

/// The first major version of QEMU that keeps flags for whole ranges of pages, so that a large mapping costs nothing.
const FIRST_RANGE_VERSION: u64 = 8;

/// The cost of the program's large mappings under the emulator in use.
pub(super) struct MappingCosts {
    emulator: PathBuf,
    /// The size of the program's pages, in bytes.
    page: u64,
    /// The size of the largest mapping so far, in bytes.
    largest: u64,
}

impl MappingCosts {
    /// Returns the state before the first mapping of a program. `target` is QEMU's name for the program's architecture.
    pub(super) fn new(emulator: &Path, target: &str) -> Self {
        let page = if target == "sparc64" { 0x2000 } else { 0x1000 };
        Self { emulator: emulator.to_owned(), page, largest: 0 }
    }

    /// Returns a note on the cost of a mapping that the program `name` is about to make. Returns `None` if the mapping costs nothing, or if
    /// the program has already made a mapping of at least this size.
    pub(super) fn note(&mut self, name: &str, bytes: u64) -> Option<String> {
        if bytes <= self.largest {
            return None;
        }
        self.largest = bytes;
        if version(&self.emulator).is_some_and(|version| version >= FIRST_RANGE_VERSION) {
            return None;
        }
        let pages = bytes.div_ceil(self.page);
        Some(format!(
            "{name} maps {}: the emulator needs about {} and {} of memory for this mapping",
            HumanBytes(bytes),
            time(pages.saturating_mul(NANOSECONDS_PER_PAGE) / 1_000_000_000),
            HumanBytes(pages.saturating_mul(BYTES_PER_PAGE))
        ))
    }
}

fn time(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} seconds"),
        _ => format!("{} minutes", (seconds + 30) / 60),
    }
}

/// Returns the major version of the emulator; `None` if it does not report its version.
fn version(emulator: &Path) -> Option<u64> {
    let said = Command::new(emulator).arg("--version").output().ok()?;
    major(&String::from_utf8_lossy(&said.stdout))
}

/// Returns the major version in a line such as `qemu-x86_64 version 7.2.22 (Debian 1:7.2+dfsg-7)`.
fn major(said: &str) -> Option<u64> {
    let version = said.split_whitespace().skip_while(|word| *word != "version").nth(1)?;
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_costs_time_and_memory_for_each_page() {
        // The emulator does not exist, so its version is unknown, and the cost is that of an old emulator.
        let note = |target, bytes| {
            MappingCosts::new(Path::new("/nonexistent/qemu"), target).note("./p", bytes).unwrap()
        };
        // 2^32 pages of 4 KiB, with 40 ns and 24 bytes for each: 172 s and 96 GiB.
        assert_eq!(
            note("x86_64", 16 << 40),
            "./p maps 16.00 TiB: the emulator needs about 3 minutes and 96.00 GiB of memory for this mapping"
        );
        // 2^26 pages of 8 KiB.
        assert_eq!(
            note("sparc64", 512 << 30),
            "./p maps 512.00 GiB: the emulator needs about 2 seconds and 1.50 GiB of memory for this mapping"
        );
    }

    #[test]
    fn a_mapping_as_large_as_an_earlier_one_has_no_note() {
        let mut mappings = MappingCosts::new(Path::new("/nonexistent/qemu"), "x86_64");
        let noted = [1 << 40, 1 << 40, 1 << 39, 2 << 40].map(|bytes| mappings.note("p", bytes));
        assert_eq!(noted.map(|note| note.is_some()), [true, false, false, true]);
    }

    #[test]
    fn versions_are_read() {
        let said = "qemu-x86_64 version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright (c)\n";
        assert_eq!(major(said), Some(7));
        assert_eq!(major("qemu-sparc64 version 10.0.2\n"), Some(10));
        assert_eq!(major("true (GNU coreutils) 9.1"), None);
    }
}
