//! Reads files that a user names. Files other than recordings are read whole, up to a bound. So a device, an endless pipe or a wrong
//! file cannot fill the memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The maximum length of a text or a machine description, in bytes.
pub const LONGEST_TEXT: u64 = 16 << 20;

/// The maximum length of a program or a stream of events, in bytes.
pub const LONGEST_PROGRAM: u64 = 1 << 30;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Opening or reading fails.
    #[error("{file}: cannot be read")]
    Unreadable {
        /// The path, for messages.
        file: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is too long for its kind.
    #[error("{file}: longer than {longest} bytes")]
    TooLong {
        /// The path, for messages.
        file: String,
        /// The maximum length in bytes.
        longest: u64,
    },
    /// The text file with this path is not UTF-8.
    #[error("{0}: is not UTF-8")]
    NotUtf8(String),
}

/// Reads the bytes of a file.
///
/// # Errors
/// The file cannot be read, or has more than `longest` bytes.
pub fn read(path: &Path, longest: u64) -> Result<Vec<u8>, InputError> {
    let file = path.display().to_string();
    let mut bytes = Vec::new();
    let all = File::open(path).and_then(|file| {
        let known = file.metadata()?.len();
        match known > longest {
            true => Ok(known),
            false => Ok(file.take(longest + 1).read_to_end(&mut bytes)? as u64),
        }
    });
    match all {
        Err(source) => Err(InputError::Unreadable { file, source }),
        Ok(length) if length > longest => Err(InputError::TooLong { file, longest }),
        Ok(_) => Ok(bytes),
    }
}

/// Reads the text of a file.
///
/// # Errors
/// The file cannot be read, has more than [`LONGEST_TEXT`] bytes, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, InputError> {
    let bytes = read(path, LONGEST_TEXT)?;
    String::from_utf8(bytes).map_err(|_| InputError::NotUtf8(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;

    #[test]
    fn a_file_has_at_most_as_many_bytes_as_the_bound() {
        let path = env::temp_dir().join(format!("simulator-input-{}", process::id()));
        fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        let error = read(&path, 3).unwrap_err();
        let shown = path.display();
        assert_eq!(error.to_string(), format!("{shown}: longer than 3 bytes"));
        fs::write(&path, b"\xff").unwrap();
        let error = read_text(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("{shown}: is not UTF-8"));
        fs::remove_file(&path).unwrap();
        let error = read(&path, 4).unwrap_err();
        assert_eq!(error.to_string(), format!("{shown}: cannot be read"));
    }

    /// A device without an end has no size.
    #[test]
    fn a_file_without_an_end_is_read_up_to_the_bound() {
        let error = read(Path::new("/dev/zero"), 1000).unwrap_err();
        assert_eq!(error.to_string(), "/dev/zero: longer than 1000 bytes");
    }
}
