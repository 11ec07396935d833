//! One line of a trace: the careful parser, and the fast one for the lines that lackey writes most.

/// What a line says; `code` is 0 for a fetch, 1 for a load, 2 for a store, 3 for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) code: u8,
    pub(super) address: u64,
    pub(super) size: u16,
}

/// The first three bytes of a line, by code.
const LEADS: [[u8; 3]; 4] = [*b"I  ", *b" L ", *b" S ", *b" M "];

const A_LINE: &str = "a line such as \"I  04001090,3\" or \" L 1ffeffe7c8,8\"";
const AN_ADDRESS: &str = "an address of 1 to 16 hexadecimal digits and a comma";
const A_SIZE: &str = "a size from 1 to 4096 bytes";

/// The longest line that can be right: lead, 16 digits, comma, 4 digits, carriage return.
pub(super) const LONGEST: usize = 3 + 16 + 1 + 4 + 1;

/// Parses a line without its newline; none if it is empty. The error is what was expected.
pub(super) fn parse(line: &[u8]) -> Result<Option<Access>, &'static str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return Ok(None);
    }
    let (lead, rest) = line.split_first_chunk::<3>().ok_or(A_LINE)?;
    let code = LEADS.iter().position(|known| known == lead).ok_or(A_LINE)?;
    let comma = rest
        .iter()
        .position(|&byte| byte == b',')
        .ok_or(AN_ADDRESS)?;
    let (digits, size) = (&rest[..comma], &rest[comma + 1..]);
    let address = number(digits, 16, 16).ok_or(AN_ADDRESS)?;
    let size = number(size, 10, 4)
        .filter(|size| (1..=4096).contains(size))
        .ok_or(A_SIZE)?;
    Ok(Some(Access {
        code: code as u8,
        address,
        size: size as u16,
    }))
}

/// One to `most` digits, and nothing else.
fn number(digits: &[u8], radix: u32, most: usize) -> Option<u64> {
    if digits.is_empty() || digits.len() > most {
        return None;
    }
    digits.iter().try_fold(0, |value, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        Some(value * u64::from(radix) + u64::from(digit))
    })
}

/// How far [`fast`] looks ahead.
pub(super) const WINDOW: usize = 32;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x80 * ONES;
const ZEROS: u64 = b'0' as u64 * ONES;

/// Parses the line at the start of `text` if it has 8 to 15 digits of address, 1 or 2 of size, and a newline, and
/// says how long it is, newline included. None means nothing: the careful parser decides.
#[inline(always)]
pub(super) fn fast(text: &[u8; WINDOW]) -> Option<(Access, usize)> {
    let code = match text[1] {
        b' ' => 0,
        b'L' => 1,
        b'S' => 2,
        _ => 3,
    };
    let first = word(text, 3);
    let second = word(text, 11);
    let commas = second ^ (b',' as u64 * ONES);
    let commas = commas.wrapping_sub(ONES) & !commas & HIGHS;
    // The digits before the comma in the second word; 8 if there is no comma.
    let more = (commas.trailing_zeros() / 8) as usize;
    if LEADS[code] != [text[0], text[1], text[2]] || more > 7 {
        return None;
    }
    // Those digits at the end of a word that begins with zeros.
    let second = (second << (56 - 8 * more)) << 8 | ZEROS >> (8 * more);
    let address = hexadecimal(first)? << (4 * more) | hexadecimal(second)?;

    let at = 12 + more;
    let (ones, next) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
    let (size, length) = match text[at + 1] {
        b'\n' if ones <= 9 => (ones, at + 2),
        _ if ones <= 9 && next <= 9 && text[at + 2] == b'\n' => (ones * 10 + next, at + 3),
        _ => return None,
    };
    (size != 0).then_some((
        Access {
            code: code as u8,
            address,
            size: u16::from(size),
        },
        length,
    ))
}

#[inline(always)]
fn word(text: &[u8; WINDOW], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&text[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// The value of eight hexadecimal digits, the first in the lowest byte; none if any is no digit.
#[inline(always)]
fn hexadecimal(text: u64) -> Option<u64> {
    if text & HIGHS != 0 {
        return None;
    }
    // The high bit of each byte says whether the byte is in a range; no sum carries, as all bytes are below 0x80.
    let lower = text | (0x20 * ONES);
    let from = |byte: u8| u64::from(0x80 - byte) * ONES;
    let digits = (text + from(b'0')) & !(text + from(b'9' + 1));
    let letters = (lower + from(b'a')) & !(lower + from(b'f' + 1));
    if (digits | letters) & HIGHS != HIGHS {
        return None;
    }
    let nibbles = (text & (0x0f * ONES)) + ((letters & HIGHS) >> 7) * 9;
    let bytes = (nibbles << 4 | nibbles >> 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (bytes << 8 | bytes >> 16) & 0x0000_ffff_0000_ffff;
    Some((halves << 16 | halves >> 32) & 0xffff_ffff)
}
