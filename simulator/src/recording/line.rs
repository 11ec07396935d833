//! One line of a recording: the careful parser, and the fast one for the lines that lackey writes most.

/// The content of a line. `code` is 0 for a fetch, 1 for a load, 2 for a store, 3 for both.
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

/// No correct line is longer: lead, 16 digits, comma, 4 digits, carriage return make 25 bytes. Somewhat more of
/// a wrong one is looked at, to show it.
pub(super) const LONGEST: usize = 40;

/// Parses a line without its newline. Returns `None` if it is empty. The error says what was expected.
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
pub(super) fn number(digits: &[u8], radix: u32, most: usize) -> Option<u64> {
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
const COMMAS: u64 = b',' as u64 * ONES;

/// The leads as [`fast`] loads them, by code.
const LEAD_WORDS: [u32; 4] = {
    let mut words = [0; 4];
    let mut code = 0;
    while code < words.len() {
        let [first, second, third] = LEADS[code];
        words[code] = u32::from_le_bytes([first, second, third, 0]);
        code += 1;
    }
    words
};

/// The code by the second byte of a line; for any other byte some code, whose lead is then wrong.
static CODES: [u8; 256] = {
    let mut codes = [0; 256];
    let mut code = 1;
    while code < LEADS.len() {
        codes[LEADS[code][1] as usize] = code as u8;
        code += 1;
    }
    codes
};

/// Parses the line at the start of `text` if its address has 8 to 15 digits in small letters, its size 1 or 2, and it
/// ends with a newline; and says how long it is, newline included. None means nothing: the careful parser decides.
#[inline(always)]
pub(super) fn fast(text: &[u8; WINDOW]) -> Option<(Access, usize)> {
    let lead = u32::from_le_bytes([text[0], text[1], text[2], 0]);
    let code = CODES[usize::from(text[1])];
    let first = word(text, 3);
    let second = word(text, 11);
    // The high bit of each byte of the second word that is a comma; the text begins in the highest byte.
    let commas = second ^ COMMAS;
    let commas = !((commas & !HIGHS).wrapping_add(!HIGHS) | commas) & HIGHS;
    if lead != LEAD_WORDS[usize::from(code & 3)] || commas == 0 {
        return None;
    }
    // How many bits of the second word are digits; they go to its low end, zeros before them.
    let bits = commas.leading_zeros();
    let second = (second >> 8) >> (56 - bits) | ZEROS << bits;
    let (high, wrong_high) = hexadecimal(first);
    let (low, wrong_low) = hexadecimal(second);
    let address = high << (bits / 2) | low;

    let at = 12 + (bits / 8) as usize;
    let (digit, next) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
    let (size, length) = match text[at + 1] {
        b'\n' => (digit, at + 2),
        _ if next <= 9 && text[at + 2] == b'\n' => {
            (digit.wrapping_mul(10).wrapping_add(next), at + 3)
        }
        _ => return None,
    };
    if (wrong_high | wrong_low) != 0 || digit > 9 || size == 0 {
        return None;
    }
    Some((
        Access {
            code,
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
    u64::from_be_bytes(bytes)
}

/// The value of eight digits, the first in the highest byte, and not 0 if any of them is none.
#[inline(always)]
fn hexadecimal(text: u64) -> (u64, u64) {
    // What each byte would be worth as a digit, and the digit for that: it must be the same byte.
    let worth = (text & (0x0f * ONES)) + 9 * (text >> 6 & ONES);
    let letters = (worth + 6 * ONES) >> 4 & ONES;
    let digits = worth + ZEROS + u64::from(b'a' - b'9' - 1) * letters;
    let wrong = digits ^ text | worth & (0xf0 * ONES);

    let bytes = (worth | worth >> 4) & 0x00ff_00ff_00ff_00ff;
    let halves = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
    ((halves | halves >> 16) & 0xffff_ffff, wrong)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(line: &str) -> [u8; WINDOW] {
        let mut window = [b'I'; WINDOW];
        window[..line.len()].copy_from_slice(line.as_bytes());
        window
    }

    #[test]
    fn the_fast_parser_reads_what_lackey_writes() {
        let cases = [
            ("I  04001090,3\n", 0, 0x0400_1090, 3),
            (" L 1ffeffe7c8,8\n", 1, 0x1f_feff_e7c8, 8),
            (" S 0123456789abcdef,16\n", 2, 0x0123_4567_89ab_cdef, 16),
            (" M 123456789abcdef,99\n", 3, 0x0123_4567_89ab_cdef, 99),
            (" L ffffffff,1\n", 1, 0xffff_ffff, 1),
        ];
        for (line, code, address, size) in cases {
            let access = Access {
                code,
                address,
                size,
            };
            assert_eq!(
                parse(line.trim_end().as_bytes()),
                Ok(Some(access)),
                "{line:?}"
            );
            let expected = (line.len() < 23).then_some((access, line.len()));
            assert_eq!(fast(&window(line)), expected, "{line:?}");
        }
    }

    #[test]
    fn the_fast_parser_checks_every_byte() {
        let line = " S 12345abcdef9,16\n";
        let right = fast(&window(line));
        assert!(right.is_some());
        for at in 0..line.len() {
            for byte in 0..=255 {
                let mut window = window(line);
                window[at] = byte;
                let Some((access, length)) = fast(&window) else {
                    continue;
                };
                assert_eq!(window[length - 1], b'\n');
                assert_eq!(
                    parse(&window[..length - 1]),
                    Ok(Some(access)),
                    "byte {at} is {byte}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn the_fast_parser_agrees(line in "(I  | [LSM] |[ ILSM]{3})[0-9a-f]{0,20}[,\\-]?[0-9]{0,5}\n?") {
            prop_assume!(line.len() <= WINDOW);
            if let Some((access, length)) = fast(&window(&line)) {
                prop_assert_eq!(length, line.len());
                prop_assert_eq!(parse(line.trim_end_matches('\n').as_bytes()), Ok(Some(access)));
            }
        }
    }
}
