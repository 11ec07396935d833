//! Builds the description of a machine and its guests, and assigns memory to guests.

use guest_abi::{Mcu, Node as Processor};
use perfctr_service::{Grant, GuestConfig};
use platform::md::machine::INTERLEAVE;
use platform::memory_map::property;
use platform::{Interleave, Machine};

use super::{Description, Node, Property, Value};

/// The memory that a description assigns to a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GuestMemory {
    /// The physical address of the first byte.
    pub base: u64,
    /// The size in bytes.
    pub size: u64,
    /// The real address of the first byte.
    pub real: u64,
    /// The real address at which the guest begins.
    pub entry: u64,
}

impl Description {
    /// Returns the description of a machine and its guests, with their names. A guest has no memory until [`assign_memory`](Self::assign_memory)
    /// assigns some.
    pub fn for_machine<'a>(
        machine: Machine,
        guests: impl IntoIterator<Item = (&'a str, GuestConfig)>,
    ) -> Self {
        let mut nodes = Nodes(vec![Node { name: "root".into(), properties: Vec::new() }]);
        let platform = nodes.add("platform", [string("name", machine.model().platform_name())]);
        let interleave = Some(machine.interleave()).filter(|way| *way != Interleave::default());
        let interleave = interleave.map(|way| number(INTERLEAVE, way.bytes()));
        let processors = nodes.add("vf-nodes", interleave);
        for node in Processor::ALL.iter().filter(|node| machine.has_node(**node)) {
            let processor = nodes.add("vf-node", [number("id", node.index() as u64)]);
            nodes.arc(processors, processor);
            for mcu in Mcu::ALL.iter().filter(|mcu| machine.has_channel(*node, **mcu)) {
                let channel = nodes.add("mcu", [number("id", mcu.index() as u64)]);
                nodes.arc(processor, channel);
            }
        }
        let list = nodes.add("guests", []);
        let cpus = nodes.add("cpus", []);
        let mut resource = 0;
        for (id, (name, GuestConfig { strands, grant, compatible })) in (0..).zip(guests) {
            let ids = [number("resource_id", id), number("gid", id)];
            let guest = nodes.add("guest", [string("name", name)].into_iter().chain(ids));
            let properties = &mut nodes.0[guest].properties;
            properties.push(string("perf-counters", &rights(grant)));
            if compatible {
                properties.push(number("perfctrcompatible", 1));
            }
            nodes.arc(list, guest);
            for (virtual_number, strand) in (0..).zip(strands.iter()) {
                let pid = strand.index() as u64;
                let ids = [("pid", pid), ("vid", virtual_number), ("resource_id", resource)];
                let cpu = nodes.add("cpu", ids.map(|(name, id)| number(name, id)));
                nodes.arc(cpus, cpu);
                nodes.arc(guest, cpu);
                resource += 1;
            }
        }
        for node in [platform, processors, cpus, list] {
            nodes.arc(0, node);
        }
        Self { nodes: nodes.0 }
    }

    /// Assigns memory to the guest with this index in [`nodes`](Self::nodes).
    ///
    /// # Errors
    /// The node already has one of the memory's properties. The error is that property's name.
    pub fn assign_memory(&mut self, node: usize, memory: GuestMemory) -> Result<(), &'static str> {
        let GuestMemory { base, size, real, entry } = memory;
        let properties = &mut self.nodes[node].properties;
        for (name, value) in [
            (property::MEMORY_BASE, base),
            (property::MEMORY_SIZE, size),
            (property::REAL_BASE, real),
            (property::ENTRY, entry),
        ] {
            if properties.iter().any(|property| property.name == name) {
                return Err(name);
            }
            properties.push(number(name, value));
        }
        Ok(())
    }
}

/// Formats a grant as the property `perf-counters`: the names of its rights, separated by commas.
fn rights(grant: Grant) -> String {
    if grant == Grant::NONE { String::new() } else { grant.to_string().replace('+', ",") }
}

fn number(name: &str, value: u64) -> Property {
    Property { name: name.to_owned(), value: Value::Number(value) }
}

fn string(name: &str, value: &str) -> Property {
    Property { name: name.to_owned(), value: Value::String(value.to_owned()) }
}

/// The nodes of a description under construction.
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
