//! Tests everything about the executing machine that software can observe, except the instruction set.

mod clocks;
mod homes;
mod order;
#[rustfmt::skip]
mod programs;

use std::cell::RefCell;
use std::rc::Rc;

use platform::{Machine, Model};
use programs::*;
use simulator::execute::log::What;
use simulator::execute::map::RESET;
use simulator::execute::{Execution, Limits, Setup, State, Stop};
use simulator::interpreter::Level;
use simulator::interpreter::instruction::Register;
use simulator::memory::Config;
use simulator::recording::Kind;
use tests::machine::strand;

/// The address of the hypervisor's program. The program's trap table is at [`HTBA`], and its results are at [`RESULTS`].
const PROGRAM: u64 = 0x10_0000;
const HTBA: u64 = 0x10_4000;
const RESULTS: u64 = 0x20_0000;

/// The address of the memory that the hypervisor gives to the guest.
const GUEST: u64 = 0x8010_0000;

/// The code at reset: sethi %hi(0x100000), %g1; jmp %g1; nop.
const JUMP: &[u32] = &[0x0300_0400, 0x81c0_4000, 0x0100_0000];

/// The limit for programs that never stop by themselves.
const CYCLES: Limits = Limits { cycles: 100_000, ..Limits::NONE };

/// Returns a two-node machine with these trap handlers. At reset, the machine starts a program made up of these parts.
fn machine(memory: Option<Config>, parts: &[&[u32]], handlers: &[(u64, &[u32])]) -> Execution {
    let mut execution =
        Execution::new(&Setup::new(Machine::new(Model::Batoka, 2).unwrap()).memory(memory))
            .unwrap();
    put(&mut execution, RESET, JUMP);
    put(&mut execution, PROGRAM, &parts.concat());
    for (trap, handler) in handlers {
        put(&mut execution, HTBA + trap * 32, handler);
    }
    execution
}

fn put(execution: &mut Execution, address: u64, words: &[u32]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    execution.load(address, &bytes).unwrap();
}

fn left<const N: usize>(execution: &mut Execution) -> [u64; N] {
    let mut words = [[0; 8]; N];
    for (number, word) in words.iter_mut().enumerate() {
        let address = RESULTS + 8 * number as u64;
        execution.read(address, word).unwrap();
    }
    words.map(u64::from_be_bytes)
}

/// Strand 0 writes a register and then a flag, with and without a barrier in between. Strand 1
/// waits for the flag and reads the register.
#[test]
fn stores_to_devices_complete_late() {
    let barrier = LATE.iter().position(|word| *word == 0x8143_e040).unwrap();
    let mut without = LATE.to_vec();
    without[barrier] = 0x0100_0000;
    for (program, found) in [(LATE, 0x55), (&without[..], 0)] {
        for memory in [None, Some(Config::T2_PLUS)] {
            let mut execution = machine(memory, &[NUMBER, program], &[]);
            assert_eq!(execution.run(CYCLES), Stop::Ended);
            assert_eq!(left(&mut execution), [2, 0x55, found]);
            assert_eq!(execution.state(strand(1)), State::Parked);
        }
    }
}

/// A failed store traps some instructions later, and a failed load traps immediately. DFESR and the store buffer identify the failed store.
#[test]
fn accesses_that_fail() {
    let handlers = [(0x07, STORE_ERROR), (0x32, DATA_ERROR)];
    let mut execution = machine(None, &[TRAPS, FAULTS], &handlers);
    assert_eq!(execution.run(CYCLES), Stop::Ended);
    let membar = PROGRAM + 4 * 10;
    // Bits 61:60 hold the type, SBDIOU. Bits 47:40 are set because all bytes are stored.
    let (dfesr, entry) = (1 << 60, 0xff84_0000_2400);
    let expected = [membar, dfesr, entry, membar + 8, 2];
    assert_eq!(left(&mut execution), expected);
    assert_eq!(execution.log().entries().len(), 1);
    let what = execution.log().entries()[0].what;
    assert_eq!(what, What::NoDevice(0x84_0000_2400));
}

/// A guest can access exactly the pages whose translations the hypervisor has loaded. Every miss reports the address.
#[test]
fn a_guest_reaches_what_is_translated() {
    let handlers = [(0x30, NOTE), (0x31, NOTE2), (0x3f, NOTE), (0x40, NOTE2), (0x3e, LAST)];
    let mut execution = machine(None, &[TRAPS, GUEST_START], &handlers);
    put(&mut execution, GUEST, INSIDE);
    let accesses = Rc::new(RefCell::new(Vec::new()));
    let heard = Rc::clone(&accesses);
    execution.observe(Some(Box::new(move |access| {
        if access.level == Level::Privileged {
            heard.borrow_mut().push(access.physical);
        }
    })));
    assert_eq!(execution.run(CYCLES), Stop::Ended);
    let first = u64::from(INSIDE[0]) << 32 | u64::from(INSIDE[1]);
    let mut stored = [0; 8];
    execution.read(GUEST + 0x4008, &mut stored).unwrap();
    assert_eq!(u64::from_be_bytes(stored), first);
    let mut kept = [0; 8];
    execution.read(GUEST, &mut kept).unwrap();
    assert_eq!(u64::from_be_bytes(kept), first, "what cannot be written");
    let words: [u64; 8] = left(&mut execution);
    assert_eq!(words[0], 3 * 16, "three traps of data");
    assert_eq!(words[1], 0x10_0000, "the page of the fetch that missed");
    assert_eq!(words[2], 0x30);
    assert_eq!(words[4..], [0x3f, 0x8000_2000, 0x3f, 0x10_0000]);
    let inside = |physical: &u64| {
        (GUEST..GUEST + 0x2000).contains(physical)
            || (GUEST + 0x4000..GUEST + 0x6000).contains(physical)
    };
    assert!(accesses.borrow().iter().all(inside), "{accesses:x?}");
}

/// A strand finds its own number, the machine's highest and the last one of a core in one register.
#[test]
fn a_strand_knows_its_core() {
    let mut execution = machine(None, &[CORE], &[]);
    assert_eq!(execution.run(CYCLES), Stop::Ended);
    assert_eq!(left(&mut execution), [7 << 32 | 127 << 16]);
}

/// A guest can use its own scratchpads, 64 bits at a time, and none of the hypervisor's.
#[test]
fn two_scratchpads_are_the_hypervisors() {
    let handlers = [(0x30, NOTE), (0x31, NOTE2), (0x3e, LAST)];
    let mut execution = machine(None, &[TRAPS, GUEST_START], &handlers);
    put(&mut execution, GUEST, SCRATCHPADS);
    assert_eq!(execution.run(CYCLES), Stop::Ended);
    let mut stored = [0; 8];
    execution.read(GUEST + 0x4000, &mut stored).unwrap();
    assert_eq!(u64::from_be_bytes(stored), 0x18);
    let [size, _, first, _, second, _, third, _] = left(&mut execution);
    assert_eq!((size, [first, second, third]), (3 * 16, [0x30; 3]));
}

/// A halted strand continues when the first of two interrupts arrives, 40 cycles after the store that sends it. When the strand then
/// enables interrupts, it takes both, the higher vector first.
#[test]
fn an_interrupt_wakes() {
    let mut execution = machine(None, &[TRAPS, NUMBER, WAKE], &[(0x60, VECTOR)]);
    assert_eq!(execution.run(CYCLES), Stop::Limit);
    let [there, sent, woken, vectors] = left(&mut execution);
    assert_eq!((there, vectors), (1, 0x0905));
    // The time is read three instructions after the store that sends the interrupt.
    assert_eq!(woken - sent, 40 - 3);
    assert_eq!(execution.state(strand(0)), State::Halted);
    assert_eq!(execution.state(strand(2)), State::Parked);
}

/// A halt loses no interrupt, whether the interrupt arrives long before the halt, in the cycle before it, in the same cycle, or later.
#[test]
fn no_interrupt_is_lost_at_a_halt() {
    const NOP: u32 = 0x0100_0000;
    for nops in 0..80 {
        let parts = [SEND_TO_ITSELF, &vec![NOP; nops], HALT_AND_TELL];
        let mut execution = machine(None, &parts, &[]);
        assert_eq!(execution.run(CYCLES), Stop::Limit, "{nops} instructions before the halt");
        let [told] = left(&mut execution);
        assert_eq!(told, 5, "{nops} instructions before the halt");
    }
}

/// A strand wakes up in the cycle in which %stick equals %hstick_cmpr.
#[test]
fn a_timer_wakes() {
    let mut execution = machine(None, &[TRAPS, TIMER], &[]);
    assert_eq!(execution.run(CYCLES), Stop::Ended);
    assert_eq!(left(&mut execution), [1000, 1]);
}

/// A guest's counter 0 counts instructions. It starts at -20, and the first instruction counted is the one that enables it. After twenty
/// instructions the counter wraps, and the guest traps before the next instruction.
#[test]
fn an_overflow_traps_at_its_instruction() {
    for memory in [None, Some(Config::T2_PLUS)] {
        let mut execution = machine(memory, &[TRAPS, GUEST_START], &[(0x180, HALT)]);
        put(&mut execution, GUEST, SAMPLE);
        put(&mut execution, GUEST + 0x4f * 32, OVERFLOW);
        assert_eq!(execution.run(CYCLES), Stop::Ended);
        let registers = &execution.strand(strand(0)).registers;
        let out = |number| registers.get(Register::new(number));
        // The counted instructions are the write of %pcr, ten branches of the loop, and nine instructions in delay slots.
        assert_eq!(out(10), 9);
        assert_eq!(out(11), 0x8000_0000 + 4 * 10, "%tpc");
        assert_eq!(out(12) & 0xffff_ffff, 1, "%pic: an instruction of the handler");
        assert_eq!(out(13), 1 << 15, "%softint");
        assert_eq!(execution.hypercalls().len(), 0, "it has not returned");
    }
}

/// Eight strands of a core add to a word under a lock. The result is the same in one long run, in a run of small pieces, and in a repeated
/// run.
#[test]
fn runs_are_the_same() {
    let state = |execution: &mut Execution| {
        let strands = (0..8).map(|number| format!("{:?}", execution.strand(strand(number))));
        let counts = (0..8).map(|number| execution.counts(strand(number)));
        (
            strands.collect::<Vec<_>>(),
            counts.collect::<Vec<_>>(),
            left::<24>(execution),
            execution.truth().cloned(),
            execution.now(),
        )
    };
    for memory in [None, Some(Config::T2_PLUS)] {
        let mut whole = machine(memory, &[NUMBER, LOCK], &[]);
        assert_eq!(whole.run(Limits::NONE), Stop::Ended);
        let expected = state(&mut whole);
        assert_eq!(expected.2[8], 200 * (1 + 2 + 3 + 4 + 5 + 6 + 7));
        let instructions = |_, length| Limits::instructions(length);
        let cycles = |now, length| Limits { cycles: now + length, ..Limits::NONE };
        for limits in [instructions as fn(u64, u64) -> Limits, cycles] {
            let mut pieces = machine(memory, &[NUMBER, LOCK], &[]);
            let mut length = 0;
            loop {
                length = length % 50 + 1;
                match pieces.run(limits(pieces.now(), length)) {
                    Stop::Limit => {}
                    stop => break assert_eq!(stop, Stop::Ended),
                }
            }
            assert_eq!(state(&mut pieces), expected);
        }
    }
}

/// Eight strands of a core reach a breakpoint repeatedly. Each strand stops exactly once before each execution of the instruction there.
#[test]
fn strands_stop_at_a_breakpoint_once() {
    const CASXA: u64 = PROGRAM + 4 * 10;
    let executed = Rc::new(RefCell::new([0; 8]));
    let counts = Rc::clone(&executed);
    let mut execution = machine(None, &[NUMBER, LOCK], &[]);
    execution.observe(Some(Box::new(move |access| {
        if access.kind == Kind::FetchOther && access.physical == CASXA {
            counts.borrow_mut()[access.strand.index()] += 1;
        }
    })));
    execution.breakpoints().insert(CASXA);
    let mut stops = [0; 8];
    loop {
        match execution.run(Limits::NONE) {
            Stop::Breakpoint(strand) => stops[strand.index()] += 1,
            stop => break assert_eq!(stop, Stop::Ended),
        }
    }
    assert!(stops.iter().all(|stops| *stops >= 200), "{stops:?}");
    assert_eq!(stops, *executed.borrow());
}

/// After a program changes an instruction that it has already executed, it executes the new instruction.
#[test]
fn programs_that_change_themselves() {
    // The code is st %o0, [%o1]; ba .-4; nop. The store puts inc %l0 in place of the nop.
    let mut execution = machine(None, &[&[0xd022_4000, 0x10bf_ffff, 0x0100_0000]], &[]);
    let registers = &mut execution.strand_mut(strand(0)).registers;
    registers.set(Register::O0, 0xa004_2001);
    registers.set(Register::new(9), PROGRAM + 8);
    // The first run also executes the three instructions at reset. Each run ends after inc %l0 in the delay slot.
    for (steps, l0) in [(3 + 3, 1), (3, 2)] {
        assert_eq!(execution.run(Limits::instructions(steps)), Stop::Limit);
        let registers = &execution.strand(strand(0)).registers;
        assert_eq!(registers.get(Register::new(16)), l0);
    }
}

/// The test chooses the strand that executes the next instruction.
#[test]
fn a_test_chooses_the_order() {
    let mut execution = machine(None, &[NUMBER, LATE], &[]);
    assert_eq!(execution.step(strand(1)), None, "it is parked");
    while execution.state(strand(1)) == State::Parked {
        assert_eq!(execution.step(strand(0)), Some(Stop::Limit));
    }
    let before = execution.counts(strand(0));
    for _ in 0..30 {
        execution.step(strand(1));
    }
    assert_eq!(execution.counts(strand(0)), before);
    // Strand 1 waits for strand 0.
    assert_eq!(left(&mut execution), [2, 0, 0]);
}
