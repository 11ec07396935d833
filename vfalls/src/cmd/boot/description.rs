//! The machine description that the hypervisor reads. It is either the user's file, to which the
//! guests' memory is added, or a generated description of a machine with one guest.

use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use guest_abi::StrandId;
use perfctr_service::{Grant, GuestConfig};
use platform::Machine;
use platform::md::Md;
use platform::memory_map::{PARTITION, REAL};
use simulator::input;
use simulator::machine::description::{self, Described, Description, GuestMemory, Value};
use simulator::machine::guests::NamedGuest;

use crate::cmd::boot::images::ImageFile;

/// A complete machine description, and the machine and guests that it describes.
pub(crate) struct CompleteDescription {
    /// The description in binary form, as the hypervisor reads it.
    pub(crate) bytes: Vec<u8>,
    pub(crate) machine: Machine,
    pub(crate) guests: Vec<NamedGuest>,
    pub(crate) images: Vec<ImageFile>,
}

/// Reads a binary or TOML description, and adds the memory and the entry of each guest. If `images`
/// is empty, every guest executes the bundled image. Fails if the number of images differs from the
/// number of guests.
pub(crate) fn from_file(
    path: &Path,
    images: Vec<ImageFile>,
    memory: u64,
) -> anyhow::Result<CompleteDescription> {
    let name = || path.display().to_string();
    let description =
        match path.extension().is_some_and(|extension| extension == OsStr::new("toml")) {
            true => {
                let text = input::read_text(path)?;
                description::parse(&text).map_err(|error| anyhow::anyhow!("{}:{error}", name()))?
            }
            false => Description::read(Md::new(&description::read(path)?).with_context(name)?),
        };
    complete(description, images, memory).with_context(name)
}

/// Returns the description of a machine with a single guest, which has every right.
pub(crate) fn with_one_guest(
    machine: Machine,
    strands: &[StrandId],
    image: ImageFile,
    memory: u64,
) -> anyhow::Result<CompleteDescription> {
    let all_rights = GuestConfig::new(strands.iter().copied().collect(), Grant::ALL);
    let description = Description::for_machine(machine, [(&*image.short(), all_rights)]);
    complete(description, vec![image], memory)
}

/// Returns a guest's range of real addresses. `memory` is the size of the guest's memory, in bytes.
pub(crate) const fn real(memory: u64) -> Range<u64> {
    REAL..REAL + memory
}

fn complete(
    mut description: Description,
    mut images: Vec<ImageFile>,
    memory: u64,
) -> anyhow::Result<CompleteDescription> {
    let list = description.nodes.iter().find(|node| node.name == "guests");
    let arcs = list.into_iter().flat_map(|list| &list.properties);
    let guests: Vec<usize> = arcs
        .filter_map(|property| match property.value {
            Value::Arc(node) if property.name == "fwd" => Some(node),
            _ => None,
        })
        .collect();
    if images.is_empty() {
        images = vec![ImageFile::bundled_guest(&real(memory))?; guests.len()];
    }
    ensure!(
        guests.len() == images.len(),
        "has {} guests, expected one for each of {} programs",
        guests.len(),
        images.len()
    );
    let mut base = PARTITION;
    for (guest, image) in guests.iter().zip(&images) {
        let placed = GuestMemory { base, size: memory, real: REAL, entry: image.entry };
        if let Err(name) = description.assign_memory(*guest, placed) {
            bail!("guest {guest} has {name}, which vfalls boot sets");
        }
        base += memory;
    }
    let bytes = description.build()?;
    let described = Described::new(&bytes)?;
    let Some(machine) = described.machine else {
        bail!("describes no machine with Victoria Falls processors");
    };
    let guests: Vec<NamedGuest> = described.guests.into_iter().map(NamedGuest::from).collect();
    for guest in &guests {
        ensure!(!guest.config.strands.is_empty(), "guest {} has no strand", guest.name);
    }
    Ok(CompleteDescription { bytes, machine, guests, images })
}
