//! Files and directories that appear whole or not at all. What is there stays unless the user says `--force`, and so does
//! what comes there meanwhile.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, anyhow, bail, ensure};
use serde::Serialize;

use crate::interrupt;

/// What is not complete, which an interrupt removes: temporary names, and below a directory the names of its files, after its
/// own.
static INCOMPLETE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Whether something was dropped before it was complete.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Returns whether an output that was begun has been given up.
pub(crate) fn is_abandoned() -> bool {
    ABANDONED.load(Ordering::Relaxed)
}

fn incomplete() -> MutexGuard<'static, Vec<PathBuf>> {
    INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all that is not complete, and calls `end`, which ends the process, before anything else begins or is completed.
pub(crate) fn remove_incomplete(end: impl FnOnce()) {
    remove(&incomplete());
    end();
}

/// Removes these files and directories, the last first. A failure is ignored: nothing can be done about it. A directory in
/// which there is more stays.
fn remove(paths: &[PathBuf]) {
    for path in paths.iter().rev() {
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
    }
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
            ensure!(
                !incomplete.contains(&temporary),
                "{shown}: is named for two outputs"
            );
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
    fn complete(
        self,
        rename: impl FnOnce(&Path, &Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        // No interrupt between the renaming and the end of its record.
        let mut incomplete = incomplete();
        rename(&self.temporary, &self.path)?;
        incomplete.retain(|path| !path.starts_with(&self.temporary));
        Ok(())
    }
}

impl Drop for Incomplete {
    fn drop(&mut self) {
        let mut incomplete = incomplete();
        let left: Vec<_> = incomplete
            .extract_if(.., |path| path.starts_with(&self.temporary))
            .collect();
        remove(&left);
        if !left.is_empty() {
            ABANDONED.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether outputs replace what is there, as an option of commands.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Force {
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

impl Force {
    /// Begins to write the file `path`.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create(self, path: &Path) -> anyhow::Result<OutputFile> {
        if path.is_file() {
            self.check(path)?;
        }
        OutputFile::create(path, self.force)
    }

    /// Begins to write a file, if one is wanted.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create_if_wanted(self, path: Option<&PathBuf>) -> anyhow::Result<Option<OutputFile>> {
        path.map(|path| self.create(path)).transpose()
    }

    /// Fails unless what is at `path` may be replaced.
    ///
    /// # Errors
    /// The option was not given.
    pub fn check(self, path: &Path) -> anyhow::Result<()> {
        ensure!(
            self.force,
            "{}: is there; --force replaces it",
            path.display()
        );
        Ok(())
    }
}

/// A file that is written under a temporary name beside its own, and has its own only once it is complete. What was
/// there before stays until then. Dropped before that, or interrupted, it leaves nothing.
pub struct OutputFile {
    file: File,
    incomplete: Incomplete,
    replaces: bool,
}

impl OutputFile {
    /// Begins to write the file `path`, which replaces a file of that name only if `replaces`.
    ///
    /// # Errors
    /// Nothing can be written there, or `path` is there and must not be replaced, or is no ordinary file (a directory, a
    /// device, a pipe).
    pub fn create(path: impl AsRef<Path>, replaces: bool) -> anyhow::Result<Self> {
        let mut path = path.as_ref().to_owned();
        let shown = path.display();
        if fs::symlink_metadata(&path).is_ok() {
            ensure!(path.is_file(), "{shown}: is there and is no ordinary file");
            ensure!(replaces, "{shown}: is there");
            path = fs::canonicalize(&path)?;
        }
        let (incomplete, file) = Incomplete::make(path, |temporary| File::create_new(temporary))?;
        Ok(Self {
            file,
            incomplete,
            replaces,
        })
    }

    /// Returns the name that the file has until it is complete.
    #[must_use]
    pub fn temporary(&self) -> &Path {
        &self.incomplete.temporary
    }

    /// Returns the file for the output of another program.
    ///
    /// # Errors
    /// The process has no room for another file.
    pub fn stdio(&self) -> anyhow::Result<Stdio> {
        Ok(self.file.try_clone()?.into())
    }

    /// Removes the file, which was wanted for a time only.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn discard(self) -> anyhow::Result<()> {
        (self.incomplete).complete(|temporary, _| Ok(fs::remove_file(temporary)?))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// The file cannot be renamed, or another has come to its name meanwhile and must not be replaced.
    pub fn complete(self) -> anyhow::Result<()> {
        let replaces = self.replaces;
        self.incomplete.complete(|temporary, path| {
            let renamed = match replaces {
                true => fs::rename(temporary, path),
                false => rename_to_new(temporary, path),
            };
            renamed.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => stays(path),
                _ => cannot_be_written(path, error),
            })
        })
    }

    /// Writes `value` as JSON, and gives the file its name.
    ///
    /// # Errors
    /// The file cannot be written, or as [`complete`](Self::complete).
    pub fn complete_json(mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut output = BufWriter::new(&mut self.file);
        serde_json::to_writer_pretty(&mut output, value)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(output))
            .and_then(|()| output.flush())
            .map_err(|error| cannot_be_written(&self.incomplete.path, error))?;
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

fn cannot_be_written(path: &Path, error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("{}: cannot be written", path.display()))
}

/// Renames a file to a name that no file has.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => rename_to_claimed(from, to),
    }
}

/// The same for a directory, and where a file cannot have two names: takes the name first, by an empty directory or file, which
/// goes again if the renaming fails.
fn rename_to_claimed(from: &Path, to: &Path) -> io::Result<()> {
    match from.is_dir() {
        true => fs::create_dir(to)?,
        false => drop(File::create_new(to)?),
    }
    fs::rename(from, to).inspect_err(|_| remove(&[to.to_owned()]))
}

/// A directory that is written under a temporary name beside its own, as [`OutputFile`]s are.
pub struct OutputDirectory {
    incomplete: Incomplete,
    /// What the directory had at the beginning, which is all that may be removed; `None` if there was none.
    replaces: Option<Vec<OsString>>,
}

impl OutputDirectory {
    /// Begins to write the directory `path`. If a directory is there and not empty, `check` decides whether its files may
    /// be replaced.
    ///
    /// # Errors
    /// Nothing can be written there, or what is there must not be replaced.
    pub fn create(
        path: impl AsRef<Path>,
        check: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let mut path = path.as_ref().to_owned();
        let mut replaces = None;
        if fs::symlink_metadata(&path).is_ok() {
            ensure!(
                path.is_dir(),
                "{}: is there and is no directory",
                path.display()
            );
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
        Ok(Self {
            incomplete,
            replaces,
        })
    }

    /// Writes a file of the directory.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let file = self.incomplete.temporary.join(name);
        incomplete().push(file.clone());
        fs::write(file, bytes)
            .map_err(|error| cannot_be_written(&self.incomplete.path.join(name), error))
    }

    /// Gives the directory its name, in place of one with the files that it had at the beginning.
    ///
    /// # Errors
    /// The directory cannot be renamed, or a file has come into the other one. What was there before still is.
    pub fn complete(self) -> anyhow::Result<()> {
        let Self {
            incomplete,
            replaces,
        } = self;
        incomplete.complete(|temporary, path| {
            let renamed = match &replaces {
                None => rename_to_claimed(temporary, path),
                // This replaces an empty directory only.
                Some(files) if files.is_empty() => fs::rename(temporary, path),
                Some(files) => return replace(temporary, path, files),
            };
            renamed.map_err(|error| match come(path, &[]) {
                Some(name) => stays(&path.join(name)),
                None if error.kind() == io::ErrorKind::AlreadyExists => stays(path),
                None => cannot_be_written(path, error),
            })
        })
    }
}

/// Renames a directory to the name of another, and removes that one's files, which must be these and no more.
fn replace(new: &Path, path: &Path, files: &[OsString]) -> anyhow::Result<()> {
    let mut aside = new.as_os_str().to_owned();
    aside.push(".old");
    let aside = PathBuf::from(aside);
    let cannot = |error| cannot_be_written(path, error);
    fs::rename(path, &aside).map_err(cannot)?;
    // The names are those of a directory, not of what a link refers to.
    let is_directory = fs::symlink_metadata(&aside).is_ok_and(|aside| aside.is_dir());
    let renamed = match come(&aside, files) {
        _ if !is_directory => Err(stays(path)),
        None => fs::rename(new, path).map_err(cannot),
        Some(name) => Err(stays(&path.join(name))),
    };
    if let Err(error) = renamed {
        fs::rename(&aside, path)
            .with_context(|| format!("what was there is {}", aside.display()))?;
        return Err(error);
    }
    let mut old = vec![aside.clone()];
    old.extend(files.iter().map(|name| aside.join(name)));
    remove(&old);
    ensure!(
        !aside.exists(),
        "{}: is left of what was there",
        aside.display()
    );
    Ok(())
}

/// Returns the name of a file that a directory has beside these.
fn come(directory: &Path, files: &[OsString]) -> Option<OsString> {
    let mut names = names(directory).ok()?.into_iter();
    names.find(|name| !files.contains(name))
}

fn stays(path: &Path) -> anyhow::Error {
    anyhow!(
        "{}: has come meanwhile, and stays; nothing was written",
        path.display()
    )
}

fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let entries = fs::read_dir(directory)?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

#[cfg(test)]
mod tests;
