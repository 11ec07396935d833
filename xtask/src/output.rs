//! Files that appear whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, bail, ensure};

use crate::interrupt;

/// The temporary names that are there now.
static INCOMPLETE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn incomplete() -> MutexGuard<'static, Vec<PathBuf>> {
    INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all files that are not complete, and ends the process by `end` before another begins or is completed.
pub(crate) fn remove_incomplete(end: impl FnOnce()) {
    let incomplete = incomplete();
    for temporary in incomplete.iter() {
        // Nothing can be done about a file that is gone or cannot go.
        let _ = fs::remove_file(temporary);
    }
    end();
}

/// A file that is written under a temporary name beside its own, and has its own only once it is complete. What was
/// there before stays until then. Dropped before that, or interrupted, it leaves nothing.
pub struct OutputFile {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    complete: bool,
}

impl OutputFile {
    /// Begins to write the file `path`.
    ///
    /// # Errors
    /// Nothing can be written there, or `path` is there and no ordinary file (a directory, a device, a pipe).
    pub fn create(path: impl AsRef<Path>) -> anyhow::Result<Self> {
        let mut path = path.as_ref().to_owned();
        if let Ok(metadata) = fs::metadata(&path) {
            ensure!(
                metadata.is_file(),
                "{}: is there and is no ordinary file",
                path.display()
            );
            path = fs::canonicalize(&path)?;
        }
        let Some(name) = path.file_name() else {
            bail!("{}: expected the name of a file", path.display())
        };
        interrupt::clean_up()?;
        let mut incomplete = incomplete();
        for attempt in 0..100 {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{attempt}.partial", std::process::id()));
            let temporary = path.with_file_name(hidden);
            match File::create_new(&temporary) {
                Ok(file) => {
                    incomplete.push(temporary.clone());
                    return Ok(Self {
                        file,
                        temporary,
                        path,
                        complete: false,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("{}: cannot be written", path.display()));
                }
            }
        }
        bail!(
            "{}: too many files with names such as {}",
            path.display(),
            name.display()
        )
    }

    /// Gives the file its name, in place of any that had it.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn complete(mut self) -> anyhow::Result<()> {
        let mut incomplete = incomplete();
        fs::rename(&self.temporary, &self.path)
            .with_context(|| format!("{}: cannot be written", self.path.display()))?;
        incomplete.retain(|temporary| *temporary != self.temporary);
        self.complete = true;
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if !self.complete {
            let mut incomplete = incomplete();
            // Nothing can be done about a file that is gone or cannot go.
            let _ = fs::remove_file(&self.temporary);
            incomplete.retain(|temporary| *temporary != self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("xtask-output-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn names(path: &Path) -> Vec<OsString> {
        fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect()
    }

    #[test]
    fn is_there_only_when_complete() {
        let place = directory("complete");
        let path = place.join("result");
        fs::write(&path, "old").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.complete().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&place), ["result"]);
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn leaves_nothing_when_dropped() {
        let place = directory("dropped");
        let mut file = OutputFile::create(place.join("result")).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(names(&place).len(), 1);
        drop(file);
        assert!(names(&place).is_empty());
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn refuses_what_is_no_ordinary_file() {
        let place = directory("refused");
        for path in [
            place.as_path(),
            Path::new("/dev/null"),
            &place.join("none/result"),
            &place.join(".."),
        ] {
            assert!(OutputFile::create(path).is_err(), "{}", path.display());
        }
        assert!(names(&place).is_empty());
        fs::remove_dir_all(place).unwrap();
    }
}
