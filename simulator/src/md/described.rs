//! The machine and the guests that a binary description describes.

use std::fmt;
use std::path::Path;

use perfctr_service::{GuestConfig, description};
use platform::Machine;
use platform::md::{Md, MdError};

use super::{SourceError, Unfit, parse};
use crate::input::{self, InputError, LONGEST_TEXT};

/// Why a file holds no description.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read, or is no text though it is a source.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The source is wrong in one of its lines.
    #[error("{file}:{error}")]
    Source {
        /// The file.
        file: String,
        /// The line, and what is wrong in it.
        error: SourceError,
    },
    /// The source describes what the binary format cannot hold.
    #[error("{file}: {error}")]
    Unfit {
        /// The file.
        file: String,
        /// What the format cannot hold.
        error: Unfit,
    },
}

/// Why bytes do not describe a machine and its guests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescribedError {
    /// They are no machine description.
    #[error(transparent)]
    Format(#[from] MdError),
    /// The description contradicts itself, or the hardware. The text names the node.
    #[error("{0}")]
    Content(String),
}

/// The part of a description that matters to the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// How many nodes the description has.
    pub nodes: usize,
    /// The platform, if the description has one.
    pub platform: Option<Platform>,
    /// The machine, if it has Victoria Falls processors and the description is a hypervisor's.
    pub machine: Option<Machine>,
    /// The guests, if the description is a hypervisor's.
    pub guests: Vec<Guest>,
}

/// A platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Its name.
    pub name: String,
    /// The frequency of %stick in Hz.
    pub stick_frequency: Option<u64>,
}

/// A guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Its name, or `guest` and its resource id.
    pub name: String,
    /// Its number among the hypervisor's resources.
    pub resource_id: u64,
    /// The number by which other guests address it.
    pub gid: Option<u64>,
    /// Its configuration for the service.
    pub config: GuestConfig,
}

impl Described {
    /// Reads the binary description that `bytes` begin with.
    ///
    /// # Errors
    /// The bytes are no machine description, or it contradicts itself.
    pub fn new(bytes: &[u8]) -> Result<Self, DescribedError> {
        fn wrong(error: impl fmt::Display) -> DescribedError {
            DescribedError::Content(error.to_string())
        }
        let md = Md::new(bytes)?;
        let platform = md.platform().map_err(wrong)?;
        let machine = md.machine().map_err(wrong)?;
        let guests = description::guests(md, machine).map_err(wrong)?;
        Ok(Self {
            nodes: md.nodes().count(),
            platform: platform.map(|platform| Platform {
                name: platform.name.to_owned(),
                stick_frequency: platform.stick_frequency,
            }),
            machine,
            guests: guests.map(Guest::new).collect(),
        })
    }
}

impl Guest {
    fn new(guest: description::DescribedGuest<'_>) -> Self {
        let resource_id = guest.resource_id;
        Self {
            name: match guest.name {
                Some(name) => name.to_owned(),
                None => format!("guest{resource_id}"),
            },
            resource_id,
            gid: guest.gid,
            config: guest.config,
        }
    }
}

/// Returns the binary description in a file, or the one that is built from it if its name ends in `.toml`.
///
/// # Errors
/// The file cannot be read, or is no source.
pub fn load(path: &Path) -> Result<Vec<u8>, FileError> {
    if path
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        return build(path);
    }
    read(path)
}

/// Builds the binary description from the source in a file.
///
/// # Errors
/// The file cannot be read, or is no source. The message has the number of the line.
pub fn build(path: &Path) -> Result<Vec<u8>, FileError> {
    let file = path.display().to_string();
    match parse(&input::read_text(path)?).map(|description| description.build()) {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => Err(FileError::Unfit { file, error }),
        Err(error) => Err(FileError::Source { file, error }),
    }
}

/// Returns the bytes of a binary description.
///
/// # Errors
/// The file cannot be read, or is longer than any description.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    Ok(input::read(path, LONGEST_TEXT)?)
}
