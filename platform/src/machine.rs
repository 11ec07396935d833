//! Machines with Victoria Falls processors, and their performance registers.

use core::fmt;

use guest_abi::{Hub, Mcu, Node, PerfReg, RegisterKind, StrandId};

use crate::interleave::Interleave;

/// The properties of a machine family.
struct Facts {
    name: &'static str,
    number: u8,
    max_nodes: usize,
    hubs: &'static [Hub],
    /// The names of the family's platforms. `Model::platform_name` returns the first.
    platforms: &'static [&'static str],
    /// The machine's name in the first platform's banner.
    banner: &'static str,
}

/// Defines the families. Every difference between families is in these entries.
macro_rules! models {
    ($($(#[$doc:meta])* $model:ident $facts:tt)*) => {
        /// A family of machines. All machines of a family have the same hubs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Model {
            $($(#[$doc])* $model,)*
        }

        impl Model {
            /// All families. Descriptions and command lines name them.
            pub const ALL: &'static [Self] = &[$(Self::$model),*];

            const fn facts(self) -> &'static Facts {
                match self {
                    $(Self::$model => const { &Facts $facts },)*
                }
            }
        }
    };
}

models! {
    /// T5140, T5240, T6340 and Netra T5440: one or two nodes, linked directly.
    Maramba {
        name: "maramba",
        number: 1,
        max_nodes: 2,
        hubs: &[],
        platforms: &[
            "SUNW,T5240",
            "SUNW,T5140",
            "SUNW,Sun-Blade-T6340",
            "SUNW,Netra-T5440",
            "SUNW,USBRDT-5240",
        ],
        banner: "SPARC Enterprise T5240",
    }
    /// T5440: up to four nodes, linked by four Zambezi hubs.
    Batoka {
        name: "batoka",
        number: 0,
        max_nodes: 4,
        hubs: &[Hub::Zam0, Hub::Zam1, Hub::Zam2, Hub::Zam3],
        platforms: &["SUNW,T5440"],
        banner: "SPARC Enterprise T5440",
    }
}

impl Model {
    /// Returns the largest number of nodes that a machine of this family can have.
    pub const fn max_nodes(self) -> usize {
        self.facts().max_nodes
    }

    /// Returns the hubs that every machine of this family has, in the order of their numbers.
    pub const fn hubs(self) -> &'static [Hub] {
        self.facts().hubs
    }

    /// Returns `true` if machines of the family have this hub.
    pub const fn has_hub(self, hub: Hub) -> bool {
        let mut rest = self.hubs();
        while let [first, others @ ..] = rest {
            if first.index() == hub.index() {
                return true;
            }
            rest = others;
        }
        false
    }

    /// Returns the family's number in the word [`start::MACHINE`](crate::memory_map::start::MACHINE), which tells an image what machine it
    /// is on.
    pub const fn number(self) -> u8 {
        self.facts().number
    }

    /// Returns the family with this [number](Self::number); `None` if there is none.
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|model| u64::from(model.number()) == number)
    }

    /// Returns the name of the family, in lower case.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the family with this name, in upper or lower case; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|model| model.name().eq_ignore_ascii_case(name))
    }

    /// Returns the first platform name of the family, such as `SUNW,T5440`. Guest descriptions state this name.
    pub const fn platform_name(self) -> &'static str {
        match self.facts().platforms {
            [first, ..] => first,
            [] => "",
        }
    }

    /// Returns the machine's name in the first platform's banner.
    pub const fn banner(self) -> &'static str {
        self.facts().banner
    }

    /// Returns the family of a platform such as `SUNW,T5440`; `None` if the platform has no Victoria Falls processors.
    pub fn from_platform_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|model| model.facts().platforms.contains(&name))
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A machine: its family, its nodes (numbered from 0), its disabled memory channels, and how its memory interleaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    model: Model,
    nodes: u8,
    disabled_channels: u8,
    interleave: Interleave,
}

/// The error of [`Machine::new`]: no machine of this family has this number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineError {
    model: Model,
    nodes: usize,
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, nodes } = self;
        write!(f, "a {model} has 1 to {} nodes, not {nodes}", model.max_nodes())
    }
}

impl core::error::Error for MachineError {}

impl Machine {
    /// Returns a machine whose memory channels are all enabled, and whose memory interleaves by 512 bytes. Fails if `nodes` is 0 or above
    /// [`Model::max_nodes`].
    pub const fn new(model: Model, nodes: usize) -> Result<Self, MachineError> {
        if nodes >= 1 && nodes <= model.max_nodes() {
            Ok(Self {
                model,
                nodes: nodes as u8,
                disabled_channels: 0,
                interleave: Interleave::Bytes512,
            })
        } else {
            Err(MachineError { model, nodes })
        }
    }

    /// Returns the machine with the channel `mcu` of `node` disabled.
    #[must_use]
    pub const fn without_channel(mut self, node: Node, mcu: Mcu) -> Self {
        self.disabled_channels |= Self::channel_bit(node, mcu);
        self
    }

    /// Returns the machine with this memory interleave.
    #[must_use]
    pub const fn with_interleave(mut self, interleave: Interleave) -> Self {
        self.interleave = interleave;
        self
    }

    /// Returns the interleave of the machine's memory. [`Homes`](crate::homes::Homes) maps addresses to nodes accordingly.
    pub const fn interleave(self) -> Interleave {
        self.interleave
    }

    /// Returns the model, which is the machine's family.
    pub const fn model(self) -> Model {
        self.model
    }

    /// Returns the number of nodes, 1 to 4. Nodes are numbered from 0.
    pub const fn nodes(self) -> usize {
        self.nodes as usize
    }

    /// Returns the number of strands. Strands are numbered from 0.
    pub const fn strands(self) -> usize {
        self.nodes() * StrandId::PER_NODE
    }

    /// Returns `true` if the node's number is below the machine's [number of nodes](Self::nodes).
    pub const fn has_node(self, node: Node) -> bool {
        node.index() < self.nodes()
    }

    /// Returns `true` if the machine has this memory channel and it is enabled.
    pub const fn has_channel(self, node: Node, mcu: Mcu) -> bool {
        self.has_node(node) && self.disabled_channels & Self::channel_bit(node, mcu) == 0
    }

    /// Returns the enabled memory channels of the machine's nodes, in the order of their registers.
    pub fn channels(self) -> impl Iterator<Item = (Node, Mcu)> {
        let channels = Node::ALL.iter().flat_map(|node| Mcu::ALL.iter().map(|mcu| (*node, *mcu)));
        channels.filter(move |(node, mcu)| self.has_channel(*node, *mcu))
    }

    /// Returns the hubs, in the order of their numbers. A machine has all hubs of its family, whatever the number of nodes.
    pub const fn hubs(self) -> &'static [Hub] {
        self.model.hubs()
    }

    /// Returns `true` if the machine has the unit of this performance register. Every machine has registers 0 and 1, and no machine has the
    /// registers of a disabled channel.
    pub const fn has_register(self, register: PerfReg) -> bool {
        match register.kind() {
            RegisterKind::Strand | RegisterKind::L2 => true,
            RegisterKind::Dram { node, mcu, .. } => self.has_channel(node, mcu),
            RegisterKind::Hub { hub, .. } => self.model.has_hub(hub),
        }
    }

    const fn channel_bit(node: Node, mcu: Mcu) -> u8 {
        1 << (2 * node as u8 + mcu as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(machine: Machine) -> impl Iterator<Item = u64> {
        PerfReg::ALL
            .into_iter()
            .filter(move |register| machine.has_register(*register))
            .map(PerfReg::id)
    }

    #[test]
    fn registers_of_the_families() {
        let machine = |model, nodes| Machine::new(model, nodes).unwrap();
        assert!(registers(machine(Model::Maramba, 1)).eq(0..=5));
        assert!(registers(machine(Model::Maramba, 2)).eq(0..=9));
        assert!(registers(machine(Model::Batoka, 1)).eq((0..=5).chain(18..=89)));
        assert!(registers(machine(Model::Batoka, 4)).eq(0..=89));
        let without = machine(Model::Batoka, 4).without_channel(Node::Node2, Mcu::Mcu1);
        assert!(registers(without).eq((0..=11).chain(14..=89)));
    }

    #[test]
    fn families_differ_in_name_and_number() {
        for model in Model::ALL.iter().copied() {
            assert!((1..=Node::ALL.len()).contains(&model.max_nodes()), "{model}");
            assert_eq!(Model::from_name(model.name()), Some(model));
            assert_eq!(Model::from_number(model.number().into()), Some(model));
            assert_eq!(Model::from_platform_name(model.platform_name()), Some(model));
            let hubs = Hub::ALL.iter().filter(|hub| model.has_hub(**hub));
            assert!(hubs.eq(model.hubs()), "{model}");
        }
        assert_eq!(Model::from_number(0x1_0000_0000), None);
    }

    #[test]
    fn platforms() {
        for (names, model) in [
            ("T5140 T5240 Sun-Blade-T6340 Netra-T5440 USBRDT-5240", Some(Model::Maramba)),
            ("T5440", Some(Model::Batoka)),
            ("Sun-Fire-T200 T544", None),
        ] {
            for name in names.split(' ').map(|name| std::format!("SUNW,{name}")) {
                assert_eq!(Model::from_platform_name(&name), model, "{name}");
            }
        }
        for name in ["sunw,t5440", ""] {
            assert_eq!(Model::from_platform_name(name), None, "{name}");
        }
    }

    #[test]
    fn rejected_numbers_of_nodes() {
        let (maramba, batoka) = (Model::Maramba, Model::Batoka);
        for (model, nodes) in [(maramba, 0), (maramba, 3), (batoka, 0), (batoka, 5)] {
            assert_eq!(Machine::new(model, nodes), Err(MachineError { model, nodes }));
        }
    }
}
