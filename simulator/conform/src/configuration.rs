//! Machines and their guests, as the sweep configures them.

use core::fmt;

use guest_abi::{Mcu, Node, StrandId};
use perfctr_service::{Grant, GuestConfig, StrandSet};
use platform::Machine;

/// The maximum number of guests in a configuration.
pub const GUESTS: usize = 3;

/// A machine and its guests. An array entry without strands is not a guest.
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
        guests.position(|guest| guest.strands.contains(strand))
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
            let GuestConfig { strands, grant, compatible } = *guest;
            let switch = if compatible { ", compatible" } else { "" };
            write!(f, ", guest ({grant}{switch}) on")?;
            let mut strands = strands.iter();
            strands.try_for_each(|strand| write!(f, " {strand}"))?;
        }
        Ok(())
    }
}

/// Returns a guest on the strands with these numbers. Its compatibility switch is off.
pub(crate) fn guest(strands: impl IntoIterator<Item = usize>, grant: Grant) -> GuestConfig {
    GuestConfig::new(strands.into_iter().filter_map(StrandId::new).collect(), grant)
}

/// Returns the disabled channels of the machine's nodes.
fn absent_channels(machine: Machine) -> impl Iterator<Item = (Node, Mcu)> {
    let nodes = Node::ALL.iter().copied();
    let channels = nodes.flat_map(|node| Mcu::ALL.iter().map(move |mcu| (node, *mcu)));
    channels.filter(move |(node, mcu)| machine.has_node(*node) && !machine.has_channel(*node, *mcu))
}

#[cfg(all(test, feature = "model"))]
mod tests {
    use platform::Model;

    use super::*;

    #[test]
    fn guests_without_strands_are_not_shown() {
        let machine = Machine::new(Model::Batoka, 2).unwrap();
        let configuration = Configuration::new(machine, [guest([0, 9], Grant::STRAND)]);
        assert_eq!(configuration.to_string(), "batoka with 2 nodes, guest (strand) on 0 9");
    }
}
