//! Lists of strands as a person writes them: `0-127`, `0,8,64-71`.

use std::ops::RangeInclusive;

use anyhow::{Context, ensure};
use guest_abi::StrandId;
use perfctr_service::StrandSet;

/// The strands of a list, in its order.
///
/// # Errors
/// The text is not such a list, a range runs backwards, or a strand is named twice.
pub fn parse(text: &str) -> anyhow::Result<Vec<StrandId>> {
    let mut strands = Vec::new();
    for part in text.split(',') {
        for strand in range(part)? {
            ensure!(
                !strands.contains(&strand),
                "strand {strand} is named twice in '{text}'"
            );
            strands.push(strand);
        }
    }
    Ok(strands)
}

/// The list of these strands, in order; `-` if there is none.
#[must_use]
pub fn list(strands: StrandSet) -> String {
    let mut ranges: Vec<RangeInclusive<usize>> = Vec::new();
    for strand in strands.iter().map(StrandId::index) {
        match ranges.last_mut() {
            Some(range) if range.end() + 1 == strand => *range = *range.start()..=strand,
            _ => ranges.push(strand..=strand),
        }
    }
    let text = |range: RangeInclusive<usize>| match range.into_inner() {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    match ranges.is_empty() {
        true => "-".to_owned(),
        false => ranges.into_iter().map(text).collect::<Vec<_>>().join(","),
    }
}

fn range(text: &str) -> anyhow::Result<impl Iterator<Item = StrandId>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (strand(first)?, strand(last)?);
    ensure!(first <= last, "'{text}' runs backwards");
    let numbers: RangeInclusive<usize> = first.index()..=last.index();
    Ok(numbers.filter_map(StrandId::new))
}

fn strand(text: &str) -> anyhow::Result<StrandId> {
    text.trim()
        .parse()
        .ok()
        .and_then(StrandId::new)
        .with_context(|| {
            format!("found '{text}', expected strands 0 to 255, such as 0-127 or 0,8,64-71")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let numbers = |text| -> anyhow::Result<Vec<usize>> {
            Ok(parse(text)?.into_iter().map(StrandId::index).collect())
        };
        assert_eq!(numbers("7").unwrap(), [7]);
        assert_eq!(numbers("64-66,0, 255").unwrap(), [64, 65, 66, 0, 255]);
        for wrong in ["", "a", "256", "-1", "3-1", "1,,2", "1-", "0,0-3"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lists_of_sets() {
        let list = |numbers: &[usize]| -> String {
            super::list(numbers.iter().copied().filter_map(StrandId::new).collect())
        };
        assert_eq!(list(&[]), "-");
        assert_eq!(list(&[7]), "7");
        assert_eq!(list(&[255, 64, 0, 65, 66, 2, 254]), "0,2,64-66,254-255");
    }
}
