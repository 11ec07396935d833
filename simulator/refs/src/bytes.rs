//! Encodes and decodes numbers and strings.

/// Appends a varint: 7 bits in each byte, the lowest bits first. Bit 7 is set in all bytes except the last.
#[inline(always)]
pub(crate) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a signed varint: n is stored as the varint 2n if it is 0 or more, and as the varint -2n - 1 if it is negative. Numbers near 0
/// take few bytes.
#[inline(always)]
pub(crate) fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put_varint(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

/// The number of bytes in a literal, indexed by its length code.
const LITERAL_BYTES: [usize; 4] = [0, 1, 3, 6];
const LITERAL_MASKS: [u64; 4] = [0, (1 << 8) - 1, (1 << 24) - 1, (1 << 48) - 1];

/// Appends the low 48 bits of a signed number as a literal of 1, 3 or 6 bytes, the shortest that can hold the value. Returns the length
/// code.
#[inline(always)]
pub(crate) fn put_literal(bytes: &mut Vec<u8>, value: u64) -> u8 {
    let small = |bits: u32| value.wrapping_add(1 << (bits - 1)) & ((1 << 48) - 1) < 1 << bits;
    let code = match () {
        () if small(8) => 1,
        () if small(24) => 2,
        () => 3,
    };
    let count = LITERAL_BYTES[usize::from(code)];
    put_bytes(bytes, value, count);
    code
}

/// Appends the lowest `count` bytes of a number, at most 8.
#[inline(always)]
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, value: u64, count: usize) {
    // Appending eight bytes and removing some of them is faster than appending a few bytes.
    let length = bytes.len();
    bytes.extend_from_slice(&value.to_le_bytes());
    bytes.truncate(length + count);
}

/// Returns the literal at the start of `bytes`, and the bytes after it. Bits 1:0 of `code` encode the literal's length. `bytes` must hold
/// at least 8 bytes.
#[inline(always)]
pub fn literal(bytes: &[u8], code: u8) -> Option<(u64, &[u8])> {
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    let count = LITERAL_BYTES[usize::from(code & 3)] & 7;
    let mask = LITERAL_MASKS[usize::from(code & 3)];
    let sign = mask ^ mask >> 1;
    Some((((word & mask) ^ sign).wrapping_sub(sign), &bytes[count..]))
}

/// Returns the address whose low 48 bits are `bits`. Bits 63:48 are copies of bit 47.
#[inline(always)]
pub fn sign_extended(bits: u64) -> u64 {
    ((bits << 16).cast_signed() >> 16).cast_unsigned()
}

/// Appends a string, preceded by its length.
pub(crate) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_varint(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// Reads numbers and strings from bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rest<'a>(
    /// The bytes that have not been read.
    pub &'a [u8],
);

impl<'a> Rest<'a> {
    /// Takes a byte; `None` at the end.
    #[inline(always)]
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Takes `count` bytes; `None` if there are fewer.
    pub fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Takes a varint; `None` if it is incomplete or has more than 64 bits.
    #[inline(always)]
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Takes a signed varint; `None` if [`varint`](Self::varint) would return `None`.
    #[inline(always)]
    pub fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Takes a string and its length; `None` if the string is incomplete or not UTF-8.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.varint()?;
        str::from_utf8(self.bytes(length)?).ok()
    }
}

/// Returns the checksum that the [format](super) defines.
pub fn hash(bytes: &[u8]) -> u32 {
    let add = |sum: u64, word: [u8; 8]| {
        (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut sum = words.iter().fold(bytes.len() as u64, |sum, word| add(sum, *word));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        sum = add(sum, last);
    }
    (sum >> 32 ^ sum) as u32
}
