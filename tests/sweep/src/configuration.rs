//! Machines and their guests.

use core::fmt;

use guest_abi::{Mcu, Node, StrandId};
use perfctr_service::{Grant, GuestConfig, StrandRight, StrandSet};
use platform::{Machine, Model};

/// The largest number of guests of a configuration.
pub const GUESTS: usize = 3;

/// The largest number of strands of a guest.
pub const STRANDS: usize = 4;

/// A machine and its guests. A guest without strands is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    pub machine: Machine,
    pub guests: [GuestConfig; GUESTS],
}

impl Configuration {
    pub(crate) fn new<const N: usize>(machine: Machine, given: [GuestConfig; N]) -> Self {
        let mut guests = [GuestConfig::default(); GUESTS];
        let places = guests.iter_mut().zip(given);
        places.for_each(|(guest, given)| *guest = given);
        Self { machine, guests }
    }

    pub fn guest_of(&self, strand: StrandId) -> Option<usize> {
        let mut guests = self.guests.iter();
        guests.position(|guest| guest.strands.has(strand))
    }

    /// Returns a word for the machine and one for each guest.
    pub fn to_words(&self) -> [u64; 1 + GUESTS] {
        let [first, second, third] = self.guests.map(guest_word);
        [machine_word(self.machine), first, second, third]
    }

    /// Returns the configuration of these words; `None` if they are not of a machine.
    pub fn from_words([machine, guests @ ..]: [u64; 1 + GUESTS]) -> Option<Self> {
        Some(Self { machine: machine_of(machine)?, guests: guests.map(guest_of_word) })
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
            let mut strands = guest.strands.iter();
            strands.try_for_each(|strand| write!(f, " {strand}"))?;
        }
        Ok(())
    }
}

/// Returns a guest on strands of these numbers, with the compatibility switch off.
pub(crate) fn guest(strands: impl IntoIterator<Item = usize>, grant: Grant) -> GuestConfig {
    GuestConfig {
        strands: strands.into_iter().filter_map(StrandId::new).collect(),
        grant,
        compatible: false,
    }
}

/// Returns the disabled channels of the nodes that the machine has.
fn absent_channels(machine: Machine) -> impl Iterator<Item = (Node, Mcu)> {
    let nodes = Node::ALL.iter().copied();
    let channels = nodes.flat_map(|node| Mcu::ALL.iter().map(move |mcu| (node, *mcu)));
    channels.filter(move |(node, mcu)| machine.has_node(*node) && !machine.has_channel(*node, *mcu))
}

/// Packs the number of nodes in bits 7:0, the model in bit 8 (1 is Batoka), the absent channels in bits 16 and above.
fn machine_word(machine: Machine) -> u64 {
    let family = u64::from(machine.model() == Model::Batoka) << 8;
    absent_channels(machine).fold(machine.nodes() as u64 | family, |word, (node, mcu)| {
        word | 1 << (16 + 2 * node.index() + mcu.index())
    })
}

fn machine_of(word: u64) -> Option<Machine> {
    let model = match word >> 8 & 1 {
        0 => Model::Maramba,
        _ => Model::Batoka,
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

/// Packs up to four strands in bits 31:0, their number in bits 34:32, the rights in bits 42:40, the switch in bit 43.
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
    GuestConfig { compatible: word >> 43 & 1 == 1, ..guest(strands, grant) }
}
