//! Tests that a guest's observations do not depend on what its neighbour does. Two copies of a machine start in the same state. The guest
//! performs the same random script in both. The neighbour, which has two strands (one of them on the guest's core), acts differently in
//! each copy. After each of the guest's instructions, everything that the guest can observe must be equal in both copies, except the values
//! that [`EXCLUDED`](observed::EXCLUDED) names.

mod copy;
mod defects;
mod observed;
mod others;
mod pair;
mod script;

use std::env;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use simulator::conform::attacks;
use simulator::conform::caller::resume_at;
use simulator::conform::guest::{ANSWERED, IDLE};
use simulator::execute::{Execution, Limits, Stop, map};
use simulator::interpreter::Control;

use xtask::qemu::build::Production;

use super::{Booted, Guest, MEMORY, REAL, image, strand};
use observed::EXCLUDED;
use pair::Tally;

/// The strands: one of the guest's, and two of its neighbour's. Strands 0 and 1 are on one core.
pub(super) const GUEST: usize = 1;
pub(super) const NEIGHBOUR: [usize; 2] = [0, 8];

/// The physical addresses of the memory of the guest and of its neighbour.
pub(super) const MEMORIES: [u64; 2] = [map::PARTITION, map::PARTITION + MEMORY];

/// The rights of the guest and of its neighbour, and whether the operator moves `global` from the neighbour to the guest before the guest
/// begins its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rights {
    pub(super) guest: &'static str,
    pub(super) neighbour: &'static str,
    pub(super) moves: bool,
}

const RIGHTS: [Rights; 4] = [
    Rights { guest: "strand", neighbour: "global,htstrand", moves: false },
    Rights { guest: "global,strand", neighbour: "strand", moves: false },
    Rights { guest: "", neighbour: "global,strand", moves: false },
    Rights { guest: "htstrand", neighbour: "global,strand", moves: true },
];

/// A machine whose guests have booted and wait.
pub(super) struct Ready {
    pub(super) execution: Execution,
    rights: Rights,
    /// The privileged registers of the guest, and those of its neighbour's strands.
    control: Control,
    controls: [Control; NEIGHBOUR.len()],
}

impl Ready {
    pub(super) fn new(hypervisor: &[u8], rights: Rights) -> Self {
        let guests = [
            Guest::with_lists(&[GUEST], rights.guest),
            Guest::with_lists(&NEIGHBOUR, rights.neighbour),
        ];
        let mut booted = Booted::boot_nodes(1, hypervisor, &guests, None);
        let [_, table, again, _, idle] = booted.words(0, 0x90);
        // From now on, the guests have the attack program, whose trap table is at the same address.
        assert_eq!(table, REAL + 0x8000);
        let Booted(mut execution) = booted;
        execution.breakpoints().insert(again);
        for _ in 0..1 + NEIGHBOUR.len() {
            let stop = execution.run(Limits::instructions(100_000_000));
            let Stop::Breakpoint(id) = stop else { panic!("{stop:?}") };
            resume_at(execution.strand_mut(id), idle);
        }
        execution.breakpoints().clear();
        let control = |number| execution.strand(strand(number)).control.clone();
        let (control, controls) = (control(GUEST), NEIGHBOUR.map(control));
        for (base, cpus) in MEMORIES.into_iter().zip([1, NEIGHBOUR.len()]) {
            attacks::prepare(&mut execution, base, cpus).unwrap();
        }
        resume_at(execution.strand_mut(strand(GUEST)), ANSWERED);
        for number in NEIGHBOUR {
            resume_at(execution.strand_mut(strand(number)), IDLE);
        }
        Self { execution, rights, control, controls }
    }
}

/// Makes 500 pairs, or 100,000 if the environment variable `ALL` is set. The variable `SEED` sets the first seed, and `SEEDS` the number of
/// pairs.
#[test]
#[ignore = "builds images"]
fn a_guest_observes_nothing_of_its_neighbour() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SEED").unwrap_or(1);
    let all = env::var_os("ALL").is_some();
    let seeds = number("SEEDS").unwrap_or(if all { 100_000 } else { 500 });
    let hypervisor = image(Production::Shipped);
    let next = AtomicU64::new(first);
    let made = Mutex::new(Tally::default());
    let work = || {
        let ready = RIGHTS.map(|rights| Ready::new(&hypervisor, rights));
        let mut tally = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                break;
            }
            let ready = &ready[seed as usize % RIGHTS.len()];
            pair::run_seed(ready, seed, &mut tally).unwrap_or_else(|why| panic!("{why}"));
            if (seed - first + 1).is_multiple_of(10_000) {
                tests::print_line(format_args!("{} pairs", seed - first + 1));
            }
        }
        made.lock().unwrap().add(tally);
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let tally = made.into_inner().unwrap();
    tests::print_line(format_args!("seeds {first} to {}: {tally:?}", first + seeds - 1));
    for (excluded, reason) in EXCLUDED {
        let times = tally.excluded.get(&excluded).copied().unwrap_or_default();
        tests::print_line(format_args!("{excluded:?}, {times} times: {reason}"));
        assert!(seeds < 10_000 || times > 0, "{excluded:?}");
    }
    if seeds < 500 {
        return;
    }
    // Each call status occurs often, and so do returns and the ends of guests.
    let statuses = [0, 6, 7, 10, 13].map(|status| tally.statuses.get(&status));
    let least = (seeds / 100) as usize;
    assert!(statuses.iter().all(|number| number.is_some_and(|number| *number >= least)));
    assert!(tally.resets >= least && tally.returns >= 100 * least);
}
