use super::*;
use crate::analysis::profile::guest::Samples;
use crate::analysis::profile::rows::inclusive;
use crate::recording::{Flow, Kind, Reference};

/// The function `a` is at 0x1000, `b` at 0x1100, and so on. Each function has 0x100 bytes.
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

/// Executes 4-byte instructions. Returns the stack at each instruction, as a string of the letters of its functions.
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

const FLOWS: [(&str, Flow); 7] =
    [("C", C), ("J", J), ("N", N), ("NT", NT), ("R", R), ("T", T), ("S", S)];

/// An instruction is written as its address, the letters of its flow, `=`, and the expected stack.
#[test]
fn stacks_of_short_programs() {
    for (target, program) in [
        // Calls and returns.
        (
            "x86_64",
            "1000N=a 1004C=a 1100C=ab 1200R=abc 1104NT=ab 1108T=ab 1110R=ab 1008C=a 1200R=ac 100cN=a",
        ),
        // In the delay slot of a call, the stack is still the caller's stack. In the delay slot of a return, the stack is still
        // the callee's stack. The return address is 8 bytes after the call, or 12 bytes after it if the callee returns a
        // structure. The branch at 1020 annuls its delay slot.
        (
            "sparc64",
            "1000C=a 1004N=a 1100N=ab 1104C=ab 1108N=ab 1200R=abc 1204N=abc 110cR=ab 1110N=ab 100cJ=a 1020NT=a 1024N=a 1028N=a",
        ),
        // A branch is not taken, and its delay slot is in the next block. It looks as if a signal had interrupted the thread
        // after the slot, but there is no signal.
        ("sparc64", "1000NT=a 1004N=a 1080N=a"),
        // A call to the next instruction is not a real call: it only reads the program counter.
        ("x86_64", "1000C=a 1004N=a"),
        ("sparc64", "1000C=a 1004N=a 1008N=a"),
        // A tail call: `b` jumps to `c`, and `c` returns to `a`.
        ("x86_64", "1000C=a 1100J=ab 1200R=abc 1004N=a"),
        // `b` calls `c`. The delay slot of this call restores `b`'s return address, so `c` returns to `a`.
        ("sparc64", "1000C=a 1004N=a 1100C=ab 1104N=ab 1200R=abc 1204N=abc 1008N=a"),
        // Code without a name that ends in a jump, such as a procedure linkage table entry, is not on the stack.
        ("x86_64", "1000C=a 9000N=a- 9004J=a- 1100J=ab 1140R=ab 1004N=a"),
        // `a` calls `setjmp` (here `b`), and then `c`. `c` calls `longjmp` (here `d`), which jumps to the instruction after the
        // call to `b`.
        ("x86_64", "1000C=a 1100R=ab 1004C=a 1200C=ac 1300J=acd 1004C=a 1200R=ac 1008N=a"),
        // A jump within a function does not change the stack, even if it goes to the return address of an outer call.
        ("x86_64", "1000C=a 1100C=ab 1200R=abc 1104C=ab 1100J=abb 1104N=abb"),
        // An outer function catches an exception. The library returns to that function's handler, which does not follow a call.
        ("x86_64", "1000C=a 1100C=ab 1200C=abc 1300R=abcd 1140N=ab 1144R=ab 1004N=a"),
        // A signal interrupts `b` between two instructions, or in a system call. The signal's handler `d` returns to `e`. A
        // system call in `e` returns to the instruction at which the signal arrived.
        ("x86_64", "1000C=a 1100N=ab 1300R=abd 1400S=abde 1104N=ab 1108R=ab 1004N=a"),
        ("x86_64", "1000C=a 1100S=ab 1300R=abd 1400S=abde 1104N=ab 1108R=ab 1004N=a"),
        ("x86_64", "1000C=a 1100S=ab 1300R=abd 1400S=abde 1100N=ab 1104R=ab 1004N=a"),
        // Some instructions execute repeatedly: x86-64 string instructions, and restarted system calls.
        ("x86_64", "1000N=a 1000N=a 1004S=a 1004S=a"),
    ] {
        let parsed = program.split(' ').map(|text| {
            let (instruction, stack) = text.split_once('=').unwrap();
            let (address, flow) = instruction.split_at(4);
            let mut flows = FLOWS.iter().filter(|(letters, _)| *letters == flow);
            ((u64::from_str_radix(address, 16).unwrap(), flows.next().unwrap().1), stack)
        });
        let (instructions, expected): (Vec<_>, Vec<_>) = parsed.unzip();
        assert_eq!(stacks_of(target, &instructions), expected, "{target}: {program}");
    }
}

/// A recursion of 1,000 calls has only three stacks: one before the recursion, one in the first call, and one in all further
/// calls.
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

/// The calls of this program never return.
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

/// `a` calls `b`, and `b` jumps to `c`. `c`'s events also count for `b`, but `b`'s events do not count for `c`. The rows do not
/// depend on the order of the points.
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
            let rows = inclusive(&Samples::default(), &exact, Some(&Alphabet), &stacks);
            let found: Vec<_> = rows.iter().map(|row| (&*row.name, row.exact)).collect();
            assert_eq!(found, [("a", 8), ("b", 8), ("c", 5)]);
        }
    }
}
