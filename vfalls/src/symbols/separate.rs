//! Finds debugging information in separate files, as distributions ship it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use flate2::Crc;
use object::Object;
use simulator::input::{self, MAX_PROGRAM_BYTES};

/// A file with the debugging information of another file.
pub(super) struct SeparateDebugFile {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl SeparateDebugFile {
    /// Returns the file with the debugging information of the ELF file `elf`, whose path is `path`.
    ///
    /// Looks first below `root`, by the build id of `elf`. Then looks for a file that has the name
    /// and checksum given in .gnu_debuglink: in the directory of `path`, in the subdirectory
    /// .debug, and below `root`.
    pub(super) fn find(elf: &object::File<'_>, path: &Path, root: &Path) -> Option<Self> {
        let build_id = elf.build_id().ok().flatten().unwrap_or_default();
        if let Some(path) = by_build_id(root, build_id)
            && let Ok(bytes) = input::read_ordinary(&path, MAX_PROGRAM_BYTES)
            && object::File::parse(&*bytes)
                .is_ok_and(|found| found.build_id() == Ok(Some(build_id)))
        {
            return Some(Self { path, bytes });
        }
        let (name, checksum) = elf.gnu_debuglink().ok()??;
        let directory = path.canonicalize().ok()?.parent()?.to_owned();
        let below = root.join(directory.strip_prefix("/").unwrap_or(&directory));
        let places = [directory.clone(), directory.join(".debug"), below];
        places.into_iter().find_map(|place| {
            let path = place.join(OsStr::from_bytes(name));
            let bytes = input::read_ordinary(&path, MAX_PROGRAM_BYTES).ok()?;
            let mut found = Crc::new();
            found.update(&bytes);
            (found.sum() == checksum).then_some(Self { path, bytes })
        })
    }

    /// Returns the content of the file that holds debugging information for several debug files;
    /// `None` if there is no such file. Looks first at the path in .gnu_debugaltlink, and then
    /// below `root` by build id.
    pub(super) fn shared(&self, root: &Path) -> Option<Vec<u8>> {
        let elf = object::File::parse(&*self.bytes).ok()?;
        let (name, build_id) = elf.gnu_debugaltlink().ok()??;
        let beside = self.path.canonicalize().ok()?.parent()?.join(OsStr::from_bytes(name));
        let places = [Some(beside), by_build_id(root, build_id)];
        (places.into_iter().flatten())
            .find_map(|path| input::read_ordinary(&path, MAX_PROGRAM_BYTES).ok())
    }
}

fn by_build_id(root: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let name: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(root.join(format!(".build-id/{first:02x}/{name}.debug")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_build_id() {
        let path = by_build_id(Path::new("/root"), &[0x00, 0x32, 0xfe]);
        assert_eq!(path, Some(PathBuf::from("/root/.build-id/00/32fe.debug")));
        assert_eq!(by_build_id(Path::new("/root"), &[]), None);
    }
}
