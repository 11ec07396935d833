//! The syntax of one line of a script.

use guest_abi::Trap;

/// A call as a line states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) strand: u64,
    pub(super) trap: Trap,
    /// %o5.
    pub(super) function: u64,
    /// %o0 to %o4.
    pub(super) arguments: [u64; 5],
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) found: String,
    pub(super) expected: String,
}

impl Malformed {
    pub(super) fn new(found: &str, expected: impl Into<String>) -> Self {
        Self {
            found: found.into(),
            expected: expected.into(),
        }
    }
}

const FORM: &str = "STRAND fast|core FUNCTION [ARG0 .. ARG4]";

/// Returns the call in a line, or `None` if the line has only white space and a comment.
pub(super) fn parse(text: &str) -> Result<Option<Line>, Malformed> {
    let text = text.split('#').next().unwrap_or_default().trim();
    if text.is_empty() {
        return Ok(None);
    }
    let mut words = text.split_whitespace();
    let mut word = || words.next().ok_or_else(|| Malformed::new(text, FORM));
    let strand = number(word()?)?;
    let trap = match word()? {
        "fast" => Trap::Fast,
        "core" => Trap::Core,
        other => return Err(Malformed::new(other, "fast or core")),
    };
    let function = number(word()?)?;
    let mut arguments = [0; 5];
    for (argument, word) in arguments.iter_mut().zip(&mut words) {
        *argument = number(word)?;
    }
    match words.next() {
        Some(_) => Err(Malformed::new(text, FORM)),
        None => Ok(Some(Line {
            strand,
            trap,
            function,
            arguments,
        })),
    }
}

/// Parses a number of 64 bits, decimal or 0x hexadecimal.
fn number(word: &str) -> Result<u64, Malformed> {
    let hexadecimal = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let (digits, radix) = hexadecimal.map_or((word, 10), |digits| (digits, 16));
    // The standard library would accept a sign.
    let number = (!digits.starts_with('+'))
        .then(|| u64::from_str_radix(digits, radix).ok())
        .flatten();
    number.ok_or_else(|| Malformed::new(word, "a number of 64 bits, decimal or 0x hexadecimal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_parsed_and_comments_skipped() {
        let line = Line {
            strand: 70,
            trap: Trap::Fast,
            function: 0x107,
            arguments: [6, u64::MAX, 0, 0, 0],
        };
        for text in [
            "70 fast 0x107 6 0xffffffffffffffff",
            "  0x46\tfast  263 0X6 18446744073709551615 0 0 0 # set\r\n",
            "70 fast 0x107 6 0xFFFFFFFFFFFFFFFF#",
        ] {
            assert_eq!(parse(text), Ok(Some(line)), "{text}");
        }
        for text in ["", " \t\r\n", "#", " # 0 fast"] {
            assert_eq!(parse(text), Ok(None), "{text:?}");
        }
    }

    #[test]
    fn bad_lines_are_refused() {
        let number = "a number of 64 bits, decimal or 0x hexadecimal";
        for (text, found, expected) in [
            ("0", "0", FORM),
            ("0 fast", "0 fast", FORM),
            ("0 fast # 1", "0 fast", FORM),
            ("0 core 0 1 2 3 4 5 6", "0 core 0 1 2 3 4 5 6", FORM),
            ("0 slow 1", "slow", "fast or core"),
            ("0 FAST 1", "FAST", "fast or core"),
            ("zero fast 1", "zero", number),
            ("-1 fast 1", "-1", number),
            ("0 fast +1", "+1", number),
            ("0 fast 0x", "0x", number),
            ("0 fast 0x+1", "0x+1", number),
            ("0 fast 0xg", "0xg", number),
            ("0 fast ff", "ff", number),
            ("0 fast 1_000", "1_000", number),
            (
                "0 fast 18446744073709551616",
                "18446744073709551616",
                number,
            ),
            (
                "0 fast 1 0x10000000000000000",
                "0x10000000000000000",
                number,
            ),
        ] {
            assert_eq!(parse(text), Err(Malformed::new(found, expected)), "{text}");
        }
    }
}
