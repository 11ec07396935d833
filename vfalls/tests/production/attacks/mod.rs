//! One guest attacks the production image while another makes calls. The attacker reaches nothing outside its own memory, the
//! neighbour's calls are answered as the reference model says, and the hypervisor goes on. Images without one guarding
//! instruction fail this test.

mod kinds;
mod random;

use std::env;
use std::fmt;
use std::ops::Range;

use guest_abi::StrandId;
use hv_core::GuestId;
use object::{Object, ObjectSection, ObjectSymbol};
use perfctr_service::mailbox::Step;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Limits, Observed, State, Stop, map};
use simulator::interpreter::instruction::{ControlRegister, Register};
use simulator::interpreter::{Control as Privileged, Level};
use simulator::recording::Kind as Access;
use tests::oracle::Grant;
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use kinds::{Attack, Demanded, Kind, NEGOTIATION};
use tests::assembler::{JMPL, L1, NOP, computes, number, sethi};

use crate::callers::{ANSWERED, Callers, IDLE, Nothing, Request, go_on_at};
use crate::contract::{Sides, boot, program, requests};
use crate::judge::Judge;
use crate::watch::Watch;
use crate::{MEMORY, REAL, image, load};

/// In instructions: the limit of an attack of which the architecture demands something, the limit of any other attack, and a turn
/// of the test.
const DEMANDED: u64 = 100_000;
const ATTACK: u64 = 2000;
const TURN: u64 = 2000;

/// The guest is reset after this number of turns in which no attack ends.
const AWAY: usize = 1000;

/// The limit of a call of the neighbour, in turns.
const PATIENCE: usize = 2000;

/// The neighbour makes at least this number of calls more than the attacker makes attacks.
const AHEAD: usize = 100;

/// The attacker's trap table, in which every trap jumps to `CAUGHT`; then the address and size of attacks in its memory.
const TABLE: u64 = 0x8000;
const VECTORS: u64 = 0x400;
const CAUGHT: u64 = REAL + 0x1_0000;
const PLACE: u64 = 0x10_0000;
const SIZE: u64 = 0x200;

#[derive(Debug)]
enum Failure {
    /// An access that no guest may cause.
    Forbidden(Observed),
    Other(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(access) => write!(f, "{access:x?}"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// The program reached its end.
    Ended,
    /// The guest took a trap.
    Trapped { number: u64, level: u64 },
    /// The guest ended.
    Died,
    /// The program exceeded its limit.
    Endless,
}

/// Numbers of attacks and resets.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    tried: usize,
    /// Attacks with a demand, which was met.
    demanded: usize,
    /// Attacks among `demanded` in which a trap was taken.
    traps: usize,
    /// Resets of the guest because it had ended or did not go on.
    resets: usize,
}

/// An attack in progress.
struct Flight {
    number: usize,
    attack: Attack,
    /// The number of instructions that the strand had executed before the attack.
    began: u64,
}

struct Attacker<'a> {
    guest: usize,
    /// Its strands. The operator acts on a strand of the neighbour.
    ids: [StrandId; 2],
    operator: StrandId,
    /// The privileged registers of a guest at its start.
    control: Privileged,
    kind: &'a Kind,
    /// The numbers of attacks still to be made, and of those that the guest's death interrupted.
    numbers: &'a mut dyn Iterator<Item = usize>,
    again: Vec<usize>,
    flights: [Option<Flight>; 2],
    /// Whether the operator has been asked to reset the guest.
    resets: bool,
    /// Turns since an attack last ended.
    idle: usize,
    tally: Tally,
}

impl Attacker<'_> {
    fn is_done(&mut self) -> bool {
        if self.again.is_empty()
            && let Some(next) = self.numbers.next()
        {
            self.again.push(next);
        }
        self.again.is_empty() && self.flights.iter().all(Option::is_none) && !self.resets
    }

    /// Handles a strand that has reached an end of attacks.
    fn stopped(&mut self, execution: &mut Execution, strand: usize) -> Result<(), Failure> {
        let outcome = match execution.strand(self.ids[strand]).pc {
            CAUGHT => {
                let mut registers = execution.strand(self.ids[strand]).clone();
                let mut value = |number| {
                    let value = registers
                        .control_register(ControlRegister::Privileged(number), &mut Nothing);
                    value.unwrap_or_default()
                };
                // %tt and %tl.
                let [number, level] = [3, 7].map(&mut value);
                Outcome::Trapped { number, level }
            }
            _ => Outcome::Ended,
        };
        if let Some(flight) = self.flights[strand].take() {
            self.judge(&flight, outcome)?;
        }
        self.next(execution, strand);
        Ok(())
    }

    fn judge(&mut self, flight: &Flight, outcome: Outcome) -> Result<(), Failure> {
        let Flight { number, attack, .. } = flight;
        let is_right = match (attack.demanded, outcome) {
            (Demanded::Anything, _) => true,
            (Demanded::Goes, Outcome::Ended) | (Demanded::Death, Outcome::Died) => true,
            (Demanded::Trap(demanded), Outcome::Trapped { number, level }) => {
                self.tally.traps += 1;
                number == u64::from(demanded) && level == attack.level + 1
            }
            _ => false,
        };
        if !is_right {
            let what = format!("{} {number}: {outcome:x?} of {attack:x?}", self.kind.name);
            return Err(Failure::Other(what));
        }
        self.idle = 0;
        if *number == NEGOTIATION {
            return Ok(());
        }
        self.tally.tried += 1;
        self.tally.demanded += usize::from(attack.demanded != Demanded::Anything);
        Ok(())
    }

    /// Lets a strand make the next attack. While one strand makes an attack that ends the guest, the other is idle.
    fn next(&mut self, execution: &mut Execution, strand: usize) {
        let other = self.flights[1 - strand].as_ref();
        let dies = |attack: &Attack| attack.demanded == Demanded::Death;
        let is_alone = other.is_some_and(|other| dies(&other.attack));
        let number = match is_alone || self.resets {
            true => None,
            false => self.again.pop().or_else(|| self.numbers.next()),
        };
        let attack = number.map(|number| (number, self.kind.attack(number)));
        match attack {
            Some((number, attack)) if other.is_some() && dies(&attack) => self.again.push(number),
            Some((number, attack)) => return self.begin(execution, strand, number, attack),
            None => {}
        }
        go_on_at(execution.strand_mut(self.ids[strand]), IDLE);
    }

    fn begin(&mut self, execution: &mut Execution, strand: usize, number: usize, attack: Attack) {
        let place = PLACE + SIZE * strand as u64;
        let id = self.ids[strand];
        let mut words = attack.words.clone();
        words.extend(jump(ANSWERED));
        assert!(4 * words.len() as u64 <= SIZE);
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
        execution.load(self.base() + place, &bytes).unwrap();
        let began = execution.counts(id).all();
        let registers = execution.strand_mut(id);
        registers.control = self.control.clone();
        registers.windows = attack.windows;
        registers.registers.set_global(0);
        for window in attack.stack.iter().flat_map(|_| 0..8) {
            registers.registers.set_window(window);
            (registers.registers).set(Register::SP, attack.stack.unwrap_or_default());
        }
        registers.registers.set_window(attack.window);
        for (register, value) in &attack.registers {
            registers.registers.set(Register::new(*register), *value);
        }
        go_on_at(registers, REAL + place);
        self.flights[strand] = Some(Flight { number, attack, began });
    }

    /// Ends attacks that exceed their limit, and restarts a guest that has ended.
    fn look(&mut self, execution: &mut Execution) -> Result<(), Failure> {
        if self.resets && execution.guest(self.guest) == GuestState::Runs {
            match execution.operated() {
                Some(Ok(None)) => self.resets = false,
                None => {}
                Some(other) => return Err(Failure::Other(format!("a reset: {other:?}"))),
            }
        }
        self.idle += 1;
        let has_ended = !self.resets && execution.guest(self.guest) != GuestState::Runs;
        if has_ended || self.idle > AWAY && !self.is_done() {
            return self.reset(execution, has_ended);
        }
        for strand in 0..2 {
            let id = self.ids[strand];
            let is_there = execution.state(id) == State::Running
                && execution.strand(id).level() < Level::Hyperprivileged;
            let executed = execution.counts(id).all();
            let is_endless = |it: &mut Flight| {
                executed - it.began
                    > match it.attack.demanded {
                        Demanded::Anything => ATTACK,
                        _ => DEMANDED,
                    }
            };
            let flight = &mut self.flights[strand];
            if is_there && let Some(endless) = flight.take_if(is_endless) {
                self.judge(&endless, Outcome::Endless)?;
                self.next(execution, strand);
            }
        }
        Ok(())
    }

    /// Has the operator reset the guest, which has ended or does not go on. Attacks in progress with an unknown end are what
    /// ended the guest, or are made again.
    fn reset(&mut self, execution: &mut Execution, has_ended: bool) -> Result<(), Failure> {
        let flights: Vec<Flight> = self.flights.iter_mut().filter_map(Option::take).collect();
        let may_end = |flight: &Flight| match flight.attack.demanded {
            Demanded::Death => has_ended,
            other => other == Demanded::Anything,
        };
        if !flights.iter().any(may_end) {
            let made: Vec<_> = flights.iter().map(|it| (it.number, &it.attack)).collect();
            let console = String::from_utf8_lossy(&execution.console(self.guest)).into_owned();
            let at = self.ids.map(|id| execution.strand(id).pc);
            let what = format!(
                "{}: the guest ends, or stops at {at:x?}: {made:x?} {console}",
                self.kind.name
            );
            return Err(Failure::Other(what));
        }
        for flight in flights {
            match may_end(&flight) {
                true => self.judge(&flight, Outcome::Died)?,
                false => self.again.push(flight.number),
            }
        }
        self.tally.resets += 1;
        self.idle = 0;
        self.again.retain(|number| *number != NEGOTIATION);
        self.again.push(NEGOTIATION);
        self.prepare(execution);
        // Until the reset its strands are idle, so that no attack ends.
        for id in self.ids {
            let strand = execution.strand_mut(id);
            if strand.level() < Level::Hyperprivileged {
                go_on_at(strand, IDLE);
            }
        }
        let step = Step::Reset(GuestId::new(self.guest).unwrap());
        execution.operate(self.operator, &step).unwrap();
        self.resets = true;
        Ok(())
    }

    /// Writes the trap table and the attacker's stops into its memory.
    fn prepare(&self, execution: &mut Execution) {
        load(execution, program(), self.base() - REAL);
        let cpus = (self.ids.len() as u64).to_be_bytes();
        execution.load(self.base() + 0x48, &cpus).unwrap();
        for vector in 0..VECTORS {
            // `ba,a`
            let words = (CAUGHT - REAL - TABLE - 32 * vector) / 4;
            let branch = 0x3068_0000 | words as u32;
            let at = self.base() + TABLE + 32 * vector;
            execution.load(at, &branch.to_be_bytes()).unwrap();
        }
    }

    fn base(&self) -> u64 {
        map::PARTITION + self.guest as u64 * MEMORY
    }
}

/// Returns a jump to an address of the guest's memory.
fn jump(to: u64) -> [u32; 3] {
    let low = to as u32 & 0x3ff;
    [sethi(L1, to as u32 - low), computes(JMPL, 0, L1, number(low)), NOP]
}

/// Boots this hypervisor and lets one guest make the numbered attacks of a kind, while the other makes calls.
fn attacked(
    hypervisor: &[u8],
    (sides, guest): (&Sides, usize),
    calls: &[Request],
    (kind, mut numbers): (&Kind, impl Iterator<Item = usize>),
) -> Result<Tally, Failure> {
    let (mut booted, world) = boot(hypervisor, sides);
    let execution = &mut booted.0;
    let strands =
        sides.each_ref().map(|(strands, ..)| strands.map(|strand| StrandId::new(strand).unwrap()));
    let mut callers = Callers::new(execution, &strands.concat(), kind.count as u64);
    let file = elf::parse(hypervisor).unwrap();
    let watched = sides.each_ref().map(|(strands, ..)| strands.to_vec());
    let watch = Watch::begin(execution, &file, watched.to_vec());
    let peaceful = strands[1 - guest];
    let mut attacker = Attacker {
        guest,
        ids: strands[guest],
        operator: peaceful[0],
        control: execution.strand(strands[guest][0]).control.clone(),
        kind,
        numbers: &mut numbers,
        again: vec![NEGOTIATION],
        flights: [None, None],
        resets: false,
        idle: 0,
        tally: Tally::default(),
    };
    attacker.prepare(execution);
    execution.breakpoints().insert(CAUGHT);
    let mut left = peaceful.map(|_| calls.iter().copied().cycle());
    let mut waited = 0;
    loop {
        let stop = execution.run(Limits::instructions(TURN));
        if let [first, ..] = &*watch.seen().forbidden {
            return Err(Failure::Forbidden(*first));
        }
        let is_ahead = callers.made.len() > attacker.tally.tried + AHEAD;
        let is_done = attacker.is_done();
        match stop {
            Stop::Breakpoint(id) => {
                if let Some(number) = peaceful.iter().position(|one| *one == id) {
                    let next = left[number].next().filter(|_| !is_done && !is_ahead);
                    let turn = callers.turn(execution, &watch, id, next);
                    turn.map_err(Failure::Other)?;
                    waited = 0;
                } else if let Some(strand) = attacker.ids.iter().position(|one| *one == id) {
                    attacker.stopped(execution, strand)?;
                }
            }
            Stop::Limit => {}
            stop => return Err(Failure::Other(format!("{stop:x?}"))),
        }
        attacker.look(execution)?;
        let is_calling = peaceful.iter().any(|id| callers.is_calling(*id));
        if is_done && !is_calling {
            break;
        }
        if !is_done && !is_ahead && !calls.is_empty() {
            peaceful.iter().for_each(|id| Callers::wake(execution, *id));
        }
        waited = if is_calling { waited + 1 } else { 0 };
        if waited > PATIENCE {
            let what = "the calls of the neighbour do not end".to_owned();
            return Err(Failure::Other(what));
        }
    }
    // Runs on until the last stores to devices are complete.
    execution.breakpoints().clear();
    execution.run(Limits::instructions(TURN));
    let seen = watch.seen();
    if let [first, ..] = &*seen.forbidden {
        return Err(Failure::Forbidden(*first));
    }
    let of_attacker = |strand: &StrandId| strands[guest].contains(strand);
    let mut devices = seen.devices.iter();
    let reached =
        devices.find(|one| of_attacker(&one.strand) && one.physical >> 32 != map::CONSOLES >> 32);
    if let Some(reached) = reached.filter(|_| !kind.has_rights) {
        return Err(Failure::Forbidden(*reached));
    }
    let mut judge = Judge::new(world);
    judge.judge(&callers.made, &seen.devices);
    // The attacker writes its %pcr without a call, so only the neighbour's is compared.
    judge.end(execution, &peaceful);
    Ok(attacker.tally)
}

/// Guests of one core, and of two nodes, and the number of the attacker. Only in the last case does the attacker have the right to devices.
const SIDES: [(Sides, usize); 3] = [
    ([([0, 1], "strand", Grant::STRAND), ([2, 3], "global,htstrand", Grant::GLOBAL_HTSTRAND)], 0),
    ([([2, 64], "global,strand", Grant::GLOBAL_STRAND), ([3, 65], "", Grant::NONE)], 1),
    ([([0, 1], "strand", Grant::STRAND), ([2, 3], "global,htstrand", Grant::GLOBAL_HTSTRAND)], 1),
];

/// With `PRODUCTION_LONG` in the environment all attacks of every kind; otherwise one in `stride`, which still uses every entry
/// of every list.
#[test]
#[ignore = "builds images"]
fn attacks_reach_nothing() {
    // For each kind: all attacks; then, if time is short, those tried, those with a demand, and those that must trap.
    const TRIED: [(usize, [usize; 3]); 12] = [
        (113_152, [2135, 930, 915]),
        (7305, [1044, 1044, 1042]),
        (11_688, [1063, 1062, 1062]),
        (4992, [999, 994, 741]),
        (24_576, [1891, 1891, 452]),
        (2184, [437, 437, 0]),
        (626, [209, 209, 124]),
        (748, [19, 19, 0]),
        (600, [600, 600, 600]),
        (159_432, [1218, 1218, 0]),
        (672, [224, 43, 43]),
        (5000, [385, 0, 0]),
    ];
    let hypervisor = image(Production::Shipped);
    let calls = requests(false);
    let long = env::var_os("PRODUCTION_LONG").is_some();
    for ((number, kind), (count, tried)) in kinds::ALL.iter().enumerate().zip(TRIED) {
        let (sides, guest) = &SIDES[if kind.has_rights { 2 } else { number % 2 }];
        let stride = if long { 1 } else { kind.stride };
        let numbers = (0..kind.count).step_by(stride);
        let outcome = attacked(&hypervisor, (sides, *guest), &calls, (*kind, numbers));
        let tally = outcome.unwrap_or_else(|what| panic!("{}: {what}", kind.name));
        tests::tell(format_args!("{}: {tally:?}", kind.name));
        assert_eq!(kind.count, count, "{}", kind.name);
        if long {
            assert_eq!(tally.tried, count, "{}", kind.name);
        } else {
            let Tally { tried: all, demanded, traps, .. } = tally;
            assert_eq!([all, demanded, traps], tried, "{}", kind.name);
        }
    }
}

/// Images without one guarding instruction fail by attacks of one kind, each for the expected reason.
#[test]
#[ignore = "builds images"]
fn attacks_break_what_is_broken() {
    let hypervisor = image(Production::Shipped);
    let broken = broken(&hypervisor);
    assert_eq!(broken.len(), 3);
    for Broken { what, kind, first, step, address, word, reason } in broken {
        let image = with_word(&hypervisor, address, word);
        // The second guest attacks.
        let (sides, guest) = &SIDES[2];
        // Calls of the neighbour would fail too.
        let numbers = (first..kind.count).step_by(step);
        let outcome = attacked(&image, (sides, *guest), &[], (kind, numbers));
        let Err(Failure::Forbidden(access)) = outcome else {
            panic!("{what} at {address:#x}: {outcome:x?}");
        };
        assert!(reason(&access), "{what} at {address:#x}: {access:x?}");
    }
}

/// The memory of the second guest.
const OWN: Range<u64> = map::PARTITION + MEMORY..map::PARTITION + 2 * MEMORY;

/// An image without one guarding instruction.
struct Broken {
    what: &'static str,
    /// The attacks that find it: the first number, and the distance to the next.
    kind: &'static Kind,
    first: usize,
    step: usize,
    /// The changed instruction's address, and its replacement.
    address: u64,
    word: u32,
    /// Whether an access is one that the removed instruction prevents.
    reason: fn(&Observed) -> bool,
}

/// Returns whether an access of this kind comes from a guest and is outside of the guest's memory.
fn is_outside(access: &Observed, kind: Access) -> bool {
    (access.level, access.kind) == (Level::Privileged, kind) && !OWN.contains(&access.physical)
}

/// Returns the broken images, each with one changed instruction.
fn broken(hypervisor: &[u8]) -> Vec<Broken> {
    let elf = elf::parse(hypervisor).unwrap();
    let symbol = |name: &str| {
        let mut symbols = elf.symbols();
        let found = symbols.find(|symbol| symbol.name() == Ok(name));
        found.unwrap().address()
    };
    let (table, trapped) = (symbol("sun4v_trap_table"), symbol("sun4v_trapped"));
    let fetches = symbol("sun4v_miss_of_fetch")..symbol("sun4v_miss_of_data");
    let data = symbol("sun4v_miss_of_data")..symbol("sun4v_interrupted");
    let target = |address: u64, code: u32| {
        let words = i64::from((code << 13).cast_signed() >> 13);
        address.wrapping_add_signed(4 * words)
    };
    let mut broken = Vec::new();
    for (address, code) in elf::instructions(&elf).unwrap() {
        // bgeu,pn %xcc
        let is_bound = code >> 19 == 0x1a60_0000 >> 19 && target(address, code) == trapped;
        let unbounded = |what, kind, reason| Broken {
            what,
            kind,
            first: 0,
            step: 1,
            address,
            word: NOP,
            reason,
        };
        if is_bound && fetches.contains(&address) {
            broken.push(unbounded("the bound of what a guest executes", &kinds::JUMPS, |access| {
                is_outside(access, Access::FetchOther)
            }));
        }
        if is_bound && data.contains(&address) {
            broken.push(unbounded(
                "the bound of what a guest loads and stores",
                &kinds::ADDRESSES,
                |access| is_outside(access, Access::Load),
            ));
        }
        // The entry of a spill of the guest's windows becomes an entry that spills by the stack pointer.
        if address == table + 0x80 * 32 {
            broken.push(Broken {
                what: "a spill",
                kind: &kinds::STACKS,
                // Stack pointers that put a window into the neighbour's memory, and calls that nest deeply.
                first: 399,
                step: 2 * 26,
                address: table + 0xa0 * 32,
                word: code - 0x20 * 32 / 4,
                reason: |access| {
                    (access.level, access.kind) == (Level::Hyperprivileged, Access::Store)
                        && !OWN.contains(&access.physical)
                },
            });
        }
    }
    broken
}

/// Returns the image with one instruction replaced.
pub(crate) fn with_word(hypervisor: &[u8], address: u64, word: u32) -> Vec<u8> {
    let elf = elf::parse(hypervisor).unwrap();
    let text = elf.section_by_name(".text").unwrap();
    let (offset, _) = text.file_range().unwrap();
    let at = (offset + address - text.address()) as usize;
    let mut image = hypervisor.to_vec();
    image[at..at + 4].copy_from_slice(&word.to_be_bytes());
    image
}
