//! The known bits of a term.

use super::Operation;

/// The known bits of a word: the bits that are 0, and the bits that are 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bits {
    pub(super) zeros: u64,
    pub(super) ones: u64,
}

impl Bits {
    pub(super) fn of(number: u64) -> Self {
        Self { zeros: !number, ones: number }
    }

    pub(super) fn inverse(self) -> Self {
        Self { zeros: self.ones, ones: self.zeros }
    }

    pub(super) fn common(self, other: Self) -> Self {
        Self { zeros: self.zeros & other.zeros, ones: self.ones & other.ones }
    }

    /// Returns the known bits of the sum of two words and a carry.
    pub(super) fn sum(self, other: Self, carry: u64) -> Self {
        let most = (!self.zeros).wrapping_add(!other.zeros).wrapping_add(carry);
        let least = self.ones.wrapping_add(other.ones).wrapping_add(carry);
        let no_carry = !(most ^ self.zeros ^ other.zeros);
        let carried = least ^ self.ones ^ other.ones;
        let known = (self.zeros | self.ones) & (other.zeros | other.ones) & (no_carry | carried);
        Self { zeros: !most & known, ones: least & known }
    }

    /// Shifts `number` right by an unknown count of at most `most`. Returns the value of bit 0 of the result, if all counts agree on it.
    pub(super) fn of_shifted(number: u64, most: u64) -> Self {
        let reached = !u64::MAX.checked_shl(most as u32 + 1).filter(|_| most < 63).unwrap_or(0);
        match number & reached {
            0 => Self { zeros: 1, ones: 0 },
            all if all == reached => Self { zeros: 0, ones: 1 },
            _ => Self::default(),
        }
    }

    pub(super) fn binary(operation: Operation, a: Self, b: Self, count: Option<u64>) -> Self {
        match (operation, count) {
            (Operation::And, _) => Self { zeros: a.zeros | b.zeros, ones: a.ones & b.ones },
            (Operation::Or, _) => Self { zeros: a.zeros & b.zeros, ones: a.ones | b.ones },
            (Operation::Xor, _) => Self {
                zeros: a.zeros & b.zeros | a.ones & b.ones,
                ones: a.zeros & b.ones | a.ones & b.zeros,
            },
            (Operation::Add, _) => a.sum(b, 0),
            (Operation::Sub, _) => a.sum(b.inverse(), 1),
            (Operation::Left, Some(count)) => {
                Self { zeros: a.zeros << count | ((1 << count) - 1), ones: a.ones << count }
            }
            (Operation::Right, Some(count)) => {
                Self { zeros: a.zeros >> count | !(u64::MAX >> count), ones: a.ones >> count }
            }
            _ => Self::default(),
        }
    }

    /// Returns the known bits of a term [`Zero`](super::Node::Zero). `bits` are the known bits of the term's operand.
    pub(super) fn exact(self, bits: Self) -> Self {
        match bits.zeros {
            u64::MAX => Self::of(1),
            _ => self,
        }
    }
}
