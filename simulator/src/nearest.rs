//! Names in messages, and addresses in files.

use std::fmt::Write;

use guest_abi::HvError;
use serde::Serializer;

/// How many names are suggested at most.
const SUGGESTIONS: usize = 3;

/// Says that there is no `what` called `text`, and which of `names` are nearest to it: one line, whatever they are.
pub fn unknown<'a>(what: &str, text: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut message = format!("there is no {what} '{}'", text.escape_debug());
    let near: Vec<String> = (nearest(text, names).into_iter())
        .map(|name| name.escape_debug().to_string())
        .collect();
    if let Some((last, others)) = near.split_last() {
        let _ = match others {
            [] => write!(message, "; did you mean {last}?"),
            others => write!(message, "; did you mean {} or {last}?", others.join(", ")),
        };
    }
    message
}

/// The nearest of `names`, best first; all that differ as little as the best, and at least the best one.
fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let text = text.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .map(|name| (strsim::jaro_winkler(&text, &name.to_lowercase()), name))
        .collect();
    // Stable, so that names that are equally near stay in the order of the table.
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.dedup_by_key(|(_, name)| *name);
    let Some(&(best, _)) = scored.first() else {
        return Vec::new();
    };
    scored
        .into_iter()
        .take_while(|(score, _)| best - score < 0.05)
        .take(SUGGESTIONS)
        .map(|(_, name)| name)
        .collect()
}

/// The name of a status.
pub fn status_name(status: u64) -> String {
    match HvError::check(status) {
        Ok(()) => "EOK".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Writes an address as text such as `0x1000`, for the readers of JSON whose numbers have 53 bits.
pub(crate) fn hexadecimal<S: Serializer>(address: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{address:#x}"))
}

/// Writes addresses in the same way.
pub(crate) fn hexadecimals<S: Serializer>(addresses: &[u64], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(addresses.iter().map(|address| format!("{address:#x}")))
}

/// Writes an address in the same way, if it is known.
pub(crate) fn known_hexadecimal<S: Serializer>(
    address: &Option<u64>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match address {
        Some(address) => hexadecimal(address, to),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_nearest() {
        let names = ["mem_reads", "mem_writes", "wb_buf_hits"];
        assert_eq!(
            unknown("event", "mem_raeds", names.into_iter()),
            "there is no event 'mem_raeds'; did you mean mem_reads?"
        );
        assert_eq!(
            unknown("machine", "T5440", ["maramba", "batoka"].into_iter()),
            "there is no machine 'T5440'; did you mean batoka?"
        );
        assert_eq!(
            unknown("node", "a\n0", ["a\n1"].into_iter()),
            "there is no node 'a\\n0'; did you mean a\\n1?"
        );
    }
}
