//! The contract sweep on the production image. Two guests with two strands each make calls at the same time.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::sync::OnceLock;

use guest_abi::{StrandId, Trap};
use perfctr_service::GuestConfig;
use platform::{Machine, Model};
use simulator::execute::Limits;
use sweep::configuration::GUESTS;
use sweep::parts::{AT_RANDOM, EVERY_REGISTER, FUNCTIONS, NEGOTIATION, OF_EVERY_GROUP};
use sweep::{Change, Configuration, Part, System};
use tests::oracle::{self, Grant, World};
use xtask::qemu::build::Production;

use super::callers::{Callers, Request};
use super::judge::Judge;
use super::watch::Watch;
use super::{Booted, Guest, REAL, Task, assembled, image, strand};

/// The maximum number of instructions between calls.
const CALL: u64 = 1_000_000;

/// Functions of trap 0x80 that the image serves besides the performance counters, and their groups.
/// The model does not know them; `services.rs` tests them.
const OF_KERNELS: [u64; 16] = [
    0x00, 0x01, 0x10, 0x11, 0x12, 0x14, 0x16, 0x17, 0x50, 0x60, 0x61, 0x63, 0x70, 0x71, 0x200,
    0x201,
];
const GROUPS_OF_KERNELS: [u64; 2] = [3, 0x300];

/// Collects the calls of a part of the sweep.
struct Noted(Vec<Request>);

impl System for Noted {
    fn call(&mut self, _: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        let [group, .., function] = registers;
        let is_known = match trap {
            Trap::Fast => !OF_KERNELS.contains(&function),
            // Exit would end the guest.
            Trap::Core => function != 2 && !GROUPS_OF_KERNELS.contains(&group),
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
    let guest =
        GuestConfig::new(StrandId::new(0).into_iter().collect(), perfctr_service::Grant::ALL);
    let configuration =
        Configuration { machine: Machine::new(Model::Batoka, 4).unwrap(), guests: [guest; GUESTS] };
    let mut noted = Noted(Vec::new());
    (part.run)(number, &configuration, &mut noted);
    noted.0
}

/// Returns calls of all kinds. With `long`, returns many more calls.
pub(crate) fn requests(long: bool) -> Vec<Request> {
    let (parts, step) = if long { (8, 1) } else { (2, 8) };
    let mut all = calls(&EVERY_REGISTER, 0);
    all.extend((0..parts).flat_map(|number| calls(&AT_RANDOM, number)));
    all.extend((0..parts).flat_map(|number| calls(&NEGOTIATION, number)).step_by(step));
    all.extend(calls(&OF_EVERY_GROUP, 2));
    all.extend(calls(&FUNCTIONS, 0).into_iter().step_by(4 * step));
    // Calls by software traps without a service, and calls for the console.
    for number in 0x81..0xff {
        all.push(Request { trap: number, registers: [2, 0x11, 0x22, 0x33, 0x44, 0x106] });
    }
    for byte in (0..0x102).chain([1 << 32, u64::MAX - 1, u64::MAX]) {
        all.push(Request { trap: 0xff, registers: [byte, 0x11, 0x22, 0x33, 0x44, 1] });
    }
    all
}

/// Two guests: their strands, and their rights as the machine description and the model name them.
pub(crate) type Sides = [([usize; 2], &'static str, Grant); 2];

/// Returns the program of `requests.s`.
pub(crate) fn program() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(|| fs::read(assembled("requests", REAL)).unwrap())
}

/// Two guests that are ready to call a hypervisor, and the reference model of their machine.
pub(crate) struct Ready {
    pub(crate) booted: Booted,
    pub(crate) strands: [[StrandId; 2]; 2],
    pub(crate) callers: Callers,
    pub(crate) watch: Watch,
    pub(crate) world: World,
}

/// Boots a hypervisor with two guests. The guests' registers have random values from `seed`.
pub(crate) fn boot(hypervisor: &[u8], sides: &Sides, seed: u64) -> Ready {
    let guests = sides.each_ref().map(|(strands, rights, _)| Guest {
        program: program(),
        words: Some([0, strands.len() as u64, 0]),
        rights,
        ..Guest::new(Task::AllCpus, strands)
    });
    let world = sides.each_ref().map(|(strands, _, grant)| {
        let strands = strands.map(|strand| strand as u16);
        let mut guest = oracle::Guest::new(strands, *grant);
        // The guest has negotiated CORE, for cpu_start.
        guest.versions.set(1, 1, 0).unwrap();
        guest
    });
    let world = World::new(oracle::Machine::Batoka, 4, &[], world.into()).unwrap();
    let mut booted = Booted::boot(hypervisor, &guests, None);
    let strands = sides.each_ref().map(|(strands, ..)| strands.map(strand));
    let callers = Callers::new(&mut booted.0, &strands.concat(), seed);
    let watched = sides.each_ref().map(|(strands, ..)| strands.to_vec()).to_vec();
    let watch = Watch::new(&mut booted.0, hypervisor, watched);
    Ready { booted, strands, callers, watch, world }
}

/// With `PRODUCTION_LONG` in the environment, makes many more calls.
#[test]
#[ignore = "builds images"]
fn calls_of_two_guests_at_the_same_time_are_as_in_the_contract() {
    let requests = requests(env::var_os("PRODUCTION_LONG").is_some());
    let hypervisor = image(Production::Shipped);
    let mut statuses: BTreeMap<u64, usize> = BTreeMap::new();
    // The guests are on one core, on two nodes, and on three nodes.
    let cases: [Sides; 3] = [
        [([0, 1], "global,htstrand", Grant::GLOBAL_HTSTRAND), ([2, 3], "strand", Grant::STRAND)],
        [([0, 64], "htstrand", Grant::HTSTRAND), ([1, 72], "global", Grant::GLOBAL)],
        [([8, 70], "", Grant::NONE), ([3, 130], "global,strand", Grant::GLOBAL_STRAND)],
    ];
    for (case, sides) in (0..).zip(&cases) {
        let Ready { mut booted, strands, mut callers, watch, world } =
            boot(&hypervisor, sides, case);
        let (execution, ids) = (&mut booted.0, strands.concat());
        // Each strand makes all calls, and each starts at a different call.
        let mut left: BTreeMap<StrandId, _> = (0..)
            .zip(&ids)
            .map(|(number, id)| {
                let first = number * requests.len() / ids.len();
                let from_there = requests.iter().cycle().skip(first);
                (*id, from_there.take(requests.len()).copied())
            })
            .collect();
        loop {
            let stop = execution.run(Limits::instructions(CALL));
            let strand = Callers::asks(execution, stop).unwrap_or_else(|| panic!("{stop:?}"));
            let next = left.get_mut(&strand).and_then(Iterator::next);
            callers.turn(execution, &watch, strand, next).unwrap();
            if next.is_none() && !ids.iter().any(|id| callers.is_calling(*id)) {
                break;
            }
        }
        assert_eq!(callers.made.len(), ids.len() * requests.len());
        let seen = watch.seen();
        assert!(seen.forbidden.is_empty(), "{:x?}", &seen.forbidden[0]);
        let mut judge = Judge::new(world);
        judge.judge(&callers.made, &seen.devices);
        judge.end(execution, &ids);
        for (status, count) in &judge.statuses {
            *statuses.entry(*status).or_default() += *count;
        }
    }
    tests::tell(format_args!("calls by status: {statuses:?}"));
    // Each of these statuses occurs often.
    for status in [0, 6, 7, 9, 10, 13] {
        let count = statuses.get(&status).copied().unwrap_or_default();
        assert!(count >= 100, "status {status}: {statuses:?}");
    }
}
