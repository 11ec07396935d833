mod combinations;
mod faults;
mod hubs;
mod numbers;
mod random;
mod registers;
mod versions;

pub use combinations::is_chosen;
pub use faults::{BANKS, BROKEN_UNITS, HALF_AN_L2, ONE_BY_ONE, WITHOUT_A_HUB};
pub use hubs::BUSY;
pub use numbers::FUNCTIONS;
pub use random::AT_RANDOM;
pub use registers::{EVERY_REGISTER, READ_BACK};
pub use versions::{NEGOTIATION, OF_EVERY_GROUP};

use guest_abi::trap::{API_SET_VERSION, VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{StrandId, Trap};

use crate::{Change, Configuration, Part, System};

/// All parts. The reference model predicts the results of all of them except the last.
pub const ALL: [Part; 11] = [
    EVERY_REGISTER,
    READ_BACK,
    BUSY,
    FUNCTIONS,
    NEGOTIATION,
    OF_EVERY_GROUP,
    BROKEN_UNITS,
    WITHOUT_A_HUB,
    ONE_BY_ONE,
    HALF_AN_L2,
    AT_RANDOM,
];

/// The minor versions of group 0x205 that a guest can have. `None` means that the group is not negotiated.
const VERSIONS: [Option<u64>; 3] = [Some(1), Some(0), None];

const PERF_COUNTERS: u64 = 0x205;

/// The values of %o1 to %o4 in calls that do not use them as arguments.
const REST: [u64; 4] = [0x1111_0bad, 0x2222_0bad, 0x3333_0bad, 0x4444_0bad];

impl dyn System + '_ {
    fn get(&mut self, strand: StrandId, id: u64) {
        let [o1, o2, o3, o4] = REST;
        let registers = [id, o1, o2, o3, o4, VFALLS_GET_PERFREG];
        self.call(strand, Trap::Fast, registers);
    }

    fn set(&mut self, strand: StrandId, id: u64, value: u64) {
        let [_, o2, o3, o4] = REST;
        let registers = [id, value, o2, o3, o4, VFALLS_SET_PERFREG];
        self.call(strand, Trap::Fast, registers);
    }

    fn negotiate(&mut self, strand: StrandId, [group, major, minor]: [u64; 3]) {
        let [_, _, o3, o4] = REST;
        let registers = [group, major, minor, o3, o4, API_SET_VERSION];
        self.call(strand, Trap::Core, registers);
    }

    /// Resets a guest, which then negotiates this minor version of group 0x205, if any.
    fn start(&mut self, configuration: &Configuration, guest: usize, version: Option<u64>) {
        self.change(Change::Reset(guest));
        let first = configuration.guests[guest].strands.iter().next();
        if let Some((strand, minor)) = first.zip(version) {
            self.negotiate(strand, [PERF_COUNTERS, 1, minor]);
        }
    }
}

const fn strand(number: usize) -> StrandId {
    match StrandId::new(number) {
        Some(strand) => strand,
        None => panic!("a strand number below 256"),
    }
}
