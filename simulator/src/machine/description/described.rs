//! Reads the machine and the guests from a binary description, and reads and builds the files that contain descriptions.

use std::fmt;
use std::path::Path;

use perfctr_service::{GuestConfig, description};
use platform::Machine;
use platform::md::{Md, MdError};

use super::parse;
use crate::input::{self, MAX_TEXT_BYTES};
use crate::machine::guests::FileError;
use crate::text::line;

/// The error for bytes that do not describe a machine and its guests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescribedError {
    /// The bytes are not a machine description.
    #[error(transparent)]
    Format(#[from] MdError),
    /// The description contradicts itself or the hardware. The message names the node at fault.
    #[error("{0}")]
    Content(String),
}

/// The parts of a description that the service uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The number of nodes that the description has.
    pub nodes: usize,
    /// The platform, if the description names one.
    pub platform: Option<Platform>,
    /// The machine; `None` if its processors are not Victoria Falls, or if the description is not a hypervisor's.
    pub machine: Option<Machine>,
    /// The guests; empty if the description is not a hypervisor's.
    pub guests: Vec<GuestDescription>,
}

/// The properties of a description's platform node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The platform's name, such as `SUNW,T5440`.
    pub name: String,
    /// The frequency of %stick in Hz, if the description states it.
    pub stick_frequency: Option<u64>,
}

/// The properties of a guest node in a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestDescription {
    /// The guest's name. If the description does not name the guest, this is `guest` and the resource id.
    pub name: String,
    /// The guest's number among the hypervisor's resources.
    pub resource_id: u64,
    /// The number that other guests use to address this guest.
    pub gid: Option<u64>,
    /// The guest's configuration for the service.
    pub config: GuestConfig,
}

impl Described {
    /// Reads the binary description at the start of `bytes`.
    ///
    /// # Errors
    /// The bytes are not a machine description, or the description contradicts itself.
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
                name: line(platform.name),
                stick_frequency: platform.stick_frequency,
            }),
            machine,
            guests: guests
                .map(|guest| GuestDescription {
                    name: guest.name.map_or_else(|| format!("guest{}", guest.resource_id), line),
                    resource_id: guest.resource_id,
                    gid: guest.gid,
                    config: guest.config,
                })
                .collect(),
        })
    }
}

/// Reads the binary description in a file. If the file's name ends in `.toml`, builds it from the source in the file.
///
/// # Errors
/// The file cannot be read, or a `.toml` file is not the source of a description.
pub fn load(path: &Path) -> Result<Vec<u8>, FileError> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        return build(path);
    }
    read(path)
}

/// Builds a binary description from the source in a file.
///
/// # Errors
/// The file cannot be read, or is not the source of a description. The message has the line number.
pub fn build(path: &Path) -> Result<Vec<u8>, FileError> {
    let wrong = |line, problem| {
        let file = path.display().to_string();
        FileError::Wrong { file, line, problem }
    };
    let source = parse(&input::read_text(path)?);
    let source = source.map_err(|error| wrong(Some(error.line), error.message))?;
    source.build().map_err(|error| wrong(None, error.to_string()))
}

/// Reads the binary description in a file.
///
/// # Errors
/// The file cannot be read, or is too long for a description.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    Ok(input::read(path, MAX_TEXT_BYTES)?)
}
