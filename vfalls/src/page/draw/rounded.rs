//! Lengths and coordinates of drawings.

use std::fmt;

use maud::Render;

pub(super) fn round(length: f64) -> Rounded {
    Rounded(length)
}

/// A length or coordinate that is shown with at most one digit after the decimal point.
///
/// A page has many thousands of lengths. Therefore, formatting allocates no string, and computes exact decimals only for a length that is
/// about halfway between two tenths.
#[derive(Clone, Copy)]
pub(super) struct Rounded(f64);

impl Render for Rounded {
    fn render_to(&self, text: &mut String) {
        const LONGEST: f64 = 1e6;
        let Self(length) = *self;
        let tenths = length * 10.0;
        let below = tenths.floor();
        let is_clear = ((tenths - below) - 0.5).abs() > 1e-6;
        if !(is_clear && (0.0..LONGEST).contains(&length) && length.is_sign_positive()) {
            let exact = format!("{length:.1}");
            text.push_str(exact.strip_suffix(".0").unwrap_or(&exact));
            return;
        }
        let tenths = below as u64 + u64::from(tenths - below > 0.5);
        let (mut whole, tenth) = (tenths / 10, tenths % 10);
        // Seven digits, the point, and one more digit.
        let mut characters = [b'.'; 9];
        let mut first = characters.len();
        if tenth > 0 {
            characters[first - 1] = b'0' + tenth as u8;
            first -= 2;
        }
        loop {
            first -= 1;
            characters[first] = b'0' + (whole % 10) as u8;
            whole /= 10;
            if whole == 0 {
                break;
            }
        }
        text.push_str(str::from_utf8(&characters[first..]).expect("digits are ASCII"));
    }
}

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded_as_decimals_are() {
        let lengths = [(0.0, "0"), (-0.0, "-0"), (0.04, "0"), (0.05, "0.1"), (0.25, "0.2")];
        let more = [
            (0.35, "0.3"),
            (1.96, "2"),
            (9.949, "9.9"),
            (-1.26, "-1.3"),
            (2e6, "2000000"),
            (999_999.96, "1000000"),
        ];
        for (length, text) in lengths.into_iter().chain(more) {
            assert_eq!(round(length).to_string(), text);
        }
        for number in 0..30_000 {
            let length = f64::from(number) * 0.0137 + f64::from(number % 40) / 20.0;
            let exact = format!("{length:.1}");
            assert_eq!(round(length).to_string(), exact.strip_suffix(".0").unwrap_or(&exact));
        }
    }
}
