//! Checks the statuses and values that negotiation and register calls return, and which function numbers the hypervisor serves.

use guest_abi::guest::Sun4v;
use guest_abi::{Hypercall, Registers, Trap};

use crate::contract::{EBADTRAP, EINVAL, ENOTSUPPORTED, EOK, GET, GROUP, Machine, SET, mask};
use crate::report::{Check, Report};
use crate::sun4v;

pub fn call(trap: Trap, registers: [u64; 6]) -> [u64; 6] {
    let mut registers = Registers::from(registers);
    Sun4v::trap(&sun4v(), trap, &mut registers);
    registers.to_array()
}

/// Negotiates a minor version of group 0x205, or releases the group if `minor` is `None`.
pub fn negotiate(minor: Option<u64>) -> [u64; 6] {
    let major = u64::from(minor.is_some());
    call(Trap::Core, [GROUP, major, minor.unwrap_or(0), 3, 4, 0])
}

const STATES: [Option<u64>; 3] = [None, Some(0), Some(1)];

pub fn run(report: &mut Report, machine: Machine) {
    before_negotiation(&mut report.check("no calls before negotiation"));
    negotiation(&mut report.check("negotiation"));
    registers(&mut report.check("all 90 registers"), machine);
    sweep(&mut report.check("calls as in the contract"), machine);
    numbers(&mut report.check("function numbers beyond the tables"));
    negotiate(None);
}

fn before_negotiation(check: &mut Check<'_>) {
    for function in [GET, SET] {
        let after = call(Trap::Fast, [0, 0x5a, 2, 3, 4, function]);
        check.same(function, after, [EBADTRAP, 0x5a, 2, 3, 4, function]);
    }
}

fn negotiation(check: &mut Check<'_>) {
    // Each row has the group, the major and minor version, the expected status, and the granted minor version.
    let asked = [
        (GROUP, 1, 0, EOK, 0),
        (GROUP, 1, 1, EOK, 1),
        (GROUP, 1, 2, EOK, 1),
        (GROUP, 1, u64::MAX, EOK, 1),
        (GROUP, 2, 0, ENOTSUPPORTED, 0),
        (GROUP, 1 << 32 | 1, 0, ENOTSUPPORTED, 0),
        (GROUP, u64::MAX, 0, ENOTSUPPORTED, 0),
        (GROUP | 1 << 32, 1, 0, EINVAL, 0),
        (0x206, 1, 0, EINVAL, 0),
        (2, 1, 0, EINVAL, 0),
        (u64::MAX, 1, 0, EINVAL, 0),
        (0, 1, 0, EOK, 0),
        (0, 0, 0, ENOTSUPPORTED, 0),
        (1, 1, 9, EOK, 0),
        // The guest releases group CORE, so that no later call can end the guest.
        (1, 0, 0, EOK, 0),
    ];
    for (group, major, minor, status, granted) in asked {
        let value = if status == EOK { granted } else { major };
        let expected = [status, value, minor, 3, 4, 0];
        check.case(Trap::Core, [group, major, minor, 3, 4, 0], expected);
    }
    for (asked, [major, minor]) in [(None, [0, 0]), (Some(0), [1, 0]), (Some(7), [1, 1])] {
        negotiate(asked);
        check.case(Trap::Core, [GROUP, 11, 12, 13, 14, 3], [EOK, major, minor, 13, 14, 3]);
    }
}

fn registers(check: &mut Check<'_>, machine: Machine) {
    negotiate(Some(1));
    for id in 0..90 {
        if machine.status(Some(1), id) != EOK {
            continue;
        }
        // The last value, 0, leaves each register as it is after a reset.
        for value in [u64::MAX, 0x1234_5678_9abc_def5, 0xaaaa_5555_aaaa_5555, 0] {
            let value = written(id, value);
            check.case(Trap::Fast, [id, value, 2, 3, 4, SET], [EOK, value, 2, 3, 4, SET]);
            let kept = value & mask(id);
            check.case(Trap::Fast, [id, 0x77, 2, 3, 4, GET], [EOK, kept, 2, 3, 4, GET]);
        }
    }
}

/// Returns the value to write. For the strand's PCR, clears the HOLDOV bits, because with them the PCR's new content would also depend on
/// its old OV bits. See [`sampled`](crate::sampled).
fn written(id: u64, value: u64) -> u64 {
    match id {
        0 => value & !(3 << 62),
        _ => value,
    }
}

fn sweep(check: &mut Check<'_>, machine: Machine) {
    let far =
        [127, 128, 255, 256, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 32 | 2, 1 << 63, u64::MAX];
    for round in 0..12 {
        for minor in STATES {
            negotiate(minor);
            for id in (0..160).chain(far).chain(far.map(|id| id + round)) {
                let status = machine.status(minor, id);
                let value = written(id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ round);
                let set = [id, value, round, 3, 4, SET];
                check.case(Trap::Fast, set, [status, value, round, 3, 4, SET]);
                let read = if status == EOK { value & mask(id) } else { !value };
                let get = [id, !value, round, 3, 4, GET];
                check.case(Trap::Fast, get, [status, read, round, 3, 4, GET]);
            }
        }
    }
}

/// The hypervisor compares all 64 bits of a function number. Its own functions are 0x84 and 0x100_0000_0084 of trap 0x80, and 0x84 of trap
/// 0xff, which return the function number and the sum of %o0 to %o5.
fn numbers(check: &mut Check<'_>) {
    negotiate(Some(1));
    let far = [
        1 << 12,
        1 << 16,
        1 << 32,
        1 << 32 | 0x84,
        1 << 32 | GET,
        1 << 40 | 0x83,
        1 << 40 | 0x84,
        1 << 40 | 0x85,
        1 << 63 | SET,
        u64::MAX,
    ];
    for function in (0..0x800).chain(far) {
        if function == GET || function == SET {
            continue;
        }
        let expected = match function {
            0x84 | 0x100_0000_0084 => [EOK, function, function + 0x63, 3, 4, function],
            _ => [EBADTRAP, 0x5a, 2, 3, 4, function],
        };
        check.case(Trap::Fast, [0, 0x5a, 2, 3, 4, function], expected);
    }
    for function in (4..0x800).chain(far) {
        let expected = match function {
            0x84 => [EOK, 0x84, 0x84 + GROUP + 10, 3, 4, 0x84],
            _ => [EBADTRAP, 1, 2, 3, 4, function],
        };
        check.case(Trap::Core, [GROUP, 1, 2, 3, 4, function], expected);
    }
}
