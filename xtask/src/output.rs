//! Files and directories that appear whole or not at all.

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
        remove(temporary);
    }
    end();
}

/// Removes a file, or a directory with all that is in it. Nothing can be done about one that is gone or cannot go.
fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// Makes something that is not complete yet, under a hidden name beside `path`.
fn beside<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> anyhow::Result<(PathBuf, T)> {
    let Some(name) = path.file_name() else {
        bail!("{}: expected a name", path.display())
    };
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
                return Ok((temporary, made));
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
        let (temporary, file) = beside(&path, |temporary| File::create_new(temporary))?;
        Ok(Self {
            file,
            temporary,
            path,
            complete: false,
        })
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
            remove(&self.temporary);
            incomplete.retain(|temporary| *temporary != self.temporary);
        }
    }
}

/// A directory that is written under a temporary name beside its own, as [`OutputFile`]s are.
pub struct OutputDirectory {
    temporary: PathBuf,
    path: PathBuf,
    complete: bool,
}

impl OutputDirectory {
    /// Begins to write the directory `path`. One that is there and not empty is only replaced if it `may_go`.
    ///
    /// # Errors
    /// Nothing can be written there, or what is there must not be replaced.
    pub fn create(
        path: impl AsRef<Path>,
        may_go: impl FnOnce(&Path) -> anyhow::Result<()>,
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
                may_go(&path)?;
            }
        }
        let (temporary, ()) = beside(&path, |temporary| fs::create_dir(temporary))?;
        Ok(Self {
            temporary,
            path,
            complete: false,
        })
    }

    /// Where its files are written.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.temporary
    }

    /// Where they will be.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the directory its name, in place of any that had it.
    ///
    /// # Errors
    /// It cannot be renamed. What was there before still is.
    pub fn complete(mut self) -> anyhow::Result<()> {
        let mut incomplete = incomplete();
        let written = || format!("{}: cannot be written", self.path.display());
        let mut old = self.temporary.clone().into_os_string();
        old.push(".old");
        let old = PathBuf::from(old);
        let replaces = fs::read_dir(&self.path).is_ok_and(|mut files| files.next().is_some());
        if replaces {
            fs::rename(&self.path, &old).with_context(written)?;
        }
        if let Err(error) = fs::rename(&self.temporary, &self.path) {
            if replaces {
                fs::rename(&old, &self.path).with_context(written)?;
            }
            return Err(error).with_context(written);
        }
        if replaces {
            remove(&old);
        }
        incomplete.retain(|temporary| *temporary != self.temporary);
        self.complete = true;
        Ok(())
    }
}

impl Drop for OutputDirectory {
    fn drop(&mut self) {
        if !self.complete {
            let mut incomplete = incomplete();
            remove(&self.temporary);
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
    fn directories_are_there_only_when_complete() {
        let place = directory("directories");
        let path = place.join("result");
        let refuse = |_: &Path| Err(anyhow::anyhow!("it is needed"));
        let write = |name: &str, directory: &OutputDirectory| {
            fs::write(directory.place().join(name), name).unwrap();
        };
        // New, empty, and in place of another.
        for name in ["new", "again"] {
            if name == "again" {
                fs::remove_file(path.join("new")).unwrap();
            }
            let made = OutputDirectory::create(&path, refuse).unwrap();
            write(name, &made);
            made.complete().unwrap();
            assert_eq!(names(&path), [name]);
        }
        let refused = OutputDirectory::create(&path, refuse).err().unwrap();
        assert_eq!(refused.to_string(), "it is needed");
        let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
        write("other", &made);
        assert_eq!(names(&path), ["again"]);
        made.complete().unwrap();
        assert_eq!(
            (names(&path), names(&place)),
            (vec!["other".into()], vec!["result".into()])
        );
        // Dropped.
        let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
        write("half", &made);
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
