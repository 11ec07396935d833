//! Calls as real operating systems make them. The service and the reference model must give the same results. The callers are illumos and
//! Solaris at boot, `busstat`, the CPC back end, a later back end that tries newer groups first, and Linux.
//!
//! Each line is one call: its trap, its function, %o0 to %o4 before the call, and %o0 to %o4 after the call. %o5, and the registers that
//! the call does not use, are preserved; illumos keeps a pointer in %o4.

mod boot;
mod busstat;
mod cpc;

use tests::comparison::{Comparison, board};
use tests::leak;
use tests::oracle::{Guest, Machine, Trap, World};

const SET_VERSION: u64 = 0;
const GET_VERSION: u64 = 3;
const GETPERF: u64 = 0x106;
const SETPERF: u64 = 0x107;

/// A pointer that the kernel keeps in %o4 across the trap.
const P: u64 = 0x2a1_0012_3450;

/// The value of every register that the call does not use.
const X: u64 = 0xdead_beef_dead_beef;

type Line = (Trap, u64, [u64; 5], [u64; 5]);

/// Returns the line of a negotiation. `answer` is the granted minor version, or the status.
const fn set_version(group: u64, major: u64, minor: u64, answer: Result<u64, u64>) -> Line {
    let after = match answer {
        Ok(agreed) => [0, agreed, minor, X, P],
        Err(status) => [status, major, minor, X, P],
    };
    let before = [group, major, minor, X, P];
    (Trap::Core, SET_VERSION, before, after)
}

/// Returns the line of a version query. `answer` is the major and minor version, or the status.
const fn get_version(group: u64, answer: Result<[u64; 2], u64>) -> Line {
    let after = match answer {
        Ok([major, minor]) => [0, major, minor, X, P],
        Err(status) => [status, X, X, X, P],
    };
    (Trap::Core, GET_VERSION, [group, X, X, X, P], after)
}

/// Returns a call that reads a register, with the expected result. `answer` is the value, or the status if the call fails.
const fn get(id: u64, answer: Result<u64, u64>) -> Line {
    let after = match answer {
        Ok(value) => [0, value, X, X, P],
        Err(status) => [status, X, X, X, P],
    };
    (Trap::Fast, GETPERF, [id, X, X, X, P], after)
}

/// Returns a call that writes a register, with the expected status.
const fn set(id: u64, value: u64, status: u64) -> Line {
    let after = [status, value, X, X, P];
    (Trap::Fast, SETPERF, [id, value, X, X, P], after)
}

/// Starts a guest in the reference model and on the machine under test.
fn start(machine: Machine, nodes: usize, guest: Guest) -> Comparison<'static> {
    let world = World::new(machine, nodes, &[], vec![guest]).unwrap();
    let board = leak(board(&world));
    Comparison::new(world, board)
}

/// [Starts](start) a guest, which negotiates version 1.0 of group 0x205 on a strand.
fn negotiated(machine: Machine, nodes: usize, guest: Guest, on: u16) -> Comparison<'static> {
    let mut both = start(machine, nodes, guest);
    play(&mut both, on, &[set_version(0x205, 1, 0, Ok(0))]);
    both
}

/// Makes the calls in the reference model and on the machine under test, and asserts the results.
fn play(both: &mut Comparison, strand: u16, lines: &[Line]) {
    for (number, (trap, function, arguments, expected)) in lines.iter().enumerate() {
        let [o0, o1, o2, o3, o4] = *arguments;
        let out = both.call(strand, *trap, [o0, o1, o2, o3, o4, *function]);
        let [o0, o1, o2, o3, o4] = *expected;
        let expected = [o0, o1, o2, o3, o4, *function];
        assert_eq!(out.regs, expected, "line {number}: {arguments:#x?}");
        assert!(!out.exited);
    }
}
