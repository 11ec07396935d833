//! Arithmetic and logical instructions (UltraSPARC Architecture 2007, chapter 7).

use super::instruction::{Operation, Shift};
use super::trap::Trap;
use super::word::Word;

/// The condition codes. %ccr holds the 32-bit codes in bits 3:0 and the 64-bit codes in bits 7:4.
const CARRY: u32 = 0;
const OVERFLOW: u32 = 1;
const ZERO: u32 = 2;
const NEGATIVE: u32 = 3;
/// The position of the 64-bit codes in %ccr.
pub(super) const XCC: u32 = 4;

/// The low 32 bits of a word.
const LOW: u64 = 0xffff_ffff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Computed<W: Word> {
    pub value: W,
    pub codes: W::Byte,
    pub y: W::Half,
}

/// Computes the result of an operation on `a`, `b`, %y and the condition codes. Fails if the operation divides by zero or traps on a tag
/// overflow.
#[inline(always)]
pub(super) fn compute<W: Word>(
    operation: Operation,
    a: W,
    b: W,
    y: W::Half,
    codes: W::Byte,
) -> Result<Computed<W>, Trap> {
    let carry = || bit(W::from_byte(codes), CARRY);
    let plain = |value| Ok(computed(value, sign(value), y));
    let sum = |value| Ok(computed(value, added(a, b, value), y));
    let difference = |value| Ok(computed(value, subtracted(a, b, value), y));
    match operation {
        Operation::Add => sum(a.plus(b)),
        Operation::Addc => sum(a.plus(b).plus(carry())),
        Operation::Sub => difference(a.minus(b)),
        Operation::Subc => difference(a.minus(b).minus(carry())),
        Operation::And => plain(a & b),
        Operation::Or => plain(a | b),
        Operation::Xor => plain(a ^ b),
        Operation::Andn => plain(a & !b),
        Operation::Orn => plain(a | !b),
        Operation::Xnor => plain(!(a ^ b)),
        Operation::Popc => plain(b.ones()),
        Operation::Mulx => plain(a.times(b)),
        Operation::Umul => {
            let value = low(a).times(low(b));
            Ok(computed(value, sign(value), (value >> W::from(32)).half()))
        }
        Operation::Smul => {
            let value = signed_low(a).times(signed_low(b));
            Ok(computed(value, sign(value), (value >> W::from(32)).half()))
        }
        Operation::Udivx => plain(a.quotient(divisor(b)?)),
        Operation::Sdivx => plain(a.signed_quotient(divisor(b)?)),
        Operation::Udiv => {
            let quotient = dividend(y, a).quotient(divisor(low(b))?);
            let fits = (quotient >> W::from(32)).is_zero();
            let value = if fits { quotient } else { W::from(LOW) };
            Ok(computed(value, divided(value, W::from((!fits).into())), y))
        }
        Operation::Sdiv => {
            let [value, overflows] = dividend(y, a).quotient_of_32_bits(divisor(low(b))?);
            Ok(computed(value, divided(value, overflows), y))
        }
        Operation::Tadd | Operation::TaddTv => {
            let value = a.plus(b);
            tagged(operation, a, b, computed(value, added(a, b, value), y))
        }
        Operation::Tsub | Operation::TsubTv => {
            let value = a.minus(b);
            tagged(operation, a, b, computed(value, subtracted(a, b, value), y))
        }
        Operation::Muls => {
            let (codes, y) = (W::from_byte(codes), W::from_half(y));
            let top = (bit(codes, NEGATIVE) ^ bit(codes, OVERFLOW)) << W::from(31);
            let partial = top | low(a) >> W::from(1);
            let multiplicand = if bit(y, 0).is_zero() { W::from(0) } else { low(b) };
            let value = partial.plus(multiplicand);
            let y = a << W::from(31) | y >> W::from(1);
            Ok(computed(value, added(partial, multiplicand, value), y.half()))
        }
    }
}

/// Shifts a value. An extended shift uses the low six bits of `count`, any other shift the low five bits.
#[inline(always)]
pub(super) fn shift<W: Word>(shift: Shift, extended: bool, value: W, count: W) -> W {
    let count = count & W::from(if extended { 63 } else { 31 });
    match (shift, extended) {
        (Shift::Left, _) => value << count,
        (Shift::Right, true) => value >> count,
        (Shift::Right, false) => low(value) >> count,
        (Shift::RightArithmetic, true) => value.shifted_with_sign(count),
        (Shift::RightArithmetic, false) => signed_low(value).shifted_with_sign(count),
    }
}

#[inline(always)]
fn computed<W: Word>(value: W, codes: W, y: W::Half) -> Computed<W> {
    Computed { value, codes: codes.byte(), y }
}

/// Returns the divisor, or a trap if the divisor is zero.
#[inline(always)]
fn divisor<W: Word>(value: W) -> Result<W, Trap> {
    if value.is_zero() { Err(Trap::DIVISION_BY_ZERO) } else { Ok(value) }
}

/// Returns the dividend of a 32-bit division: %y is its high word, and `a` has its low word.
#[inline(always)]
fn dividend<W: Word>(y: W::Half, a: W) -> W {
    W::from_half(y) << W::from(32) | low(a)
}

/// Returns the low 32 bits as a number.
#[inline(always)]
fn low<W: Word>(value: W) -> W {
    value.low()
}

/// Returns the low 32 bits as a signed number.
#[inline(always)]
fn signed_low<W: Word>(value: W) -> W {
    (value << W::from(32)).shifted_with_sign(W::from(32))
}

/// Returns one bit of a value.
#[inline(always)]
fn bit<W: Word>(value: W, number: u32) -> W {
    value >> W::from(number.into()) & W::from(1)
}

/// Returns four condition codes as one field, whose bits are NZVC. Each code is 0 or 1.
#[inline(always)]
fn joined<W: Word>(negative: W, zero: W, overflow: W, carry: W) -> W {
    let at = |code, position: u32| code << W::from(position.into());
    at(negative, NEGATIVE) | at(zero, ZERO) | at(overflow, OVERFLOW) | at(carry, CARRY)
}

/// Returns a value's condition codes, for 32 and for 64 bits. The V codes are bits 31 and 63 of `overflows`, and the C codes are
/// bits 31 and 63 of `carries`.
#[inline(always)]
fn codes<W: Word>(value: W, overflows: W, carries: W) -> W {
    let icc = joined(bit(value, 31), low(value).zero_bit(), bit(overflows, 31), bit(carries, 31));
    let xcc = joined(bit(value, 63), value.zero_bit(), bit(overflows, 63), bit(carries, 63));
    xcc << W::from(XCC.into()) | icc
}

/// Returns a value's N and Z codes.
#[inline(always)]
fn sign<W: Word>(value: W) -> W {
    codes(value, W::from(0), W::from(0))
}

#[inline(always)]
fn added<W: Word>(a: W, b: W, sum: W) -> W {
    codes(sum, (a ^ sum) & (b ^ sum), (a & b) | ((a | b) & !sum))
}

#[inline(always)]
fn subtracted<W: Word>(a: W, b: W, difference: W) -> W {
    let borrows = (!a & b) | ((!a | b) & difference);
    codes(difference, (a ^ b) & (a ^ difference), borrows)
}

/// Returns the condition codes after a 32-bit division. V is set only in the 32-bit codes.
#[inline(always)]
fn divided<W: Word>(value: W, overflows: W) -> W {
    sign(value) | overflows << W::from(OVERFLOW.into())
}

/// Sets the V code if a tag is not 0. A value's tag is its low two bits. TADDccTV and TSUBccTV trap if V is set.
#[inline(always)]
fn tagged<W: Word>(
    operation: Operation,
    a: W,
    b: W,
    plain: Computed<W>,
) -> Result<Computed<W>, Trap> {
    let overflow = ((a | b) & W::from(3)).zero_bit() ^ W::from(1);
    let codes = W::from_byte(plain.codes) | overflow << W::from(OVERFLOW.into());
    let traps = matches!(operation, Operation::TaddTv | Operation::TsubTv);
    if traps && !bit(codes, OVERFLOW).is_zero() {
        return Err(Trap::TAG_OVERFLOW);
    }
    Ok(Computed { codes: codes.byte(), ..plain })
}
