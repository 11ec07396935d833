//! Reads the hardware from a machine description.
//!
//! Node B is a child of node A if a `fwd` arc leads from A to B.
//!
//! | node | parent | properties |
//! |---|---|---|
//! | `platform` | `root` | string `name`, such as `SUNW,T5440`; number `stick-frequency`, in Hz |
//! | `vf-nodes` | `root` | optional number `memory-interleave`: 512 (the default) or 0x40000000, the bytes of an [`Interleave`] |
//! | `vf-node` | `vf-nodes` | number `id`: 0 to 3, the number of the processor |
//! | `mcu` | `vf-node` | number `id`: 0 or 1, the number of the memory channel; optional number `disabled`: not 0 if the channel is disabled |
//!
//! `platform` and its properties are the same as in guest descriptions. No hypervisor description of a Victoria Falls machine is public, so
//! the names `vf-nodes`, `memory-interleave`, `vf-node` and `mcu` are this project's own. A channel without an `mcu` node is absent.

use guest_abi::{Mcu, Node as VfNode};

use super::ROOT;
use super::error::{NodeError, Problem};
use super::node::Node;
use super::reader::Md;
use crate::{Interleave, Machine, Model};

/// The property of `vf-nodes` that states the machine's [`Interleave`].
pub const INTERLEAVE: &str = "memory-interleave";

/// A description's `platform` node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform<'a> {
    /// The name of the platform, such as `SUNW,T5440`.
    pub name: &'a str,
    /// The frequency of %stick in Hz, which is not 0. Every guest description states the frequency.
    pub stick_frequency: Option<u64>,
}

impl<'a> Md<'a> {
    /// Returns the first node named `root`; `None` if there is none.
    pub fn root(self) -> Option<Node<'a>> {
        self.node_named(ROOT)
    }

    /// Returns the only child of the root with this name; `None` if there is none. Fails if there are two.
    pub fn root_child(self, name: &str) -> Result<Option<Node<'a>>, NodeError<'a>> {
        match self.root() {
            Some(root) => root.child(name),
            None => Ok(None),
        }
    }

    /// Returns the platform; `None` if the description has no node `platform`. Fails if the description has two such nodes, or if a property
    /// is missing or invalid.
    pub fn platform(self) -> Result<Option<Platform<'a>>, NodeError<'a>> {
        const STICK: &str = "stick-frequency";
        let Some(node) = self.root_child("platform")? else {
            return Ok(None);
        };
        let stick_frequency = node.number(STICK)?;
        if stick_frequency == Some(0) {
            return Err(node.error(Problem::ZeroFrequency(STICK)));
        }
        Ok(Some(Platform {
            name: node.string("name")?.ok_or_else(|| node.error(Problem::Missing("name")))?,
            stick_frequency,
        }))
    }

    /// Returns the machine; `None` if the description has no node `vf-nodes`. Fails if a node is invalid, or if no machine has this
    /// combination of nodes.
    pub fn machine(self) -> Result<Option<Machine>, NodeError<'a>> {
        let Some(list) = self.root_child("vf-nodes")? else {
            return Ok(None);
        };
        let platform = self.platform()?.ok_or_else(|| list.error(Problem::NoPlatform))?;
        let model = Model::from_platform_name(platform.name)
            .ok_or_else(|| list.error(Problem::UnknownPlatform(platform.name)))?;

        let mut channels = [None; VfNode::ALL.len()];
        let mut nodes = 0;
        for node in list.children("vf-node") {
            let number = numbered(node, &mut channels)?;
            *number = Some(enabled_channels(node)?);
            nodes += 1;
        }
        let mut machine =
            Machine::new(model, nodes).map_err(|error| list.error(Problem::Machine(error)))?;
        if let Some(bytes) = list.number(INTERLEAVE)? {
            let interleave = Interleave::from_bytes(bytes);
            let interleave = interleave.ok_or_else(|| list.error(Problem::Interleave(bytes)))?;
            machine = machine.with_interleave(interleave);
        }
        for (node, channels) in VfNode::ALL.iter().zip(channels).take(nodes) {
            let channels = channels.ok_or_else(|| list.error(Problem::MissingId(node.index())))?;
            for (mcu, enabled) in Mcu::ALL.iter().zip(channels) {
                if !enabled {
                    machine = machine.without_channel(*node, *mcu);
                }
            }
        }
        Ok(Some(machine))
    }
}

/// Returns, for each of a processor's memory channels, whether the channel is present and enabled.
fn enabled_channels(node: Node<'_>) -> Result<[bool; Mcu::ALL.len()], NodeError<'_>> {
    let mut channels = [None; Mcu::ALL.len()];
    for mcu in node.children("mcu") {
        let enabled = mcu.number("disabled")?.unwrap_or(0) == 0;
        *numbered(mcu, &mut channels)? = Some(enabled);
    }
    Ok(channels.map(|enabled| enabled == Some(true)))
}

/// Returns the element of `all` whose index is the node's `id`. Fails if another node has the same `id`.
fn numbered<'a, 's, T>(
    node: Node<'a>,
    all: &'s mut [Option<T>],
) -> Result<&'s mut Option<T>, NodeError<'a>> {
    let id = node.required_number("id")?;
    let count = all.len();
    match usize::try_from(id).ok().and_then(|id| all.get_mut(id)) {
        None => Err(node.error(Problem::Id(id, count))),
        Some(Some(_)) => Err(node.error(Problem::DuplicateId(id))),
        Some(free) => Ok(free),
    }
}
