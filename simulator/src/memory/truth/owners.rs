//! Which units a line belongs to. The memory system uses other maps, which compute the units from bits of a line's number: see
//! [`geometry`](crate::memory::geometry). Here, the units are listed in the order in which they take successive lines.

use guest_abi::{Hub, Mcu, Node};
use platform::Machine;

use crate::memory::geometry::L2Line;

/// The units that one line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owners {
    pub(super) bank: usize,
    pub(super) channel: (Node, Mcu),
    /// The hub that carries the line. Without hubs, the link with the hub's number.
    pub(super) hub: Hub,
}

/// The number of successive lines in one node's memory.
const LINES_OF_A_NODE: usize = 8;

/// The owners of successive lines. After the last line, the list begins again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnersByLine(Vec<Owners>);

impl OwnersByLine {
    pub(super) fn new(machine: &Machine) -> Self {
        let carriers = if machine.hubs().is_empty() { Hub::ALL } else { machine.hubs() };
        let mut all = Vec::new();
        for node in Node::ALL {
            let channels: Vec<_> = machine.channels().filter(|(of, _)| of == node).collect();
            let (Some(first), Some(last)) = (channels.first(), channels.last()) else { continue };
            let halves = [first, last].into_iter().flat_map(|channel| [channel; 4]);
            // Each hub carries two successive lines, and the next hub carries the next two.
            let pairs = Hub::ALL.iter().zip(carriers.iter().cycle()).flat_map(|(_, hub)| [hub; 2]);
            let lines = halves.zip(pairs).zip(0..LINES_OF_A_NODE);
            all.extend(lines.map(|((channel, hub), bank)| Owners {
                bank,
                channel: *channel,
                hub: *hub,
            }));
        }
        Self(all)
    }

    pub(super) fn of(&self, line: L2Line) -> Owners {
        self.0[(line.0 % self.0.len() as u64) as usize]
    }
}
