//! The parts of a guest's words that depend only on the configuration and the machine.

use guest_abi::{Mcu, Node};
use platform::Machine;

use crate::rights::access::AccessWord;
use crate::rights::policy::GuestConfig;
use crate::rights::refusals::RefusalWord;
use crate::rights::versions::{VfallsVersion, has_hubs};
use crate::statistics::Refusal;
use crate::units::Unit;

/// Returns element `index` of [`GuestRights::opened`](super::GuestRights). The index encodes a version and the right to `global`.
pub(super) fn opened(config: GuestConfig, machine: Machine, index: usize) -> AccessWord {
    let version = VfallsVersion::new((index / 2) as u8);
    let hubs = has_hubs(version, config.compatible);
    let without_hubs = if hubs { AccessWord::NOTHING } else { AccessWord::HUBS };
    if version.is_none() || index.is_multiple_of(2) {
        return AccessWord::NOTHING;
    }
    let units = Unit::under_global(config.strands.nodes());
    AccessWord::from_units(units.filter(|unit| unit.is_in(machine))).without(without_hubs)
}

/// Returns element `index` of [`GuestRights::refused`](super::GuestRights). The index encodes a version and the right to `global`.
pub(super) fn refused(config: GuestConfig, machine: Machine, index: usize) -> RefusalWord {
    let (version, global) = (VfallsVersion::new((index / 2) as u8), index % 2 == 1);
    if version.is_none() {
        return RefusalWord::CLOSED;
    }
    let nodes = config.strands.nodes();
    let hubs = match has_hubs(version, config.compatible) {
        true => machine.hubs(),
        false => &[],
    };
    // All refused hubs share one status. If the machine has some hubs but not all, the slow path refuses the missing ones.
    let word = match (hubs, global) {
        ([], _) => RefusalWord::CLOSED.with_hubs(RefusalWord::HUBS, Refusal::NotSupported),
        (_, true) => RefusalWord::CLOSED.with_hubs(RefusalWord::CLOSED, Refusal::NoAccess),
        (hubs, false) => {
            let refused = hubs.iter().map(|hub| RefusalWord::hub(*hub));
            let refused = refused.fold(RefusalWord::CLOSED, RefusalWord::or);
            RefusalWord::CLOSED.with_hubs(refused, Refusal::NoAccess)
        }
    };
    let l2 = if global { RefusalWord::CLOSED } else { RefusalWord::L2 };
    let channels = Node::ALL.iter().flat_map(|node| Mcu::ALL.iter().map(|mcu| (*node, *mcu)));
    channels.fold(word.or(l2), |word, (node, mcu)| match machine.has_channel(node, mcu) {
        false => word.without_channel(node, mcu),
        true if global && nodes.contains(node) => word,
        true => word.without_unit(Unit::Mcu(node, mcu)),
    })
}
