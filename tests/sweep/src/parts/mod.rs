//! What is called on which machine.

mod faults;
mod hubs;
mod numbers;
mod random;
mod registers;
mod versions;
mod worlds;

pub use faults::{ALL_OR_NOTHING, BROKEN_UNITS, HALF_AN_L2, ONE_BY_ONE};
pub use hubs::BUSY;
pub use numbers::FUNCTIONS;
pub use random::AT_RANDOM;
pub use registers::{EVERY_REGISTER, READ_BACK};
pub use versions::{NEGOTIATION, OF_EVERY_GROUP};

use guest_abi::trap::{API_SET_VERSION, VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{StrandId, Trap};

use crate::{Change, Configuration, Part, System};

/// All of them. The reference model has the answers to all but the last.
pub const ALL: [Part; 11] = [
    EVERY_REGISTER,
    READ_BACK,
    BUSY,
    FUNCTIONS,
    NEGOTIATION,
    OF_EVERY_GROUP,
    BROKEN_UNITS,
    ALL_OR_NOTHING,
    ONE_BY_ONE,
    HALF_AN_L2,
    AT_RANDOM,
];

/// Minor versions of group 0x205 that a guest can have, or none.
const VERSIONS: [Option<u64>; 3] = [Some(1), Some(0), None];

const PERF_COUNTERS: u64 = 0x205;

/// Calls with a value of its own in every register that is no argument.
impl dyn System + '_ {
    fn get(&mut self, strand: StrandId, id: u64) {
        let registers = [
            id,
            0x1111_0bad,
            0x2222_0bad,
            0x3333_0bad,
            0x4444_0bad,
            VFALLS_GET_PERFREG,
        ];
        self.call(strand, Trap::Fast, registers);
    }

    fn set(&mut self, strand: StrandId, id: u64, value: u64) {
        let registers = [
            id,
            value,
            0x2222_0bad,
            0x3333_0bad,
            0x4444_0bad,
            VFALLS_SET_PERFREG,
        ];
        self.call(strand, Trap::Fast, registers);
    }

    fn negotiate(&mut self, strand: StrandId, [group, major, minor]: [u64; 3]) {
        let registers = [
            group,
            major,
            minor,
            0x3333_0bad,
            0x4444_0bad,
            API_SET_VERSION,
        ];
        self.call(strand, Trap::Core, registers);
    }

    /// A guest starts again, with this minor version of group 0x205.
    fn start(&mut self, configuration: &Configuration, guest: usize, version: Option<u64>) {
        self.change(Change::Reset(guest));
        let first = configuration.guests[guest].strands.iter().next();
        if let Some((strand, minor)) = first.zip(version) {
            self.negotiate(strand, [PERF_COUNTERS, 1, minor]);
        }
    }
}

/// The strand of that number.
const fn strand(number: usize) -> StrandId {
    match StrandId::new(number) {
        Some(strand) => strand,
        None => panic!("a strand number below 256"),
    }
}
