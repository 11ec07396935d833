//! Stacks of handwritten sequences of instructions.

use super::*;
use crate::analysis::profile::guest::Taken;
use crate::analysis::profile::rows::inclusive;
use crate::recording::{Flow, Kind, Reference};

/// Functions of 0x100 bytes each: `a` at 0x1000, `b` at 0x1100, and so on.
struct Alphabet;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

impl Functions for Alphabet {
    fn function(&self, address: u64) -> Option<(u64, &str)> {
        let name = NAMES.get(address.checked_sub(0x1000)? as usize / 0x100)?;
        Some((address & !0xff, name))
    }

    fn file(&self, _: u64) -> Option<&str> {
        None
    }

    fn source(&self, _: u64) -> Option<String> {
        None
    }
}

/// Executes instructions of 4 bytes, each given as its address and the letter of its flow, such as `1000C`. Returns the stack at
/// each instruction as the letters of its functions.
fn stacks(target: &str, instructions: &str) -> Vec<String> {
    let instruction = |text: &str| {
        let (address, flow) = text.split_at(4);
        let flow = match flow {
            "C" => C,
            "J" => J,
            "N" => N,
            "NT" => NT,
            "R" => R,
            "T" => T,
            _ => S,
        };
        (u64::from_str_radix(address, 16).unwrap(), flow)
    };
    let instructions: Vec<_> = instructions.split(' ').map(instruction).collect();
    stacks_of(target, &instructions)
}

fn stacks_of(target: &str, instructions: &[(u64, Flow)]) -> Vec<String> {
    let mut unwinder = Unwinder::new(1, Some(target), Some(&Alphabet));
    let points: Vec<Point> = (instructions.iter())
        .map(|&(address, flow)| {
            let fetch = Reference { flow, ..Reference::new(address, 4, Kind::FetchOther) };
            let stack = unwinder.fetch(0, &fetch);
            Point { stack, address }
        })
        .collect();
    let stacks = unwinder.into_stacks();
    let name = |address| Alphabet.function(address).map_or("-", |(_, name)| name);
    let names = |point: &Point| {
        let addresses = stacks.addresses(*point, Some(&Alphabet));
        addresses.into_iter().map(name).collect()
    };
    points.iter().map(names).collect()
}

use Flow::{Call as C, Jump as J, Next as N, NotTaken as NT, Return as R, Taken as T, Trap as S};

#[test]
fn calls_and_returns() {
    let found = stacks("x86_64", "1000N 1004C 1100C 1200R 1104NT 1108T 1110R 1008C 1200R 100cN");
    assert_eq!(found, ["a", "a", "ab", "abc", "ab", "ab", "ab", "a", "ac", "a"]);
}

/// The instruction in a delay slot belongs to the caller of a call, and to the callee of a return. The return address is 8 bytes
/// after the call, or 12 if a structure is returned. The branch at 1020 annuls its delay slot.
#[test]
fn delay_slots() {
    let found = stacks(
        "sparc64",
        "1000C 1004N 1100N 1104C 1108N 1200R 1204N 110cR 1110N 100cJ 1020NT 1024N 1028N",
    );
    let expected = ["a", "a", "ab", "ab", "ab", "abc", "abc", "ab", "ab", "a", "a", "a", "a"];
    assert_eq!(found, expected);
}

/// A branch that is not taken and has its delay slot in the next block looks like an interruption after the slot.
#[test]
fn a_branch_at_the_end_of_a_page_is_no_signal() {
    let found = stacks("sparc64", "1000NT 1004N 1080N");
    assert_eq!(found, ["a", "a", "a"]);
}

#[test]
fn reading_the_program_counter_is_no_call() {
    assert_eq!(stacks("x86_64", "1000C 1004N"), ["a", "a"]);
    let found = stacks("sparc64", "1000C 1004N 1008N");
    assert_eq!(found, ["a", "a", "a"]);
}

/// `b` jumps to `c`, which returns to `a`. On SPARC V9 `b` calls `c`, and the delay slot restores the return address of `b`.
#[test]
fn tail_calls() {
    let found = stacks("x86_64", "1000C 1100J 1200R 1004N");
    assert_eq!(found, ["a", "ab", "abc", "a"]);
    let found = stacks("sparc64", "1000C 1004N 1100C 1104N 1200R 1204N 1008N");
    assert_eq!(found, ["a", "a", "ab", "ab", "abc", "abc", "a"]);
}

/// Unnamed code that jumps on at once, such as a procedure linkage table, is not on the stack.
#[test]
fn stubs() {
    let found = stacks("x86_64", "1000C 9000N 9004J 1100J 1140R 1004N");
    assert_eq!(found, ["a", "a-", "a-", "ab", "ab", "a"]);
}

/// `a` calls `setjmp`, here `b`, and then `c`, which calls `longjmp`, here `d`: `d` jumps to the instruction after the call of
/// `b`.
#[test]
fn longjmp() {
    let found = stacks("x86_64", "1000C 1100R 1004C 1200C 1300J 1004C 1200R 1008N");
    assert_eq!(found, ["a", "ab", "a", "ac", "acd", "a", "ac", "a"]);
}

/// A jump within a function leaves the stack as it is, even if its target is where an outer call returned.
#[test]
fn a_jump_in_a_recursive_function() {
    let found = stacks("x86_64", "1000C 1100C 1200R 1104C 1100J 1104N");
    assert_eq!(found, ["a", "ab", "abc", "ab", "abb", "abb"]);
}

/// An outer function catches an exception: the library returns to its handler, which does not follow a call.
#[test]
fn exceptions() {
    let found = stacks("x86_64", "1000C 1100C 1200C 1300R 1140N 1144R 1004N");
    assert_eq!(found, ["a", "ab", "abc", "abcd", "ab", "ab", "a"]);
}

/// A signal interrupts `b` between two instructions, or in a system call. Its handler `d` returns to `e`, whose system call
/// continues where the signal came.
#[test]
fn signals() {
    for (interrupted, goes_on) in [(N, 0x1104), (S, 0x1104), (S, 0x1100)] {
        let found = stacks_of(
            "x86_64",
            &[
                (0x1000, C),
                (0x1100, interrupted),
                (0x1300, R),
                (0x1400, S),
                (goes_on, N),
                (goes_on + 4, R),
                (0x1004, N),
            ],
        );
        let expected = ["a", "ab", "abd", "abde", "ab", "ab", "a"];
        assert_eq!(found, expected, "{interrupted:?} {goes_on:#x}");
    }
}

/// Instructions that repeat, such as x86-64 string instructions, and restarted system calls.
#[test]
fn instructions_that_execute_again() {
    let found = stacks("x86_64", "1000N 1000N 1004S 1004S");
    assert_eq!(found, ["a"; 4]);
}

/// Recursion 1,000 calls deep has three stacks: before it, in the first call, and in the calls within it.
#[test]
fn recursion_has_few_stacks() {
    let mut program = vec![(0x1000, C)];
    program.extend([(0x1100, C); 1000]);
    program.push((0x1100, NT));
    program.extend([(0x1104, R); 1001]);
    program.push((0x1004, N));
    let found = stacks_of("x86_64", &program);
    assert_eq!(found[..3], ["a", "ab", "abb"]);
    assert_eq!(found[999..1002], ["abb"; 3]);
    assert_eq!(found[2001..], ["abb", "ab", "a"]);
}

/// A program whose calls never return.
#[test]
fn frames_have_a_bound() {
    let mut unwinder = Unwinder::new(2, None, None);
    let mut fetch = |address, flow| {
        let fetch = Reference::new(address, 4, Kind::FetchOther);
        unwinder.fetch(1, &Reference { flow, ..fetch })
    };
    let call = |n: u64| 0x1000 + n % 2 * 0x100;
    (0..100_000).for_each(|n| _ = fetch(call(n), C));
    let stack = fetch(call(0), N);
    assert_eq!(fetch(call(0) + 4, N), stack);
    let stacks = unwinder.into_stacks();
    let calls = [(0x1000, 0x1100), (0x1100, 0x1000)].map(|(site, entry)| CallEdge { site, entry });
    assert_eq!(stacks.calls(stack), calls);
    assert_eq!(calls.map(|call| stacks.counts()[&call]), [50_000; 2]);
}

/// `a` calls `b`, which jumps to `c`: events of `c` also count for `b`; events of `b` do not count for `c`. The order of the
/// points does not change the rows.
#[test]
fn a_function_that_made_a_tail_call_is_a_caller() {
    let mut unwinder = Unwinder::new(1, Some("x86_64"), Some(&Alphabet));
    let mut stack = Stacks::EMPTY;
    for (address, flow) in [(0x1000, C), (0x1100, J)] {
        let fetch = Reference { flow, ..Reference::new(address, 4, Kind::FetchOther) };
        unwinder.fetch(0, &fetch);
    }
    for address in [0x1200, 0x1204] {
        stack = unwinder.fetch(0, &Reference::new(address, 4, Kind::FetchOther));
    }
    let stacks = unwinder.into_stacks();
    let points =
        [(0x1100, 3), (0x1200, 5)].map(|(address, events)| (Point { stack, address }, events));
    for points in [points, [points[1], points[0]]] {
        for _ in 0..8 {
            let exact = points.into_iter().collect();
            let rows = inclusive(&Taken::default(), &exact, Some(&Alphabet), &stacks);
            let found: Vec<_> = rows.iter().map(|row| (&*row.name, row.exact)).collect();
            assert_eq!(found, [("a", 8), ("b", 8), ("c", 5)]);
        }
    }
}
