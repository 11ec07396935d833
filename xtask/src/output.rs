//! Files and directories that appear whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, bail, ensure};
use serde::Serialize;

use crate::interrupt;

/// The temporary names of what is not complete, which an interrupt removes.
static INCOMPLETE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn incomplete() -> MutexGuard<'static, Vec<PathBuf>> {
    INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all that is not complete, and calls `end`, which ends the process, before anything else begins or is completed.
pub(crate) fn remove_incomplete(end: impl FnOnce()) {
    let incomplete = incomplete();
    for temporary in incomplete.iter() {
        remove(temporary);
    }
    end();
}

/// Removes a file, or a directory with all that is in it. A failure is ignored: nothing can be done about it.
fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// What is written under a hidden name beside its own until it is complete. Dropped before that, it leaves nothing.
struct Incomplete {
    temporary: PathBuf,
    path: PathBuf,
}

impl Incomplete {
    /// Makes what will be at `path`, by `make`, which gets the temporary name.
    fn make<T>(path: PathBuf, make: impl Fn(&Path) -> io::Result<T>) -> anyhow::Result<(Self, T)> {
        let shown = path.display();
        let name = path.file_name();
        let name = name.with_context(|| format!("{shown}: expected a name"))?;
        interrupt::clean_up()?;
        let mut incomplete = incomplete();
        for attempt in 0..100 {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{attempt}.partial", std::process::id()));
            let temporary = path.with_file_name(hidden);
            match make(&temporary) {
                Ok(made) => {
                    incomplete.push(temporary.clone());
                    return Ok((Self { temporary, path }, made));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("{shown}: cannot be written"));
                }
            }
        }
        bail!(
            "{shown}: too many files with names such as {}",
            name.display()
        )
    }

    /// Gives it its own name, by `rename`, which gets the temporary name and the path.
    fn complete(self, rename: impl FnOnce(&Path, &Path) -> io::Result<()>) -> anyhow::Result<()> {
        // No interrupt between the renaming and the end of its record.
        let mut incomplete = incomplete();
        rename(&self.temporary, &self.path).with_context(|| self.cannot_be_written())?;
        incomplete.retain(|temporary| *temporary != self.temporary);
        Ok(())
    }

    fn cannot_be_written(&self) -> String {
        format!("{}: cannot be written", self.path.display())
    }
}

impl Drop for Incomplete {
    fn drop(&mut self) {
        let mut incomplete = incomplete();
        if incomplete.contains(&self.temporary) {
            remove(&self.temporary);
            incomplete.retain(|temporary| *temporary != self.temporary);
        }
    }
}

/// A file that is written under a temporary name beside its own, and has its own only once it is complete. What was
/// there before stays until then. Dropped before that, or interrupted, it leaves nothing.
pub struct OutputFile {
    file: File,
    incomplete: Incomplete,
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
        let (incomplete, file) = Incomplete::make(path, |temporary| File::create_new(temporary))?;
        Ok(Self { file, incomplete })
    }

    /// Gives the file its name, in place of any that had it.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn complete(self) -> anyhow::Result<()> {
        self.incomplete.complete(|from, to| fs::rename(from, to))
    }

    /// Writes `value` as JSON, and gives the file its name.
    ///
    /// # Errors
    /// The file cannot be written or renamed.
    pub fn complete_json(mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut output = BufWriter::new(&mut self.file);
        serde_json::to_writer_pretty(&mut output, value)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(output))
            .and_then(|()| output.flush())
            .with_context(|| self.incomplete.cannot_be_written())?;
        drop(output);
        self.complete()
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

/// A directory that is written under a temporary name beside its own, as [`OutputFile`]s are.
pub struct OutputDirectory(Incomplete);

impl OutputDirectory {
    /// Begins to write the directory `path`. If a directory is there and not empty, `check` decides whether it may be
    /// replaced.
    ///
    /// # Errors
    /// Nothing can be written there, or what is there must not be replaced.
    pub fn create(
        path: impl AsRef<Path>,
        check: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let mut path = path.as_ref().to_owned();
        if fs::symlink_metadata(&path).is_ok() {
            ensure!(
                path.is_dir(),
                "{}: is there and is no directory",
                path.display()
            );
            path = fs::canonicalize(&path)?;
            if fs::read_dir(&path)?.next().is_some() {
                check(&path)?;
            }
        }
        let (incomplete, ()) = Incomplete::make(path, |temporary| fs::create_dir(temporary))?;
        Ok(Self(incomplete))
    }

    /// Writes a file of the directory.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let cannot = || format!("{}: cannot be written", self.0.path.join(name).display());
        fs::write(self.0.temporary.join(name), bytes).with_context(cannot)
    }

    /// Gives the directory its name, in place of any that had it.
    ///
    /// # Errors
    /// The directory cannot be renamed. What was there before still is.
    pub fn complete(self) -> anyhow::Result<()> {
        self.0.complete(|temporary, path| {
            let replaces = fs::read_dir(path).is_ok_and(|mut files| files.next().is_some());
            if !replaces {
                return fs::rename(temporary, path);
            }
            let mut old = temporary.as_os_str().to_owned();
            old.push(".old");
            let old = PathBuf::from(old);
            fs::rename(path, &old)?;
            if let Err(error) = fs::rename(temporary, path) {
                fs::rename(&old, path)?;
                return Err(error);
            }
            remove(&old);
            Ok(())
        })
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
    fn directories_are_there_only_when_complete() {
        let place = directory("directories");
        let path = place.join("result");
        let refuse = |_: &Path| Err(anyhow::anyhow!("it is needed"));
        // New, empty, and in place of another.
        for name in ["new", "again"] {
            if name == "again" {
                fs::remove_file(path.join("new")).unwrap();
            }
            let made = OutputDirectory::create(&path, refuse).unwrap();
            made.write(name, b"").unwrap();
            made.complete().unwrap();
            assert_eq!(names(&path), [name]);
        }
        let refused = OutputDirectory::create(&path, refuse).err().unwrap();
        assert_eq!(refused.to_string(), "it is needed");
        let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
        made.write("other", b"").unwrap();
        assert_eq!(names(&path), ["again"]);
        made.complete().unwrap();
        assert_eq!(
            (names(&path), names(&place)),
            (vec!["other".into()], vec!["result".into()])
        );
        // Dropped.
        let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
        made.write("half", b"").unwrap();
        assert_eq!(names(&place).len(), 2);
        drop(made);
        assert_eq!(
            (names(&path), names(&place)),
            (vec!["other".into()], vec!["result".into()])
        );
        // No directory.
        assert!(OutputDirectory::create(path.join("other"), refuse).is_err());
        assert!(OutputDirectory::create(place.join("none/result"), refuse).is_err());
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
