//! Parses and prints lists of strands, such as `0-127` or `0,8,64-71`.

use std::ops::RangeInclusive;

use guest_abi::StrandId;

/// The error for a text that is not a list of strands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrandListError {
    /// This part of the list is not a strand.
    #[error("found '{0}', expected strands 0 to 255, such as 0-127 or 0,8,64-71")]
    NoStrand(String),
    /// This range's last strand is less than its first.
    #[error("in the range '{0}', the last strand is less than the first")]
    Backwards(String),
    /// This strand occurs twice in this list of strands.
    #[error("strand {0} is named twice in '{1}'")]
    Twice(StrandId, String),
}

/// Parses a list of strands. Returns them in the order of the list.
///
/// # Errors
/// The string is not a list of strands, the last strand of a range is less than the first, or a strand occurs twice.
pub fn parse(text: &str) -> Result<Vec<StrandId>, StrandListError> {
    let mut strands = Vec::new();
    for part in text.split(',') {
        for strand in range(part)? {
            if strands.contains(&strand) {
                return Err(StrandListError::Twice(strand, text.to_owned()));
            }
            strands.push(strand);
        }
    }
    Ok(strands)
}

/// Formats strands as a list in the given order; `-` if there are none.
pub fn list(strands: impl IntoIterator<Item = StrandId>) -> String {
    match ranges(strands.into_iter().map(StrandId::index)) {
        list if list.is_empty() => "-".to_owned(),
        list => list,
    }
}

/// Formats numbers as a list of ranges in the given order, such as `0-7,16`.
pub fn ranges(numbers: impl IntoIterator<Item = usize>) -> String {
    let mut ranges: Vec<RangeInclusive<usize>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(range) if range.end() + 1 == number => *range = *range.start()..=number,
            _ => ranges.push(number..=number),
        }
    }
    let text = |range: RangeInclusive<usize>| match range.into_inner() {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

fn range(text: &str) -> Result<impl Iterator<Item = StrandId>, StrandListError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (strand(first)?, strand(last)?);
    if first > last {
        return Err(StrandListError::Backwards(text.to_owned()));
    }
    let numbers: RangeInclusive<usize> = first.index()..=last.index();
    Ok(numbers.filter_map(StrandId::new))
}

fn strand(text: &str) -> Result<StrandId, StrandListError> {
    let number = text.trim().parse().ok();
    (number.and_then(StrandId::new)).ok_or_else(|| StrandListError::NoStrand(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let numbers = |text| -> Result<Vec<usize>, StrandListError> {
            Ok(parse(text)?.into_iter().map(StrandId::index).collect())
        };
        assert_eq!(numbers("7").unwrap(), [7]);
        assert_eq!(numbers("64-66,0, 255").unwrap(), [64, 65, 66, 0, 255]);
        for wrong in ["", "a", "256", "-1", "3-1", "1,,2", "1-", "0,0-3"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn strands_as_lists() {
        let list = |numbers: &[usize]| -> String {
            super::list(numbers.iter().copied().filter_map(StrandId::new))
        };
        assert_eq!(list(&[]), "-");
        assert_eq!(list(&[7]), "7");
        assert_eq!(list(&[0, 2, 64, 65, 66, 254, 255]), "0,2,64-66,254-255");
        assert_eq!(list(&[8, 9, 1, 0]), "8-9,1,0");
    }
}
