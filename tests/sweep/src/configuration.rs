//! Machines and the guests that they start with.

use core::fmt;

use guest_abi::{Mcu, Node, StrandId};
use perfctr_service::{Grant, GuestConfig, StrandRight, StrandSet};
use platform::{Machine, Model};

/// How many guests a configuration can have.
pub const GUESTS: usize = 3;

/// How many strands each of them can have.
pub const STRANDS: usize = 4;

/// A machine and its guests, of which the later ones may have no strands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The machine.
    pub machine: Machine,
    /// The guests.
    pub guests: [GuestConfig; GUESTS],
}

impl Configuration {
    /// A machine with these guests.
    pub(crate) fn new<const N: usize>(machine: Machine, given: [GuestConfig; N]) -> Self {
        let mut guests = [GuestConfig::default(); GUESTS];
        guests
            .iter_mut()
            .zip(given)
            .for_each(|(guest, given)| *guest = given);
        Self { machine, guests }
    }

    /// The guest that a strand is of.
    pub fn guest_of(&self, strand: StrandId) -> Option<usize> {
        self.guests
            .iter()
            .position(|guest| guest.strands.has(strand))
    }

    /// The machine in a word, and each guest in another.
    pub fn to_words(&self) -> [u64; 1 + GUESTS] {
        let [first, second, third] = self.guests.map(guest_word);
        [machine_word(self.machine), first, second, third]
    }

    /// What these words describe, if it is a machine.
    pub fn from_words([machine, guests @ ..]: [u64; 1 + GUESTS]) -> Option<Self> {
        Some(Self {
            machine: machine_of(machine)?,
            guests: guests.map(guest_of_word),
        })
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (model, nodes) = (self.machine.model(), self.machine.nodes());
        let plural = if nodes == 1 { "" } else { "s" };
        write!(f, "{model} with {nodes} node{plural}")?;
        for (node, mcu) in absent_channels(self.machine) {
            write!(f, " without {}_{}", node.text(), mcu.text())?;
        }
        let given = |guest: &&GuestConfig| guest.strands != StrandSet::EMPTY;
        for guest in self.guests.iter().filter(given) {
            let switch = if guest.compatible { ", compatible" } else { "" };
            write!(f, ", guest ({}{switch}) on", guest.grant)?;
            guest
                .strands
                .iter()
                .try_for_each(|strand| write!(f, " {strand}"))?;
        }
        Ok(())
    }
}

/// A guest on strands of these numbers, without the switch.
pub(crate) fn guest(strands: impl IntoIterator<Item = usize>, grant: Grant) -> GuestConfig {
    GuestConfig {
        strands: strands.into_iter().filter_map(StrandId::new).collect(),
        grant,
        compatible: false,
    }
}

/// Channels that the machine does not have, of nodes that it has.
fn absent_channels(machine: Machine) -> impl Iterator<Item = (Node, Mcu)> {
    let nodes = Node::ALL
        .iter()
        .filter(move |node| machine.has_node(**node));
    nodes
        .flat_map(|node| Mcu::ALL.iter().map(|mcu| (*node, *mcu)))
        .filter(move |(node, mcu)| !machine.has_channel(*node, *mcu))
}

/// Nodes in bits 7:0, bit 8 for a Batoka, and from bit 16 on the channels that are absent.
fn machine_word(machine: Machine) -> u64 {
    let family = u64::from(machine.model() == Model::Batoka) << 8;
    absent_channels(machine).fold(machine.nodes() as u64 | family, |word, (node, mcu)| {
        word | 1 << (16 + 2 * node.index() + mcu.index())
    })
}

fn machine_of(word: u64) -> Option<Machine> {
    let model = if word >> 8 & 1 == 1 {
        Model::Batoka
    } else {
        Model::Maramba
    };
    let mut machine = Machine::new(model, (word & 0xff) as usize).ok()?;
    for node in Node::ALL {
        for mcu in Mcu::ALL {
            if word >> (16 + 2 * node.index() + mcu.index()) & 1 == 1 {
                machine = machine.without_channel(*node, *mcu);
            }
        }
    }
    Some(machine)
}

/// Strands in eight bits each from bit 0 on, their number in bits 34:32, rights and the switch from bit 40 on.
fn guest_word(guest: GuestConfig) -> u64 {
    let strands = guest.strands.iter().take(STRANDS);
    let (count, strands) = strands.fold((0, 0), |(count, word), strand| {
        (count + 1, word | (strand.index() as u64) << (8 * count))
    });
    strands
        | count << 32
        | (guest.grant.strand as u64) << 40
        | u64::from(guest.grant.global) << 42
        | u64::from(guest.compatible) << 43
}

fn guest_of_word(word: u64) -> GuestConfig {
    let strands = (0..word >> 32 & 7).map(|place| (word >> (8 * place) & 0xff) as usize);
    let grant = Grant {
        strand: match word >> 40 & 3 {
            0 => StrandRight::None,
            1 => StrandRight::Strand,
            _ => StrandRight::HtStrand,
        },
        global: word >> 42 & 1 == 1,
    };
    GuestConfig {
        compatible: word >> 43 & 1 == 1,
        ..guest(strands, grant)
    }
}
