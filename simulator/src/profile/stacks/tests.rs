//! Sequences of instructions, written by hand.

use super::*;
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

/// Executes instructions of 4 bytes each, by address and flow. Returns the stack at each of them: the letters of the functions.
fn stacks(target: &str, instructions: &[(u64, Flow)]) -> Vec<String> {
    let mut unwinder = Unwinder::new(1, Some(target), Some(&Alphabet));
    let points: Vec<Point> = (instructions.iter())
        .map(|&(address, flow)| {
            let fetch = Reference {
                flow,
                ..Reference::new(address, 4, Kind::FetchOther)
            };
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
    let found = stacks(
        "x86_64",
        &[
            (0x1000, N),
            (0x1004, C),
            (0x1100, C),
            (0x1200, R),
            (0x1104, NT),
            (0x1108, T),
            (0x1110, R),
            (0x1008, C),
            (0x1200, R),
            (0x100c, N),
        ],
    );
    assert_eq!(
        found,
        ["a", "a", "ab", "abc", "ab", "ab", "ab", "a", "ac", "a"]
    );
}

/// The instruction in the delay slot belongs to the caller, or to the callee that returns, and the return address is 8 bytes
/// behind the call, or 12 if a structure is returned.
#[test]
fn delay_slots() {
    let found = stacks(
        "sparc64",
        &[
            (0x1000, C),
            (0x1004, N),
            (0x1100, N),
            (0x1104, C),
            (0x1108, N),
            (0x1200, R),
            (0x1204, N),
            (0x110c, R),
            (0x1110, N),
            (0x100c, J),
            // It annuls its delay slot.
            (0x1020, NT),
            (0x1024, N),
            (0x1028, N),
        ],
    );
    let expected = [
        "a", "a", "ab", "ab", "ab", "abc", "abc", "ab", "ab", "a", "a", "a", "a",
    ];
    assert_eq!(found, expected);
}

/// A branch that is not taken, and whose delay slot is in the next block, looks as if it went on behind the slot.
#[test]
fn a_branch_at_the_end_of_a_page_is_no_signal() {
    let found = stacks("sparc64", &[(0x1000, NT), (0x1004, N), (0x1080, N)]);
    assert_eq!(found, ["a", "a", "a"]);
}

#[test]
fn reading_the_program_counter_is_no_call() {
    assert_eq!(stacks("x86_64", &[(0x1000, C), (0x1004, N)]), ["a", "a"]);
    let found = stacks("sparc64", &[(0x1000, C), (0x1004, N), (0x1008, N)]);
    assert_eq!(found, ["a", "a", "a"]);
}

/// `b` jumps to `c`, which returns to `a`. On SPARC V9 it calls, and its delay slot gives `c` the own return address.
#[test]
fn tail_calls() {
    let found = stacks(
        "x86_64",
        &[(0x1000, C), (0x1100, J), (0x1200, R), (0x1004, N)],
    );
    assert_eq!(found, ["a", "ab", "abc", "a"]);
    let found = stacks(
        "sparc64",
        &[
            (0x1000, C),
            (0x1004, N),
            (0x1100, C),
            (0x1104, N),
            (0x1200, R),
            (0x1204, N),
            (0x1008, N),
        ],
    );
    assert_eq!(found, ["a", "a", "ab", "ab", "abc", "abc", "a"]);
}

/// What has no name and jumps on at once, as a procedure linkage table does, is not on the stack.
#[test]
fn stubs() {
    let found = stacks(
        "x86_64",
        &[
            (0x1000, C),
            (0x9000, N),
            (0x9004, J),
            (0x1100, J),
            (0x1140, R),
            (0x1004, N),
        ],
    );
    assert_eq!(found, ["a", "a-", "a-", "ab", "ab", "a"]);
}

/// `a` calls `setjmp`, here `b`, and then `c`, which calls `longjmp`, here `d`: it jumps behind the call of `b`.
#[test]
fn longjmp() {
    let found = stacks(
        "x86_64",
        &[
            (0x1000, C),
            (0x1100, R),
            (0x1004, C),
            (0x1200, C),
            (0x1300, J),
            (0x1004, C),
            (0x1200, R),
            (0x1008, N),
        ],
    );
    assert_eq!(found, ["a", "ab", "a", "ac", "acd", "a", "ac", "a"]);
}

/// A jump within a function is none of these, even if it is to where a call has returned in an outer call.
#[test]
fn a_jump_in_a_recursive_function() {
    let found = stacks(
        "x86_64",
        &[
            (0x1000, C),
            (0x1100, C),
            (0x1200, R),
            (0x1104, C),
            (0x1100, J),
            (0x1104, N),
        ],
    );
    assert_eq!(found, ["a", "ab", "abc", "ab", "abb", "abb"]);
}

/// An exception is caught by a function further out: the library returns to its handler, which no call precedes.
#[test]
fn exceptions() {
    let found = stacks(
        "x86_64",
        &[
            (0x1000, C),
            (0x1100, C),
            (0x1200, C),
            (0x1300, R),
            (0x1140, N),
            (0x1144, R),
            (0x1004, N),
        ],
    );
    assert_eq!(found, ["a", "ab", "abc", "abcd", "ab", "ab", "a"]);
}

/// A signal interrupts `b` between two instructions, or in a system call. Its handler `d` returns to `e`, which makes a system call
/// that goes on where the signal came.
#[test]
fn signals() {
    for (interrupted, goes_on) in [(N, 0x1104), (S, 0x1104), (S, 0x1100)] {
        let found = stacks(
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

/// Instructions that repeat themselves, as those of x86-64 for strings do, and system calls that are made anew.
#[test]
fn instructions_that_execute_again() {
    let found = stacks(
        "x86_64",
        &[(0x1000, N), (0x1000, N), (0x1004, S), (0x1004, S)],
    );
    assert_eq!(found, ["a"; 4]);
}

/// Recursion 1,000 calls deep has three stacks: before it, in the first call, and in those within it.
#[test]
fn recursion_has_few_stacks() {
    let mut program = vec![(0x1000, C)];
    program.extend([(0x1100, C); 1000]);
    program.push((0x1100, NT));
    program.extend([(0x1104, R); 1001]);
    program.push((0x1004, N));
    let found = stacks("x86_64", &program);
    assert_eq!(found[..3], ["a", "ab", "abb"]);
    assert_eq!(found[999..1002], ["abb"; 3]);
    assert_eq!(found[2001..], ["abb", "ab", "a"]);
}

/// A program whose calls never return, and its counts.
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
    let calls = [(0x1000, 0x1100), (0x1100, 0x1000)].map(|(site, entry)| Call { site, entry });
    assert_eq!(stacks.calls(stack), calls);
    assert_eq!(calls.map(|call| stacks.counts()[&call]), [50_000; 2]);
}
