//! The machine description that the hypervisor reads: the user's file plus the guests' memory, or a machine with one guest.

use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use guest_abi::{Mcu, Node as Processor, StrandId};
use platform::Machine;
use platform::md::Md;
use platform::memory_map::{PARTITION, REAL, property};
use simulator::input;
use simulator::machine::description::{self, Described, Description, Node, Property, Value};
use simulator::machine::guests::NamedGuest;

use crate::cmd::boot::images::Image;

/// A machine description that the hypervisor can read, and the machine and guests that it describes.
pub(crate) struct Complete {
    /// The description in binary form.
    pub(crate) bytes: Vec<u8>,
    pub(crate) machine: Machine,
    pub(crate) guests: Vec<NamedGuest>,
    pub(crate) images: Vec<Image>,
}

/// Reads a description, binary or TOML, and adds the memory and the entry of each guest. Without images, each guest is the bundled
/// guest. Fails if the number of images differs from the number of guests.
pub(crate) fn from_file(path: &Path, images: Vec<Image>, memory: u64) -> anyhow::Result<Complete> {
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

/// Returns the description of a machine with one guest that has every right.
pub(crate) fn with_one_guest(
    machine: Machine,
    strands: &[StrandId],
    image: Image,
    memory: u64,
) -> anyhow::Result<Complete> {
    let description = machine_with(machine, strands, &image.short());
    complete(description, vec![image], memory)
}

/// Returns the real addresses of a guest with `memory` bytes.
pub(crate) const fn real(memory: u64) -> Range<u64> {
    REAL..REAL + memory
}

fn complete(
    mut description: Description,
    mut images: Vec<Image>,
    memory: u64,
) -> anyhow::Result<Complete> {
    let list = description.nodes.iter().find(|node| node.name == "guests");
    let arcs = list.into_iter().flat_map(|list| &list.properties);
    let guests: Vec<usize> = arcs
        .filter_map(|property| match property.value {
            Value::Arc(node) if property.name == "fwd" => Some(node),
            _ => None,
        })
        .collect();
    if images.is_empty() {
        images = vec![Image::bundled_guest(&real(memory))?; guests.len()];
    }
    ensure!(
        guests.len() == images.len(),
        "has {} guests, expected one for each of {} programs",
        guests.len(),
        images.len()
    );
    let mut base = PARTITION;
    for (guest, image) in guests.iter().zip(&images) {
        let node = &mut description.nodes[*guest];
        for (name, value) in [
            (property::MEMORY_BASE, base),
            (property::MEMORY_SIZE, memory),
            (property::REAL_BASE, REAL),
            (property::ENTRY, image.entry),
        ] {
            ensure!(
                node.properties.iter().all(|property| property.name != name),
                "guest {guest} has {name}, which this command chooses"
            );
            node.properties.push(number(name, value));
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
    Ok(Complete { bytes, machine, guests, images })
}

fn number(name: &str, value: u64) -> Property {
    Property { name: name.to_owned(), value: Value::Number(value) }
}

fn string(name: &str, value: &str) -> Property {
    Property { name: name.to_owned(), value: Value::String(value.to_owned()) }
}

/// Returns a description of a machine and one guest, without the guest's memory and entry.
fn machine_with(machine: Machine, strands: &[StrandId], name: &str) -> Description {
    let mut nodes = Nodes(vec![Node { name: "root".into(), properties: Vec::new() }]);
    let platform = nodes.add("platform", vec![string("name", machine.model().platform_name())]);
    let processors = nodes.add("vf-nodes", Vec::new());
    for node in Processor::ALL.iter().filter(|node| machine.has_node(**node)) {
        let processor = nodes.add("vf-node", vec![number("id", node.index() as u64)]);
        nodes.arc(processors, processor);
        for mcu in Mcu::ALL.iter().filter(|mcu| machine.has_channel(*node, **mcu)) {
            let channel = nodes.add("mcu", vec![number("id", mcu.index() as u64)]);
            nodes.arc(processor, channel);
        }
    }
    let guests = nodes.add("guests", Vec::new());
    let rights = string("perf-counters", "global,htstrand");
    let ids = [number("resource_id", 0), number("gid", 0)];
    let guest = nodes.add("guest", [string("name", name)].into_iter().chain(ids).chain([rights]));
    nodes.arc(guests, guest);
    let cpus = nodes.add("cpus", Vec::new());
    for (virtual_number, strand) in (0..).zip(strands) {
        let ids = [
            ("pid", strand.index() as u64),
            ("vid", virtual_number),
            ("resource_id", virtual_number),
        ];
        let cpu = nodes.add("cpu", ids.map(|(name, id)| number(name, id)));
        nodes.arc(cpus, cpu);
        nodes.arc(guest, cpu);
    }
    for node in [platform, processors, cpus, guests] {
        nodes.arc(0, node);
    }
    Description { nodes: nodes.0 }
}

/// The nodes of a description that is being built.
struct Nodes(Vec<Node>);

impl Nodes {
    fn add(&mut self, name: &str, properties: impl IntoIterator<Item = Property>) -> usize {
        self.0.push(Node { name: name.to_owned(), properties: properties.into_iter().collect() });
        self.0.len() - 1
    }

    fn arc(&mut self, from: usize, to: usize) {
        self.0[from].properties.push(Property { name: "fwd".to_owned(), value: Value::Arc(to) });
    }
}
