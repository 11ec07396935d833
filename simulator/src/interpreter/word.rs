//! The operations that instructions perform on 64-bit words, for several kinds of words.
//!
//! The machine executes instructions on numbers (`u64`). A proof executes the same code on terms, which can stand for more than one number.
//! If a word is a term, [`is_zero`](Word::is_zero) and [`is_negative`](Word::is_negative) choose which of two paths the execution takes. No
//! other method makes such a choice.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use super::trap::Trap;

/// A 64-bit word. Its operators behave like those of `u64`. Shift counts are below 64.
pub trait Word:
    Copy
    + Debug
    + Default
    + Eq
    + From<u64>
    + Not<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<Output = Self>
    + Shr<Output = Self>
{
    /// A word's low 8 bits, for %ccr and %asi.
    type Byte: Copy + Debug + Default + Eq;
    /// A word's low 32 bits, for %y.
    type Half: Copy + Debug + Default + Eq;

    /// Returns the low 8 bits.
    fn byte(self) -> Self::Byte;

    /// Returns the low 32 bits.
    fn half(self) -> Self::Half;

    /// Returns a word whose low 8 bits are `byte`, and whose other bits are 0.
    fn from_byte(byte: Self::Byte) -> Self;

    /// Returns a word whose low 32 bits are `half`, and whose other bits are 0.
    fn from_half(half: Self::Half) -> Self;

    /// Returns the low 32 bits as a word whose bits 63:32 are 0.
    #[inline(always)]
    #[must_use]
    fn low(self) -> Self {
        self & Self::from(0xffff_ffff)
    }

    /// Returns the sum modulo 2^64.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// Returns the difference modulo 2^64.
    #[must_use]
    fn minus(self, other: Self) -> Self;

    /// Returns the product modulo 2^64.
    #[must_use]
    fn times(self, other: Self) -> Self;

    /// Shifts to the right. The vacated bits become copies of the sign.
    #[must_use]
    fn shifted_with_sign(self, count: Self) -> Self;

    /// Returns 1 if the word is 0, and 0 otherwise.
    #[must_use]
    fn zero_bit(self) -> Self;

    /// Returns the number of bits that are 1.
    #[must_use]
    fn ones(self) -> Self;

    /// Returns the bytes in reverse order.
    #[must_use]
    fn reversed(self) -> Self;

    /// Returns the unsigned quotient. `by` is not 0.
    #[must_use]
    fn quotient(self, by: Self) -> Self;

    /// Returns the signed quotient modulo 2^64. `by` is not 0.
    #[must_use]
    fn signed_quotient(self, by: Self) -> Self;

    /// Divides the word by the low 32 bits of `by`, which are not 0. Both are signed numbers. Returns the quotient, limited to the range of
    /// signed 32-bit numbers, and a flag: 1 if the quotient was limited, 0 otherwise.
    fn quotient_of_32_bits(self, by: Self) -> [Self; 2];

    /// Returns `true` if the word is 0.
    fn is_zero(self) -> bool;

    /// Returns `true` if bit 63 is set.
    fn is_negative(self) -> bool;

    /// Returns the word's value as a number.
    ///
    /// # Errors
    /// The word is a term that stands for more than one number. The proof then fails, because its contract allows no execution that
    /// ends with the returned trap.
    fn known(self) -> Result<u64, Trap>;
}

impl Word for u64 {
    type Byte = u8;
    type Half = u32;

    #[inline(always)]
    fn byte(self) -> u8 {
        self as u8
    }

    #[inline(always)]
    fn half(self) -> u32 {
        self as u32
    }

    #[inline(always)]
    fn from_byte(byte: u8) -> Self {
        byte.into()
    }

    #[inline(always)]
    fn from_half(half: u32) -> Self {
        half.into()
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    #[inline(always)]
    fn shifted_with_sign(self, count: Self) -> Self {
        (self.cast_signed() >> count).cast_unsigned()
    }

    #[inline(always)]
    fn zero_bit(self) -> Self {
        (self == 0).into()
    }

    #[inline(always)]
    fn ones(self) -> Self {
        self.count_ones().into()
    }

    #[inline(always)]
    fn reversed(self) -> Self {
        self.swap_bytes()
    }

    #[inline(always)]
    fn quotient(self, by: Self) -> Self {
        self / by
    }

    #[inline(always)]
    fn signed_quotient(self, by: Self) -> Self {
        self.cast_signed().wrapping_div(by.cast_signed()).cast_unsigned()
    }

    #[inline(always)]
    fn quotient_of_32_bits(self, by: Self) -> [Self; 2] {
        let quotient = i128::from(self.cast_signed()) / i128::from((by as u32).cast_signed());
        let fits = quotient.clamp(i32::MIN.into(), i32::MAX.into());
        [(fits as i64).cast_unsigned(), (fits != quotient).into()]
    }

    #[inline(always)]
    fn is_zero(self) -> bool {
        self == 0
    }

    #[inline(always)]
    fn is_negative(self) -> bool {
        self.cast_signed() < 0
    }

    #[inline(always)]
    fn known(self) -> Result<u64, Trap> {
        Ok(self)
    }
}
