//! A fake hypervisor that expects a list of calls, and returns the listed result of each call.

use std::cell::RefCell;
use std::collections::VecDeque;

use guest_abi::{Hypercall, PerfCounters, Registers, Trap, Version};

/// A trap, with the values of %o0 to %o5 before the trap and after the trap.
pub(crate) type Step = (Trap, [u64; 6], [u64; 6]);

/// The value of registers that the contract leaves undefined after a call.
pub(crate) const JUNK: u64 = 0xdead_beef_dead_beef;

pub(crate) struct Script(RefCell<VecDeque<Step>>);

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self(RefCell::new(steps.into_iter().collect()))
    }

    /// Returns the counters of a guest that has negotiated version 1.1. The guest's later calls must be exactly those in `steps`.
    pub(crate) fn counters(steps: impl IntoIterator<Item = Step>) -> PerfCounters<Self> {
        let script = Self::new([granted(1, 1, 1)].into_iter().chain(steps));
        PerfCounters::negotiate(script, Version::V1_1).unwrap()
    }
}

impl Hypercall for Script {
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        let next = self.0.borrow_mut().pop_front();
        let (expected, before, after) = next.expect("a call beyond the script");
        assert_eq!((trap, registers.to_array()), (expected, before));
        *registers = after.into();
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.0.borrow().is_empty(), "calls of the script were not made");
        }
    }
}

pub(crate) fn core(before: [u64; 6], after: [u64; 6]) -> Step {
    (Trap::Core, before, after)
}

/// Returns the registers after a call with this status in %o0 and `value` in %o1.
fn answer(status: u64, value: u64) -> [u64; 6] {
    [status, value, JUNK, JUNK, JUNK, JUNK]
}

/// Expects `api_set_version(0x205, major, minor)`, and returns EOK and `actual`.
pub(crate) fn granted(major: u64, minor: u64, actual: u64) -> Step {
    core([0x205, major, minor, 0, 0, 0], answer(0, actual))
}

/// Expects `api_set_version(0x205, major, minor)`, and refuses it with `status`.
pub(crate) fn not_granted(major: u64, minor: u64, status: u64) -> Step {
    core([0x205, major, minor, 0, 0, 0], answer(status, JUNK))
}

/// Expects a `get` of this register, and returns `value`.
pub(crate) fn get(register: u64, value: u64) -> Step {
    (Trap::Fast, [register, 0, 0, 0, 0, 0x106], answer(0, value))
}

/// Expects a `get` of this register, and refuses it with `status`.
pub(crate) fn get_fails(register: u64, status: u64) -> Step {
    (Trap::Fast, [register, 0, 0, 0, 0, 0x106], answer(status, JUNK))
}

/// Expects a `get` of each of these registers, and returns the values.
pub(crate) fn gets(values: &[(u64, u64)]) -> Vec<Step> {
    values.iter().map(|(register, value)| get(*register, *value)).collect()
}

/// Expects a `set` of this register to `value`.
pub(crate) fn set(register: u64, value: u64) -> Step {
    set_fails(register, value, 0)
}

/// Expects a `set` of this register, and refuses it with `status`.
pub(crate) fn set_fails(register: u64, value: u64, status: u64) -> Step {
    (Trap::Fast, [register, value, 0, 0, 0, 0x107], answer(status, JUNK))
}
