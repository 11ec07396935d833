//! Calls and changes, at random, most of them near to what means something.

use guest_abi::trap::{API_GET_VERSION, API_SET_VERSION, VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{Registers, Trap};

use crate::control::Control;

/// xorshift64*
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 32) % limit
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn control(&mut self) -> Control {
        match self.below(8) {
            0..=3 => Control::Caller(self.below(3), self.below(2)),
            4 => Control::Fault(self.below(16)),
            5 => Control::Mend(self.below(16)),
            6 => Control::Reset(self.below(3)),
            _ => Control::HubCycles(self.below(4) / 3 * 100),
        }
    }

    pub(crate) fn call(&mut self) -> (Trap, Registers) {
        let others = [self.next(), self.next(), self.next(), self.next()];
        let [o1, o2, o3, o4] = others;
        let (trap, function, arguments) = match self.below(16) {
            0 | 1 => (Trap::Core, API_SET_VERSION, self.version(o3, o4)),
            2 => (Trap::Core, API_GET_VERSION, [self.group(), o1, o2, o3, o4]),
            3 => (Trap::Fast, self.next(), [self.id(), o1, o2, o3, o4]),
            // Neither cons_putchar nor exit.
            4 => (Trap::Core, self.next() | 4, [self.id(), o1, o2, o3, o4]),
            5..=9 => (Trap::Fast, VFALLS_SET_PERFREG, [self.id(), o1, o2, o3, o4]),
            _ => (Trap::Fast, VFALLS_GET_PERFREG, [self.id(), o1, o2, o3, o4]),
        };
        (trap, Registers::call(function, arguments))
    }

    fn id(&mut self) -> u64 {
        match self.below(16) {
            0 => self.next(),
            1 => self.below(92) | 1 << 32,
            _ => self.below(92),
        }
    }

    fn group(&mut self) -> u64 {
        match self.below(8) {
            0 => self.next(),
            1 => self.below(3),
            _ => 0x205,
        }
    }

    fn version(&mut self, o3: u64, o4: u64) -> [u64; 5] {
        let major = match self.below(16) {
            0 => self.next(),
            1 => 0,
            2 => 2,
            _ => 1,
        };
        let minor = match self.below(8) {
            0 => self.next(),
            minor => minor % 3,
        };
        [self.group(), major, minor, o3, o4]
    }
}
