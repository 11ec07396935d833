//! Splits the Trace Stream Description Language into tokens, for the [parser](super::tsdl).

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or a number.
    Word(&'a str),
    /// A string, without its quotes.
    Text(String),
    /// Punctuation of one or more characters.
    Mark(&'a str),
}

/// Splits metadata into tokens, each with its line number.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, String> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    loop {
        let space = rest.len() - rest.trim_start().len();
        let (skipped, next) = rest.split_at(space);
        line += skipped.matches('\n').count();
        let Some(first) = next.chars().next() else {
            return Ok(tokens);
        };
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let length = if next.starts_with("/*") {
            let end = next.find("*/");
            end.ok_or_else(|| format!("line {line}: a comment without an end"))? + 2
        } else if is_word(first) {
            let length = next.find(|char| !is_word(char)).unwrap_or(next.len());
            tokens.push((line, Token::Word(&next[..length])));
            length
        } else if first == '"' {
            let (text, length) =
                quoted(next).ok_or_else(|| format!("line {line}: a text without an end"))?;
            tokens.push((line, Token::Text(text)));
            length
        } else {
            let mark = [":=", "..."].into_iter().find(|mark| next.starts_with(mark));
            let length = mark.map_or(first.len_utf8(), str::len);
            tokens.push((line, Token::Mark(&next[..length])));
            length
        };
        let (token, next) = next.split_at(length);
        line += token.matches('\n').count();
        rest = next;
    }
}

/// Returns the quoted string at the start of `text`, and its length with quotes. A byte may be written in the form `\xc3`.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut content = Vec::new();
    let mut rest = text.as_bytes().get(1..)?;
    loop {
        rest = match rest {
            [b'"', rest @ ..] => {
                let content = String::from_utf8_lossy(&content).into_owned();
                return Some((content, text.len() - rest.len()));
            }
            [b'\\', b'x', high, low, rest @ ..] => {
                let digits = [*high, *low].map(|digit| char::from(digit).to_digit(16));
                content.push((digits[0]? << 4 | digits[1]?) as u8);
                rest
            }
            [b'\\', byte, rest @ ..] | [byte, rest @ ..] => {
                content.push(*byte);
                rest
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let read = |text| quoted(text).map(|(content, length)| (content, &text[length..]));
        let is = |content: &str, rest| Some((content.to_owned(), rest));
        assert_eq!(read(r#""a \"b\"\\" = 1"#), is(r#"a "b"\"#, " = 1"));
        assert_eq!(read(r#""\xc3\xa4\\x41""#), is("\u{e4}\\x41", ""));
        assert_eq!(read("\"\u{e4}\";"), is("\u{e4}", ";"));
        assert_eq!(read(r#""\xff""#), is("\u{fffd}", ""));
        for broken in [r#"""#, r#""a\""#, r#""\xg0""#, r#""\x"#, "\"\\\u{e4}"] {
            assert_eq!(read(broken), None, "{broken}");
        }
    }
}
