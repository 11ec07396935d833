//! Output files and directories that appear complete or not at all. They replace existing files only with `--force`, and never a
//! file that another program creates meanwhile.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, anyhow, bail, ensure};
use serde::Serialize;
use simulator::text;
use tempfile::TempPath;

use crate::interrupt;

/// The outputs that an interrupt removes, by name. The value has the temporary name and, for a directory, its files.
static INCOMPLETE: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());

static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Returns whether an output was dropped before it was complete.
pub(crate) fn is_abandoned() -> bool {
    ABANDONED.load(Ordering::Relaxed)
}

fn incomplete() -> MutexGuard<'static, BTreeMap<PathBuf, Vec<PathBuf>>> {
    INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the outputs that are not complete, and calls `end`, which ends the process. No output begins or is completed meanwhile.
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

/// An output under a hidden name, in the directory of its own name. Removed if it is dropped before it is complete.
struct Incomplete {
    temporary: PathBuf,
    path: PathBuf,
}

impl Incomplete {
    /// Begins the output `path`. `make` creates it under a temporary name.
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

    /// Gives the output its own name. `rename` receives the temporary name and the path.
    fn complete(
        self,
        rename: impl FnOnce(&Path, &Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        // An interrupt waits for this lock, so that it does not remove an output that has just been renamed.
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

/// The option of commands that lets outputs replace files.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Force {
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

impl Force {
    /// Begins to write the file `path`.
    pub fn create(self, path: &Path) -> anyhow::Result<OutputFile> {
        if path.is_file() {
            self.check(path)?;
        }
        OutputFile::create(path, self.force)
    }

    /// Begins to write a file, if the user names one.
    pub fn create_if_wanted(self, path: Option<&PathBuf>) -> anyhow::Result<Option<OutputFile>> {
        path.map(|path| self.create(path)).transpose()
    }

    /// Fails unless the file at `path` may be replaced.
    pub fn check(self, path: &Path) -> anyhow::Result<()> {
        ensure!(self.force, "{}: is there; --force replaces it", path.display());
        Ok(())
    }
}

/// A file that is written under a temporary name, in the directory of its own name. It gets its own name when it is complete; until then,
/// an older file with this name stays. If the new file is dropped or interrupted before it is complete, it is removed.
pub struct OutputFile {
    file: File,
    incomplete: Incomplete,
    replaces: bool,
}

impl OutputFile {
    /// Begins to write the file `path`. Fails if `path` exists, unless it is an ordinary file and `replaces` is `true`.
    pub fn create(path: impl AsRef<Path>, replaces: bool) -> anyhow::Result<Self> {
        let mut path = path.as_ref().to_owned();
        let shown = path.display();
        if fs::symlink_metadata(&path).is_ok() {
            ensure!(path.is_file(), "{shown}: is there and is no ordinary file");
            ensure!(replaces, "{shown}: is there");
            path = fs::canonicalize(&path)?;
        }
        let (incomplete, file) = Incomplete::make(path, |temporary| File::create_new(temporary))?;
        Ok(Self { file, incomplete, replaces })
    }

    /// Returns the name under which the file grows.
    pub fn temporary(&self) -> &Path {
        &self.incomplete.temporary
    }

    /// Gives the file its name. Fails if another file now has this name and must not be replaced.
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

    /// Writes `value` as JSON, and gives the file its name.
    pub fn complete_json(mut self, value: &impl Serialize) -> anyhow::Result<()> {
        writeln!(self.file, "{}", json(value)?)
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

/// Renames on a file system that cannot refuse to replace a file. First claims the new name with an
/// empty directory or file, which is removed if the renaming fails.
fn rename_to_claimed(from: &Path, to: &Path) -> io::Result<()> {
    match from.is_dir() {
        true => fs::create_dir(to)?,
        false => drop(File::create_new(to)?),
    }
    fs::rename(from, to).inspect_err(|_| remove(&[to.to_owned()]))
}

/// A directory that is written under a temporary name, as an [`OutputFile`] is.
pub(crate) struct OutputDirectory {
    incomplete: Incomplete,
    /// The older directory's files. Only these may be removed. `None` if there was no directory.
    replaces: Option<Vec<OsString>>,
}

impl OutputDirectory {
    /// Begins to write the directory `path`. If a directory with files has this name, `check` decides whether they may be replaced.
    pub(crate) fn create(
        path: impl AsRef<Path>,
        check: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let mut path = path.as_ref().to_owned();
        let mut replaces = None;
        if fs::symlink_metadata(&path).is_ok() {
            ensure!(path.is_dir(), "{}: is there and is no directory", path.display());
            path = fs::canonicalize(&path)?;
            let there = names(&path)?;
            if !there.is_empty() {
                check(&path)?;
            }
            if let Some(name) = there.iter().find(|name| path.join(name).is_dir()) {
                bail!("{}: is a directory, and stays", path.join(name).display());
            }
            replaces = Some(there);
        }
        let (incomplete, ()) = Incomplete::make(path, |temporary| fs::create_dir(temporary))?;
        Ok(Self { incomplete, replaces })
    }

    /// Writes a file. `name` may have one directory before the name of the file.
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

    /// Gives the directory its name, and replaces an older directory that may be replaced. On failure, the older directory stays.
    pub(crate) fn complete(self) -> anyhow::Result<()> {
        let Self { incomplete, replaces } = self;
        incomplete.complete(|temporary, path| {
            let renamed = match &replaces {
                None => rename_to_new(temporary, path),
                // This replaces only an empty directory.
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

/// Replaces an older directory, which must contain only `files`, by renaming the new one.
fn replace(new: &Path, path: &Path, files: &[OsString]) -> anyhow::Result<()> {
    let mut aside = new.as_os_str().to_owned();
    aside.push(".old");
    let aside = PathBuf::from(aside);
    let cannot = |error| cannot_be_written(path, error);
    fs::rename(path, &aside).map_err(cannot)?;
    // If the name is a link, the files belong to another directory.
    let is_directory = fs::symlink_metadata(&aside).is_ok_and(|aside| aside.is_dir());
    let renamed = match new_file(&aside, files) {
        _ if !is_directory => Err(has_come(path)),
        None => fs::rename(new, path).map_err(cannot),
        Some(name) => Err(has_come(&path.join(name))),
    };
    if let Err(error) = renamed {
        fs::rename(&aside, path)
            .with_context(|| format!("what was there is {}", aside.display()))?;
        return Err(error);
    }
    let mut old = vec![aside.clone()];
    old.extend(files.iter().map(|name| aside.join(name)));
    remove(&old);
    ensure!(!aside.exists(), "{}: remains of the older directory", aside.display());
    Ok(())
}

/// Returns the name of a file that is in `directory` but not in `files`.
fn new_file(directory: &Path, files: &[OsString]) -> Option<OsString> {
    let mut names = names(directory).ok()?.into_iter();
    names.find(|name| !files.contains(name))
}

/// Returns `value` as JSON, which shows every character as itself or [escaped](text::json).
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<String> {
    let json = serde_json::to_string_pretty(value)?;
    Ok(text::json(&json).into_owned())
}

/// Writes `value` as JSON to a file, if the user names one.
pub(crate) fn complete_json(
    file: Option<OutputFile>,
    value: &impl Serialize,
) -> anyhow::Result<()> {
    file.map_or(Ok(()), |file| file.complete_json(value))
}

fn has_come(path: &Path) -> anyhow::Error {
    anyhow!("{}: has come meanwhile, and stays; nothing was written", path.display())
}

fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let entries = fs::read_dir(directory)?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

#[cfg(test)]
mod tests;
