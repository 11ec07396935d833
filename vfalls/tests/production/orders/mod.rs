//! Two strands call the service for one hub at the same time, and the test explores all orders of
//! their accesses. The shipped code, executed instruction by instruction, must answer as the gate's
//! pure function does.
//!
//! The shared memory is the hub's arbiter and the hub's registers. A strand executes until its next
//! access to shared memory. After each access, either strand may continue, and the test explores
//! both choices. It explores a state only once, even if several orders reach it. A store to the hub
//! and the `membar` that waits for it count as one access.
//!
//! The allowed outcomes come from [`Turns::step`], which the test applies to the two calls' events
//! in every order. While the calls overlap, the gate may remember a strand before it decides on the
//! strand's request. It may also refuse and remember a strand without a decision, if the strand
//! finds that the other strand is in the gate.

mod specified;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;

use guest_abi::StrandId;
use perfctr_service::decisions::turns::{HubEvent, Turns};
use platform::{Bus, PhysicalAddress};
use simulator::execute::{Limits, Stop, map};
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Level, Strand};
use simulator::recording::Kind;
use xtask::qemu::build::Production;

use super::lists::{AGAIN, EWOULDBLOCK, GET, HUB_PCR, SET};
use super::{Booted, Guest};
use specified::{Call, Outcome, Specified};

/// The numbers of the strands. Strands A and B call at the same time; strand C called before them.
const STRANDS: [usize; 3] = [3, 70, 130];
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// The value of the hub's register before the calls. [`WRITTEN`] is the value that a `set` writes.
const BEFORE: u64 = 0x0101;
const WRITTEN: u64 = 0x0202;

/// The offsets of the gate's words in the arbiter: see `hubs/gate.rs` and `hubs/atomic_turns.rs`.
const STATE: u64 = 0;
const CLOSED: u64 = 4;
const REMEMBERED: u64 = 8;
const TURN: u64 = 40;
const LAST: u64 = 48;
const LOCK: u64 = 56;
/// The size of the arbiter, in bytes. It includes the counts of the arbiter's progress.
const ARBITER: u64 = 128;

/// The instruction `membar #Sync`.
const SYNC: u32 = 0x8143_e040;
/// The instruction `ta 0x80`.
const TRAP: u32 = 0x91d0_2080;

fn strand(number: usize) -> StrandId {
    super::strand(STRANDS[number])
}

/// Bits of the word at [`STATE`]. While [`SHUT`] is set, the gate is closed. While [`RESERVED`] is
/// set, the hub is free. If both bits are set, the hub is reserved for the strand of the turn.
const SHUT: u32 = 1 << 31;
const RESERVED: u32 = 1;

/// Returns the strand's token, in the form that the word at [`STATE`] contains.
fn token(number: usize) -> u32 {
    (STRANDS[number] as u32 + 1) << 1
}

/// What the machine's observer has recorded since it was last cleared.
#[derive(Default)]
struct Noted {
    /// The accesses of hyperprivileged software. Each entry is `true` for a store, and the address.
    accesses: Vec<(bool, u64)>,
}

/// What the calls change of the machine's state.
#[derive(Clone)]
struct State {
    strands: [Strand; 2],
    calls: [Call; 2],
    /// The call that returned before the other call began; `None` if there is no such call.
    first: Option<usize>,
    device: u64,
    /// The words of memory that differ from the initial memory, by address. Each entry is the
    /// word's value and the strand that wrote the word last.
    memory: BTreeMap<u64, (u64, usize)>,
}

/// The machine, and the state of the exploration.
struct Orders {
    booted: Booted,
    noted: Rc<RefCell<Noted>>,
    /// The address of the guest's instruction `ta 0x80`, which makes the calls.
    trap: u64,
    arbiter: u64,
    hub: u64,
    /// The address and the bytes of the hypervisor's initial memory.
    base: (u64, Vec<u8>),
    /// The words of the current state, in the form of [`State::memory`].
    memory: BTreeMap<u64, (u64, usize)>,
    functions: [u64; 2],
    known: HashMap<[u64; 2], u128>,
    /// All outcomes that were found. With each outcome is the value of [`State::first`] at the end.
    ends: HashSet<(Outcome, Option<usize>)>,
}

impl Orders {
    fn new() -> Self {
        let guest = Guest::listed(&STRANDS, "global");
        let mut booted = Booted::new(Production::Shipped, &[guest]);
        for cpu in 0..STRANDS.len() as u64 {
            booted.list(0, cpu, &[[4, 1000, 0, 0, 0, 0, 0, 0], AGAIN]);
        }
        assert_eq!(booted.0.run(Limits::instructions(4_000_000)), Stop::Limit);
        let mut program = vec![0; 4096];
        booted.0.read(map::PARTITION, &mut program).unwrap();
        let (words, _) = program.as_chunks();
        let trap = words.iter().position(|word| *word == TRAP.to_be_bytes());
        let noted = Rc::new(RefCell::new(Noted::default()));
        let notes = Rc::clone(&noted);
        booted.0.observe(Some(Box::new(move |access| {
            if access.level == Level::Hyperprivileged && access.kind != Kind::FetchOther {
                let store = access.kind == Kind::Store;
                notes.borrow_mut().accesses.push((store, access.physical));
            }
        })));
        let mut new = Self {
            booted,
            noted,
            trap: 0x8000_0000 + 4 * trap.unwrap() as u64,
            arbiter: 0,
            hub: 0,
            base: (0, Vec::new()),
            memory: BTreeMap::new(),
            functions: [GET, GET],
            known: HashMap::new(),
            ends: HashSet::new(),
        };
        // On the fast path, a call's first store takes the hub, and the call's next access reads or
        // writes the hub.
        for number in [C, B, A] {
            new.noted.borrow_mut().accesses.clear();
            new.begin(number, SET, BEFORE);
            while new.is_within(number) {
                new.instruction(number);
            }
        }
        let first = {
            let accesses = &new.noted.borrow().accesses;
            let stores = || (accesses.iter()).filter_map(|(store, at)| store.then_some(*at));
            new.arbiter = stores().next().unwrap();
            new.hub = stores().find(|at| at >> 32 != 0).unwrap();
            stores().min().unwrap() >> 20 << 20
        };
        assert_eq!(new.arbiter % 64, 0, "{:#x}", new.arbiter);
        // These 16 MiB include the stacks and all other memory that the calls write.
        new.base = (first, vec![0; 16 << 20]);
        new.booted.0.read(first, &mut new.base.1).unwrap();
        new
    }

    fn begin(&mut self, number: usize, function: u64, value: u64) {
        let trap = self.trap;
        let strand = self.booted.0.strand_mut(strand(number));
        (strand.pc, strand.npc) = (trap, trap + 4);
        let arguments = [HUB_PCR, value, 0, 0, 0, function];
        for (register, value) in (Register::O0.index() as u32..).zip(arguments) {
            strand.registers.set(Register::new(register), value);
        }
    }

    fn is_within(&self, number: usize) -> bool {
        self.booted.0.strand(strand(number)).pc != self.trap + 4
    }

    fn instruction(&mut self, number: usize) {
        let stop = self.booted.0.step(strand(number));
        assert_eq!(stop, Some(Stop::Limit));
    }

    fn word<const N: usize>(&mut self, address: u64) -> [u8; N] {
        let mut word = [0; N];
        self.booted.0.read(address, &mut word).unwrap();
        word
    }

    fn arbiter_word(&mut self, at: u64) -> u32 {
        u32::from_be_bytes(self.word(self.arbiter + at))
    }

    /// Returns the token of the strand whose access to the hub is in flight, or 0 if there is no
    /// such access.
    fn holder(&mut self) -> u32 {
        match self.arbiter_word(STATE) {
            state if state & RESERVED != 0 => 0,
            state => state & !SHUT,
        }
    }

    /// Executes a strand until its next access to shared memory or the return of its call.
    fn advance(&mut self, number: usize) {
        let before = self.holder();
        let (mut reached, mut stored) = (false, false);
        while !reached && self.is_within(number) {
            let pc = self.booted.0.strand(strand(number)).pc;
            self.noted.borrow_mut().accesses.clear();
            self.instruction(number);
            let accesses = std::mem::take(&mut self.noted.borrow_mut().accesses);
            for (store, address) in accesses {
                let shared = self.arbiter..self.arbiter + ARBITER;
                reached |= shared.contains(&address);
                if address >> 32 != 0 {
                    let holder = self.holder();
                    assert_eq!(holder, token(number), "an access of {number}");
                    stored = store;
                    reached |= !store;
                } else if store {
                    let address = address & !7;
                    let value = u64::from_be_bytes(self.word(address));
                    self.memory.insert(address, (value, number));
                }
            }
            let waited = self.booted.0.strand(strand(number)).pc != pc;
            reached |= stored && waited && self.word(pc) == SYNC.to_be_bytes();
        }
        let after = self.holder();
        assert!(
            before == 0 || before == token(number) || after == before,
            "strand {number} has taken the hub from another"
        );
    }

    /// Returns the status of a finished call, and the value that the call returned.
    fn answer(&self, number: usize, function: u64) -> (u64, u64) {
        let registers = &self.booted.0.strand(strand(number)).registers;
        let o0 = Register::O0.index() as u32;
        let [status, value] = [o0, o0 + 1].map(|number| registers.get(Register::new(number)));
        let read = status == 0 && function == GET;
        (status, if read { value } else { 0 })
    }

    /// Returns the state that the gate's words encode.
    fn turns(&mut self) -> Turns {
        let mut turns = Turns::NEW;
        for node in 0..4 {
            let word = u64::from_be_bytes(self.word(self.arbiter + REMEMBERED + 8 * node));
            let strands = (0..64).filter(|bit| word >> bit & 1 != 0);
            for bit in strands {
                let strand = StrandId::new(64 * node as usize + bit).unwrap();
                turns.remembered.insert(strand);
            }
        }
        let turn = u64::from_be_bytes(self.word(self.arbiter + TURN)) as u32;
        turns.turn = (turn as u16 as usize).checked_sub(1).and_then(StrandId::new);
        turns.refusals = turn >> 16;
        turns.last = self.arbiter_word(LAST);
        turns
    }

    fn set_refusals(&mut self, number: u32) {
        let at = self.arbiter + TURN;
        let turn = u64::from_be_bytes(self.word(at));
        let turn = turn & !(0x7fff << 16) | u64::from(number) << 16;
        self.booted.0.load(at, &turn.to_be_bytes()).unwrap();
        self.memory.insert(at, (turn, C));
    }

    /// Puts the machine into this state.
    fn enter(&mut self, state: &State) {
        let before = std::mem::replace(&mut self.memory, state.memory.clone());
        let (start, base) = (self.base.0, &self.base.1);
        for address in before.keys() {
            if !state.memory.contains_key(address) {
                let at = (address - start) as usize;
                self.booted.0.load(*address, &base[at..at + 8]).unwrap();
            }
        }
        for (address, (value, _)) in &state.memory {
            if before.get(address).is_none_or(|before| before.0 != *value) {
                self.booted.0.load(*address, &value.to_be_bytes()).unwrap();
            }
        }
        for (number, registers) in state.strands.iter().enumerate() {
            *self.booted.0.strand_mut(strand(number)) = registers.clone();
        }
        let hub = PhysicalAddress(self.hub);
        let devices = self.booted.0.devices();
        devices.write(strand(A), hub, state.device).unwrap();
    }

    /// Returns the machine's current state, with these calls.
    fn state(&self, calls: [Call; 2], first: Option<usize>) -> State {
        let hub = PhysicalAddress(self.hub);
        State {
            strands: [A, B].map(|number| self.booted.0.strand(strand(number)).clone()),
            calls,
            first,
            device: self.booted.0.devices().read(strand(A), hub).unwrap(),
            memory: self.memory.clone(),
        }
    }

    /// Returns the state after the next access of a strand.
    fn next(&mut self, state: &State, number: usize) -> State {
        self.enter(state);
        let (mut calls, mut first) = (state.calls, state.first);
        if calls[number] == Call::Waits {
            calls[number] = Call::Within;
            let other = 1 - number;
            if matches!(calls[other], Call::Done(..)) {
                first = Some(other);
            }
        }
        self.advance(number);
        if !self.is_within(number) {
            let (status, value) = self.answer(number, self.functions[number]);
            calls[number] = Call::Done(status, value);
            // When a strand's call has ended, the words that only this strand uses, such as its
            // stack, no longer matter.
            let arbiter = self.arbiter..self.arbiter + ARBITER;
            let (start, base) = (self.base.0, &self.base.1);
            self.memory.retain(|address, (_, by)| {
                let stays = *by != number || arbiter.contains(address);
                if !stays {
                    let at = (address - start) as usize;
                    self.booted.0.load(*address, &base[at..at + 8]).unwrap();
                }
                stays
            });
        }
        self.state(calls, first)
    }

    /// Explores all orders from a state. Returns the number of orders.
    fn explore(&mut self, state: &State) -> u128 {
        let key = state.key();
        if let Some(orders) = self.known.get(&key) {
            return *orders;
        }
        let mut orders = 0;
        for number in [A, B] {
            if !matches!(state.calls[number], Call::Done(..)) {
                let next = self.next(state, number);
                orders += self.explore(&next);
            }
        }
        if orders == 0 {
            orders = 1;
            self.enter(state);
            self.end(state);
        }
        self.known.insert(key, orders);
        orders
    }

    /// Records the outcome of a state in which both calls have returned.
    fn end(&mut self, state: &State) {
        let turns = self.turns();
        let holder = self.holder();
        let [word, closed, lock] = [STATE, CLOSED, LOCK].map(|at| self.arbiter_word(at));
        assert_eq!(lock, 0);
        let open = turns.remembered.is_empty();
        assert_eq!(closed == 0, open, "{turns:?}");
        // While the bit SHUT is set, the word at CLOSED is not 0. Only strand C may still hold the
        // hub. A free hub is reserved for the strand of the turn.
        assert!(word & SHUT <= closed, "{word:#x} {turns:?}");
        assert!([0, token(C)].contains(&holder), "{word:#x} {turns:?}");
        if word & RESERVED != 0 {
            let turn = turns.turn.map_or(0, |turn| (turn.index() as u32 + 1) << 1 | SHUT);
            assert_eq!(word & !RESERVED, turn, "{turns:?}");
        }
        let (calls, device) = (state.calls, state.device);
        let outcome = Outcome { calls, device, turns };
        self.ends.insert((outcome, state.first));
    }
}

impl State {
    /// Returns two hashes as a key. Two different states have the same key with a probability of
    /// 2^-128.
    fn key(&self) -> [u64; 2] {
        let mut text = String::new();
        for (strand, call) in self.strands.iter().zip(self.calls) {
            match call {
                Call::Within => write!(text, "{strand:?}").unwrap(),
                _ => write!(text, "{call:?}").unwrap(),
            }
        }
        let (first, device, memory) = (self.first, self.device, &self.memory);
        write!(text, "{first:?} {device} {memory:?}").unwrap();
        [0, 1].map(|salt| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(salt);
            hasher.write(text.as_bytes());
            hasher.finish()
        })
    }
}

/// A step that prepares the hub before the two calls. A number is a strand's index in [`STRANDS`].
#[derive(Clone, Copy)]
enum Step {
    /// The strand makes a whole call.
    Calls(usize),
    /// The strand begins a call, and stops after its access to the hub.
    Accesses(usize),
    /// The strand that stopped after its access finishes its call.
    Ends(usize),
    /// The test sets the number of refusals in this turn.
    Refusals(u32),
}

#[test]
#[ignore = "builds images"]
fn two_calls_of_a_hub_in_every_order() {
    use Step::{Accesses, Calls, Ends, Refusals};
    let third_refused = [Accesses(A), Calls(C), Ends(A)];
    let turn_of_third = [&third_refused[..], &[Calls(A)]].concat();
    let almost_forgotten = [&turn_of_third[..], &[Refusals(6)]].concat();
    let turn_of_one = [Accesses(C), Calls(A), Ends(C), Calls(B)];
    let cases: [(&str, &[Step], [u64; 2]); 8] = [
        ("free", &[], [GET, GET]),
        ("free", &[], [GET, SET]),
        ("free", &[], [SET, SET]),
        ("the turn of a third", &turn_of_third, [GET, GET]),
        ("for the last time", &almost_forgotten, [GET, GET]),
        ("the turn of one", &turn_of_one, [SET, GET]),
        ("taken by a third", &[Accesses(C)], [GET, GET]),
        ("a third is remembered", &third_refused, [GET, GET]),
    ];
    let mut orders = Orders::new();
    let empty = orders.state([Call::Waits; 2], None);
    let third = orders.booted.0.strand(strand(C)).clone();
    for (name, steps, functions) in cases {
        orders.enter(&empty);
        *orders.booted.0.strand_mut(strand(C)) = third.clone();
        orders.functions = functions;
        let mut specified = Specified {
            outcome: Outcome {
                calls: [Call::Waits; 2],
                device: BEFORE,
                turns: Turns { last: orders.turns().last, ..Turns::NEW },
            },
            holder: None,
            marked: [false; 2],
            recent: [false; 3],
        };
        for step in steps {
            let number = match *step {
                Calls(number) | Accesses(number) => {
                    orders.begin(number, GET, 0);
                    orders.advance(number);
                    let served = specified.asks(number);
                    if served && matches!(step, Accesses(_)) {
                        // The strand took the free hub on the fast path. This step executes its
                        // access to the hub.
                        orders.advance(number);
                        continue;
                    }
                    number
                }
                Ends(number) => number,
                Refusals(number) => {
                    orders.set_refusals(number);
                    specified.outcome.turns.refusals = number;
                    continue;
                }
            };
            while orders.is_within(number) {
                orders.advance(number);
            }
            let (status, _) = orders.answer(number, GET);
            let served = specified.holder.take_if(|holder| *holder == number).is_some();
            assert_eq!(status, if served { 0 } else { EWOULDBLOCK }, "{name}");
            // If the call ended on the fast path, the gate remembers no other strand, so this event
            // changes nothing.
            if served && matches!(step, Calls(_)) {
                specified.step(HubEvent::Ended);
            }
        }
        assert_eq!(orders.turns(), specified.outcome.turns, "{name}");
        orders.begin(A, functions[A], WRITTEN);
        orders.begin(B, functions[B], WRITTEN);
        let state = orders.state([Call::Waits; 2], None);
        orders.known.clear();
        orders.ends.clear();
        let count = orders.explore(&state);
        for (outcome, first) in std::mem::take(&mut orders.ends) {
            let mut allowed = HashSet::new();
            specified.outcomes(functions, first.is_none(), first.unwrap_or(A), &mut allowed);
            let is_allowed = |allowed: &Specified| allowed.outcome == outcome;
            assert!(allowed.iter().any(is_allowed), "{name}: {outcome:?}, first {first:?}");
        }
        let states = orders.known.len();
        println!("{name}, {functions:x?}: {count} orders, {states} states");
    }
}
