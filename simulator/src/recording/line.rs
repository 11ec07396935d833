//! Two parsers for a line of lackey's text: an exact one, and a fast one for the most common lines.

use super::reference::{Kind, Reference};

/// The possible first three bytes of a line, with the kind of the line's reference. `M` has the kind of an atomic access until its
/// reader [divides](super::lackey) it into a load and a store.
const LEADS: [([u8; 3], Kind); 4] = [
    (*b"I  ", Kind::FetchOther),
    (*b" L ", Kind::Load),
    (*b" S ", Kind::Store),
    (*b" M ", Kind::Modify),
];

pub(super) const A_LINE: &str = "a line such as \"I  04001090,3\" or \" L 1ffeffe7c8,8\"";
const AN_ADDRESS: &str = "an address of 1 to 16 hexadecimal digits and a comma";
const A_SIZE: &str = "a size from 1 to 4096 bytes";

/// The maximum number of bytes that are read from a line. A correct line has at most 25: lead, 16 digits, comma, 4 digits, carriage
/// return. The rest are for the message about a wrong line.
pub(super) const MAX_LINE_BYTES: usize = 40;

/// Parses a line without its newline. Returns `None` for an empty line. The error says what was expected.
pub(super) fn parse(line: &[u8]) -> Result<Option<Reference>, &'static str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return Ok(None);
    }
    let (lead, rest) = line.split_first_chunk::<3>().ok_or(A_LINE)?;
    let kind = kind(lead).ok_or(A_LINE)?;
    let comma = rest.iter().position(|&byte| byte == b',').ok_or(AN_ADDRESS)?;
    let (digits, size) = (&rest[..comma], &rest[comma + 1..]);
    let address = number(digits, 16, 16).ok_or(AN_ADDRESS)?;
    let size = number(size, 10, 4).filter(|size| (1..=4096).contains(size)).ok_or(A_SIZE)?;
    Ok(Some(Reference::new(address, size as u16, kind)))
}

fn kind(lead: &[u8; 3]) -> Option<Kind> {
    let known = LEADS.iter().find(|(known, _)| known == lead);
    known.map(|(_, kind)| *kind)
}

/// Parses a number of one to `most` digits.
pub(super) fn number(digits: &[u8], radix: u32, most: usize) -> Option<u64> {
    if digits.is_empty() || digits.len() > most {
        return None;
    }
    digits.iter().try_fold(0, |value, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        Some(value * u64::from(radix) + u64::from(digit))
    })
}

/// The number of bytes that [`FastParser`] looks at.
pub(super) const WINDOW: usize = 24;

/// For each position in a number and each byte, the value of the hexadecimal digit, or [`WRONG`] if the byte is not one.
static DIGITS: [[u32; 256]; 5] = {
    let mut digits = [[WRONG; 256]; 5];
    let mut byte = 0;
    while byte < 256 {
        if let Some(worth) = (byte as u8 as char).to_digit(16) {
            let mut place = 0;
            while place < digits.len() {
                digits[place][byte] = worth << (4 * place);
                place += 1;
            }
        }
        byte += 1;
    }
    digits
};

const WRONG: u32 = 1 << 31;

/// Returns the value of at most five hexadecimal digits, with the bit [`WRONG`] set if a byte is not a digit.
#[inline(always)]
fn hexadecimal<const N: usize>(text: &[u8; N]) -> u32 {
    let mut value = 0;
    for (place, byte) in text.iter().rev().enumerate() {
        value |= DIGITS[place][usize::from(*byte)];
    }
    value
}

/// The fast parser. It remembers the first eight bytes of lines: the lead and five digits. Most lines begin like a recent one.
pub(super) struct FastParser {
    beginnings: [Beginning; 1 << Self::BITS],
}

/// The first eight bytes of a correct line, with their meaning.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    text: u64,
    digits: u32,
    kind: Kind,
}

impl Beginning {
    /// The number of digits in a line's beginning.
    const DIGITS: usize = 5;

    fn parse(text: u64) -> Option<Self> {
        let bytes = text.to_le_bytes();
        let (lead, digits) = bytes.split_first_chunk::<3>()?;
        let kind = kind(lead).filter(|kind| *kind != Kind::Modify)?;
        let digits = hexadecimal::<{ Self::DIGITS }>(digits.first_chunk()?);
        (digits & WRONG == 0).then_some(Self { text, digits, kind })
    }

    /// Returns the table index for a line's beginning.
    #[inline(always)]
    const fn place(text: u64) -> usize {
        (text.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - FastParser::BITS)) as usize
    }

    /// Parses the rest of a line, whose address has `N` more digits after the line's beginning.
    #[inline(always)]
    fn complete<const N: usize>(&self, text: &[u8; WINDOW]) -> Option<(Reference, usize)> {
        const FROM: usize = 3 + Beginning::DIGITS;
        let digits = hexadecimal::<N>(text[FROM..].first_chunk()?);
        let at = FROM + N + 1;
        let first = text[at].wrapping_sub(b'0');
        let second = text[at + 1].wrapping_sub(b'0');
        let (size, length) = if text[at + 1] == b'\n' {
            (first, at + 2)
        } else if second <= 9 && text[at + 2] == b'\n' {
            (first.wrapping_mul(10).wrapping_add(second), at + 3)
        } else {
            return None;
        };
        if digits & WRONG != 0 || first > 9 || size == 0 {
            return None;
        }
        let address = u64::from(self.digits) << (4 * N) | u64::from(digits);
        let reference = Reference::new(address, size.into(), self.kind);
        Some((reference, length))
    }
}

impl FastParser {
    const BITS: u32 = 8;

    pub(super) fn new() -> Self {
        // Every slot starts with this entry, which is right for lines with this beginning and matches no others.
        let text = u64::from_le_bytes(*b"I  00000");
        let some = Beginning { text, digits: 0, kind: Kind::FetchOther };
        Self { beginnings: [some; 1 << Self::BITS] }
    }

    /// Parses the line at the start of `text`. The line must not be an `M`, and must have an address of 8 to 10 digits, a size of 1
    /// or 2 digits, and a newline. Returns the reference, and the line's length with its newline; `None` if the line needs the
    /// exact parser.
    #[inline(always)]
    pub(super) fn parse(&mut self, text: &[u8; WINDOW]) -> Option<(Reference, usize)> {
        let (first, _) = text.split_first_chunk()?;
        let first = u64::from_le_bytes(*first);
        let known = &mut self.beginnings[Beginning::place(first)];
        if known.text != first {
            *known = Beginning::parse(first)?;
        }
        match (text[11], text[12], text[13]) {
            (b',', ..) => known.complete::<3>(text),
            (_, _, b',') => known.complete::<5>(text),
            (_, b',', _) => known.complete::<4>(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A pattern of correct and almost correct lines.
    const LINE: &str =
        "(I  | [LSM] |[ ILSM]{3})[0-9a-f]{0,3}0{0,8}[0-9a-fA-F]{0,6}[,\\-]?[0-9]{0,3}\n?";

    fn window(line: &str) -> [u8; WINDOW] {
        let mut window = [b'I'; WINDOW];
        window[..line.len()].copy_from_slice(line.as_bytes());
        window
    }

    #[test]
    fn the_fast_parser_reads_what_lackey_writes() {
        let cases = [
            ("I  04001090,3\n", Kind::FetchOther, 0x0400_1090, 3),
            (" L 1ffeffe7c8,8\n", Kind::Load, 0x1f_feff_e7c8, 8),
            (" S 123456789,16\n", Kind::Store, 0x1_2345_6789, 16),
            (" S 9abcdef012,99\n", Kind::Store, 0x9a_bcde_f012, 99),
            (" L ffffffff,1\n", Kind::Load, 0xffff_ffff, 1),
        ];
        let mut fast = FastParser::new();
        for (line, kind, address, size) in cases {
            let reference = Reference::new(address, size, kind);
            let parsed = parse(line.trim_end().as_bytes());
            assert_eq!(parsed, Ok(Some(reference)), "{line:?}");
            let expected = Some((reference, line.len()));
            for _ in 0..2 {
                assert_eq!(fast.parse(&window(line)), expected, "{line:?}");
            }
        }
    }

    #[test]
    fn the_fast_parser_leaves_what_has_two_references() {
        let modify = " M 9abcdef012,99\n";
        let reference = Reference::new(0x9a_bcde_f012, 99, Kind::Modify);
        assert_eq!(parse(modify.trim_end().as_bytes()), Ok(Some(reference)));
        assert_eq!(FastParser::new().parse(&window(modify)), None);
    }

    #[test]
    fn the_fast_parser_checks_every_byte() {
        let mut fast = FastParser::new();
        for line in [" S 12345abc,5\n", " S 12345abcd,5\n", " S 12345abcd9,16\n"] {
            assert!(fast.parse(&window(line)).is_some(), "{line:?}");
            for at in 0..line.len() {
                for byte in 0..=255 {
                    let mut window = window(line);
                    window[at] = byte;
                    let Some((reference, length)) = fast.parse(&window) else {
                        continue;
                    };
                    assert_eq!(window[length - 1], b'\n');
                    let exact = parse(&window[..length - 1]);
                    assert_eq!(exact, Ok(Some(reference)), "byte {at} is {byte}");
                }
            }
        }
    }

    #[test]
    fn bytes_of_zero_are_no_beginning() {
        let mut text = [0; WINDOW];
        text[8..14].copy_from_slice(b"123,4\n");
        assert_eq!(FastParser::new().parse(&text), None);
    }

    proptest! {
        #[test]
        fn the_fast_parser_agrees(lines in proptest::collection::vec(LINE, 1..20)) {
            let mut fast = FastParser::new();
            for line in lines.iter().filter(|line| line.len() <= WINDOW) {
                if let Some((reference, length)) = fast.parse(&window(line)) {
                    prop_assert_eq!(length, line.len());
                    prop_assert_eq!(parse(line.trim_end_matches('\n').as_bytes()), Ok(Some(reference)));
                }
            }
        }
    }
}
