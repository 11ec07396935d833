//! Suggests names that are similar to an unknown name. Also names the status values of hypercalls.

use std::fmt::Write;

use guest_abi::HvError;

/// The maximum number of names that are suggested.
const SUGGESTIONS: usize = 3;

/// Returns a message that says that there is no `what` named `text`, and suggests the nearest of
/// `names`.
pub fn unknown<'a>(what: &str, text: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut message = format!("there is no {what} '{}'", text.escape_debug());
    let near: Vec<String> =
        (nearest(text, names).into_iter()).map(|name| name.escape_debug().to_string()).collect();
    if let Some((last, others)) = near.split_last() {
        let _ = match others {
            [] => write!(message, "; did you mean {last}?"),
            others => write!(message, "; did you mean {} or {last}?", others.join(", ")),
        };
    }
    message
}

/// Returns the names that are most similar to `text`, the nearest first.
fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let text = text.to_lowercase();
    let mut scored: Vec<(f64, &str)> =
        names.map(|name| (strsim::jaro_winkler(&text, &name.to_lowercase()), name)).collect();
    // The sort is stable, so names that are equally near keep the order of `names`.
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

/// Returns the name of a hypercall's status, such as `EOK`.
pub fn status_name(status: u64) -> String {
    match HvError::check(status) {
        Ok(()) => "EOK".to_owned(),
        Err(error) => error.to_string(),
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
