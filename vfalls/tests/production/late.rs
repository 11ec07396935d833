//! Stores that fail late: whatever the strand does when the report comes, everything but the unit goes on as in the run without the
//! fault. Every store completes after each number of cycles from 1 to [`LONGEST`], in both runs.

use std::sync::OnceLock;

use guest_abi::{Mcu, Node, StrandId};
use platform::models::FaultyUnit;
use simulator::execute::{Execution, Limits, Stop, StoreConduct, map};
use simulator::interpreter::Strand;
use xtask::qemu::build::Production;

use super::lists::{Entry, GET, HUB_PCR, LISTS, SET, core, retried};
use super::{Booted, ENOACCESS, Guest, image};

/// The latencies of the store, in cycles: from 1 to this.
const LONGEST: u64 = 300;

/// Register 2: the control register of channel 0 of the strand's node. Register 4 is that of channel 1.
const CHANNEL: u64 = 2;
const OTHER: u64 = 4;
const L2: u64 = 1;
const GROUP: u64 = 0x205;

/// A loop of 300 instructions.
const WAIT: Entry = [4, 100, 0, 0, 0, 0, 0, 0];
const SOFTWARE_TRAP: Entry = [9, 1, 2, 3, 4, 5, 6, 0];
const ILLEGAL: Entry = [10, 0, 0, 0, 0, 0, 0, 0];

/// A call with `retried`, which keeps no ticks.
const fn call(function: u64, o0: u64, o1: u64) -> Entry {
    retried(function, o0, o1)
}

/// Returns a machine of one node, with a guest on strand 0 that has come to its first entry.
fn ready() -> &'static Execution {
    // An execution is not `Sync`; each test has its own thread.
    thread_local! {
        static READY: OnceLock<&'static Execution> = const { OnceLock::new() };
    }
    READY.with(|ready| {
        *ready.get_or_init(|| {
            let guest = Guest::listed(&[0], "global,strand");
            let mut booted = Booted::boot_nodes(1, &image(Production::Shipped), &[guest], None);
            let [begins] = booted.words(0, 0x90);
            booted.0.breakpoints().insert(begins);
            let stop = booted.0.run(Limits::instructions(10_000_000));
            assert_eq!(stop, Stop::Breakpoint(strand()));
            booted.0.breakpoints().clear();
            Box::leak(Box::new(booted.0))
        })
    })
}

fn strand() -> StrandId {
    StrandId::new(0).unwrap()
}

/// A run of a list.
struct Run(Booted);

impl Run {
    fn new(list: &[Entry], latency: u64, unit: Option<FaultyUnit>) -> Self {
        let mut booted = Booted(ready().clone());
        booted.list(0, 0, list);
        booted.0.set_stores(StoreConduct { latency: Some(latency), ..StoreConduct::default() });
        if let Some(unit) = unit {
            booted.0.devices().set_faulty(unit, true);
        }
        Self(booted)
    }

    fn guest_instructions(&self) -> u64 {
        let [user, privileged, _] = self.0.0.counts(strand()).instructions;
        user + privileged
    }

    /// Executes until the guest has executed this number of instructions.
    fn until(&mut self, number: u64) -> Result<(), String> {
        for _ in 0..20_000 {
            if self.guest_instructions() >= number {
                return Ok(());
            }
            match self.0.0.step(strand()) {
                None | Some(Stop::Limit) => {}
                Some(stop) => return Err(format!("{stop:?}, {:?}", self.0.0.guest(0))),
            }
        }
        Err(format!("the guest does not go on: {:x?}", self.0.0.strand(strand()).pc))
    }

    fn registers(&self) -> Strand {
        self.0.0.strand(strand()).seen_by_guest()
    }

    /// Returns the guest's memory up to the end of its list.
    fn memory(&mut self) -> Vec<u8> {
        let mut memory = vec![0; (LISTS + 0x8000) as usize];
        self.0.0.read(map::PARTITION, &mut memory).unwrap();
        memory
    }
}

/// Runs a list in which a store to a unit fails, and the same list without the fault, for each latency. What the guest sees is the same
/// up to its last entry, which is a call on the unit and answers ENOACCESS.
fn everything_goes_on(name: &str, list: &[Entry], unit: FaultyUnit, register: u64) -> Vec<String> {
    let list = [list, &[WAIT, call(GET, register, 0x5a5a), WAIT]].concat();
    let last = list.len() - 2;
    let mut wrong = Vec::new();
    for latency in 1..=LONGEST {
        let mut expected = Run::new(&list, latency, None);
        let mut found = Run::new(&list, latency, Some(unit));
        let begun = expected.guest_instructions();
        let differs = (1..).map(|number| begun + 150 * number).find_map(|instructions| {
            if let Err(why) = expected.until(instructions) {
                panic!("{name}, latency {latency}: {why}");
            }
            if let Err(why) = found.until(instructions) {
                return Some(Err(why));
            }
            let (right, registers) = (expected.registers(), found.registers());
            // The first word that the last call writes.
            if expected.0.entry(0, 0, last)[1] != register {
                return Some(Ok(()));
            }
            if right != registers {
                return Some(Err(format!("{right:#x?}\n{registers:#x?}")));
            }
            None
        });
        match differs {
            Some(Err(why)) => wrong.push(format!("{name}, latency {latency}: {why}")),
            _ => {
                let (mut right, mut memory) = (expected.memory(), found.memory());
                let words = (LISTS as usize + 64 * last)..(LISTS as usize + 64 * (last + 1));
                right[words.clone()].fill(0);
                memory[words].fill(0);
                if right != memory {
                    wrong.push(format!("{name}, latency {latency}: memory"));
                }
                let [_, status, value, ..] = found.0.entry(0, 0, last);
                if (status, value) != (ENOACCESS, 0x5a5a) {
                    wrong.push(format!("{name}, latency {latency}: {status} {value:#x}"));
                }
            }
        }
    }
    wrong
}

#[test]
#[ignore = "builds images"]
fn a_channel_fails_while_the_strand_does_anything_else() {
    let unit = FaultyUnit::Mcu(Node::Node0, Mcu::ALL[0]);
    let store = call(SET, CHANNEL, 0x11);
    let behind: &[(&str, &[Entry])] = &[
        ("the guest", &[]),
        ("a get of the PCR", &[call(GET, 0, 7)]),
        ("a set of the PCR", &[call(SET, 0, 6), call(GET, 0, 7)]),
        ("a get of the other channel", &[call(GET, OTHER, 7)]),
        ("a set of the other channel", &[call(SET, OTHER, 0x22), call(GET, OTHER, 7)]),
        ("a get of a hub", &[call(GET, HUB_PCR, 7)]),
        ("a set of a hub", &[call(SET, HUB_PCR, 0x0101), call(GET, HUB_PCR, 7)]),
        ("a get of L2", &[call(GET, L2, 7)]),
        ("a set of L2", &[call(SET, L2, 1), call(GET, L2, 7)]),
        ("EINVAL", &[call(GET, 90, 7)]),
        ("ENOTSUPPORTED", &[call(GET, 6, 7)]),
        ("an unknown function", &[call(5, 1, 7)]),
        ("a slow function", &[call(0x17, 0, 7)]),
        ("a version", &[core(3, GROUP, 0)]),
        ("the same version", &[core(0, GROUP, 1)]),
        ("another version", &[core(0, GROUP, 1), [2, GROUP, 1, 1, 0, 0, 0, 0]]),
        ("an unknown CORE function", &[core(0x84, 1, 2)]),
        ("a software trap", &[SOFTWARE_TRAP]),
        ("a trap that the guest takes", &[ILLEGAL, ILLEGAL]),
    ];
    let mut wrong = Vec::new();
    for (name, entries) in behind {
        let list = [&[store], *entries].concat();
        let found = everything_goes_on(name, &list, unit, CHANNEL);
        println!("{name}: {} wrong of {LONGEST}", found.len());
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{} wrong: {}", wrong.len(), wrong[0]);
}
