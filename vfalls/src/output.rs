//! Output files and directories. An output gets its name only when it is complete. It replaces an
//! existing file only with `--force`. Without this option, it does not even replace a file that
//! another program creates while the output is being written.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, anyhow, bail, ensure};
use serde::Serialize;
use simulator::run::Run;
use simulator::text;
use tempfile::TempPath;

use crate::interrupt;

/// The incomplete outputs, which an interrupt removes. The key is the final path. The value is the
/// temporary path and, for a directory, the paths of its files.
static INCOMPLETE: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());

static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if this program has dropped an incomplete output.
pub(crate) fn is_abandoned() -> bool {
    ABANDONED.load(Ordering::Relaxed)
}

fn incomplete() -> MutexGuard<'static, BTreeMap<PathBuf, Vec<PathBuf>>> {
    INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all incomplete outputs, and calls `end`, which ends the process. Meanwhile, no thread
/// can start or complete an output.
pub(crate) fn remove_incomplete(end: &mut dyn FnMut()) {
    let incomplete = incomplete();
    incomplete.values().for_each(|temporary| remove(temporary));
    end();
}

/// Removes files and directories in reverse order. A directory that contains other files stays.
/// Failures are ignored, because nobody can act on them.
fn remove(paths: &[PathBuf]) {
    for path in paths.iter().rev() {
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
    }
}

/// An output under a hidden temporary name, in the directory of its final name. If this value is
/// dropped before the output is complete, the output is removed.
struct Incomplete {
    temporary: PathBuf,
    path: PathBuf,
}

impl Incomplete {
    /// Begins to write the output `path`. `make` receives a temporary name, and creates the output
    /// under that name.
    fn make<T>(path: PathBuf, make: impl Fn(&Path) -> io::Result<T>) -> anyhow::Result<(Self, T)> {
        let shown = path.display();
        let name = path.file_name();
        let name = name.with_context(|| format!("{shown}: expected a name"))?;
        let hidden = [OsStr::new("."), name, OsStr::new(".")].join(OsStr::new(""));
        interrupt::clean_up()?;
        let mut incomplete = incomplete();
        ensure!(!incomplete.contains_key(&path), "{shown}: is named for two outputs");
        let (made, temporary) = tempfile::Builder::new()
            .prefix(&hidden)
            .suffix(".partial")
            .make_in(path.with_file_name(""), make)
            .and_then(|made| Ok(made.keep()?))
            .with_context(|| format!("{shown}: cannot be written"))?;
        incomplete.insert(path.clone(), vec![temporary.clone()]);
        Ok((Self { temporary, path }, made))
    }

    /// Gives the output its final name. `rename` receives the temporary name and the final path.
    fn complete(
        self,
        rename: impl FnOnce(&Path, &Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        // The lock is held until the output has been removed from the list. Otherwise, an interrupt
        // could remove an output that has just been renamed.
        let mut incomplete = incomplete();
        rename(&self.temporary, &self.path)?;
        incomplete.remove(&self.path);
        Ok(())
    }
}

impl Drop for Incomplete {
    fn drop(&mut self) {
        if let Some(temporary) = incomplete().remove(&self.path) {
            remove(&temporary);
            ABANDONED.store(true, Ordering::Relaxed);
        }
    }
}

/// The option `--force`, which lets outputs replace existing files.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Force {
    /// Replace existing files
    #[arg(long)]
    force: bool,
}

impl Force {
    /// Creates the file `path` under a temporary name.
    pub fn create(self, path: &Path) -> anyhow::Result<OutputFile> {
        if path.is_file() {
            self.check(path)?;
        }
        OutputFile::create(path, self.force)
    }

    /// Creates a file if the user names one; otherwise returns `None`.
    pub fn create_if_wanted(self, path: Option<&PathBuf>) -> anyhow::Result<Option<OutputFile>> {
        path.map(|path| self.create(path)).transpose()
    }

    /// Fails unless `--force` is set. `path` is the existing file that the error names.
    pub fn check(self, path: &Path) -> anyhow::Result<()> {
        ensure!(self.force, "{}: already exists; --force replaces it", path.display());
        Ok(())
    }
}

/// A file that is written under a temporary name, in the directory of its final name. When the file
/// is complete, it gets its final name; until then, an older file with this name stays. If the new
/// file is dropped or interrupted before it is complete, it is removed.
pub struct OutputFile {
    file: File,
    incomplete: Incomplete,
    replaces: bool,
}

impl OutputFile {
    /// Creates the file `path` under a temporary name. Fails if `path` exists, unless it is an
    /// ordinary file and `replaces` is `true`.
    pub fn create(path: impl AsRef<Path>, replaces: bool) -> anyhow::Result<Self> {
        let mut path = path.as_ref().to_owned();
        let shown = path.display();
        if fs::symlink_metadata(&path).is_ok() {
            ensure!(path.is_file(), "{shown}: exists and is not a regular file");
            ensure!(replaces, "{shown}: already exists");
            path = fs::canonicalize(&path)?;
        }
        let (incomplete, file) = Incomplete::make(path, |temporary| File::create_new(temporary))?;
        Ok(Self { file, incomplete, replaces })
    }

    /// Returns the temporary path, which the file has until it is complete.
    pub fn temporary(&self) -> &Path {
        &self.incomplete.temporary
    }

    /// Gives the file its final name. Fails if a file with this name exists and must not be
    /// replaced.
    pub fn complete(self) -> anyhow::Result<()> {
        let replaces = self.replaces;
        self.incomplete.complete(|temporary, path| {
            let renamed = match replaces {
                true => fs::rename(temporary, path),
                false => rename_to_new(temporary, path),
            };
            renamed.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => has_come(path),
                _ => cannot_be_written(path, error),
            })
        })
    }

    /// Writes `value` as JSON, and then gives the file its final name.
    pub fn complete_json(self, value: &impl Serialize) -> anyhow::Result<()> {
        self.complete_line(&json(value)?)
    }

    fn complete_line(mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.file, "{line}")
            .map_err(|error| cannot_be_written(&self.incomplete.path, error))?;
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

fn cannot_be_written(path: &Path, error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("{}: cannot be written", path.display()))
}

/// Renames a file or directory. Fails if the new name is in use.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match TempPath::try_from_path(from)?.persist_noclobber(to) {
        Ok(()) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(error.error),
        Err(error) => rename_to_claimed(&error.path, to),
    }
}

/// Renames a file or directory on file systems where every renaming replaces an existing file.
/// First claims the new name by creating an empty directory or file. If the renaming fails, removes
/// this empty directory or file.
fn rename_to_claimed(from: &Path, to: &Path) -> io::Result<()> {
    match from.is_dir() {
        true => fs::create_dir(to)?,
        false => drop(File::create_new(to)?),
    }
    fs::rename(from, to).inspect_err(|_| remove(&[to.to_owned()]))
}

/// A directory that is written under a temporary name, like an [`OutputFile`]. When it is complete,
/// it gets its final name.
pub(crate) struct OutputDirectory {
    incomplete: Incomplete,
    /// The names of the files in the older directory. Only these files may be removed. `None` if
    /// there was no older directory.
    replaces: Option<Vec<OsString>>,
}

impl OutputDirectory {
    /// Creates the directory `path` under a temporary name. If a directory with files exists at
    /// `path`, `check` decides whether these files may be replaced.
    pub(crate) fn create(
        path: impl AsRef<Path>,
        check: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let mut path = path.as_ref().to_owned();
        let mut replaces = None;
        if fs::symlink_metadata(&path).is_ok() {
            ensure!(path.is_dir(), "{}: exists and is not a directory", path.display());
            path = fs::canonicalize(&path)?;
            let there = names(&path)?;
            if !there.is_empty() {
                check(&path)?;
            }
            if let Some(name) = there.iter().find(|name| path.join(name).is_dir()) {
                bail!("{}: is a directory, and is not replaced", path.join(name).display());
            }
            replaces = Some(there);
        }
        let (incomplete, ()) = Incomplete::make(path, |temporary| fs::create_dir(temporary))?;
        Ok(Self { incomplete, replaces })
    }

    /// Writes a file into the directory. `name` is a file name, or one subdirectory and a file
    /// name.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let Incomplete { temporary, path } = &self.incomplete;
        let file = temporary.join(name);
        let within = file.parent().filter(|within| !within.exists());
        if let Some(all) = incomplete().get_mut(path) {
            all.extend(within.into_iter().chain([&*file]).map(Path::to_owned));
        }
        within
            .map_or(Ok(()), fs::create_dir)
            .and_then(|()| fs::write(&file, bytes))
            .map_err(|error| cannot_be_written(&path.join(name), error))
    }

    /// Gives the directory its final name. If an older directory may be replaced, replaces it. On
    /// failure, the older directory stays.
    pub(crate) fn complete(self) -> anyhow::Result<()> {
        let Self { incomplete, replaces } = self;
        incomplete.complete(|temporary, path| {
            let renamed = match &replaces {
                None => rename_to_new(temporary, path),
                // `rename` replaces a directory only if it is empty.
                Some(files) if files.is_empty() => fs::rename(temporary, path),
                Some(files) => return replace(temporary, path, files),
            };
            renamed.map_err(|error| match new_file(path, &[]) {
                Some(name) => has_come(&path.join(name)),
                None if error.kind() == io::ErrorKind::AlreadyExists => has_come(path),
                None => cannot_be_written(path, error),
            })
        })
    }
}

/// Replaces an older directory by renaming the new one. The older directory must contain only
/// `files`.
fn replace(new: &Path, path: &Path, files: &[OsString]) -> anyhow::Result<()> {
    let mut aside = new.as_os_str().to_owned();
    aside.push(".old");
    let aside = PathBuf::from(aside);
    let cannot = |error| cannot_be_written(path, error);
    fs::rename(path, &aside).map_err(cannot)?;
    // If the name is a symbolic link, the files belong to another directory and must stay.
    let is_directory = fs::symlink_metadata(&aside).is_ok_and(|aside| aside.is_dir());
    let renamed = match new_file(&aside, files) {
        _ if !is_directory => Err(has_come(path)),
        None => fs::rename(new, path).map_err(cannot),
        Some(name) => Err(has_come(&path.join(name))),
    };
    if let Err(error) = renamed {
        fs::rename(&aside, path)
            .with_context(|| format!("the older directory is now {}", aside.display()))?;
        return Err(error);
    }
    let mut old = vec![aside.clone()];
    old.extend(files.iter().map(|name| aside.join(name)));
    remove(&old);
    ensure!(
        !aside.exists(),
        "{}: the older directory cannot be removed completely",
        aside.display()
    );
    Ok(())
}

/// Returns the name of a file in `directory` that `files` does not list; `None` if there is none.
fn new_file(directory: &Path, files: &[OsString]) -> Option<OsString> {
    let mut names = names(directory).ok()?.into_iter();
    names.find(|name| !files.contains(name))
}

/// Formats `value` as JSON. Characters that could change how a terminal shows the text are
/// [escaped](text::json).
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<String> {
    let json = serde_json::to_string_pretty(value)?;
    Ok(text::json(&json).into_owned())
}

/// Writes `value` as JSON to `file`, and completes the file. Does nothing if the user names no
/// file.
pub(crate) fn complete_json(
    file: Option<OutputFile>,
    value: &impl Serialize,
) -> anyhow::Result<()> {
    file.map_or(Ok(()), |file| file.complete_json(value))
}

/// Writes a run as JSON to `file`, and completes the file. Does nothing if the user names no file.
pub(crate) fn complete_run(file: Option<OutputFile>, run: &Run) -> anyhow::Result<()> {
    file.map_or(Ok(()), |file| file.complete_line(&run.json()?))
}

fn has_come(path: &Path) -> anyhow::Error {
    anyhow!(
        "{}: was created in the meantime and is not replaced; nothing was written",
        path.display()
    )
}

fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let entries = fs::read_dir(directory)?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

#[cfg(test)]
mod tests;
