//! Numbers and texts as bytes.

/// Appends a number of up to 64 bits: 7 bits a byte, the lowest first, bit 7 set in all but the last.
#[inline(always)]
pub(super) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a number with a sign: twice it, or one less than twice its negative, so that small ones are short.
#[inline(always)]
pub(super) fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put_varint(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

/// How many bytes a literal has, by its code.
const LITERAL_BYTES: [usize; 4] = [0, 1, 3, 6];
const LITERAL_MASKS: [u64; 4] = [0, (1 << 8) - 1, (1 << 24) - 1, (1 << 48) - 1];

/// Appends the low bytes of a number of 48 bits with a sign, as many as it needs. Returns the code of their number.
#[inline(always)]
pub(super) fn put_literal(bytes: &mut Vec<u8>, value: u64) -> u8 {
    let small = |bits: u32| value.wrapping_add(1 << (bits - 1)) & ((1 << 48) - 1) < 1 << bits;
    let code = match () {
        () if small(8) => 1,
        () if small(24) => 2,
        () => 3,
    };
    let count = LITERAL_BYTES[usize::from(code)];
    bytes.extend_from_slice(&value.to_le_bytes()[..count]);
    code
}

/// Returns the literal that comes first, and what follows it. There must be 8 bytes. Bits 1:0 of the code count.
#[inline(always)]
pub(super) fn literal(bytes: &[u8], code: u8) -> Option<(u64, &[u8])> {
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    let count = LITERAL_BYTES[usize::from(code & 3)] & 7;
    let mask = LITERAL_MASKS[usize::from(code & 3)];
    let sign = mask ^ mask >> 1;
    Some((((word & mask) ^ sign).wrapping_sub(sign), &bytes[count..]))
}

/// Returns the address whose low 48 bits these are.
#[inline(always)]
pub(super) fn sign_extended(bits: u64) -> u64 {
    ((bits << 16).cast_signed() >> 16).cast_unsigned()
}

/// Appends a text with its length.
pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_varint(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// What is left of some bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl<'a> Rest<'a> {
    #[inline(always)]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    #[inline(always)]
    pub(super) fn varint(&mut self) -> Option<u64> {
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

    #[inline(always)]
    pub(super) fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = self.varint()?;
        str::from_utf8(self.bytes(length)?).ok()
    }
}

/// Returns the checksum of bytes. They are taken as words of 8 bytes, the lowest first, the last filled up with zeros. From
/// the number of bytes on, each word is added by exclusive or, and the sum is then multiplied by 0x9e3779b97f4a7c15 and
/// rotated left by 29. The checksum is bits 63:32 of the last sum, added to bits 31:0 by exclusive or.
pub(super) fn hash(bytes: &[u8]) -> u32 {
    let add = |sum: u64, word: [u8; 8]| {
        (sum ^ u64::from_le_bytes(word))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut sum = words
        .iter()
        .fold(bytes.len() as u64, |sum, word| add(sum, *word));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        sum = add(sum, last);
    }
    (sum >> 32 ^ sum) as u32
}
