//! Reads whole input files, for all inputs except recordings. Each file has a maximum length, so that a device, an endless pipe or
//! the wrong file cannot fill the memory. [`read`] is for files that a user names. [`read_ordinary`] is for files that another input
//! names, which may be hostile.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
#[cfg(target_os = "linux")]
use nix::sys::statfs::{PROC_SUPER_MAGIC, SYSFS_MAGIC, fstatfs};

/// The maximum length of a text file or a machine description, in bytes.
pub const MAX_TEXT_BYTES: u64 = 16 << 20;

/// The maximum length of a program or an event stream, in bytes.
pub const MAX_PROGRAM_BYTES: u64 = 1 << 30;

/// The maximum number of bytes that are read from a pipe or a device.
pub const MAX_STREAM_BYTES: u64 = 64 << 20;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file cannot be opened or read.
    #[error("{file}: cannot be read")]
    Unreadable {
        /// The file's path, for messages.
        file: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is longer than its reader permits.
    #[error("{file}: is longer than {longest} bytes")]
    TooLong {
        /// The file's path, for messages.
        file: String,
        /// The maximum length in bytes.
        longest: u64,
    },
    /// Another input names this path, but it leads to a pipe, a device, or a file in procfs or sysfs.
    #[error("{0}: is not a regular file")]
    NotOrdinary(String),
    /// The text file at this path is not UTF-8.
    #[error("{0}: is not UTF-8")]
    NotUtf8(String),
}

/// Reads the bytes of a file that the user names.
///
/// # Errors
/// The file cannot be read, or has more than `longest` bytes. For a pipe or a device,
/// [`MAX_STREAM_BYTES`] is a second limit.
pub fn read(path: &Path, longest: u64) -> Result<Vec<u8>, InputError> {
    let name = path.display().to_string();
    match File::open(path).and_then(|file| Ok((file.metadata()?, file))) {
        Ok((known, file)) if known.is_file() => ordinary(name, &file, known.len(), longest),
        Ok((_, file)) => read_stream(&name, file, longest.min(MAX_STREAM_BYTES)),
        Err(source) => Err(InputError::Unreadable { file: name, source }),
    }
}

/// Reads the bytes of a file whose path comes from another input. If the path leads to a pipe, does not wait for a writer.
///
/// # Errors
/// The file cannot be read, is not an ordinary file, has more than `longest` bytes, or is in procfs or sysfs. (Reading a file in
/// procfs or sysfs can have side effects, or never end.)
pub fn read_ordinary(path: &Path, longest: u64) -> Result<Vec<u8>, InputError> {
    let name = path.display().to_string();
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path).and_then(|file| {
        let known = file.metadata()?;
        Ok(((known.is_file() && !is_of_kernel(&file)?).then_some(known.len()), file))
    });
    match opened {
        Ok((Some(length), file)) => ordinary(name, &file, length, longest),
        Ok((None, _)) => Err(InputError::NotOrdinary(name)),
        Err(source) => Err(InputError::Unreadable { file: name, source }),
    }
}

/// Returns `true` if the file is in procfs or sysfs, which only Linux has.
#[cfg(target_os = "linux")]
fn is_of_kernel(file: &File) -> io::Result<bool> {
    Ok(matches!(fstatfs(file)?.filesystem_type(), PROC_SUPER_MAGIC | SYSFS_MAGIC))
}

#[cfg(not(target_os = "linux"))]
fn is_of_kernel(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Reads a stream to its end. Error messages call the stream `name`.
///
/// # Errors
/// The stream cannot be read, or has more than `longest` bytes.
pub fn read_stream(name: &str, stream: impl Read, longest: u64) -> Result<Vec<u8>, InputError> {
    let file = name.to_owned();
    let mut bytes = Vec::new();
    match stream.take(longest + 1).read_to_end(&mut bytes) {
        Err(source) => Err(InputError::Unreadable { file, source }),
        Ok(length) if length as u64 > longest => Err(InputError::TooLong { file, longest }),
        Ok(_) => Ok(bytes),
    }
}

fn ordinary(file: String, open: &File, length: u64, longest: u64) -> Result<Vec<u8>, InputError> {
    match length > longest {
        true => Err(InputError::TooLong { file, longest }),
        false => read_stream(&file, open, longest),
    }
}

/// Reads a text file that the user names.
///
/// # Errors
/// The file cannot be read, has more than [`MAX_TEXT_BYTES`] bytes, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, InputError> {
    utf8(path, read(path, MAX_TEXT_BYTES)?)
}

/// Reads a text file whose path comes from another input.
///
/// # Errors
/// [`read_ordinary`] fails with a limit of [`MAX_TEXT_BYTES`], or the file is not UTF-8.
pub fn read_ordinary_text(path: &Path) -> Result<String, InputError> {
    utf8(path, read_ordinary(path, MAX_TEXT_BYTES)?)
}

fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, InputError> {
    String::from_utf8(bytes).map_err(|_| InputError::NotUtf8(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::{env, fs, process};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_file_has_at_most_as_many_bytes_as_the_bound() {
        let path = env::temp_dir().join(format!("simulator-input-{}", process::id()));
        fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        let error = read(&path, 3).unwrap_err();
        let shown = path.display();
        assert_eq!(error.to_string(), format!("{shown}: is longer than 3 bytes"));
        fs::write(&path, b"\xff").unwrap();
        let error = read_text(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("{shown}: is not UTF-8"));
        fs::remove_file(&path).unwrap();
        let error = read(&path, 4).unwrap_err();
        assert_eq!(error.to_string(), format!("{shown}: cannot be read"));
    }

    #[test]
    fn what_has_no_end_is_read_up_to_the_bound() {
        let error = read(Path::new("/dev/zero"), 1000).unwrap_err();
        assert_eq!(error.to_string(), "/dev/zero: is longer than 1000 bytes");
        let error = read(Path::new("/dev/zero"), u64::MAX).unwrap_err();
        assert_eq!(error.to_string(), "/dev/zero: is longer than 67108864 bytes");
        let error = read_stream("-", io::repeat(b' '), 7).unwrap_err();
        assert_eq!(error.to_string(), "-: is longer than 7 bytes");
    }

    #[test]
    fn only_ordinary_files_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        fs::write(path("file"), "four").unwrap();
        symlink(path("file"), path("link")).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        mkfifo(&path("pipe"), Mode::S_IRWXU).unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        assert_eq!(read_ordinary(&path("file"), 4).unwrap(), b"four");
        assert_eq!(read_ordinary(&path("link"), 4).unwrap(), b"four");
        let too_long = read_ordinary(&path("file"), 3).unwrap_err();
        assert!(matches!(too_long, InputError::TooLong { longest: 3, .. }), "{too_long}");
        for what in [
            path("pipe"),
            path("zero"),
            path("."),
            "/dev/null".into(),
            "/dev/random".into(),
            "/proc/self/maps".into(),
            "/proc/self/mem".into(),
            "/sys/kernel/mm/transparent_hugepage/enabled".into(),
        ] {
            let error = read_ordinary(&what, 1000).unwrap_err().to_string();
            assert_eq!(error, format!("{}: is not a regular file", what.display()));
        }
        let socket = read_ordinary(&path("socket"), 4).unwrap_err();
        assert!(matches!(socket, InputError::Unreadable { .. }), "{socket}");
    }
}
