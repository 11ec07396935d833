//! What a machine description says of the hardware.
//!
//! A node belongs to another if an arc `fwd` leads to it from there. From the root on:
//!
//! | node | belongs to | properties |
//! |---|---|---|
//! | `platform` | `root` | string `name`, such as `SUNW,T5440`; number `stick-frequency`, in Hz |
//! | `vf-nodes` | `root` | |
//! | `vf-node` | `vf-nodes` | number `id`: 0 to 3, the number of the processor |
//! | `mcu` | `vf-node` | number `id`: 0 or 1, the number of the memory channel; number `disabled`: it is, unless 0 or not given |
//!
//! `platform` and its properties are those of guests' descriptions. No hypervisor description of a Victoria Falls
//! machine is public, so `vf-nodes`, `vf-node` and `mcu` are names of our own. A channel without `mcu` is not there.

use guest_abi::{Mcu, Node as VfNode};

use super::ROOT;
use super::error::{NodeError, Problem};
use super::node::Node;
use super::reader::Md;
use crate::{Machine, Model};

/// The platform that a description is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform<'a> {
    /// Its name, such as `SUNW,T5440`.
    pub name: &'a str,
    /// The frequency of %stick in Hz, not 0; guests' descriptions have it.
    pub stick_frequency: Option<u64>,
}

/// The platforms with Victoria Falls processors.
const PLATFORMS: [(&str, Model); 6] = [
    ("SUNW,T5140", Model::Maramba),
    ("SUNW,T5240", Model::Maramba),
    ("SUNW,Sun-Blade-T6340", Model::Maramba),
    ("SUNW,Netra-T5440", Model::Maramba),
    ("SUNW,USBRDT-5240", Model::Maramba),
    ("SUNW,T5440", Model::Batoka),
];

impl Model {
    /// The family of the platform with this name, such as `SUNW,T5440`; `None` if it has no Victoria Falls processors.
    pub fn from_platform_name(name: &str) -> Option<Self> {
        PLATFORMS
            .iter()
            .find(|(platform, _)| *platform == name)
            .map(|(_, model)| *model)
    }
}

impl<'a> Md<'a> {
    /// The first node called `root`, from which arcs lead to all others; `None` if there is none.
    pub fn root(self) -> Option<Node<'a>> {
        self.node_named(ROOT)
    }

    /// The only node of this name that belongs to the root; `None` if none does.
    ///
    /// # Errors
    /// Two do.
    pub fn under_root(self, name: &str) -> Result<Option<Node<'a>>, NodeError<'a>> {
        match self.root() {
            Some(root) => root.child(name),
            None => Ok(None),
        }
    }

    /// The platform; `None` if the description, as those of hypervisors may, says nothing of it.
    ///
    /// # Errors
    /// Its node is there twice or says nothing that makes sense.
    pub fn platform(self) -> Result<Option<Platform<'a>>, NodeError<'a>> {
        const STICK: &str = "stick-frequency";
        let Some(node) = self.under_root("platform")? else {
            return Ok(None);
        };
        let stick_frequency = node.number(STICK)?;
        if stick_frequency == Some(0) {
            return Err(node.error(Problem::Stopped(STICK)));
        }
        Ok(Some(Platform {
            name: node
                .string("name")?
                .ok_or_else(|| node.error(Problem::Missing("name")))?,
            stick_frequency,
        }))
    }

    /// The machine; `None` if the description is not of one with Victoria Falls processors, or is a guest's.
    ///
    /// # Errors
    /// Its nodes contradict each other, or there is no such machine.
    pub fn machine(self) -> Result<Option<Machine>, NodeError<'a>> {
        let Some(list) = self.under_root("vf-nodes")? else {
            return Ok(None);
        };
        let platform = self
            .platform()?
            .ok_or_else(|| list.error(Problem::NoPlatform))?;
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
        for (node, channels) in VfNode::ALL.iter().zip(channels).take(nodes) {
            let channels = channels.ok_or_else(|| list.error(Problem::Gap(node.index())))?;
            for (mcu, enabled) in Mcu::ALL.iter().zip(channels) {
                if !enabled {
                    machine = machine.without_channel(*node, *mcu);
                }
            }
        }
        Ok(Some(machine))
    }
}

/// Which channels of a processor are there, and not disabled.
fn enabled_channels(node: Node<'_>) -> Result<[bool; Mcu::ALL.len()], NodeError<'_>> {
    let mut channels = [None; Mcu::ALL.len()];
    for mcu in node.children("mcu") {
        let enabled = mcu.number("disabled")?.unwrap_or(0) == 0;
        *numbered(mcu, &mut channels)? = Some(enabled);
    }
    Ok(channels.map(|enabled| enabled == Some(true)))
}

/// The place of a node with an `id`, which no other has taken.
fn numbered<'a, 's, T>(
    node: Node<'a>,
    places: &'s mut [Option<T>],
) -> Result<&'s mut Option<T>, NodeError<'a>> {
    let id = node.needed_number("id")?;
    let count = places.len();
    match usize::try_from(id).ok().and_then(|id| places.get_mut(id)) {
        None => Err(node.error(Problem::Number(id, count))),
        Some(Some(_)) => Err(node.error(Problem::NumberTwice(id))),
        Some(free) => Ok(free),
    }
}
