//! The operators that let the interpreter execute instructions on terms.

use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use simulator::interpreter::{Trap, Word};

use super::bits::Bits;
use super::{Node, Operation, Term, UNKNOWN};
use crate::paths;

impl Not for Term {
    type Output = Self;

    fn not(self) -> Self {
        if let Node::Not(word) = self.node() {
            return word;
        }
        Self::new(Node::Not(self), self.bits().inverse())
    }
}

impl BitAnd for Term {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self::binary(Operation::And, self, other)
    }
}

impl BitOr for Term {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::binary(Operation::Or, self, other)
    }
}

impl BitXor for Term {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self::binary(Operation::Xor, self, other)
    }
}

impl Shl for Term {
    type Output = Self;

    fn shl(self, count: Self) -> Self {
        Self::binary(Operation::Left, self, count)
    }
}

impl Shr for Term {
    type Output = Self;

    fn shr(self, count: Self) -> Self {
        Self::binary(Operation::Right, self, count)
    }
}

impl Word for Term {
    type Byte = Self;
    type Half = Self;

    fn byte(self) -> Self {
        self & Self::from(0xff)
    }

    fn half(self) -> Self {
        self & Self::from(0xffff_ffff)
    }

    fn from_byte(byte: Self) -> Self {
        byte
    }

    fn from_half(half: Self) -> Self {
        half
    }

    fn plus(self, other: Self) -> Self {
        Self::binary(Operation::Add, self, other)
    }

    fn minus(self, other: Self) -> Self {
        Self::binary(Operation::Sub, self, other)
    }

    fn times(self, other: Self) -> Self {
        Self::binary(Operation::Mul, self, other)
    }

    fn shifted_with_sign(self, count: Self) -> Self {
        Self::binary(Operation::RightWithSign, self, count)
    }

    fn zero_bit(self) -> Self {
        let bits = self.bits();
        if bits.ones != 0 {
            return Self::default();
        }
        // Two sums of the same word and different numbers differ, so their exclusive OR is not 0.
        if let Node::Binary(Operation::Xor, a, b) = self.node() {
            let ((a, first), (b, second)) = (a.sum(), b.sum());
            if a == b && first != second {
                return Self::default();
            }
        }
        Self::new(Node::Zero(self), Bits { zeros: !1, ones: 0 }.exact(bits))
    }

    fn ones(self) -> Self {
        match self.number() {
            Some(number) => Self::from(number.ones()),
            None => Self::new(Node::Ones(self), Bits::default()),
        }
    }

    fn reversed(self) -> Self {
        match self.number() {
            Some(number) => Self::from(number.reversed()),
            None => Self::new(Node::Reversed(self), Bits::default()),
        }
    }

    fn quotient(self, by: Self) -> Self {
        Self::binary(Operation::Quotient, self, by)
    }

    fn signed_quotient(self, by: Self) -> Self {
        Self::binary(Operation::SignedQuotient, self, by)
    }

    fn quotient_of_32_bits(self, by: Self) -> [Self; 2] {
        let overflows = Self::binary(Operation::Overflow32, self, by) & Self::from(1);
        [Self::binary(Operation::Quotient32, self, by), overflows]
    }

    fn is_zero(self) -> bool {
        paths::decide(self.zero_bit())
    }

    fn is_negative(self) -> bool {
        paths::decide(self >> Self::from(63))
    }

    fn known(self) -> Result<u64, Trap> {
        self.number().ok_or(UNKNOWN)
    }
}
