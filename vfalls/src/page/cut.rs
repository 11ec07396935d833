//! Cuts long names.

use std::borrow::Cow;

/// The maximum number of characters in a function's name within a sentence.
pub(super) const NAME: usize = 64;

/// Returns the text if it has at most `most` characters. Otherwise, replaces its middle with "…", so that it has `most` characters. The
/// names of C++ and Rust functions often differ only at their ends.
pub(super) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    // Every character has at least one byte, so the text has at most `most` characters.
    if text.len() <= most {
        return text.into();
    }
    let all = text.chars().count();
    if all <= most {
        return text.into();
    }
    let first = most / 2;
    let last = most.saturating_sub(first + 1);
    let beginning = text.chars().take(first);
    beginning.chain(['…']).chain(text.chars().skip(all - last)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_text_is_left_out() {
        assert_eq!(cut("abcdefgh", 8), "abcdefgh");
        assert_eq!(cut("abcdefgh", 7), "abc…fgh");
        assert_eq!(cut("abcdefgh", 6), "abc…gh");
        assert_eq!(cut("äöüßéè", 5), "äö…éè");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("", 0), "");
    }
}
