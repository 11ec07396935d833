//! A guest that attacks, beside one that makes calls, on the production image: it reaches nothing that is not its own, the neighbour's calls
//! are as the reference model says, and the hypervisor goes on. Images without a bound of memory are seen to fail.

mod random;

use std::{env, panic};

use guest_abi::StrandId;
use object::{Object, ObjectSection, ObjectSymbol};
use simulator::execution::mailbox::GuestState;
use simulator::execution::{Execution, Limits, State, Stop, map};
use simulator::interpreter::{Control, Level};
use tests::oracle::Grant;
use tests::random::Random;
use xtask::qemu::build::Production;
use xtask::qemu::elf;

use crate::callers::{ANSWERED, Callers, Request};
use crate::contract::{Sides, boot, program, requests};
use crate::judge::Judge;
use crate::watch::Watch;
use crate::{MEMORY, REAL, image, load};

/// The instructions of one attack, and of a turn of the test, at most.
const ATTACK: u64 = 2000;
const TURN: u64 = 2000;

/// After so many turns without an attack its guest makes no more.
const AWAY: usize = 1000;

/// How long a call of the neighbour may take, in turns.
const PATIENCE: usize = 2000;

/// `done`, with which the memory that a trap table may be in is filled.
const DONE: u32 = 0x81f0_0000;
/// Where this memory is in a guest's, where attacks are in it, and their size and number.
const FILLED: u64 = 0x4_0000;
const PLACE: u64 = 0x10_0000;
const SIZE: u64 = 0x200;
const PLACES: usize = 0x80;

/// A strand that attacks.
struct Strand {
    id: StrandId,
    /// What it had executed when its attack began; `None` before its first.
    began: Option<u64>,
}

/// The guest that attacks.
struct Attacker {
    guest: usize,
    strands: Vec<Strand>,
    random: Random,
    /// Privileged registers of a guest that has begun.
    control: Control,
    attacks: usize,
}

impl Attacker {
    /// Begins the next attack of a strand.
    fn attack(&mut self, execution: &mut Execution, number: usize) {
        let place = PLACE + SIZE * self.random.below(PLACES) as u64;
        let words = random::program(&mut self.random, ANSWERED);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert!(bytes.len() as u64 <= SIZE);
        execution.load(self.base() + place, &bytes).unwrap();
        let id = self.strands[number].id;
        self.strands[number].began = Some(execution.counts(id).all());
        let strand = execution.strand_mut(id);
        if strand.level() < Level::Privileged {
            strand.control = self.control.clone();
        }
        random::arm(strand, &mut self.random);
        strand.pc = REAL + place;
        strand.npc = strand.pc + 4;
        self.attacks += 1;
    }

    /// Ends attacks that do not end.
    fn watch(&mut self, execution: &mut Execution) {
        for number in 0..self.strands.len() {
            let Strand { id, began } = self.strands[number];
            let Some(began) = began else { continue };
            let is_there = execution.state(id) == State::Running
                && execution.strand(id).level() < Level::Hyperprivileged;
            if is_there && execution.counts(id).all() - began > ATTACK {
                self.attack(execution, number);
            }
        }
    }

    /// Writes the guest's memory.
    fn prepare(&self, execution: &mut Execution) {
        let moved = self.base() - REAL;
        load(execution, program(), moved);
        let cpus = (self.strands.len() as u64).to_be_bytes();
        execution.load(self.base() + 0x48, &cpus).unwrap();
        let done = DONE.to_be_bytes().repeat(FILLED as usize / 4);
        execution.load(self.base() + PLACE, &done).unwrap();
    }

    fn base(&self) -> u64 {
        map::PARTITION + self.guest as u64 * MEMORY
    }
}

/// Boots this hypervisor, and lets a guest attack so many times while the other makes these calls, again and
/// again, or until the guest has ended. Returns how many attacks it has made.
///
/// # Errors
/// What is not as it has to be.
///
/// # Panics
/// If the reference model does not have the neighbour's calls so.
fn attacked(
    hypervisor: &[u8],
    (sides, guest): (&Sides, usize),
    calls: &[Request],
    (seed, attacks): (u64, usize),
) -> Result<usize, String> {
    let (mut booted, world) = boot(hypervisor, sides);
    let execution = &mut booted.0;
    let strands = sides
        .each_ref()
        .map(|(strands, ..)| strands.map(|strand| StrandId::new(strand).unwrap()));
    let mut callers = Callers::new(execution, &strands.concat(), seed);
    let file = elf::parse(hypervisor).unwrap();
    let numbers = sides.each_ref().map(|(strands, ..)| strands.to_vec());
    let watch = Watch::begin(execution, &file, numbers.to_vec());
    let mut attacker = Attacker {
        guest,
        strands: strands[guest].map(|id| Strand { id, began: None }).into(),
        random: Random(seed),
        control: execution.strand(strands[guest][0]).control.clone(),
        attacks: 0,
    };
    attacker.prepare(execution);
    let peaceful = strands[1 - guest];
    let mut left = peaceful.map(|_| calls.iter().copied().cycle());
    let (mut waited, mut idle) = (0, 0);
    loop {
        let stop = execution.run(Limits::instructions(TURN));
        if let [first, ..] = &*watch.seen().forbidden {
            return Err(format!("{first:x?}"));
        }
        waited += 1;
        match stop {
            Stop::Breakpoint(id) => {
                if let Some(number) = peaceful.iter().position(|one| *one == id) {
                    let enough = attacker.attacks >= attacks
                        || idle > AWAY
                        || execution.guest(guest) != GuestState::Runs;
                    let next = left[number].next().filter(|_| !enough);
                    callers.turn(execution, &watch, id, next)?;
                    waited = 0;
                    if next.is_none() && !peaceful.iter().any(|id| callers.is_calling(*id)) {
                        break;
                    }
                } else if let Some(number) = attacker.strands.iter().position(|one| one.id == id)
                    && execution.strand(id).level() < Level::Hyperprivileged
                {
                    attacker.attack(execution, number);
                    idle = 0;
                }
            }
            Stop::Limit => {}
            stop => return Err(format!("{stop:x?}")),
        }
        idle += 1;
        attacker.watch(execution);
        if waited > PATIENCE {
            return Err("the calls of the neighbour do not end".to_owned());
        }
    }
    // Until the last stores to devices are complete.
    execution.breakpoints().clear();
    execution.run(Limits::instructions(TURN));
    let seen = watch.seen();
    if let [first, ..] = &*seen.forbidden {
        return Err(format!("{first:x?}"));
    }
    let of_attacker = |strand: &StrandId| strands[guest].contains(strand);
    let mut devices = seen.devices.iter();
    if devices.any(|one| of_attacker(&one.strand) && one.physical >> 32 != map::CONSOLES >> 32) {
        return Err("a guest without a right reaches a device".to_owned());
    }
    let mut judge = Judge::new(world);
    judge.judge(&callers.made, &seen.devices);
    // The other guest writes its %pcr without a call.
    judge.end(execution, &peaceful);
    Ok(attacker.attacks)
}

/// Guests of one core, and of two nodes. The one that attacks has no right to devices.
const SIDES: [(Sides, usize); 2] = [
    (
        [
            ([0, 1], "strand", Grant::STRAND),
            ([2, 3], "global,htstrand", Grant::GLOBAL_HTSTRAND),
        ],
        0,
    ),
    (
        [
            ([2, 64], "global,strand", Grant::GLOBAL_STRAND),
            ([3, 65], "", Grant::NONE),
        ],
        1,
    ),
];

/// Machines on which a guest attacks, until it ends: a trap at its highest level is one of the attacks.
const MACHINES: u64 = 60;

/// With `PRODUCTION_LONG` in the environment, on ten times as many machines.
#[test]
#[ignore = "builds images"]
fn attacks_reach_nothing() {
    let hypervisor = image(Production::Shipped);
    let calls = requests(false);
    let mut attacks = 0;
    let long = env::var_os("PRODUCTION_LONG").is_some();
    for seed in 0..if long { 10 * MACHINES } else { MACHINES } {
        let (sides, guest) = &SIDES[seed as usize % 2];
        let outcome = attacked(&hypervisor, (sides, *guest), &calls, (seed, 100));
        let outcome = outcome.unwrap_or_else(|what| panic!("{seed}: {what}"));
        attacks += outcome;
    }
    tests::tell(format_args!("{attacks} attacks"));
    assert!(attacks > 500, "{attacks}");
}

/// Images that lack an instruction which guards something are seen to fail.
#[test]
#[ignore = "builds images"]
fn attacks_break_what_is_broken() {
    let hypervisor = image(Production::Shipped);
    let calls = requests(false);
    let broken = broken(&hypervisor);
    assert_eq!(broken.len(), 3);
    for (what, address, word) in broken {
        let image = with_word(&hypervisor, address, word);
        let is_seen = (0..MACHINES).any(|seed| {
            let (sides, guest) = &SIDES[seed as usize % 2];
            let attacked = || attacked(&image, (sides, *guest), &calls, (seed, 100));
            !matches!(panic::catch_unwind(attacked), Ok(Ok(_)))
        });
        assert!(is_seen, "{what} at {address:#x}");
    }
}

/// Returns what is changed, where, and the instruction that is there then.
fn broken(hypervisor: &[u8]) -> Vec<(&'static str, u64, u32)> {
    const NOP: u32 = 0x0100_0000;
    let elf = elf::parse(hypervisor).unwrap();
    let symbol = |name: &str| {
        let mut symbols = elf.symbols();
        symbols
            .find(|symbol| symbol.name() == Ok(name))
            .unwrap()
            .address()
    };
    let (table, trapped) = (symbol("sun4v_trap_table"), symbol("sun4v_trapped"));
    let instructions = elf::instructions(&elf).unwrap();
    let target = |address: u64, code: u32| {
        let words = i64::from((code << 13).cast_signed() >> 13);
        address.wrapping_add_signed(4 * words)
    };
    let mut broken = Vec::new();
    for (address, code) in instructions {
        match code {
            // bgeu,pn %xcc
            _ if code >> 19 == 0x1a60_0000 >> 19 && target(address, code) == trapped => {
                broken.push(("a bound of the guest's memory", address, NOP));
            }
            // The entry of a spill of the guest's windows becomes that of a spill by the stack pointer.
            _ if address == table + 0x80 * 32 => {
                broken.push(("a spill", table + 0xa0 * 32, code - 0x20 * 32 / 4));
            }
            _ => {}
        }
    }
    broken
}

/// Returns an image with another instruction.
pub(crate) fn with_word(hypervisor: &[u8], address: u64, word: u32) -> Vec<u8> {
    let elf = elf::parse(hypervisor).unwrap();
    let text = elf.section_by_name(".text").unwrap();
    let (offset, _) = text.file_range().unwrap();
    let at = (offset + address - text.address()) as usize;
    let mut image = hypervisor.to_vec();
    image[at..at + 4].copy_from_slice(&word.to_be_bytes());
    image
}
