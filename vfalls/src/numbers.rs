//! Formats numbers for reading, and chooses round values for axes.

use simulator::run::Time;

/// Parses a 64-bit number, in decimal, or in hexadecimal after 0x.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hexadecimal.map_or((text, 10), |digits| (digits, 16));
    // `from_str_radix` accepts a plus sign, which is not allowed here.
    (!digits.starts_with('+')).then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}

/// Formats a number with commas as thousands separators: `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with its noun, and with commas as thousands separators: `1 thread`, `12,345 threads`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    format!("{} {}", count(number), plural(number, what))
}

/// Formats a number with its noun, without separators: `1 thread`, `12345 threads`.
pub(crate) fn counted_plainly(number: u64, what: &str) -> String {
    format!("{number} {}", plural(number, what))
}

fn plural(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => what.to_owned(),
        (_, Some(most)) if !what.ends_with("ay") => format!("{most}ies"),
        _ if what.ends_with('s') => format!("{what}es"),
        _ => format!("{what}s"),
    }
}

/// Formats a number with three significant digits and an SI prefix, such as `1.23 M`, `45.6 k` or
/// `7`.
pub(crate) fn short(number: f64) -> String {
    let mut number = number;
    let mut prefix = "";
    for next in [" k", " M", " G", " T"] {
        if number.abs() < 999.5 {
            break;
        }
        number /= 1000.0;
        prefix = next;
    }
    let places = match number.abs() {
        size if size >= 99.95 || size.fract() == 0.0 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.places$}{prefix}")
}

/// Formats `part` as a percentage of `whole`: without decimals, such as `62%`, or with one decimal below 10%, such as `6.2%`. If `whole` is
/// 0, returns `0%`.
pub(crate) fn percent(part: f64, whole: f64) -> String {
    if part <= 0.0 || whole <= 0.0 {
        return "0%".to_owned();
    }
    match part / whole * 100.0 {
        share if share >= 9.95 => format!("{share:.0}%"),
        share if share >= 0.05 => format!("{share:.1}%"),
        _ => "<0.1%".to_owned(),
    }
}

/// Returns round values to mark on an axis from 0 to `end`. The first value is 0, and at most
/// `most` other values follow.
pub(crate) fn ticks(end: f64, most: usize) -> Vec<f64> {
    if end.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) || most == 0 {
        return vec![0.0];
    }
    let decade = 10_f64.powf((end / most as f64).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    let fits = |step: &f64| end / step < most as f64 + 1e-9;
    let step = steps.into_iter().find(fits).unwrap_or(end);
    (0..=most)
        .map(|tick| tick as f64 * step)
        .take_while(|value| *value <= end * (1.0 + 1e-9))
        .collect()
}

/// Returns the top of a scale for numbers up to `value`: the smallest round number that is at least
/// `value`.
pub(crate) fn top(value: f64) -> f64 {
    let decade = 10_f64.powf(value.max(1e-300).log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0].map(|step| step * decade);
    let above = |step: &f64| *step >= value;
    steps.into_iter().find(above).unwrap_or(10.0 * decade)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeUnit {
    pub(crate) name: &'static str,
    /// The duration of a cycle in this unit.
    pub(crate) per_cycle: f64,
}

impl TimeUnit {
    /// Returns the unit for the times of a run: seconds, milliseconds or microseconds. Chooses the largest unit that is not longer than the
    /// run.
    pub(crate) fn suiting(time: &Time) -> Self {
        let seconds = time.seconds_of(time.cycles);
        let (name, parts) = match seconds {
            _ if seconds >= 1.0 => ("s", 1.0),
            _ if seconds >= 1e-3 => ("ms", 1e3),
            _ => ("µs", 1e6),
        };
        Self { name, per_cycle: parts / time.hertz as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 7.0, 0.25, 999.4, 999.6, 1000.0, 45_600.0, 1_234_567.0].map(short),
            ["0", "7", "0.25", "999", "1.00 k", "1 k", "45.6 k", "1.23 M"]
        );
        assert_eq!(
            [(0.0, 5.0), (1.0, 0.0), (62.0, 100.0), (9.96, 100.0), (3.2, 100.0), (1.0, 1e6)]
                .map(|(part, whole)| percent(part, whole)),
            ["0%", "0%", "62%", "10%", "3.2%", "<0.1%"]
        );
        assert_eq!(counted(1, "thread"), "1 thread");
        assert_eq!(counted(2000, "query"), "2,000 queries");
        assert_eq!(counted(0, "way"), "0 ways");
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(4.97, 5), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(ticks(13.9, 5), [0.0, 5.0, 10.0]);
        assert_eq!(ticks(100.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!([7.08e6, 4.0, 8.5, 0.4].map(top), [8e6, 4.0, 10.0, 0.4]);
        assert_eq!(ticks(0.0, 5), [0.0]);
        assert_eq!(ticks(f64::NAN, 5), [0.0]);
    }
}
