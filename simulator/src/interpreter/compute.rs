//! Arithmetic and logical instructions (UltraSPARC Architecture 2007, chapter 7).

use super::instruction::{Operation, Shift};
use super::trap::Trap;

/// The condition codes. %ccr holds the 32-bit codes in bits 3:0 and the 64-bit codes in bits 7:4.
pub(super) const CARRY: u8 = 1 << 0;
const OVERFLOW: u8 = 1 << 1;
const ZERO: u8 = 1 << 2;
const NEGATIVE: u8 = 1 << 3;
/// The position of the 64-bit codes in %ccr.
pub(super) const XCC: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Computed {
    pub value: u64,
    pub codes: u8,
    pub y: u32,
}

/// Computes the result of an operation on `a`, `b`, %y and the condition codes. Fails for a
/// division by zero, and for a tag overflow that traps.
#[inline(always)]
pub(super) fn compute(
    operation: Operation,
    a: u64,
    b: u64,
    y: u32,
    codes: u8,
) -> Result<Computed, Trap> {
    let carry = u64::from(codes & CARRY);
    let plain = |value| Ok(computed(value, sign(value), y));
    let sum = |value| Ok(computed(value, added(a, b, value), y));
    let difference = |value| Ok(computed(value, subtracted(a, b, value), y));
    match operation {
        Operation::Add => sum(a.wrapping_add(b)),
        Operation::Addc => sum(a.wrapping_add(b).wrapping_add(carry)),
        Operation::Sub => difference(a.wrapping_sub(b)),
        Operation::Subc => difference(a.wrapping_sub(b).wrapping_sub(carry)),
        Operation::And => plain(a & b),
        Operation::Or => plain(a | b),
        Operation::Xor => plain(a ^ b),
        Operation::Andn => plain(a & !b),
        Operation::Orn => plain(a | !b),
        Operation::Xnor => plain(!(a ^ b)),
        Operation::Popc => plain(b.count_ones().into()),
        Operation::Mulx => plain(a.wrapping_mul(b)),
        Operation::Umul => {
            let value = u64::from(a as u32) * u64::from(b as u32);
            Ok(computed(value, sign(value), (value >> 32) as u32))
        }
        Operation::Smul => {
            let value = (word(a) * word(b)).cast_unsigned();
            Ok(computed(value, sign(value), (value >> 32) as u32))
        }
        Operation::Udivx => plain(a.checked_div(b).ok_or(Trap::DIVISION_BY_ZERO)?),
        Operation::Sdivx => {
            let (a, b) = (a.cast_signed(), b.cast_signed());
            if b == 0 {
                return Err(Trap::DIVISION_BY_ZERO);
            }
            plain(a.wrapping_div(b).cast_unsigned())
        }
        Operation::Udiv => {
            let dividend = dividend(y, a);
            let quotient = dividend.checked_div(u64::from(b as u32));
            let quotient = quotient.ok_or(Trap::DIVISION_BY_ZERO)?;
            let value = quotient.min(u32::MAX.into());
            Ok(computed(value, divided(value, value != quotient), y))
        }
        Operation::Sdiv => {
            let dividend = i128::from(dividend(y, a).cast_signed());
            let quotient = dividend.checked_div(word(b).into());
            let quotient = quotient.ok_or(Trap::DIVISION_BY_ZERO)?;
            let fits = quotient.clamp(i32::MIN.into(), i32::MAX.into());
            let value = (fits as i64).cast_unsigned();
            Ok(computed(value, divided(value, fits != quotient), y))
        }
        Operation::Tadd | Operation::TaddTv => {
            let value = a.wrapping_add(b);
            tagged(operation, a, b, computed(value, added(a, b, value), y))
        }
        Operation::Tsub | Operation::TsubTv => {
            let value = a.wrapping_sub(b);
            tagged(operation, a, b, computed(value, subtracted(a, b, value), y))
        }
        Operation::Muls => {
            let top = u32::from((codes & NEGATIVE != 0) != (codes & OVERFLOW != 0)) << 31;
            let partial = u64::from(top | (a as u32 >> 1));
            let multiplicand = if y & 1 == 0 { 0 } else { u64::from(b as u32) };
            let value = partial + multiplicand;
            let y = ((a as u32) << 31) | (y >> 1);
            Ok(computed(value, added(partial, multiplicand, value), y))
        }
    }
}

/// Shifts a value. An extended shift uses the low six bits of `count`, and any other shift the low five bits.
#[inline(always)]
pub(super) fn shift(shift: Shift, extended: bool, value: u64, count: u64) -> u64 {
    let count = count & if extended { 63 } else { 31 };
    match (shift, extended) {
        (Shift::Left, _) => value << count,
        (Shift::Right, true) => value >> count,
        (Shift::Right, false) => u64::from(value as u32) >> count,
        (Shift::RightArithmetic, true) => (value.cast_signed() >> count).cast_unsigned(),
        (Shift::RightArithmetic, false) => (word(value) >> count).cast_unsigned(),
    }
}

const fn computed(value: u64, codes: u8, y: u32) -> Computed {
    Computed { value, codes, y }
}

/// Returns the dividend of a 32-bit division: %y is its high word, and `a` has its low word.
fn dividend(y: u32, a: u64) -> u64 {
    (u64::from(y) << 32) | u64::from(a as u32)
}

/// Returns the low 32 bits as a signed number.
const fn word(value: u64) -> i64 {
    (value as u32).cast_signed() as i64
}

/// Returns `code` if a bit of a value is set, and 0 otherwise.
#[inline(always)]
const fn bit(value: u64, bit: u32, code: u8) -> u8 {
    (value >> bit & 1) as u8 * code
}

#[inline(always)]
const fn when(condition: bool, code: u8) -> u8 {
    condition as u8 * code
}

/// Returns the codes N and Z of a value.
#[inline(always)]
const fn sign(value: u64) -> u8 {
    let icc = bit(value, 31, NEGATIVE) | when(value as u32 == 0, ZERO);
    let xcc = bit(value, 63, NEGATIVE) | when(value == 0, ZERO);
    (xcc << XCC) | icc
}

/// Returns the codes V and C for 32 and 64 bits: bits 31 and 63 of `overflows` and of `carries`.
#[inline(always)]
const fn carried(overflows: u64, carries: u64) -> u8 {
    let icc = bit(overflows, 31, OVERFLOW) | bit(carries, 31, CARRY);
    let xcc = bit(overflows, 63, OVERFLOW) | bit(carries, 63, CARRY);
    (xcc << XCC) | icc
}

#[inline(always)]
const fn added(a: u64, b: u64, sum: u64) -> u8 {
    sign(sum) | carried((a ^ sum) & (b ^ sum), (a & b) | ((a | b) & !sum))
}

#[inline(always)]
const fn subtracted(a: u64, b: u64, difference: u64) -> u8 {
    let borrows = (!a & b) | ((!a | b) & difference);
    sign(difference) | carried((a ^ b) & (a ^ difference), borrows)
}

/// Returns the codes of a 32-bit division. V is set only in the 32-bit codes.
const fn divided(value: u64, overflows: bool) -> u8 {
    sign(value) | when(overflows, OVERFLOW)
}

/// Sets the code V if a tag is not 0. A value's tag is its low two bits. TADDccTV and TSUBccTV trap if V is set.
fn tagged(operation: Operation, a: u64, b: u64, plain: Computed) -> Result<Computed, Trap> {
    let overflow = (a | b) & 3 != 0;
    let codes = plain.codes | when(overflow, OVERFLOW);
    let traps = matches!(operation, Operation::TaddTv | Operation::TsubTv);
    if traps && codes & OVERFLOW != 0 {
        return Err(Trap::TAG_OVERFLOW);
    }
    Ok(Computed { codes, ..plain })
}
