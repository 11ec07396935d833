//! Litmus tests of the store buffers: small programs of up to four strands, executed in every possible order of instructions and of store
//! completions. The expected outcomes are those of total store order (The SPARC Architecture Manual, Version 9, appendix D). The programs
//! have the names that the literature uses: SB is store buffering, MP is message passing, and so on.

use std::collections::{BTreeSet, HashSet};

use guest_abi::{Mcu, McuRole, Node};
use platform::{Bus, Machine, Model, PhysicalAddress, address};
use simulator::execute::buffers::{StoreBuffer, Target};
use simulator::execute::map::RESET;
use simulator::execute::{Execution, Limits, Setup, Stop};
use simulator::interpreter::Strand;
use simulator::interpreter::instruction::Register;
use tests::assembler::{G1, LDX, NOP, O0, STX, accesses, mov, number};
use tests::machine::strand;

use super::{PROGRAM, put};

/// A variable. `X` and `Y` are words in memory. `Device` and `Other` are registers of two devices.
#[derive(Clone, Copy)]
enum Variable {
    X,
    Y,
    Device,
    Other,
}

use Variable::{Device, Other, X, Y};

/// An instruction. A store or a swap writes the given number. A load or a swap has a result.
#[derive(Clone, Copy)]
enum Does {
    Store(Variable, u64),
    Load(Variable),
    Swap(Variable, u64),
    Membar(u32),
}

use Does::{Load, Membar, Store, Swap};

const LOAD_LOAD: u32 = 1;
const STORE_LOAD: u32 = 1 << 1;
const LOAD_STORE: u32 = 1 << 2;
const STORE_STORE: u32 = 1 << 3;
const LOOKASIDE: u32 = 1 << 4;
const MEM_ISSUE: u32 = 1 << 5;
const SYNC: u32 = 1 << 6;
/// The orderings that total store order guarantees without a `membar`.
const IMPLIED: u32 = LOAD_LOAD | LOAD_STORE | STORE_STORE;

/// Two words in different cache lines: x in the first page of results, and y in the second.
const WORDS: [u64; 2] = [0x20_0000, 0x20_2040];

/// The registers that hold the variables' addresses, the numbers 1 and 2, and the results.
const ADDRESSES: u32 = G1;
const NUMBERS: [u32; 2] = [5, 6];
const RESULTS: u32 = O0;

/// The opcode (op3) of `swap`.
const SWAP: u32 = 0x0f;

/// The result of one execution: first the results of the loads, strand by strand, and then the last values of x and y.
type Outcome = (Vec<u64>, [u64; 2]);

fn device(mcu: usize) -> PhysicalAddress {
    address::dram_global(Node::Node0, Mcu::ALL[mcu], McuRole::Pcr)
}

/// The parts in which two states can differ: each strand's %pc, results and pending stores, the words in memory, and the device registers.
type Key = (Vec<(u64, Vec<u64>, StoreBuffer)>, [u64; 2], [u64; 2]);

#[derive(Clone)]
struct State {
    strands: Vec<Strand>,
    buffers: Vec<StoreBuffer>,
    words: [u64; 2],
    devices: [u64; 2],
}

struct Litmus<'a> {
    execution: Execution,
    threads: &'a [&'a [Does]],
    seen: HashSet<Key>,
    outcomes: BTreeSet<Outcome>,
}

impl<'a> Litmus<'a> {
    fn new(threads: &'a [&'a [Does]]) -> Self {
        let setup = Setup::new(Machine::new(Model::Batoka, 1).unwrap());
        let mut execution = Execution::new(&setup).unwrap();
        // Strand 0 starts strands 1 to 3.
        let start = [mov(G1, 0xf), mov(2, 0x50), 0xc2f0_8820, NOP];
        put(&mut execution, RESET, &start);
        assert_eq!(execution.run(Limits::instructions(3)), Stop::Limit);
        execution.set_store_buffers(true);
        for (thread, does) in threads.iter().enumerate() {
            let at = PROGRAM + 0x2000 * thread as u64;
            put(&mut execution, at, &assembled(does));
            let strand = execution.strand_mut(strand(thread));
            (strand.pc, strand.npc) = (at, at + 4);
            let devices = [0, 1].map(|mcu| device(mcu).0);
            let addresses = (ADDRESSES..).zip(WORDS.into_iter().chain(devices));
            for (register, value) in addresses.chain(NUMBERS.into_iter().zip(1..)) {
                strand.registers.set(Register::new(register), value);
            }
        }
        Self { execution, threads, seen: HashSet::new(), outcomes: BTreeSet::new() }
    }

    fn state(&mut self) -> State {
        let all = 0..self.threads.len();
        State {
            strands: all.clone().map(|at| self.execution.strand(strand(at)).clone()).collect(),
            buffers: all.map(|at| self.execution.store_buffer(strand(at)).clone()).collect(),
            words: WORDS.map(|address| {
                let mut word = [0; 8];
                self.execution.read(address, &mut word).unwrap();
                u64::from_be_bytes(word)
            }),
            devices: [0, 1].map(|mcu| {
                let devices = self.execution.devices();
                devices.read(strand(0), device(mcu)).unwrap()
            }),
        }
    }

    fn enter(&mut self, state: &State) {
        for (at, (of, buffer)) in state.strands.iter().zip(&state.buffers).enumerate() {
            *self.execution.strand_mut(strand(at)) = of.clone();
            *self.execution.store_buffer_mut(strand(at)) = buffer.clone();
        }
        for (address, word) in WORDS.into_iter().zip(state.words) {
            self.execution.load(address, &word.to_be_bytes()).unwrap();
        }
        for (mcu, value) in state.devices.into_iter().enumerate() {
            self.execution.devices().write(strand(0), device(mcu), value).unwrap();
        }
    }

    fn explore(&mut self, state: &State) {
        let results = |thread: usize| {
            let loads = self.threads[thread].iter().filter(|does| is_read(does)).count() as u32;
            let register = |number| state.strands[thread].registers.get(Register::new(number));
            (RESULTS..RESULTS + loads).map(register).collect::<Vec<_>>()
        };
        let all = 0..self.threads.len();
        let threads = all.clone().map(|thread| {
            (state.strands[thread].pc, results(thread), state.buffers[thread].clone())
        });
        let key = (threads.collect(), state.words, state.devices);
        if !self.seen.insert(key) {
            return;
        }
        let mut ended = true;
        for thread in all.clone() {
            let end = PROGRAM + 0x2000 * thread as u64 + 4 * self.threads[thread].len() as u64;
            if state.strands[thread].pc != end {
                ended = false;
                self.enter(state);
                assert_eq!(self.execution.step(strand(thread)), Some(Stop::Limit));
                let next = self.state();
                self.explore(&next);
            }
            for target in [Target::Memory, Target::Device] {
                self.enter(state);
                if self.execution.complete_store(strand(thread), target).is_some() {
                    ended = false;
                    let next = self.state();
                    self.explore(&next);
                }
            }
        }
        if ended {
            let results = all.flat_map(results).collect();
            self.outcomes.insert((results, state.words));
        }
    }
}

const fn is_read(does: &Does) -> bool {
    matches!(does, Load(_) | Swap(..))
}

fn assembled(program: &[Does]) -> Vec<u32> {
    let mut results = RESULTS..;
    let word = |does: &Does| match *does {
        Store(variable, value) => {
            accesses(STX, NUMBERS[value as usize - 1], ADDRESSES + variable as u32, number(0))
        }
        Load(variable) => {
            accesses(LDX, results.next().unwrap(), ADDRESSES + variable as u32, number(0))
        }
        // Before the swap, the result register holds the number that the swap stores.
        Swap(variable, _) => {
            accesses(SWAP, results.next().unwrap(), ADDRESSES + variable as u32, number(4))
        }
        Membar(mask) => 0x8143_e000 | mask,
    };
    program.iter().map(word).collect()
}

fn outcomes(threads: &[&[Does]]) -> BTreeSet<Outcome> {
    let mut litmus = Litmus::new(threads);
    for (thread, does) in threads.iter().enumerate() {
        for (register, does) in (RESULTS..).zip(does.iter().filter(|does| is_read(does))) {
            if let Swap(_, value) = *does {
                let strand = litmus.execution.strand_mut(strand(thread));
                strand.registers.set(Register::new(register), value);
            }
        }
    }
    let state = litmus.state();
    litmus.explore(&state);
    litmus.outcomes
}

/// Returns the results of the loads in every outcome.
fn results<const N: usize>(threads: &[&[Does]]) -> BTreeSet<[u64; N]> {
    outcomes(threads).into_iter().map(|(results, _)| results.try_into().unwrap()).collect()
}

/// Returns the last values of x and y in every outcome.
fn ends(threads: &[&[Does]]) -> BTreeSet<[u64; 2]> {
    outcomes(threads).into_iter().map(|(_, end)| end).collect()
}

fn any<const N: usize>() -> BTreeSet<[u64; N]> {
    all_but(&[])
}

/// Returns all arrays of N zeros and ones, except the arrays in `forbidden`.
fn all_but<const N: usize>(forbidden: &[[u64; N]]) -> BTreeSet<[u64; N]> {
    let numbers = (0..1 << N).map(|bits: u64| std::array::from_fn(|at| bits >> at & 1));
    numbers.filter(|numbers| !forbidden.contains(numbers)).collect()
}

/// SB: each strand may miss the other strand's store, unless both strands complete their own stores before they load.
#[test]
fn store_buffering() {
    let x: &[Does] = &[Store(X, 1), Load(Y)];
    let y: &[Does] = &[Store(Y, 1), Load(X)];
    assert_eq!(results(&[x, y]), any::<2>());
    for (mask, forbidden) in [
        (IMPLIED, false),
        (LOOKASIDE, false),
        (STORE_LOAD, true),
        (IMPLIED | STORE_LOAD, true),
        (MEM_ISSUE, true),
        (SYNC, true),
    ] {
        let x: &[Does] = &[Store(X, 1), Membar(mask), Load(Y)];
        let barred: &[Does] = &[Store(Y, 1), Membar(mask), Load(X)];
        let expected = if forbidden { all_but(&[[0, 0]]) } else { any::<2>() };
        assert_eq!(results(&[x, barred]), expected, "{mask:#x}");
        assert_eq!(results(&[x, y]), any::<2>(), "a barrier in one strand only: {mask:#x}");
    }
}

/// SB with atomic instructions. Each swap returns the old value, 0.
#[test]
fn an_atomic_instruction_completes_the_stores() {
    let x: &[Does] = &[Swap(X, 1), Load(Y)];
    let y: &[Does] = &[Swap(Y, 1), Load(X)];
    let expected = BTreeSet::from([[0, 1, 0, 0], [0, 0, 0, 1], [0, 1, 0, 1]]);
    assert_eq!(results(&[x, y]), expected);
    // A swap of any word completes the earlier stores.
    let x: &[Does] = &[Store(X, 1), Swap(Y, 1)];
    let y: &[Does] = &[Store(Y, 1), Swap(X, 1)];
    assert_eq!(results(&[x, y]), all_but(&[[0, 0]]));
    // When two strands swap the same word, only one of them finds the old value 0.
    let swaps: &[Does] = &[Swap(X, 1)];
    assert_eq!(results(&[swaps, swaps]), BTreeSet::from([[0, 1], [1, 0]]));
}

/// MP, LB, CoRR and WRC: no store overtakes an earlier load or store, and no load overtakes an earlier load.
#[test]
fn what_needs_no_barrier() {
    let sends: &[Does] = &[Store(X, 1), Store(Y, 1)];
    assert_eq!(results(&[sends, &[Load(Y), Load(X)]]), all_but(&[[1, 0]]));
    let loads_x: &[Does] = &[Load(X), Store(Y, 1)];
    assert_eq!(results(&[loads_x, &[Load(Y), Store(X, 1)]]), all_but(&[[1, 1]]));
    assert_eq!(results(&[&[Store(X, 1)], &[Load(X), Load(X)]]), all_but(&[[1, 0]]));
    let third: &[Does] = &[Load(Y), Load(X)];
    assert_eq!(results(&[&[Store(X, 1)], loads_x, third]), all_but(&[[1, 1, 0]]));
}

/// IRIW: all strands see other strands' stores in the same order. The reading strands need no barrier.
#[test]
fn stores_have_one_order() {
    let threads: [&[Does]; 4] =
        [&[Store(X, 1)], &[Store(Y, 1)], &[Load(X), Load(Y)], &[Load(Y), Load(X)]];
    assert_eq!(results(&threads), all_but(&[[1, 0, 1, 0]]));
}

/// RWC: the last strand's load may overtake the last strand's own store, although the middle strand has already seen the first strand's
/// store.
#[test]
fn a_third_strand_does_not_order_a_store_and_a_load() {
    let middle: &[Does] = &[Load(X), Load(Y)];
    let last: &[Does] = &[Store(Y, 1), Load(X)];
    assert_eq!(results(&[&[Store(X, 1)], middle, last]), any::<3>());
    let last: &[Does] = &[Store(Y, 1), Membar(STORE_LOAD), Load(X)];
    assert_eq!(results(&[&[Store(X, 1)], middle, last]), all_but(&[[1, 0, 0]]));
}

/// A strand sees its own stores before other strands do.
#[test]
fn a_strand_finds_its_own_stores() {
    let x: &[Does] = &[Store(X, 1), Load(X), Load(Y)];
    let y: &[Does] = &[Store(Y, 1), Load(Y), Load(X)];
    let expected = BTreeSet::from([[1, 0, 1, 0], [1, 0, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]]);
    assert_eq!(results(&[x, y]), expected);
    // A load finds its own strand's newest store. It finds another strand's store only after its own strand's stores are complete.
    let own: &[Does] = &[Store(X, 1), Store(X, 2), Load(X)];
    assert_eq!(results(&[own]), BTreeSet::from([[2]]));
    let own: &[Does] = &[Store(X, 1), Load(X), Load(X)];
    let expected = BTreeSet::from([[1, 1], [1, 2], [2, 2]]);
    assert_eq!(results(&[own, &[Store(X, 2)]]), expected);
}

/// 2+2W, S and R. These tests compare the last values of the words.
#[test]
fn the_last_stores_agree() {
    let first: &[Does] = &[Store(X, 1), Store(Y, 2)];
    let second: &[Does] = &[Store(Y, 1), Store(X, 2)];
    assert_eq!(ends(&[first, second]), BTreeSet::from([[1, 2], [2, 1], [2, 2]]));

    let first: &[Does] = &[Store(X, 2), Store(Y, 1)];
    let found = outcomes(&[first, &[Load(Y), Store(X, 1)]]);
    let results: BTreeSet<_> = found.into_iter().map(|(found, [x, _])| (found[0], x)).collect();
    assert_eq!(results, BTreeSet::from([(0, 1), (0, 2), (1, 1)]));

    let first: &[Does] = &[Store(X, 1), Store(Y, 1)];
    for (barrier, forbidden) in [(IMPLIED, false), (STORE_LOAD, true)] {
        let second: &[Does] = &[Store(Y, 2), Membar(barrier), Load(X)];
        let found = outcomes(&[first, second]);
        let results: BTreeSet<_> = found.into_iter().map(|(found, [_, y])| (found[0], y)).collect();
        let mut expected = BTreeSet::from([(0, 1), (0, 2), (1, 1), (1, 2)]);
        if forbidden {
            expected.remove(&(0, 2));
        }
        assert_eq!(results, expected, "{barrier:#x}");
    }
}

/// Stores to devices complete in order, but a store to a device and a store to memory do not, unless a barrier separates them.
#[test]
fn stores_to_devices_complete_apart() {
    for (barrier, ordered) in [
        (None, false),
        (Some(Membar(IMPLIED)), false),
        (Some(Membar(IMPLIED | STORE_LOAD)), false),
        (Some(Swap(Y, 1)), false),
        (Some(Membar(MEM_ISSUE)), true),
        (Some(Membar(SYNC)), true),
    ] {
        let first = [&[Store(Device, 1)], barrier.as_slice(), &[Store(X, 1)]].concat();
        let found = outcomes(&[&first, &[Load(X), Load(Device)]]);
        let stale = found.iter().any(|(found, _)| found.ends_with(&[1, 0]));
        assert_eq!(stale, !ordered, "a device first");
    }
    for (barrier, ordered) in [
        (None, false),
        (Some(Membar(IMPLIED)), false),
        (Some(Membar(MEM_ISSUE)), true),
        (Some(Membar(SYNC)), true),
    ] {
        let first = [&[Store(X, 1)], barrier.as_slice(), &[Store(Device, 1)]].concat();
        let expected = if ordered { all_but(&[[1, 0]]) } else { any::<2>() };
        assert_eq!(results(&[&first, &[Load(Device), Load(X)]]), expected, "memory first");
    }
    let both: &[Does] = &[Store(Device, 1), Store(Other, 1)];
    assert_eq!(results(&[both, &[Load(Other), Load(Device)]]), all_but(&[[1, 0]]));
    assert_eq!(results(&[&[Store(Device, 1), Load(Device)]]), BTreeSet::from([[1]]));
    // A load from another device does not wait for any store.
    let one: &[Does] = &[Store(Device, 1), Load(Other)];
    let other: &[Does] = &[Store(Other, 1), Load(Device)];
    assert_eq!(results(&[one, other]), any::<2>());
}
