//! Tests with handmade logs. Each test says what threads do in lock functions, and which orders the recording then contains.

use std::sync::Mutex;

use refs::{
    BlockDefinition, Cause, Class, Definitions, Encoder, Exit, Frame, Order, OrderCode, Rest,
};

use super::*;
use crate::decode::Leave;

const A: u64 = 0x1000;
const B: u64 = 0x1100;
const CONDITION: u64 = 0x1200;
const DATA: u64 = 0x8000;
/// The address of every block outside lock functions. Lock functions return to this address.
const SITE: u64 = 0x4000;

/// The number of the block that is outside lock functions. Blocks 2 and above are in lock functions. All of these except [`PLAIN`] have an
/// atomic instruction.
const OUTSIDE: u32 = 1;
/// The number of the only block in lock functions that has no atomic instruction.
const PLAIN: u32 = 2_000;

/// The state that all threads of a program share.
struct Program {
    objects: Objects,
    orders: Orders,
    definitions: Mutex<Definitions>,
}

struct Recorded<'a> {
    program: &'a Program,
    number: u32,
    calls: LockCalls,
    log: Log,
}

/// A block's accesses: [`LOAD`] or [`STORE`], and the address. One instruction performs all of them.
type Accesses<'a> = &'a [(bool, u64)];
const LOAD: bool = false;
const STORE: bool = true;

impl Program {
    fn new() -> Self {
        let mut definitions = Definitions::default();
        for block in OUTSIDE..=PLAIN {
            let address = SITE + 4 * u64::from(block - OUTSIDE);
            let is_atomic = block != OUTSIDE && block != PLAIN;
            let classes = is_atomic.then_some((0, Class::Atomic)).into_iter().collect();
            let sizes = vec![4];
            let defined = BlockDefinition { address, sizes, exit: Exit::None, classes };
            assert_eq!(definitions.block(defined), Ok(block));
        }
        let (objects, orders) = (Objects::default(), Orders::default());
        Self { objects, orders, definitions: Mutex::new(definitions) }
    }

    fn shared(&self) -> Shared<'_> {
        let Self { objects, orders, definitions } = self;
        Shared { objects, orders, definitions, target: Architecture::X86, tid: || 0 }
    }

    fn thread(&self, number: u32) -> Recorded<'_> {
        Recorded { program: self, number, calls: LockCalls::default(), log: Log::default() }
    }
}

impl Recorded<'_> {
    fn block(
        &mut self,
        block: u32,
        leave: Leave,
        enters: Option<Function>,
        accesses: Accesses<'_>,
    ) {
        let facts = BlockFacts::new(block, 1, leave, enters);
        let shared = self.program.shared();
        if self.calls.is_inside() || enters.is_some() {
            self.calls.block(facts, self.number, &mut self.log, shared);
        }
        self.log.block(block);
        accesses.iter().for_each(|(is_store, at)| self.log.access(0, *is_store, 3, *at));
    }

    /// Executes a block outside lock functions.
    fn works(&mut self, accesses: Accesses<'_>) {
        self.block(OUTSIDE, Leave::Other, None, accesses);
    }

    /// Executes a lock function that consists of one block.
    fn calls(&mut self, function: Function, accesses: Accesses<'_>) {
        self.block(2, Leave::Return, Some(function), accesses);
        self.works(&[]);
    }

    fn locks(&mut self, lock: u64) {
        self.calls(Function::Lock, &[(LOAD, lock), (STORE, lock)]);
    }

    fn unlocks(&mut self, lock: u64) {
        self.calls(Function::Unlock, &[(STORE, lock)]);
    }

    /// Waits for the condition variable, with `mutex` released. Calls `wakes` during the wait.
    fn waits(&mut self, mutex: u64, wakes: impl FnOnce()) {
        self.block(3, Leave::Call, Some(Function::Wait), &[(LOAD, CONDITION), (STORE, CONDITION)]);
        self.block(4, Leave::Return, None, &[(LOAD, mutex), (STORE, mutex)]);
        self.block(5, Leave::Other, None, &[]);
        wakes();
        self.block(6, Leave::Return, None, &[]);
        self.works(&[]);
    }

    /// Ends the thread. Returns the number of references in its recording, and the orders.
    fn ends(mut self) -> (u64, Vec<Order>) {
        self.calls.close(self.number, &mut self.log, self.program.shared());
        let mut frame = Frame::default();
        Encoder::new(self.number)
            .encode(&mut self.log, true, &self.program.definitions, &mut frame)
            .unwrap();
        let mut rest = Rest(&frame.content);
        let [_, events, literals] = [(); 3].map(|()| rest.varint().unwrap() as usize);
        let (mut rest, mut code) = (Rest(&rest.0[events + literals..]), OrderCode::default());
        let mut orders = Vec::new();
        while !rest.0.is_empty() {
            rest.varint().unwrap();
            orders.push(code.take(&mut rest).unwrap());
        }
        (frame.references, orders)
    }

    fn orders(self) -> Vec<Order> {
        self.ends().1
    }
}

fn acquire(lock: u64) -> Order {
    Order::Acquire(Acquire { lock, shared: false, site: SITE })
}

fn release(lock: u64, signal: u64) -> Order {
    Order::Release { lock, signal }
}

fn section(signal: u64) -> Order {
    Order::Wait(Cause::Section, signal)
}

#[test]
fn a_section_stays_after_the_section_that_it_has_seen() {
    let program = Program::new();
    let [mut one, mut other] = [0, 1].map(|number| program.thread(number));
    one.locks(A);
    one.works(&[(STORE, DATA)]);
    one.unlocks(A);
    other.locks(A);
    other.works(&[(LOAD, DATA)]);
    other.unlocks(A);
    assert_eq!(one.orders(), [acquire(A), release(A, 0)]);
    assert_eq!(other.orders(), [section(0), acquire(A), release(A, 1)]);
}

/// The first thread signals a condition, and the second thread finds the condition true. If the second thread came first, it would wait
/// for the condition.
#[test]
fn a_section_that_signals_is_waited_for_as_its_condition() {
    let program = Program::new();
    let [mut puts, mut takes] = [0, 1].map(|number| program.thread(number));
    puts.locks(A);
    puts.works(&[(STORE, DATA)]);
    puts.calls(Function::Signal, &[(LOAD, CONDITION), (STORE, CONDITION)]);
    puts.unlocks(A);
    takes.locks(A);
    takes.works(&[(LOAD, DATA)]);
    takes.unlocks(A);
    assert_eq!(puts.orders(), [acquire(A), Order::Signal(0), release(A, 1)]);
    assert_eq!(takes.orders(), [Order::Wait(Cause::Condition, 1), acquire(A), release(A, 2)]);
}

/// The thread takes each lock before it releases the previous lock, as in a walk along a list whose elements have a lock each.
#[test]
fn locks_are_given_back_in_another_order() {
    let program = Program::new();
    let [mut one, mut other] = [0, 1].map(|number| program.thread(number));
    one.locks(A);
    one.works(&[(STORE, DATA)]);
    one.locks(B);
    one.unlocks(A);
    one.works(&[(STORE, DATA + 8)]);
    one.unlocks(B);
    for (lock, data) in [(A, DATA), (B, DATA + 8)] {
        other.locks(lock);
        other.works(&[(LOAD, data)]);
        other.unlocks(lock);
    }
    assert_eq!(one.orders(), [acquire(A), acquire(B), release(A, 0), release(B, 1)]);
    let seen = [section(0), acquire(A), release(A, 2), section(1), acquire(B), release(B, 3)];
    assert_eq!(other.orders(), seen);
}

/// The section of lock B ends first, although lock A was taken first. The other thread sees the effects of both sections.
#[test]
fn an_inner_section_ends_before_the_outer_one() {
    let program = Program::new();
    let [mut one, mut other] = [0, 1].map(|number| program.thread(number));
    one.locks(A);
    one.locks(B);
    one.works(&[(STORE, DATA)]);
    one.unlocks(B);
    one.works(&[(STORE, DATA + 8)]);
    one.unlocks(A);
    for (lock, data) in [(B, DATA), (A, DATA + 8)] {
        other.locks(lock);
        other.works(&[(LOAD, data)]);
        other.unlocks(lock);
    }
    let one = one.orders();
    let ends = |lock| {
        let mut ends = one.iter().filter_map(|order| match order {
            Order::Release { lock: released, signal } if *released == lock => Some(*signal),
            _ => None,
        });
        ends.next().unwrap()
    };
    let seen: Vec<_> =
        other.orders().into_iter().filter(|order| matches!(order, Order::Wait(..))).collect();
    assert_eq!(seen, [section(ends(B)), section(ends(A))]);
}

#[test]
fn a_recursive_mutex_is_given_back_once() {
    let program = Program::new();
    let [mut one, mut other] = [0, 1].map(|number| program.thread(number));
    one.locks(A);
    // The inner call changes only the count in the mutex.
    one.block(PLAIN, Leave::Return, Some(Function::Lock), &[(LOAD, A + 4), (STORE, A + 4)]);
    one.works(&[(STORE, DATA)]);
    one.block(PLAIN, Leave::Return, Some(Function::Unlock), &[(LOAD, A + 4), (STORE, A + 4)]);
    one.works(&[(STORE, DATA + 8)]);
    one.unlocks(A);
    other.locks(A);
    other.works(&[(LOAD, DATA + 8)]);
    other.unlocks(A);
    assert_eq!(one.orders(), [acquire(A), release(A, 0)]);
    assert_eq!(other.orders(), [section(0), acquire(A), release(A, 1)]);
}

#[test]
fn what_a_thread_does_not_have_is_not_given_back() {
    let program = Program::new();
    let mut thread = program.thread(0);
    thread.unlocks(A);
    thread.locks(A);
    thread.unlocks(B);
    thread.unlocks(A);
    thread.unlocks(A);
    assert_eq!(thread.orders(), [acquire(A), release(A, 0)]);
}

#[test]
fn a_wait_for_a_condition_gives_its_own_mutex_back() {
    let program = Program::new();
    let [mut waits, mut signals] = [0, 1].map(|number| program.thread(number));
    waits.locks(A);
    waits.locks(B);
    waits.waits(A, || {
        signals.locks(A);
        signals.works(&[(STORE, DATA)]);
        signals.calls(Function::Signal, &[(LOAD, CONDITION), (STORE, CONDITION)]);
        signals.unlocks(A);
    });
    waits.works(&[(LOAD, DATA)]);
    waits.unlocks(B);
    waits.unlocks(A);
    let orders = waits.orders();
    let given = [acquire(A), acquire(B), release(A, 0), Order::LeftOut(3)];
    assert_eq!(orders[..4], given);
    let condition = Order::Wait(Cause::Condition, 2);
    assert_eq!(orders[4..7], [condition, section(3), acquire(A)]);
    assert_eq!(signals.orders(), [acquire(A), Order::Signal(2), release(A, 3)]);
}

#[test]
fn a_wait_for_a_condition_without_a_known_mutex_gives_nothing_back() {
    let program = Program::new();
    let mut thread = program.thread(0);
    thread.waits(A, || {});
    thread.locks(B);
    thread.waits(A, || {});
    thread.unlocks(B);
    let orders = thread.orders();
    let left_out = Order::LeftOut(3);
    assert_eq!(orders, [left_out, acquire(B), left_out, release(B, 0)]);
}

/// The program exits while the thread waits for a condition. Other threads must be able to take the mutex.
#[test]
fn a_wait_that_does_not_end_has_given_the_mutex_back() {
    let program = Program::new();
    let mut thread = program.thread(0);
    thread.locks(A);
    thread.block(3, Leave::Call, Some(Function::Wait), &[(LOAD, CONDITION), (STORE, CONDITION)]);
    thread.block(4, Leave::Return, None, &[(LOAD, A), (STORE, A)]);
    thread.block(5, Leave::Call, None, &[]);
    assert_eq!(thread.orders(), [acquire(A), release(A, 0), Order::LeftOut(3)]);
}

/// A signal handler interrupts a thread that waits inside a lock function, and makes a system call. The order (the log entry) for the
/// system call stays in the log.
#[test]
fn an_order_of_a_signal_handler_stays() {
    let program = Program::new();
    let mut thread = program.thread(0);
    thread.block(3, Leave::Call, Some(Function::Lock), &[(LOAD, A), (STORE, A)]);
    thread.block(4, Leave::Other, None, &[]);
    thread.block(OUTSIDE, Leave::Other, None, &[(STORE, DATA)]);
    thread.log.order(Order::Call(2));
    thread.block(OUTSIDE, Leave::Return, None, &[(LOAD, DATA)]);
    thread.block(5, Leave::Return, None, &[]);
    thread.works(&[]);
    thread.unlocks(A);
    assert_eq!(thread.orders(), [acquire(A), Order::Call(2), Order::LeftOut(5), release(A, 0)]);
}

/// A thread leaves a lock function by calling `longjmp` in a function that the lock function called.
#[test]
fn a_thread_that_has_left_a_lock_function_by_a_jump_is_recorded_again() {
    let program = Program::new();
    let mut thread = program.thread(0);
    thread.block(3, Leave::Call, Some(Function::Take), &[]);
    for block in 4..PLAIN {
        thread.block(block, Leave::Other, None, &[(STORE, DATA)]);
    }
    thread.locks(A);
    thread.unlocks(A);
    let (references, orders) = thread.ends();
    // The first 1,024 blocks after the jump are missing, and so are their stores. The remaining blocks are recorded, and so are the calls
    // that take and release the lock.
    assert_eq!(orders, [Order::LeftOut(2 * 1024), acquire(A), release(A, 0)]);
    assert_eq!(references, 1 + 2 * (1_996 - 1024) + 6);
}

#[test]
fn nothing_is_examined_after_the_log_was_encoded() {
    let program = Program::new();
    let [mut one, mut other] = [0, 1].map(|number| program.thread(number));
    one.locks(A);
    one.works(&[(STORE, DATA)]);
    one.calls.close(0, &mut one.log, program.shared());
    one.works(&[(STORE, DATA + 8)]);
    one.unlocks(A);
    other.locks(A);
    other.works(&[(LOAD, DATA + 8)]);
    other.unlocks(A);
    assert_eq!(other.orders(), [section(0), acquire(A), release(A, 1)]);
}

#[test]
fn each_item_is_taken_after_it_was_put() {
    let program = Program::new();
    let [mut takes, mut puts] = [0, 1].map(|number| program.thread(number));
    for _ in 0..3 {
        takes.locks(A);
        takes.locks(B);
        takes.works(&[(LOAD, DATA)]);
        takes.waits(A, || {
            puts.locks(A);
            puts.works(&[(LOAD, DATA), (STORE, DATA)]);
            puts.calls(Function::Signal, &[(LOAD, CONDITION), (STORE, CONDITION)]);
            puts.unlocks(A);
        });
        takes.works(&[(LOAD, DATA), (LOAD, DATA), (STORE, DATA)]);
        takes.unlocks(B);
        takes.works(&[(LOAD, DATA + 8), (STORE, DATA + 8)]);
        takes.unlocks(A);
    }
    let seen =
        takes.orders().into_iter().filter(|order| matches!(order, Order::Wait(Cause::Section, _)));
    assert_eq!(seen.count(), 3);
}
