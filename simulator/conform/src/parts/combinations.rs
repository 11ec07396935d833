//! All combinations of machine, guest's nodes, grant, and compatibility switch.

use guest_abi::{Mcu, Node};
use perfctr_service::Grant;
use platform::{Machine, Model};

use crate::Configuration;
use crate::configuration::guest;

/// A machine: its model, its number of nodes, and its disabled memory channels.
type Description = (Model, usize, &'static [(Node, Mcu)]);

pub(super) const MACHINES: [Description; 8] = [
    (Model::Maramba, 1, &[]),
    (Model::Maramba, 2, &[]),
    (Model::Maramba, 2, &[(Node::Node0, Mcu::Mcu1)]),
    (Model::Batoka, 1, &[]),
    (Model::Batoka, 2, &[]),
    (Model::Batoka, 3, &[]),
    (Model::Batoka, 4, &[]),
    (Model::Batoka, 4, &[(Node::Node1, Mcu::Mcu0), (Node::Node2, Mcu::Mcu1)]),
];

pub(super) const GRANTS: [Grant; 6] =
    [Grant::NONE, Grant::STRAND, Grant::HTSTRAND, Grant::GLOBAL, Grant::GLOBAL_STRAND, Grant::ALL];

pub(super) fn machine(number: usize) -> Option<Machine> {
    let (model, nodes, disabled) = *MACHINES.get(number)?;
    let whole = Machine::new(model, nodes).ok()?;
    let without =
        |machine: Machine, (node, mcu): &(Node, Mcu)| machine.without_channel(*node, *mcu);
    Some(disabled.iter().fold(whole, without))
}

/// The index of the guest under test. Guest 0 is a neighbour.
pub(super) const TESTED: usize = 1;

/// The number of ways to place the guest's strands: on all nodes, on the first node, on the last node.
const PLACES: usize = 3;

/// All world numbers are below this limit. Some numbers have no world, because a one-node machine has only one placement.
pub(super) const LIMIT: usize = MACHINES.len() * PLACES * GRANTS.len() * 2;

/// Returns the world with this number: the guest under test, and a neighbour without rights. The neighbour's strand follows the tested
/// guest's first strand.
pub(super) fn world(number: usize) -> Option<Configuration> {
    let (number, compatible) = (number / 2, number % 2 == 1);
    let (number, grant) = (number / GRANTS.len(), GRANTS[number % GRANTS.len()]);
    let (number, place) = (number / PLACES, number % PLACES);
    let machine = machine(number)?;
    let last = machine.nodes() - 1;
    let nodes = match place {
        0 => 0..=last,
        1 if last > 0 => 0..=0,
        2 if last > 0 => last..=last,
        _ => return None,
    };
    let first = 64 * nodes.start() + 3;
    let tested = guest(nodes.map(|node| 64 * node + 3), grant).with_compatible(compatible);
    let neighbour = guest([first + 1], Grant::NONE);
    Some(Configuration::new(machine, [neighbour, tested]))
}

/// Returns `true` if world `number` is one of the selected worlds. On each machine, they cover every grant, every placement, and both
/// settings of the compatibility switch, but not all combinations of these.
pub const fn is_chosen(number: usize) -> bool {
    let (number, compatible) = (number / 2, number % 2);
    let (number, grant) = (number / GRANTS.len(), number % GRANTS.len());
    let (machine, place) = (number / PLACES, number % PLACES);
    let (_, nodes, _) = MACHINES[machine];
    let places = if nodes > 1 { PLACES } else { 1 };
    place == (machine + grant) % places && compatible == (machine + grant / 2) % 2
}
