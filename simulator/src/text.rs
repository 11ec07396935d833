//! Makes text from inputs safe to show. A name in a recording, an ELF file, a description or a result may be malicious. Control
//! characters can move a terminal's cursor or set its title, and characters that change the writing direction can reorder the words that
//! a reader sees.

use std::borrow::Cow;

/// Returns `false` for control characters, line ends, and characters that change the writing direction.
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

/// Escapes lines of text as [`line()`] does, but keeps the line ends.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped_lines(text, |character| character.escape_default().to_string())
}

/// Escapes characters that are not [plain](is_plain) in a JSON text, as in `\u202e`. The JSON values stay the same.
pub fn json(text: &str) -> Cow<'_, str> {
    // A character that is not plain has at most 16 bits.
    escaped_lines(text, |character| format!("\\u{:04x}", u32::from(character)))
}

fn escaped_lines(text: &str, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    let stays = |character| character == '\n' || is_plain(character);
    match unusual(text).all(stays) {
        true => Cow::Borrowed(text),
        false => escaped(text, stays, escape),
    }
}

/// Returns the characters of a text that are neither line feeds nor plain ASCII characters. Texts have few such characters, so this is
/// fast even for long texts.
fn unusual(text: &str) -> impl Iterator<Item = char> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut characters = rest[usual_bytes(rest.as_bytes())..].chars();
        let first = characters.next();
        rest = characters.as_str();
        first
    })
}

/// Returns the number of bytes before the first byte that is neither a line feed nor a plain ASCII character.
fn usual_bytes(bytes: &[u8]) -> usize {
    let is_usual = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
    // The fold has no branches, so the processor can check many bytes at once.
    let parts = bytes.chunks(256);
    let usual = parts.take_while(|part| part.iter().fold(true, |all, byte| all & is_usual(byte)));
    let length = usual.map(<[u8]>::len).sum();
    length + bytes[length..].iter().take_while(|byte| is_usual(byte)).count()
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

/// Percent-encodes a text for a URL. Keeps letters, digits and `-_.,:`.
pub fn url(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut escaped = String::with_capacity(text.len() * 5 / 4);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b',' | b':' => {
                escaped.push(byte.into());
            }
            _ => {
                let digits = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
                escaped.extend(['%', digits[0].into(), digits[1].into()]);
            }
        }
    }
    escaped
}

/// Returns a text as a field of a CSV line according to RFC 4180: in quotation marks if it contains a comma, a quotation mark or a line
/// feed.
pub fn csv_field(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n')) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_escaped() {
        assert_eq!(url("a b,\"%\n"), "a%20b,%22%25%0A");
        assert_eq!(url("\u{e4}-x\u{20ac}"), "%C3%A4-x%E2%82%AC");
    }

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
