//! What the operating systems of those machines do, call by call, and what they must find: illumos and Solaris at boot,
//! `busstat`, the CPC back end, a later back end that tries newer groups first, Linux.
//!
//! One call a line: trap, function, %o0 to %o4, then %o0 to %o4 afterwards. %o5 and what a call has no business with
//! keep what the guest had in them; illumos keeps a pointer in %o4.

mod boot;
mod busstat;
mod cpc;

use tests::machine::MachineUnderTest;
use tests::oracle::Trap;

const SET_VERSION: u64 = 0;
const GET_VERSION: u64 = 3;
const GETPERF: u64 = 0x106;
const SETPERF: u64 = 0x107;

/// A pointer that the kernel keeps in %o4 across the trap.
const P: u64 = 0x2a1_0012_3450;

/// What a register holds that the call does not use.
const X: u64 = 0xdead_beef_dead_beef;

type Line = (Trap, u64, [u64; 5], [u64; 5]);

fn play(machine: &MachineUnderTest, strand: u16, lines: &[Line]) {
    for (number, (trap, function, arguments, expected)) in lines.iter().enumerate() {
        let [o0, o1, o2, o3, o4] = *arguments;
        let (registers, exited) = machine.trap(strand, *trap, [o0, o1, o2, o3, o4, *function]);
        let [o0, o1, o2, o3, o4] = *expected;
        let expected = [o0, o1, o2, o3, o4, *function];
        assert_eq!(registers, expected, "line {number}: {arguments:#x?}");
        assert!(!exited);
    }
}
