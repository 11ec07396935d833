//! The sweep on the host, and the first call for which a guest's answer differs.

use sweep::plain::WithPlain;
use sweep::tell::{Detail, Machines, tell};
use sweep::{Configuration, System, modelled, parts};

use super::report::Report;

/// Machines of models, with guests that fit them.
struct Host;

impl Machines for Host {
    fn power_on(&mut self, configuration: &Configuration, work: &mut dyn FnMut(&mut dyn System)) {
        modelled::with(configuration, work).expect("guests that fit the machine");
    }
}

/// The devices of the guest's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Models of them.
    Models,
    /// Words of memory, and the entry code as it is shipped.
    Memory,
}

impl Of {
    const fn name(self) -> &'static str {
        match self {
            Self::Models => "sweep as on the host",
            Self::Memory => "sweep of the shipped entry code as on the host",
        }
    }
}

/// Returns the lines that the guest must write.
#[must_use]
pub fn expected(of: Of, detail: Detail) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |line: std::fmt::Arguments<'_>| lines.push(line.to_string());
    match of {
        Of::Models => tell(detail, &mut Host, &mut line),
        Of::Memory => tell(detail, &mut WithPlain(Host), &mut line),
    }
    lines
}

/// Compares what a guest has written of each part with the host. Returns a check for each part and a line with its number of
/// calls. If a part differs, `ask` boots the guest again to report more of it.
///
/// # Errors
/// Those of `ask`.
pub fn compare(
    of: Of,
    console: &str,
    mut ask: impl FnMut(Detail) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let mut lines = String::new();
    for (number, (part, expected)) in parts::ALL
        .iter()
        .zip(expected(of, Detail::Parts))
        .enumerate()
    {
        let wrong = if console.lines().any(|line| line == expected) {
            None
        } else {
            Some(locate(of, number, &mut ask)?)
        };
        let name = format!("{}, {}", of.name(), part.name);
        lines.push_str(&Report::line(&name, wrong.as_deref()));
        lines.push_str(&format!("cases: {}\n", calls(&expected)));
    }
    Ok(lines)
}

/// Returns the number of calls in the line of a part.
fn calls(line: &str) -> u64 {
    let number = line
        .rsplit_once(": ")
        .and_then(|(_, digest)| digest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns the first call of a part that is answered differently.
fn locate(
    of: Of,
    part: usize,
    ask: &mut impl FnMut(Detail) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let detail = Detail::Configurations(part);
    let Some((place, difference)) = first_difference(&ask(detail)?, &expected(of, detail)) else {
        return Ok("another digest, but the same for each configuration".into());
    };
    let Some((number, configuration)) = parts::ALL[part].configurations().nth(place) else {
        return Ok(difference);
    };
    let detail = Detail::Calls(part, number);
    let found = first_difference(&ask(detail)?, &expected(of, detail));
    let (call, difference) = found.unwrap_or((0, difference));
    Ok(format!(
        "configuration {number} ({configuration}), event {call}: {difference}"
    ))
}

/// Returns the first line that is not as expected: its number, and both lines.
fn first_difference(console: &str, expected: &[String]) -> Option<(usize, String)> {
    let mut lines = console.lines();
    expected.iter().enumerate().find_map(|(number, expected)| {
        let found = lines.next().unwrap_or("nothing more");
        (found != expected).then(|| (number, format!("{found}; the host has {expected}")))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_status_is_met_often() {
        let mut counts = BTreeMap::<String, usize>::new();
        let random = parts::ALL.len() - 1;
        for (number, _) in parts::ALL[random].configurations() {
            for line in expected(Of::Models, Detail::Calls(random, number)) {
                if let Some((_, answer)) = line.split_once(": answered ") {
                    let status = answer.split(' ').next().unwrap().to_string();
                    *counts.entry(status).or_default() += 1;
                }
            }
        }
        // EOK, EINVAL, EBADTRAP, EWOULDBLOCK, ENOACCESS, ENOTSUPPORTED; no other.
        assert!(
            counts.keys().eq(&["0", "6", "7", "9", "a", "d"]),
            "{counts:?}"
        );
        assert!(counts.values().all(|count| *count >= 50), "{counts:?}");
    }

    #[test]
    fn the_first_difference_is_found() {
        // A part with few calls, and a guest that answers all but one of them as the host does.
        let part = parts::ALL.len() - 2;
        let mut ask = |detail| {
            let mut lines = expected(Of::Models, detail);
            match detail {
                Detail::Parts => unreachable!("the caller knows that part {part} differs"),
                Detail::Configurations(of) => {
                    assert_eq!(of, part);
                    lines[3].push('0');
                    lines[5].push('0');
                }
                Detail::Calls(of, on) => {
                    assert_eq!((of, on), (part, 3));
                    lines[7].push('0');
                    lines.truncate(9);
                }
            }
            Ok(lines.join("\n"))
        };
        let right = &expected(Of::Models, Detail::Calls(part, 3))[7];
        assert_eq!(
            locate(Of::Models, part, &mut ask).unwrap(),
            format!(
                "configuration 3 (batoka with 2 nodes, guest (global) on 0 64, guest (none) on 5), event 7: \
                 {right}0; the host has {right}"
            )
        );
    }

    #[test]
    fn a_guest_that_tells_less_differs() {
        let lines = ["one", "two"].map(String::from);
        assert_eq!(first_difference("one\ntwo\n", &lines), None);
        assert_eq!(
            first_difference("one\n", &lines),
            Some((1, "nothing more; the host has two".into()))
        );
    }

    #[test]
    fn calls_are_read_from_a_line() {
        assert_eq!(
            calls("sweep, one: two: 1560648 calls, digest 03e6"),
            1_560_648
        );
    }
}
