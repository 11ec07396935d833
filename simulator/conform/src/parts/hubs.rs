//! Makes calls that need a busy hub.

use guest_abi::Hub;

use super::{VERSIONS, combinations};
use crate::{Change, Configuration, Part, System};

/// Makes calls for every register while all hubs are busy, in every world. (A world is a combination of a machine, the guest's nodes and
/// its grant: see `combinations.rs`.) Then frees each hub, and reads one of its registers.
pub const BUSY: Part = Part {
    name: "busy hubs in every world",
    limit: combinations::LIMIT,
    configuration: combinations::world,
    run: busy,
};

fn busy(_: usize, configuration: &Configuration, system: &mut dyn System) {
    for version in VERSIONS {
        system.start(configuration, combinations::TESTED, version);
        for strand in configuration.guests[combinations::TESTED].strands.iter() {
            for hub in Hub::ALL {
                system.change(Change::Busy(*hub, true));
            }
            for id in (0..92).chain([255, 1 << 32 | 18, u64::MAX]) {
                system.get(strand, id);
                system.set(strand, id, 0xabc);
            }
            for hub in Hub::ALL {
                system.change(Change::Busy(*hub, false));
                // This strand was refused while the hub was busy, so it has the hub's next turn. Until this read takes the turn, the
                // service refuses all other strands.
                system.get(strand, 18 + 18 * hub.index() as u64);
            }
            system.state();
        }
    }
}
