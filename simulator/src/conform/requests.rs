//! Lists calls of all kinds, which strands make at the same time.

use conform::configuration::GUESTS;
use conform::parts::{AT_RANDOM, EVERY_REGISTER, FUNCTIONS, NEGOTIATION, OF_EVERY_GROUP};
use conform::{Change, Configuration, Part, System};
use guest_abi::{StrandId, Trap};

use super::caller::Request;
use super::counts;

/// Functions of trap 0x80 that the specification has but the model does not know. They end, stop or change the calling guest.
pub(super) const KERNEL_FUNCTIONS: [u64; 17] = [
    0x00, 0x01, 0x10, 0x11, 0x12, 0x14, 0x16, 0x17, 0x50, 0x51, 0x60, 0x61, 0x63, 0x70, 0x71,
    0x200, 0x201,
];
/// The groups to which the functions in [`KERNEL_FUNCTIONS`] belong. The project's image has these groups in addition to CORE.
const KERNEL_GROUPS: [u64; 2] = [3, 0x300];

/// Collects the calls that a part of the sweep makes.
struct CallCollector(Vec<Request>);

impl System for CallCollector {
    fn call(&mut self, _: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        let [group, .., function] = registers;
        let is_known = match trap {
            Trap::Fast => !KERNEL_FUNCTIONS.contains(&function),
            // Exit would end the guest.
            Trap::Core => function != 2 && !KERNEL_GROUPS.contains(&group),
        };
        if is_known {
            self.0.push(Request { trap: trap.number(), registers });
        }
        registers
    }

    fn change(&mut self, _: Change) {}

    fn state(&mut self) -> u64 {
        0
    }

    fn counts(&mut self) -> u64 {
        0
    }
}

fn calls(part: &Part, number: usize) -> Vec<Request> {
    let mut noted = CallCollector(Vec::new());
    if let Some(Configuration { machine, guests: [guest, ..] }) = counts::configuration() {
        (part.run)(number, &Configuration { machine, guests: [guest; GUESTS] }, &mut noted);
    }
    noted.0
}

/// Returns calls of all kinds. If `long` is set, returns many more calls.
#[must_use]
pub fn requests(long: bool) -> Vec<Request> {
    let (parts, step) = if long { (8, 1) } else { (2, 8) };
    let mut all = calls(&EVERY_REGISTER, 0);
    all.extend((0..parts).flat_map(|number| calls(&AT_RANDOM, number)));
    all.extend((0..parts).flat_map(|number| calls(&NEGOTIATION, number)).step_by(step));
    all.extend(calls(&OF_EVERY_GROUP, 2));
    all.extend(calls(&FUNCTIONS, 0).into_iter().step_by(4 * step));
    // Calls with software traps that have no service, and calls for the console.
    for number in 0x81..0xff {
        all.push(Request { trap: number, registers: [2, 0x11, 0x22, 0x33, 0x44, 0x106] });
    }
    for byte in (0..0x102).chain([1 << 32, u64::MAX - 1, u64::MAX]) {
        all.push(Request { trap: 0xff, registers: [byte, 0x11, 0x22, 0x33, 0x44, 1] });
    }
    all
}
