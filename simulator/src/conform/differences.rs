//! Collects differences from the contract.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use guest_abi::status::HvError;
use serde::Serialize;

/// What a difference from the contract concerns: a register, group, function, unit or kind of attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A performance register's number: 0 to 89, or a higher number that no register has.
    Register(u64),
    /// A function group's number.
    Group(u64),
    /// A function's or trap's number.
    Function(u64),
    /// A unit's number. The operator has returned this unit to service.
    Unit(usize),
    /// The name of a kind of attack.
    Kind(&'static str),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(id @ 0..1000) => write!(f, "{id}"),
            Self::Register(number) | Self::Function(number) => write!(f, "{number:#x}"),
            Self::Group(number) => write!(f, "group {number:#x}"),
            Self::Unit(number) => write!(f, "unit {number}"),
            Self::Kind(name) => f.write_str(name),
        }
    }
}

/// A difference from the contract: the call, its caller, what the contract requires, and what the image does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) check: &'static str,
    /// The call: get, set, set_version, get_version, or another.
    pub(super) call: &'static str,
    pub(super) expected: String,
    pub(super) found: String,
    pub(super) subject: Subject,
    /// The calling guest's rights.
    pub(super) right: String,
    /// The version of group 0x205 that the calling guest has negotiated.
    pub(super) version: &'static str,
}

/// A difference from the contract, and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The check that found the difference.
    pub check: &'static str,
    /// The call: get, set, set_version, get_version, or another.
    pub call: &'static str,
    /// What the difference concerns, such as a register, a group or a function.
    pub subject: String,
    /// The calling guest's rights.
    pub right: String,
    /// The version of group 0x205 that the calling guest has negotiated.
    pub version: &'static str,
    /// What the contract requires: a status, a value, or what a call preserves.
    pub expected: String,
    /// What the image does instead.
    pub found: String,
    /// How often the difference was seen.
    pub count: u64,
    /// The first case of the difference, in words.
    pub example: String,
}

/// All differences that have the same call, requirement and finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The call: get, set, set_version, get_version, or another.
    pub call: &'static str,
    /// What the differences concern, such as registers, groups or functions, as ranges.
    pub subjects: String,
    /// The calling guests' rights.
    pub rights: String,
    /// The versions of group 0x205 that the calling guests have negotiated.
    pub versions: String,
    /// What the contract requires.
    pub expected: String,
    /// What the image does instead.
    pub found: String,
    /// How often these differences were seen.
    pub count: u64,
    /// The first case of one of these differences, in words.
    pub example: String,
}

/// The differences found so far, each with a count and the first example.
#[derive(Clone, Debug, Default)]
pub(super) struct Differences(BTreeMap<Key, (u64, String)>);

impl Differences {
    pub(super) fn note(&mut self, key: Key, example: impl FnOnce() -> String) {
        self.0.entry(key).or_insert_with(|| (0, example())).0 += 1;
    }

    pub(super) fn add(&mut self, others: Self) {
        for (key, (count, example)) in others.0 {
            self.0.entry(key).or_insert((0, example)).0 += count;
        }
    }

    /// Removes the differences whose requirement is `expected`, unless all differences have this requirement.
    pub(super) fn remove_expected(&mut self, expected: &str) {
        if self.0.keys().any(|key| key.expected != expected) {
            self.0.retain(|key, _| key.expected != expected);
        }
    }

    pub(super) fn all(&self) -> Vec<Difference> {
        let all = self.0.iter().map(|(key, (count, example))| {
            let Key { check, call, expected, found, subject, right, version } = key.clone();
            let (subject, example) = (subject.to_string(), example.clone());
            Difference {
                check,
                call,
                subject,
                right,
                version,
                expected,
                found,
                count: *count,
                example,
            }
        });
        all.collect()
    }

    /// Merges the differences into rows. Differences with the same call, requirement and finding share a row.
    pub(super) fn rows(&self) -> Vec<Row> {
        type Same<'a> = (&'static str, &'a str, &'a str);
        type Seen<'a> = (&'a Key, &'a (u64, String));
        let mut same: BTreeMap<Same<'_>, Vec<Seen<'_>>> = BTreeMap::new();
        for (key, seen) in &self.0 {
            same.entry((key.call, &key.expected, &key.found)).or_default().push((key, seen));
        }
        let joined = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<_>>().join("; ");
        let rows = same.into_iter().map(|((call, expected, found), all)| Row {
            call,
            subjects: ranges(all.iter().map(|(key, _)| key.subject).collect()),
            rights: joined(all.iter().map(|(key, _)| &*key.right).collect()),
            versions: joined(all.iter().map(|(key, _)| key.version).collect()),
            expected: expected.to_owned(),
            found: found.to_owned(),
            count: all.iter().map(|(_, (count, _))| count).sum(),
            example: all[0].1.1.clone(),
        });
        rows.collect()
    }
}

/// Formats the subjects in order, with consecutive numbers as ranges. If there are many ranges, dots replace all but the first
/// ones.
fn ranges(subjects: BTreeSet<Subject>) -> String {
    const MAX_RANGES: usize = 6;
    let mut ranges: Vec<(Subject, Subject)> = Vec::new();
    for subject in subjects {
        let follows = |last: Subject| match (last, subject) {
            (Subject::Register(last), Subject::Register(next))
            | (Subject::Function(last), Subject::Function(next)) => next == last + 1,
            _ => false,
        };
        match ranges.last_mut() {
            Some((_, last)) if follows(*last) => *last = subject,
            _ => ranges.push((subject, subject)),
        }
    }
    let mut texts: Vec<String> = (ranges.iter().take(MAX_RANGES))
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    if ranges.len() > MAX_RANGES {
        texts.push("...".to_owned());
    }
    texts.join(",")
}

/// Returns a status's name, such as `EOK` or `ENOACCESS`.
pub(super) fn status(status: u64) -> String {
    HvError::check(status).err().map_or_else(|| "EOK".to_owned(), |error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(expected: &str, id: u64) -> Key {
        Key {
            check: "attacks",
            call: "get",
            expected: expected.to_owned(),
            found: status(0),
            subject: Subject::Register(id),
            right: String::new(),
            version: "1.1",
        }
    }

    #[test]
    fn neighbours_are_a_range() {
        let registers = |all: &[u64]| ranges(all.iter().map(|id| Subject::Register(*id)).collect());
        assert_eq!(registers(&[2, 3, 4, 7, 89]), "2-4,7,89");
        assert_eq!(registers(&[u64::MAX]), "0xffffffffffffffff");
        assert_eq!(registers(&[1, 3, 5, 7, 9, 11, 13]), "1,3,5,7,9,11,...");
    }

    #[test]
    fn differences_of_one_requirement_are_removed_if_there_are_others() {
        let mut all = Differences::default();
        for id in 0..3 {
            all.note(key("one", id), String::new);
        }
        all.remove_expected("one");
        assert_eq!(all.all().len(), 3, "there is no other");
        all.remove_expected("other");
        assert_eq!(all.all().len(), 3, "none is removed");
        all.note(key("other", 0), String::new);
        all.remove_expected("one");
        let left: Vec<String> = all.all().into_iter().map(|one| one.expected).collect();
        assert_eq!(left, ["other"]);
    }

    #[test]
    fn a_row_joins_registers_rights_and_versions() {
        let mut all = Differences::default();
        for (id, right) in [(2, "global"), (3, "global"), (3, "none"), (3, "none")] {
            let key = Key { right: right.to_owned(), ..key(&status(10), id) };
            all.note(key, || format!("of {id}"));
        }
        assert_eq!(all.all().len(), 3);
        let [row] = &all.rows()[..] else { panic!("{:?}", all.rows()) };
        assert_eq!((&*row.subjects, &*row.rights, row.count), ("2-3", "global; none", 4));
        assert_eq!((&*row.expected, &*row.found, &*row.example), ("ENOACCESS", "EOK", "of 2"));
    }
}
