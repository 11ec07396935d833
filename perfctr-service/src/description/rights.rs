//! Reads a guest's rights from the property `perf-counters`, or from the older `perfctraccess` and `perfctrhtaccess`.

use platform::md::Node;

use super::error::{GuestError, GuestProblem};
use crate::rights::policy::{Grant, Right, StrandRight};

const PERF_COUNTERS: &str = "perf-counters";

pub(super) fn grant(guest: Node<'_>) -> Result<Grant, GuestError<'_>> {
    if let Some(property) = guest.property(PERF_COUNTERS)?
        && let Some(words) = guest.string(PERF_COUNTERS)?
    {
        return perf_counters(words).map_err(|problem| GuestError {
            offset: property.offset(),
            ..GuestError::new(guest, problem)
        });
    }
    let access = is_set(guest, "perfctraccess")?;
    let ht_access = is_set(guest, "perfctrhtaccess")?;
    Ok(Grant {
        global: access,
        strand: match (access, ht_access) {
            (false, _) => StrandRight::None,
            (true, false) => StrandRight::Strand,
            (true, true) => StrandRight::HtStrand,
        },
    })
}

/// Returns `true` if the node has the property and its value is a number other than 0.
pub(super) fn is_set<'a>(guest: Node<'a>, name: &str) -> Result<bool, GuestError<'a>> {
    Ok(guest.number(name)?.unwrap_or(0) != 0)
}

fn perf_counters(words: &str) -> Result<Grant, GuestProblem<'_>> {
    if words.is_empty() {
        return Ok(Grant::NONE);
    }
    words.split(',').try_fold(Grant::NONE, |grant, word| {
        let right = Right::from_name(word).ok_or(GuestProblem::UnknownWord(word))?;
        grant.with(right).map_err(|held| match held == right {
            true => GuestProblem::WordTwice(word),
            false => GuestProblem::StrandAndHtStrand,
        })
    })
}
