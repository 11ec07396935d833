//! Two calls on the simulated machine, and the events that the test [explores](search): the calls' accesses and the completions of their
//! stores.

mod search;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use guest_abi::StrandId;
use perfctr_service::decisions::turns::Turns;
use platform::{Bus, PhysicalAddress};
use simulator::execute::buffers::{StoreBuffer, Target};
use simulator::execute::{Limits, Stop};
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Instruction, Level, Strand};
use simulator::machine::clocks::{Change, Clock};
use simulator::recording::Kind;
use xtask::qemu::build::Production;

use super::super::lists::{GET, HUB_PCR, REPEAT_LIST, SET};
use super::super::{Booted, Guest};
use super::specified::{Call, Outcome};
use super::{A, B, BEFORE, C, STRANDS, is_blocked, strand};
pub(in super::super) use search::Explored;

/// The offsets of the gate's words in the arbiter: see `hubs/gate.rs` and `hubs/atomic_turns.rs`.
const STATE: u64 = 0;
const CLOSED: u64 = 4;
const REMEMBERED: u64 = 8;
const TURN: u64 = 40;
const LAST: u64 = 48;
const LOCK: u64 = 56;
/// The arbiter's size in bytes, including its progress counts.
const ARBITER: u64 = 128;

/// Bits of the word at [`STATE`]. While [`SHUT`] is set, the gate is closed. While [`RESERVED`] is set, the hub is free. If both bits are
/// set, the hub is reserved for the strand whose turn it is.
const SHUT: u32 = 1 << 31;
const RESERVED: u32 = 1;

/// Returns the strand's token, as the word at [`STATE`] contains it.
fn token(number: usize) -> u32 {
    (STRANDS[number] as u32 + 1) << 1
}

/// What the machine's observer has recorded.
#[derive(Default)]
struct Noted {
    /// The accesses of hyperprivileged software since this list was last cleared: for each, `true` if it is a store, and the address.
    accesses: Vec<(bool, u64)>,
    /// The addresses of all `membar` instructions that hyperprivileged software has fetched.
    barriers: BTreeSet<u64>,
}

/// An event that can happen next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A strand executes until its next access to shared memory, or until it has to wait for its stores.
    Continues(usize),
    /// A strand's oldest store to memory or to the hub completes.
    Completes(usize, Target),
}

/// The parts of the machine's state that the calls change.
#[derive(Clone)]
pub(super) struct State {
    strands: [Strand; 2],
    buffers: [StoreBuffer; 2],
    calls: [Call; 2],
    /// The call that returned and whose stores were complete before the other call began; `None` if there is no such call.
    first: Option<usize>,
    device: u64,
    /// The words that differ from the initial memory, by address: each word's value, and the strand that wrote it last.
    memory: BTreeMap<u64, (u64, usize)>,
}

/// The outcomes that are allowed for each value of [`State::first`].
pub(super) type Allowed = HashMap<Option<usize>, HashSet<Outcome>>;

/// The machine, and the state of the exploration.
pub(in super::super) struct Orders {
    pub(in super::super) booted: Booted,
    noted: Rc<RefCell<Noted>>,
    /// The address of the guest's `ta 0x80` instruction, which makes the calls.
    trap: u64,
    arbiter: u64,
    hub: u64,
    /// The address and the bytes of the hypervisor's initial memory.
    base: (u64, Vec<u8>),
    /// The words that differ in the current state, as in [`State::memory`].
    memory: BTreeMap<u64, (u64, usize)>,
    functions: [u64; 2],
    /// Whether stores wait. If not, every store completes before anything else happens.
    pub(super) waits: bool,
    known: HashMap<[u64; 2], u128>,
    allowed: Allowed,
    /// The events from the first state to the current state.
    path: Vec<Event>,
    /// For each of the two strands, the addresses of the words that it has loaded, except the arbiter's. `stored` has the words that it has
    /// stored.
    loaded: [HashSet<u64>; 2],
    stored: [HashSet<u64>; 2],
}

impl Orders {
    pub(super) fn new() -> Self {
        let guest = Guest::with_lists(&STRANDS, "global");
        let mut booted = Booted::new(Production::Shipped, &[guest]);
        for cpu in 0..STRANDS.len() as u64 {
            booted.list(0, cpu, &[[4, 1000, 0, 0, 0, 0, 0, 0], REPEAT_LIST]);
        }
        assert_eq!(booted.0.run(Limits::instructions(4_000_000)), Stop::Limit);
        // A strand notes when it was refused. If the clocks stand still, this time is the same in
        // all orders.
        booted.0.change_clock(Clock::Stick(None), Change::Stop);
        let trap = booted.call_of_list();
        let noted = Rc::new(RefCell::new(Noted::default()));
        let notes = Rc::clone(&noted);
        booted.0.observe(Some(Box::new(move |access| {
            if access.level < Level::Hyperprivileged {
                return;
            }
            let mut notes = notes.borrow_mut();
            if access.kind != Kind::FetchOther {
                notes.accesses.push((access.kind == Kind::Store, access.physical));
            } else if let Instruction::Membar { .. } = Instruction::decode(access.value as u32) {
                notes.barriers.insert(access.physical);
            }
        })));
        let mut new = Self {
            booted,
            noted,
            trap,
            arbiter: 0,
            hub: 0,
            base: (0, Vec::new()),
            memory: BTreeMap::new(),
            functions: [GET, GET],
            waits: false,
            known: HashMap::new(),
            allowed: HashMap::new(),
            path: Vec::new(),
            loaded: Default::default(),
            stored: Default::default(),
        };
        // On the fast path, a call's first store takes the hub, and its next access reads or writes the hub.
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
        new.booted.0.set_store_buffers(true);
        new
    }

    /// Returns the addresses of all hypervisor `membar` instructions that any order has executed.
    pub(in super::super) fn barriers(&self) -> BTreeSet<u64> {
        self.noted.borrow().barriers.clone()
    }

    /// Advances the clocks, which otherwise stand still.
    pub(super) fn passes(&mut self, ticks: i64) {
        self.booted.0.change_clock(Clock::Stick(None), Change::Jump(ticks));
    }

    pub(super) fn begin(&mut self, number: usize, function: u64, value: u64) {
        let trap = self.trap;
        let strand = self.booted.0.strand_mut(strand(number));
        (strand.pc, strand.npc) = (trap, trap + 4);
        let arguments = [HUB_PCR, value, 0, 0, 0, function];
        for (register, value) in (Register::O0.index() as u32..).zip(arguments) {
            strand.registers.set(Register::new(register), value);
        }
    }

    pub(super) fn is_within(&self, number: usize) -> bool {
        self.booted.0.strand(strand(number)).pc != self.trap + 4
    }

    fn instruction(&mut self, number: usize) {
        let stop = self.booted.0.step(strand(number));
        assert_eq!(stop, Some(Stop::Limit));
    }

    fn buffer(&self, number: usize) -> &StoreBuffer {
        self.booted.0.store_buffer(strand(number))
    }

    fn is_shared(&self, address: u64) -> bool {
        (self.arbiter..self.arbiter + ARBITER).contains(&address)
    }

    fn word<const N: usize>(&mut self, address: u64) -> [u8; N] {
        let mut word = [0; N];
        self.booted.0.read(address, &mut word).unwrap();
        word
    }

    fn arbiter_word(&mut self, at: u64) -> u32 {
        u32::from_be_bytes(self.word(self.arbiter + at))
    }

    /// Returns the token of the strand whose access to the hub is in flight; 0 if there is none.
    fn holder(&mut self) -> u32 {
        match self.arbiter_word(STATE) {
            state if state & RESERVED != 0 => 0,
            state => state & !SHUT,
        }
    }

    /// Returns `true` if other strands see that only this strand may access the hub: it holds the hub, or the hub is reserved and the
    /// strand owns the gate's lock.
    fn may_access(&mut self, number: usize) -> bool {
        let reserved = self.arbiter_word(STATE) & RESERVED != 0;
        let owner = self.arbiter_word(LOCK) as usize;
        self.holder() == token(number) || reserved && owner == STRANDS[number] + 1
    }

    /// Notes that a strand's store has changed memory.
    fn changed(&mut self, number: usize, address: u64) {
        let address = address & !7;
        let value = u64::from_be_bytes(self.word(address));
        self.memory.insert(address, (value, number));
    }

    /// Completes a strand's oldest store. Fails if it is a store to the hub while another strand may access the hub.
    fn complete(&mut self, number: usize, target: Target) -> Result<(), String> {
        let may_access = self.may_access(number);
        let store = self.booted.0.complete_store(strand(number), target).unwrap();
        match target {
            Target::Memory => self.changed(number, store.address),
            Target::Device if may_access => {}
            Target::Device => {
                return Err(format!("strand {number} writes the hub, which others may access"));
            }
        }
        Ok(())
    }

    /// Completes the strand's oldest stores until the next one is to a word that another strand uses. It makes no difference when these
    /// stores complete. If stores do not wait, completes all the strand's stores.
    fn complete_private(&mut self, number: usize) -> Result<(), String> {
        while let Some(store) = self.buffer(number).memory.front()
            && (!self.waits || !self.is_shared(store.address))
        {
            self.complete(number, Target::Memory)?;
        }
        while !self.waits && !self.buffer(number).devices.is_empty() {
            self.complete(number, Target::Device)?;
        }
        Ok(())
    }

    /// Returns `true` if a strand's next instruction waits for its stores.
    fn is_blocked(&mut self, number: usize) -> bool {
        is_blocked(&mut self.booted.0, strand(number))
    }

    /// Executes an instruction. Returns `true` if it accessed shared memory or the hub.
    fn execute(&mut self, number: usize) -> Result<bool, String> {
        self.noted.borrow_mut().accesses.clear();
        let waiting = |orders: &Self| {
            let StoreBuffer { memory, devices } = orders.buffer(number);
            memory.len() + devices.len()
        };
        let before = waiting(self);
        self.instruction(number);
        let after = waiting(self);
        assert!(after >= before, "a store completes out of turn");
        let accesses = std::mem::take(&mut self.noted.borrow_mut().accesses);
        let mut reached = false;
        for (store, address) in accesses {
            if address >> 32 != 0 {
                if !store && !self.may_access(number) {
                    return Err(format!("strand {number} reads the hub, which others may access"));
                }
                reached = true;
                continue;
            }
            let shared = self.is_shared(address);
            reached |= shared;
            if !shared && number != C {
                let words = if store { &mut self.stored } else { &mut self.loaded };
                words[number].insert(address & !7);
            }
            // An atomic instruction's store completes immediately.
            if store && after == before {
                self.changed(number, address);
            }
        }
        self.complete_private(number)?;
        Ok(reached)
    }

    /// Executes a strand until its next access to shared memory, its call's return, or an instruction that waits for the strand's stores.
    pub(super) fn advance(&mut self, number: usize) -> Result<(), String> {
        while self.is_within(number) && !self.is_blocked(number) {
            if self.execute(number)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns a finished call's status, and the value that it returned.
    pub(super) fn answer(&self, number: usize, function: u64) -> (u64, u64) {
        let registers = &self.booted.0.strand(strand(number)).registers;
        let o0 = Register::O0.index() as u32;
        let [status, value] = [o0, o0 + 1].map(|number| registers.get(Register::new(number)));
        let read = status == 0 && function == GET;
        (status, if read { value } else { 0 })
    }

    /// Returns the state that the gate's words encode.
    pub(super) fn turns(&mut self) -> Turns {
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

    pub(super) fn set_refusals(&mut self, number: u32) {
        let at = self.arbiter + TURN;
        let turn = u64::from_be_bytes(self.word(at));
        let turn = turn & !(0x7fff << 16) | u64::from(number) << 16;
        self.booted.0.load(at, &turn.to_be_bytes()).unwrap();
        self.memory.insert(at, (turn, C));
    }

    /// Puts the machine into this state.
    pub(super) fn enter(&mut self, state: &State) {
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
        for (number, (registers, buffer)) in state.strands.iter().zip(&state.buffers).enumerate() {
            *self.booted.0.strand_mut(strand(number)) = registers.clone();
            *self.booted.0.store_buffer_mut(strand(number)) = buffer.clone();
        }
        let hub = PhysicalAddress(self.hub);
        let devices = self.booted.0.devices();
        devices.write(strand(A), hub, state.device).unwrap();
    }

    /// Returns the machine's current state, with these calls.
    pub(super) fn state(&self, calls: [Call; 2], first: Option<usize>) -> State {
        let hub = PhysicalAddress(self.hub);
        State {
            strands: [A, B].map(|number| self.booted.0.strand(strand(number)).clone()),
            buffers: [A, B].map(|number| self.buffer(number).clone()),
            calls,
            first,
            device: self.booted.0.devices().read(strand(A), hub).unwrap(),
            memory: self.memory.clone(),
        }
    }

    /// Returns the state after an event.
    fn next(&mut self, state: &State, event: Event) -> Result<State, String> {
        self.enter(state);
        let (mut calls, mut first) = (state.calls, state.first);
        let (Event::Continues(number) | Event::Completes(number, _)) = event;
        let before = self.holder();
        match event {
            Event::Continues(_) => {
                if calls[number] == Call::Waits {
                    calls[number] = Call::Within;
                    let other = 1 - number;
                    if matches!(calls[other], Call::Done(..)) && state.buffers[other].is_empty() {
                        first = Some(other);
                    }
                }
                self.advance(number)?;
            }
            Event::Completes(_, target) => {
                self.complete(number, target)?;
                self.complete_private(number)?;
            }
        }
        let after = self.holder();
        if before != 0 && before != token(number) && after != before {
            return Err(format!("strand {number} has taken the hub from another"));
        }
        if !self.is_within(number) {
            let (status, value) = self.answer(number, self.functions[number]);
            calls[number] = Call::Done(status, value);
            self.forget(number);
        }
        Ok(self.state(calls, first))
    }

    /// Forgets the words that only this strand uses, such as its stack. They do not matter after the end of the strand's call.
    fn forget(&mut self, number: usize) {
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
        let buffer = self.booted.0.store_buffer_mut(strand(number));
        buffer.memory.retain(|store| arbiter.contains(&store.address));
    }
}
