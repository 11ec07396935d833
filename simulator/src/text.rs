//! Makes text from inputs safe to show. A name in a recording, an ELF file, a description or a
//! result may be malicious. Control characters can move a terminal's cursor or set its title, and
//! characters that change the direction of writing can reorder the words that a reader sees.

use std::borrow::Cow;

/// Returns `false` for control characters, line ends, and changes of the direction of writing.
pub fn is_plain(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Escapes a name so that it is one line. Escapes such as `\n` and `\u{202e}` replace characters
/// that are not [plain](is_plain).
pub fn line(text: &str) -> String {
    escaped(text, is_plain, |character| character.escape_default().to_string()).into_owned()
}

/// Returns lines of text with the escapes of [`line()`]. Only the ends of lines are not escaped.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped_lines(text, |character| character.escape_default().to_string())
}

/// Returns a JSON text with the same values. Escapes such as `\u202e` replace characters that are not [plain](is_plain).
pub fn json(text: &str) -> Cow<'_, str> {
    // A character that is not plain has at most 16 bits.
    escaped_lines(text, |character| format!("\\u{:04x}", u32::from(character)))
}

fn escaped_lines(text: &str, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    match is_simple(text) {
        true => Cow::Borrowed(text),
        false => escaped(text, |character| character == '\n' || is_plain(character), escape),
    }
}

/// Returns whether a text consists of lines of plain ASCII characters, as most long texts do. The check is fast.
fn is_simple(text: &str) -> bool {
    let is_simple = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
    // The fold has no branches, so the processor can check many bytes at once.
    let mut parts = text.as_bytes().chunks(256);
    parts.all(|part| part.iter().fold(true, |all, byte| all & is_simple(byte)))
}

fn escaped(
    text: &str,
    stays: impl Fn(char) -> bool,
    escape: impl Fn(char) -> String,
) -> Cow<'_, str> {
    if text.chars().all(&stays) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match stays(character) {
            true => shown.push(character),
            false => shown.push_str(&escape(character)),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_deceives_is_escaped() {
        let text =
            "\u{e4} \u{1b}]0;x\u{7}\r\n\t\u{85}\u{202e}\u{2066}\u{2069}\u{200f}\u{61c}\u{2028}\\";
        let shown = r"\u{1b}]0;x\u{7}\r\n\t\u{85}\u{202e}\u{2066}\u{2069}\u{200f}\u{61c}\u{2028}\";
        assert_eq!(line(text), format!("\u{e4} {shown}"));
        assert_eq!(line(&line(text)), line(text));
        assert_eq!(lines("a\u{202d}\nb\n"), "a\\u{202d}\nb\n");
        assert_eq!(
            json("{\n\"\u{e4}\u{7f}\": \"\u{2066}\"}"),
            "{\n\"\u{e4}\\u007f\": \"\\u2066\"}"
        );
    }
}
