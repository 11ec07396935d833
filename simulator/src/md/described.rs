//! What a binary description says of the machine and its guests.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use perfctr_service::{GuestConfig, description};
use platform::Machine;
use platform::md::Md;

use super::parse;

/// No description is longer, in bytes.
const LONGEST: u64 = 16 << 20;

/// A description, as far as the service is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// How many nodes the description has.
    pub nodes: usize,
    /// The platform, if it says so.
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
    /// The number by which other guests know it.
    pub gid: Option<u64>,
    /// What the service is told.
    pub config: GuestConfig,
}

impl Described {
    /// Reads the binary description that `bytes` begin with.
    ///
    /// # Errors
    /// It is none, or makes no sense.
    pub fn new(bytes: &[u8]) -> anyhow::Result<Self> {
        let md = Md::new(bytes)?;
        let platform = md.platform().map_err(|error| anyhow!("{error}"))?;
        let machine = md.machine().map_err(|error| anyhow!("{error}"))?;
        let guests = description::guests(md, machine).map_err(|error| anyhow!("{error}"))?;
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

/// The binary description of a file: what is in it, or what is built from it if its name ends in `.toml`.
///
/// # Errors
/// The file cannot be read, or is no source.
pub fn load(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        return build(path);
    }
    read(path)
}

/// The binary description that a source describes.
///
/// # Errors
/// The file cannot be read, or is no source; the message has the number of the line.
pub fn build(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let text = String::from_utf8(read(path)?).map_err(|_| anyhow!("{name}: is not UTF-8"))?;
    let description = parse(&text).map_err(|error| anyhow!("{name}:{error}"))?;
    description
        .build()
        .map_err(|error| anyhow!("{name}: {error}"))
}

/// The bytes of a file.
///
/// # Errors
/// The file cannot be read, or is longer than any description.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let cannot = || format!("{name}: cannot be read");
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(cannot)?;
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .with_context(cannot)?;
    ensure!(
        bytes.len() as u64 <= LONGEST,
        "{name}: longer than {LONGEST} bytes, no machine description"
    );
    Ok(bytes)
}
