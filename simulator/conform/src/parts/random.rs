//! Random calls and changes, most of which are valid or nearly valid.

use guest_abi::trap::{API_GET_VERSION, API_SET_VERSION, VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{Hub, StrandId, Trap};
use perfctr_service::{Grant, GuestConfig, StrandRight, Unit};
use platform::{Machine, Model};

use super::PERF_COUNTERS;
use crate::{Change, Configuration, Part, System};

/// Four machines, each with two distributions of rights. Hubs become busy at random, so the service may refuse a strand in favour of a
/// strand that it refused earlier. The reference model never refuses a strand for this reason.
pub const AT_RANDOM: Part = Part { name: "calls at random", limit: 8, configuration, run };

const CALLS: usize = 3000;

/// Returns a machine with three guests. The first or the second guest has `global`.
fn configuration(number: usize) -> Option<Configuration> {
    let (model, nodes) = match number % 4 {
        0 => (Model::Batoka, 4),
        1 => (Model::Maramba, 2),
        2 => (Model::Batoka, 2),
        _ => (Model::Maramba, 1),
    };
    let later = number >= 4;
    // The literal names all fields, so adding a field breaks the build until it gets a value here.
    let on = |number: usize, strand, global, compatible| {
        let strands = (0..nodes.min(2)).map(|node| node * StrandId::PER_NODE + number);
        let strands = strands.filter_map(StrandId::new).collect();
        GuestConfig { strands, grant: Grant { strand, global }, compatible }
    };
    let guests = [
        on(0, StrandRight::HtStrand, !later, false),
        on(1, StrandRight::Strand, later, later),
        on(2, StrandRight::None, false, true),
    ];
    Some(Configuration::new(Machine::new(model, nodes).ok()?, guests))
}

fn run(number: usize, configuration: &Configuration, system: &mut dyn System) {
    let mut random = RandomCalls::new(number as u64);
    for _ in 0..CALLS {
        if random.one_in(16) {
            system.change(random.change());
        }
        let guest = random.below(3) as usize;
        let strands = configuration.guests[guest].strands;
        let Some(strand) = strands.iter().nth(random.below(2) as usize).or(strands.iter().next())
        else {
            continue;
        };
        let (trap, registers) = random.call();
        system.call(strand, trap, registers);
    }
    system.state();
}

/// Draws random calls and changes (xorshift64*).
struct RandomCalls(u64);

impl RandomCalls {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 32) % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn change(&mut self) -> Change {
        match self.below(8) {
            0 => Change::Break(self.unit()),
            1 => Change::Return(self.unit()),
            2 | 3 => Change::Mend,
            4 | 5 => Change::Reset(self.below(3) as usize),
            _ => {
                let hub = Hub::ALL[self.below(Hub::ALL.len() as u64) as usize];
                Change::Busy(hub, self.one_in(2))
            }
        }
    }

    fn unit(&mut self) -> Unit {
        let number = self.below(16) as usize;
        Unit::ALL.iter().copied().nth(number).unwrap_or(Unit::Hub(Hub::ALL[0]))
    }

    fn call(&mut self) -> (Trap, [u64; 6]) {
        let others = [self.next(), self.next(), self.next(), self.next()];
        let [o1, o2, o3, o4] = others;
        match self.below(16) {
            0 | 1 => {
                let [group, major, minor] = self.version();
                (Trap::Core, [group, major, minor, o3, o4, API_SET_VERSION])
            }
            2 => (Trap::Core, [self.group(), o1, o2, o3, o4, API_GET_VERSION]),
            3 => (Trap::Fast, [self.id(), o1, o2, o3, o4, self.next()]),
            // Bit 2 of the function number is set, so the function is neither cons_putchar (1) nor exit (2).
            4 => (Trap::Core, [self.id(), o1, o2, o3, o4, self.next() | 4]),
            5..=9 => (Trap::Fast, [self.id(), o1, o2, o3, o4, VFALLS_SET_PERFREG]),
            _ => (Trap::Fast, [self.id(), o1, o2, o3, o4, VFALLS_GET_PERFREG]),
        }
    }

    fn id(&mut self) -> u64 {
        match self.below(16) {
            0 => self.next(),
            1 => self.below(92) | 1 << 32,
            _ => self.below(92),
        }
    }

    fn group(&mut self) -> u64 {
        match self.below(8) {
            0 => self.next(),
            1 => self.below(3),
            _ => PERF_COUNTERS,
        }
    }

    fn version(&mut self) -> [u64; 3] {
        let major = match self.below(16) {
            0 => self.next(),
            1 => 0,
            2 => 2,
            _ => 1,
        };
        let minor = match self.below(8) {
            0 => self.next(),
            minor => minor % 3,
        };
        [self.group(), major, minor]
    }
}
