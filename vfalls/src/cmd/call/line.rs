//! Parses one line of a script.

use guest_abi::Registers;

use crate::numbers;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) trap: SoftwareTrap,
    /// The values of the registers before the call.
    pub(super) registers: Registers,
}

/// A software trap that enters the hypervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SoftwareTrap {
    /// Trap 0x80.
    Fast,
    /// A trap from 0x81 to 0xfe.
    Other(u8),
    /// Trap 0xff.
    Core,
}

/// The error for a line that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) found: String,
    pub(super) expected: String,
}

impl Malformed {
    pub(super) fn new(found: &str, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into() }
    }
}

const FORM: &str = "STRAND fast|core FUNCTION [ARG0 .. ARG4], or STRAND trap NUMBER [ARG0 .. ARG5]";

/// Parses a line. Returns the calling strand's number and its call; `None` for a line that is empty or contains only a comment.
pub(super) fn parse(text: &str) -> Result<Option<(u64, Call)>, Malformed> {
    let text = text.split('#').next().unwrap_or_default().trim();
    if text.is_empty() {
        return Ok(None);
    }
    let mut words = text.split_whitespace();
    let mut word = || words.next().ok_or_else(|| Malformed::new(text, FORM));
    let strand = number(word()?)?;
    let (trap, function) = match word()? {
        "fast" => (SoftwareTrap::Fast, Some(number(word()?)?)),
        "core" => (SoftwareTrap::Core, Some(number(word()?)?)),
        "trap" => (SoftwareTrap::Other(trap_number(word()?)?), None),
        other => return Err(Malformed::new(other, "fast, core or trap")),
    };
    let mut registers = [0; 6];
    let arguments = if function.is_some() { 5 } else { 6 };
    for (register, word) in registers[..arguments].iter_mut().zip(&mut words) {
        *register = number(word)?;
    }
    if words.next().is_some() {
        return Err(Malformed::new(text, FORM));
    }
    let mut registers = Registers::from(registers);
    registers.o5 = function.unwrap_or(registers.o5);
    Ok(Some((strand, Call { trap, registers })))
}

/// Parses the number of a software trap, which must not be the number of the fast or the core trap.
fn trap_number(word: &str) -> Result<u8, Malformed> {
    match number(word)? {
        number @ 0x81..=0xfe => Ok(number as u8),
        _ => Err(Malformed::new(word, "0x81 to 0xfe (0x80 is fast, 0xff core)")),
    }
}

/// Parses a 64-bit number, in decimal, or in hexadecimal after 0x.
fn number(word: &str) -> Result<u64, Malformed> {
    numbers::parse(word)
        .ok_or_else(|| Malformed::new(word, "a 64-bit number, decimal or 0x hexadecimal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_parsed_and_comments_skipped() {
        let registers = [6, u64::MAX, 0, 0, 0, 0x107].into();
        let call = Call { trap: SoftwareTrap::Fast, registers };
        for text in [
            "70 fast 0x107 6 0xffffffffffffffff",
            "  0x46\tfast  263 0X6 18446744073709551615 0 0 0 # set\r\n",
            "70 fast 0x107 6 0xFFFFFFFFFFFFFFFF#",
        ] {
            assert_eq!(parse(text), Ok(Some((70, call))), "{text}");
        }
        for (text, number, registers) in [
            ("3 trap 0x83", 0x83, [0; 6]),
            ("3 trap 129 1 2", 0x81, [1, 2, 0, 0, 0, 0]),
            ("3 trap 0xfe 1 2 3 4 5 6 # six", 0xfe, [1, 2, 3, 4, 5, 6]),
        ] {
            let call = Call { trap: SoftwareTrap::Other(number), registers: registers.into() };
            assert_eq!(parse(text), Ok(Some((3, call))), "{text}");
        }
        for text in ["", " \t\r\n", "#", " # 0 fast"] {
            assert_eq!(parse(text), Ok(None), "{text:?}");
        }
    }

    #[test]
    fn bad_lines_are_refused() {
        let number = "a 64-bit number, decimal or 0x hexadecimal";
        let between = "0x81 to 0xfe (0x80 is fast, 0xff core)";
        for (text, found, expected) in [
            ("0", "0", FORM),
            ("0 fast", "0 fast", FORM),
            ("0 fast # 1", "0 fast", FORM),
            ("0 core 0 1 2 3 4 5 6", "0 core 0 1 2 3 4 5 6", FORM),
            ("0 slow 1", "slow", "fast, core or trap"),
            ("0 FAST 1", "FAST", "fast, core or trap"),
            ("0 trap", "0 trap", FORM),
            ("0 trap 0x83 1 2 3 4 5 6 7", "0 trap 0x83 1 2 3 4 5 6 7", FORM),
            ("0 trap 0x80", "0x80", between),
            ("0 trap 0xff", "0xff", between),
            ("0 trap 0", "0", between),
            ("0 trap 0x181", "0x181", between),
            ("0 trap x", "x", number),
            ("zero fast 1", "zero", number),
            ("-1 fast 1", "-1", number),
            ("0 fast +1", "+1", number),
            ("0 fast 0x", "0x", number),
            ("0 fast 0x+1", "0x+1", number),
            ("0 fast 0xg", "0xg", number),
            ("0 fast ff", "ff", number),
            ("0 fast 1_000", "1_000", number),
            ("0 fast 18446744073709551616", "18446744073709551616", number),
            ("0 fast 1 0x10000000000000000", "0x10000000000000000", number),
        ] {
            assert_eq!(parse(text), Err(Malformed::new(found, expected)), "{text}");
        }
    }
}
